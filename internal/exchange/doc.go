// Package exchange takes in the plans of other systems and hands ours to them.
//
// It hides one decision: what the files of each system mean in a plan. Find says by their content which systems have
// something in a directory or a file; Read makes a plan of one of them; CCW, JSON, Markdown and YAML write a plan with
// its state.
//
// A reader (one file for each system) makes items of what it finds. assemble makes the plan of them, with the one
// default for what other systems do not have; graph mends what is between the items. The rules:
//
//   - No text of another system's document becomes a command. The one run line of an imported plan is the repository's
//     own check, which comes from Options.
//   - Nothing is lost unseen. Every line stands in a task's title, text or criteria, or in the plan's own text;
//     Imported.Homeless lists the lines that do not.
//   - Nothing is believed. What is done there is done elsewhere: neither approved here nor in anybody's way.
//   - Only loss is a finding, which stops an import: JSON that is broken, ids that can't be told apart, a circle. What
//     only deserves to be known is a note. What was assumed is counted.
//
// It does not own what a legal plan is (internal/plan), how Markdown is cut up (internal/outline), git wf's own forms
// (internal/plandoc), or how files are found on a disk: it reads an fs.FS, and the caller sees to it that nothing
// outside of it can be reached. It runs nothing. docs/import.md says what becomes of each system's fields.
package exchange
