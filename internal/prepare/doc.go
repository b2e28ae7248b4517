// Package prepare carries out the steps that a task wants taken before an attempt at it: flow_control.pre_analysis.
//
// It hides one decision: how a step's command becomes something that runs, and what of its output becomes what. Command lines go
// to a shell, with values in variables of the environment and never in the line itself; Read, Search, Grep and Glob are done
// here and can't leave the directory that they are given; what is neither is for the agent to read. What happens when a
// step fails is the step's own on_error.
//
// It does not own: what a step may look like and where a reference may stand (internal/plan), which command lines may run at
// all, where they run, and how an attempt that can't be prepared is recorded (internal/engine). The specification is
// docs/tasks.md.
package prepare
