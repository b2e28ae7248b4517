// Package views writes a plan as read-only files, for people and for other systems.
//
// It hides where the files are, how they stay out of the index, and how it tells its own files from those that somebody
// edited or put there: a record in the git directory has the hash of each file that it wrote. It does not own what the
// files say (internal/exchange). docs/sessions.md specifies what users see of it.
package views
