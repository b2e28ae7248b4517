// Package policy is what a repository demands of its plans and bundles.
//
// It hides one decision: what policy.json may say, and what follows from it: which directories are protected, whose
// signature makes an approval count, who may change the policy or prune. Everything here is pure.
//
// It does not own: the policy's history and the records next to policy.json (internal/gitstore), whether a plan keeps
// the floors (internal/plandoc), whether a tree may land (internal/gate). The specification is docs/format.md,
// section 9.
package policy
