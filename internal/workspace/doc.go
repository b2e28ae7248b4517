// Package workspace makes checkouts of the repository for attempts and checks, and says what became of them.
//
// It hides one decision: how to tell what somebody changed in a checkout. The checkout has a git directory of its own,
// which may be used, changed or destroyed; this package never looks at it. It keeps an index elsewhere, from when the
// files were written, and holds it against the files as they are. Committed, staged or neither: only the files count.
// A file counts as changed if its bytes, its mode or its kind are not what a fresh checkout writes, and ignored files
// don't count.
//
// A pool keeps checkouts for later use. The next user moves one to another tree, by that index, and removes all else:
// the checkout's git directory, untracked files, ignored files of other tasks.
//
// It runs no hook, and no command that the checkout's content or its configuration names; filters are those of the
// user's own configuration. It does not know tasks, or which paths a task may change (internal/engine).
package workspace
