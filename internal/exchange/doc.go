// Package exchange takes in the plans of other systems and hands ours to them.
//
// It hides one decision: what the files of each system mean in a plan. Find says which systems have something in a
// directory or a file, Read makes a plan of one of them, and CCW, JSON, Markdown and CSV write a plan with its state.
//
//	ccw          a directory WFS-<topic> with workflow-session.json and .task/IMPL-*.json
//	task-master  tasks.json: {"tasks": [...]}, or a list for each tag
//	spec-kit     tasks.md with items T001 [P] [US1], in phases
//	openspec     tasks.md with items 1.1 in numbered groups, beside proposal.md and specs/
//	beads        issues.jsonl, one issue a line
//	github       an issue with a list of tasks, in Markdown or as gh prints it in JSON
//	markdown     milestones and tasks; internal/outline reads it
//	git-wf       a plan of this program, as a file of its own or as JSON writes it
//
// All readers make the same items of what they find, and assemble makes the plan: ids that are legal here, parents,
// dependencies without cycles, criteria, files. The rules of reading:
//
//   - Nothing is made up. What a plan needs and the source does not say (criteria, files, an estimate) is left out, so that
//     the review of the plan names it; Gaps says the same beforehand.
//   - Nothing is lost. meta, context and flow_control of a task are kept as they are; everything else that the source has of a
//     task is in meta.imported.
//   - Nothing is believed. What is marked done there is listed in Imported.Done, and is a task like any other.
//   - A file that is broken costs itself and no other. Each thing that was left out or mended is a finding with file and line;
//     what only deserves to be known is a note.
//
// It does not own what a legal plan is (internal/plan), how an outline is read (internal/outline), or how files are
// found on a disk: it reads an fs.FS, and the caller sees to it that nothing outside of it can be reached. It runs
// nothing. The mapping of each system is specified in docs/import.md.
package exchange
