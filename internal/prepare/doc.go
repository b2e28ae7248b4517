// Package prepare takes the steps that a task requires before an attempt: flow_control.pre_analysis.
//
// It hides one decision: how a step's command runs, and what happens to its output. A shell runs command lines, with
// values in environment variables and never in the line itself. Read, Search, Grep and Glob run in this package and
// can't leave their directory. Anything else is for the agent to read. The step's own on_error says what happens if it
// fails.
//
// It does not decide what a step may look like and where a reference may stand (internal/plan), which command lines may
// run at all, where they run, or how to record an attempt that can't be prepared (internal/engine). The specification
// is docs/tasks.md.
package prepare
