// Package chaostest breaks things on purpose and checks that git wf keeps its promises: it kills the program at chosen
// or random moments, makes its writes fail, fills its disk, leaves stale locks and cleans up during its work. Its own
// tests are the short form, `go run -C bench ./chaos` the long one.
//
// It hides how a fault is injected (a tracer that stops the program before each change of a file, and for workflows a
// git that kills its caller when a plan's ref moves) and how the result is judged: with plain git, and by starting
// git-wf as a user would, never through this module's own packages, which could share the mistake. It owns no rule of
// the format; docs/format.md does.
package chaostest
