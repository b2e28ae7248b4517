// Package gate decides whether a tree may land: every path below a protected root must be what was approved.
//
// It hides one decision: what counts as proof. The gate proves a bundle by building it again from the plan's own commit
// (export.Build) and comparing modes and object ids; it reads no file contents. The few functions in sources.go supply
// the tree (the index, a commit, a range, a push), and all of them ask the same judge. The gate owns neither the hooks
// that call it (hooks/) nor the content of a bundle (internal/export). The specification is docs/format.md, the picture
// docs/gate.md.
package gate
