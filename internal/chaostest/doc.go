// Package chaostest breaks things on purpose and looks whether what git wf promised still holds: it kills the program
// at chosen or random moments, lets its writes fail, fills its disk, leaves locks in its way and cleans up behind its
// back. Its own tests are the short form, `go run -C bench ./chaos` the long one.
//
// It hides how a fault is brought about (a tracer that stops the program before each change of a file) and how the
// result is judged: with plain git, and by starting git-wf as a user would, never through this module's own packages,
// which could be wrong in the same way. It owns no rule of the format; docs/format.md does.
package chaostest
