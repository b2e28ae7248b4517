// Package checkout keeps a directory of a working tree equal to files that were computed, and loses no edit that somebody made
// there.
//
// It hides one decision: how it is known what of such a directory is ours. A record in the git directory has the hash of each
// file that was written, and a copy of it. A file that has another content than that, and than what it should have, was edited: it stays as it
// is and is reported, or a copy of it is kept beside what takes its place. Files are replaced whole, are read-only, and
// are written only when their content changes; what is not in the record is never removed. No symbolic link is followed.
//
// It does not own what the files say (internal/exchange), how they are kept out of the index, how an edit is shown and how it
// is handed in (cmd/git-wf), or who else is writing: callers hold a lock. It knows no git. What users see of it is
// specified in docs/sessions.md.
package checkout
