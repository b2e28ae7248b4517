// Package audit checks whether the state that a repository keeps is sound. A plan's history may only
// have grown, by legal events, and every record must say what its place and name say. It also checks
// what lies around the plans: refs, claims, pointers, caches and what dead processes left behind.
//
// It hides one decision: what a legal state looks like, commit by commit and file by file. A finding
// says what repairs it and, where a repair can do no harm, brings the repair along; the command that
// reports the finding decides whether to run it. What may land is decided by internal/gate. The
// specification is docs/format.md; docs/doctor.md lists the findings.
package audit
