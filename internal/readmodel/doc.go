// Package readmodel is what is seen of plans: models of a plan, its tasks and all that is recorded of one task, each
// read in one place. The commands print them, as text or as JSON, and the page shows them.
//
// It hides from which records, refs and settings a model is put together. It does not own what a status is
// (internal/plan), what a task waits for (internal/engine) or what an approval is worth (internal/export), nor how any
// of it looks. The fields without a JSON name are for text and the page alone. What prompts list has types of its own
// (internal/prompt): a fence against injected text.
package readmodel
