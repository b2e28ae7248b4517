// Package workflow compiles workflow files, which describe a way of working (roles, steps, loops, panels, judges), to
// ordinary plans.
//
// It hides one decision: what a workflow file means. Load reads a file and those that it uses, Lint says what is wrong
// with them, Inputs settles the params, and Render is the function R: plan text, and the fills that follow later. A
// fill is a GOAL whose tasks depend on an approved file; RenderFill gives them. The specification is docs/workflows.md,
// and workflow.schema.json says each field's form.
//
// Everything is pure: the same bytes give the same plan. The package finds no files, asks nobody and runs nothing. What
// a plan is belongs to internal/plan, which documents are legal plans to internal/plandoc.
package workflow
