// Package gitstore keeps plans in a git repository. It is the only package that talks to git.
//
// It hides one decision: how a plan's records become objects and refs, and how they are read again quickly. Reads go
// through one long-lived `git cat-file --batch`, which understands alternates, repacks, promisors and reftable. Objects
// are written as loose files, flushed together before anything names them. Refs are moved by a long-lived `git
// update-ref --stdin`, so that git's own locks, reflogs and ref formats hold.
//
// It does not own: what a status is or whether an event is allowed (internal/plan), who works on a task
// (internal/engine), what may land (internal/gate). The specification of the refs and trees is docs/format.md.
package gitstore
