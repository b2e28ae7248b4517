// Package audit asks whether the state that a repository keeps is sound: a plan's history only grew, by legal events,
// and every record says what its place and name say; and whether what lies around it is: refs, claims, pointers,
// caches, what dead processes left.
//
// It hides one decision: what a legal state looks like, commit by commit and file by file. What may land because of it
// is gate's. A finding says what mends it, and where that can harm nothing, knows how; whether it is done is left to
// the command that reports. The specification is docs/format.md; docs/doctor.md lists the findings.
package audit
