// Package audit asks whether what is recorded of a plan is sound: its history only grew, and every record says what its
// place and name say.
//
// It hides one decision: what a legal history looks like, commit by commit. What may land because of it is gate's;
// mending is left to the command that reports. The specification is docs/format.md.
package audit
