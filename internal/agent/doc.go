// Package agent is who does the work of a task, and the contract under which it is done.
//
// It hides one decision: how a deliverable comes about. An Agent gets a Job, which is all that an attempt may know, and
// leaves files in Job.Out; its Result says whether there is something to look at. Collect then decides what of those
// files is the artifact, and refuses what can't be one. Everything that an agent leaves behind is hostile until
// Collect has passed it.
//
// It does not own: which task is tried when, the directories of an attempt and the records of its outcome
// (internal/engine), how a child process is bounded (internal/process), whether the artifact is any good
// (internal/check). The specification is docs/format.md.
package agent
