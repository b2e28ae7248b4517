// Package export builds bundles: the approved deliverables of a plan, laid out below deliverables/<plan id>/bundle/,
// with a manifest that says where each file comes from and who approved it.
//
// It hides one decision: what a bundle holds and which approvals count for it (Prove). A bundle is a pure function of
// one commit of the plan, the options and the policy's keys, so the gate can build it again and compare
// (internal/gate). Other packages read task documents here, too, since bundles are built from them (Documents). Package
// gitstore reads, writes and checks objects. The specification is docs/format.md.
package export
