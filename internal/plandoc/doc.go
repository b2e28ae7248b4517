// Package plandoc reads, writes and validates the documents of a plan: plan files in YAML or JSON, the stored
// plan.json, the sections meta, context and flow_control of a task (docs/tasks.md), and the summary of a finished task.
// It also gives a plan its built-in review and holds it to its type.
//
// It hides one decision: which documents are a legal plan, and how good they are. Everything here is pure. It does not
// own what follows from a plan (internal/plan), how YAML and JSON become values with lines (internal/document), or how
// a JSON Schema is applied (internal/schema). The specification is docs/format.md.
package plandoc
