// Package plan is the model of a workflow: its words, its rules, and what follows from what is recorded.
//
// It hides one decision: what a status is. A status is never stored; Derive computes it from plan.json and from the
// names of the records in the plan's tree. An Event turns a State into the set of new paths that one commit adds, or
// refuses. Everything here is pure: clock, ids and bytes are arguments, and the package imports no I/O and no git.
//
// It does not own: how plan files are read and validated (internal/plandoc), how the tree is read and written
// (internal/gitstore), who does the work (internal/agent), how a candidate is judged (internal/check). The
// specification is docs/format.md.
package plan
