// Package agent does the work of a task, under a contract.
//
// It hides one decision: how a deliverable comes about. An Agent gets a Job, which is all that an attempt may know, and
// leaves files in Job.Out; its Result says whether there is something to look at. Collect then decides which of those
// files are the artifact, and refuses what can't be one. Everything that an agent leaves behind is hostile until it has
// passed Collect.
//
// It does not decide which task is tried when, nor own the directories of an attempt and the records of its outcome
// (internal/engine), the limits of a child process (internal/process) or the verdict on an artifact (internal/check).
// The specification is docs/format.md.
package agent
