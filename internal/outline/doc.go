// Package outline is the planner that needs no agent: it reads a Markdown outline, as people write them for themselves,
// and makes the authoring document of a plan out of it.
//
// It hides one decision: which shapes of Markdown mean a task. docs/markdown.md is the grammar, by examples that a test
// runs; words.md has the words. Parse reports what the source says and where; Outline.Plan turns that into a plan.
// Nothing is run, and no status of the source is believed: it is kept in meta.
//
// The source goes through five steps:
//
//   - checkSource refuses what no parser should see, and spells as Markdown what people write otherwise;
//   - reader cuts it into blocks with goldmark: headings, paragraphs, lists, code, tables;
//   - sectionsOf makes the tree of headings, and role says what each of them is;
//   - builder makes goals and tasks of sections, items and rows, and fields of what stands in them;
//   - finish joins what is said twice, gives ids, finds dependencies, and names what is wrong.
//
// At the end audit goes through the plain lines of the source once more, and refuses a command with a threshold, a
// status, and the name of a task with its status, that no task has got; unread names all other lines that were not
// read.
//
// It does not own what a legal plan is (internal/plan says that, and Outline.Plan asks it) nor how files are read.
// Everything is pure.
package outline
