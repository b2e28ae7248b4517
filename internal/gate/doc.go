// Package gate decides whether a tree may land: every path below a protected root must be what was approved.
//
// It hides one decision: what counts as proof. A bundle is proven by making it again from the plan's own commit
// (export.Build) and comparing modes and object ids; no file's bytes are read. Where the tree comes from (the index, a
// commit, a range, a push) is a matter of the few functions in sources.go, and all of them ask the same judge. It owns
// neither the hooks that call it (hooks/) nor what a bundle holds (internal/export). The specification is
// docs/format.md, the picture docs/gate.md.
package gate
