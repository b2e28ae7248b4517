// Package export builds bundles: the approved deliverables of a plan, laid out below deliverables/<plan id>/bundle/,
// with a manifest that says where each file comes from and who approved it.
//
// It hides one decision: what a bundle holds, and which approvals count for it (Prove). A bundle is a pure function of one
// commit of the plan, of the options it was made with and of the policy's keys, so that the gate can make it again and
// compare (internal/gate). What bundles are made from, the documents of a task's records, all others read here, too
// (Documents). Reading, writing and checking objects is gitstore's. The specification is docs/format.md.
package export
