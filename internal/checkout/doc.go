// Package checkout keeps a directory of a worktree equal to computed files and loses no edit that somebody made there.
//
// It hides one decision: how to tell which content of such a directory is ours. A record in the git directory has the
// hash of each file that we wrote, and a copy. A file that matches neither the record nor its computed content was
// edited: it stays and is reported, or its replacement leaves a copy of it. Files are replaced whole, are read-only,
// and are written only if their content changes. What is not in the record is never removed. No symbolic link is
// followed.
//
// It does not own the content of the files (internal/exchange), how they stay out of the index, how edits are shown and
// handed in (internal/views), or locking: callers hold a lock. It knows no git. docs/sessions.md specifies what users see
// of it.
package checkout
