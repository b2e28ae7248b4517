// Package views writes a plan as read-only files into a worktree, for people and for other systems.
//
// It hides where the files are, how they stay out of the index, and which command brings an edit of one into the plan.
// It does not own what the files say (internal/exchange), or how edits are kept (internal/checkout). docs/sessions.md
// specifies what users see of it.
package views
