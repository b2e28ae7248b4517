// Package attacktest attacks the gate with generated pushes and checks its promise: whatever a branch or a tag checks
// out below a protected root was approved, and protected code is what approved changes make of it. Its own tests are
// the short form, `go run -C bench ./chaos gate people code steps` is the long one.
//
// It hides how an attack is made (trees, commits and ref moves that no git command would write) and how its outcome is
// judged: by a slow checker that knows only docs/format.md and reads objects as plain git prints them. For code it
// counts lines: each one that a tip has, or has no more, comes from the exempt history or from a whole approved
// version. It merges nothing, searches nothing and believes no message. It owns no rule of the format, and the checker
// shares no code with the gate, so that the two can't share a mistake. What people are told when they are refused is
// carried out literally, by a shell.
package attacktest
