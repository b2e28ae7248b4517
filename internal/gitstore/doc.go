// Package gitstore keeps plans in a git repository. No other package talks to git.
//
// It hides one decision: how a plan's records become objects and refs, and how to read them back quickly. It reads
// through one long-lived `git cat-file --batch`, which handles alternates, repacks, promisors and reftable. It writes
// objects as loose files and flushes them together before anything names them. It moves refs through a long-lived `git
// update-ref --stdin`, so git's own locks, reflogs and ref formats apply.
//
// It does not decide statuses or allowed events (internal/plan), who works on a task (internal/engine) or what may land
// (internal/gate). docs/format.md specifies the refs and trees.
package gitstore
