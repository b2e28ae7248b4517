// Package outline is the planner that needs no agent: it reads a Markdown outline, as people write them for themselves,
// and makes the authoring document of a plan out of it.
//
// It hides one decision: which shapes of Markdown mean a task. Headings, checklist items and table rows become goals and
// tasks; "status", "acceptance", "evidence" and their like, in English and Chinese, as list items, bold words, headings
// or columns, become the fields of the task that they stand in. Parse reports what the source says and where;
// Outline.Plan turns that into a plan. Nothing is run, and no status of the source is believed: it is kept in meta.
//
// The rules, in the order in which they are tried:
//
//   - A heading with the word Milestone, Phase, 里程碑 and so on is a goal if tasks stand in it, else a task. One with the
//     word Task, 任务 or with the id of a task is a task, or a goal if tasks with ids stand below it. Any other heading is
//     what its content makes it: a goal above tasks, a task where it has a status, an acceptance field, an estimate or a
//     checklist, prose otherwise. The first heading of level 1 is the plan's title unless it is a task itself.
//   - A checklist below a goal is a list of tasks, below a task it is a list of criteria, below a heading that says
//     "requirements" (or "acceptance" of the whole) it is the top task's own checklist.
//   - A field without a value takes the items nested below it, or, without any, the items that follow on its own level
//     until the next known field: both ways of writing are common.
//   - Code in backticks is a command if it begins with the name of a known program or of a script, and whatever it looks
//     like if an arrow leads from it to a threshold (-> exit 0, → >= 1, => 全部通过). A threshold may also stand on a line of its
//     own, in a field (threshold, 阈值), in a column, or in a comment of a block of code. Such a command is a criterion wherever
//     in a task it stands; only the evidence and the steps of a task, which tell of commands, are left as they are.
//   - A field needs no colon where its word alone says what it is: 【状态】DONE, status = DONE, "Acceptance" on its own line.
//     Before Markdown is parsed, tidy undoes what Markdown would do to such text: a field right behind a list ends the list,
//     text that is indented like code but holds fields is an outline, a name of a task begins a paragraph.
//   - A document without headings has its tasks in the items of its lists; those that hold others are goals.
//
// What the expectation becomes: where a shell can decide all of it, it is part of the run line; "exit 0 and prints ok" has
// two conditions there. Where a shell can't decide any part of it ("looks good", "p95 < 200 ms", "coverage >= 80%"), the
// whole criterion is left to a person or a reviewing agent: its statement says which command to run and what has to come of
// it. Nothing weaker than what was written is ever checked instead: what is measured anywhere else in the text of the criterion is
// part of what has to come of the command.
//
// A status is one of the words in statewords.go, or a symbol, with a date or a remark at most. Other words, a share that is
// neither none nor all, a remark that takes the word back (but, not, 部分), and two that contradict each other are refused.
//
// Where a command runs: an outline speaks of a repository, so the run line changes to $WF_REPO first, unless the command
// names a file that the task itself delivers; then it runs where every criterion runs, in a copy of the candidate. A
// command of the first kind proves nothing about the file that was handed in, so a task that has no other kind of
// criterion gets one more, for a reviewer. All of them have the check_method static_check.
//
// Only tasks have criteria that are run. Where a goal, or the root checklist, has commands of its own, the plan gets a task
// for them, ACCEPT- and the goal's id, which waits for everything that it closes.
//
// Refused, with the line: bytes that are no text, what is too large or too deep, a fence that is never closed and takes
// tasks in with it, a backtick that is never closed in a criterion, a status that is none, one id for two tasks, tasks that
// wait for each other, a command with characters that can't be seen, tasks in the front matter, and a file without any task.
// At the end audit goes through the plain lines of the source once more, and refuses a command with a threshold, a
// status, and the name of a task with its status, that no task has got. Sections that speak of no task (legend, template, appendix, risks) are left out of all this.
//
// It does not own what a legal plan is (internal/plan says that, and Outline.Plan asks it) nor how files are read.
// Everything is pure. The format of the result is specified in docs/format.md, section 4.
package outline
