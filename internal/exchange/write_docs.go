package exchange

import (
	"fmt"
	"strings"

	"gitwf/internal/plan"
)

// todoList is TODO_LIST.md (seed 1, "TODO_LIST.md Template").
func (s Snapshot) todoList(tasks []*plan.TaskState) string {
	var b strings.Builder
	p := s.plan()
	fmt.Fprintf(&b, "# Tasks: %s\n\n## Task Progress\n", inline(p.Title))
	kids := map[plan.TaskID][]*plan.TaskState{}
	for _, t := range tasks {
		kids[t.ParentTaskID] = append(kids[t.ParentTaskID], t)
	}
	shown := map[plan.TaskID]bool{}
	var list func(t *plan.TaskState, depth int)
	list = func(t *plan.TaskState, depth int) {
		if shown[t.TaskID] || depth > maxLevels {
			return
		}
		shown[t.TaskID] = true
		indent := strings.Repeat("  ", depth)
		link := fmt.Sprintf("**%s**: %s → [📋](./.task/%s.json)", t.TaskID, inline(t.Title), t.TaskID)
		if t.NodeType == plan.Goal {
			fmt.Fprintf(&b, "%s▸ %s\n", indent, link)
		} else {
			fmt.Fprintf(&b, "%s- [%s] %s", indent, wordsOf(t).box, link)
			if s.summary(t) != "" && t.Status == plan.StatusDone {
				fmt.Fprintf(&b, " | [✅](./.summaries/%s-summary.md)", t.TaskID)
			}
			b.WriteByte('\n')
		}
		for _, kid := range kids[t.TaskID] {
			list(kid, depth+1)
		}
	}
	for _, t := range kids[p.RootTaskID] {
		list(t, 0)
	}
	b.WriteString("\n## Status Legend\n- `▸` = Container task (has subtasks)\n- `- [ ]` = Pending leaf task\n- `- [x]` = Completed leaf task\n")
	if notes := s.notes(); notes != "" {
		b.WriteString("\n## Notes\n" + notes + "\n")
	}
	return b.String()
}

// notes are those of the TODO_LIST.md that was imported.
func (s Snapshot) notes() string {
	files, _ := imported(s.plan().Task(s.plan().RootTaskID))["files"].(map[string]any)
	text, _ := files["TODO_LIST.md"].(string)
	if _, notes, ok := strings.Cut(text, "\n## Notes\n"); ok {
		return strings.TrimSpace(notes)
	}
	return ""
}

// implPlan is IMPL_PLAN.md: as it was imported, else made of the plan.
func (s Snapshot) implPlan(tasks []*plan.TaskState) string {
	p := s.plan()
	files, _ := imported(p.Task(p.RootTaskID))["files"].(map[string]any)
	if text, _ := files["IMPL_PLAN.md"].(string); text != "" {
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Implementation Plan: %s\n\n## Overview\n%s\n", inline(p.Title), printable(p.TopTask))
	if root := p.Task(p.RootTaskID); root != nil && len(root.RootAcceptanceCriteria) > 0 {
		b.WriteString("\n## Requirements\n")
		for _, c := range root.RootAcceptanceCriteria {
			fmt.Fprintf(&b, "- **%s**: %s\n", inline(c.ID), inline(c.Statement))
		}
	}
	b.WriteString("\n## Task Structure\n")
	for _, t := range tasks {
		fmt.Fprintf(&b, "- **%s**: %s", t.TaskID, inline(t.Title))
		if len(t.DependsOn) > 0 {
			fmt.Fprintf(&b, " (after %s)", joined(t.DependsOn))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// summary is .summaries/<id>-summary.md: what the approved version brought, or what was imported with the task.
func (s Snapshot) summary(t *plan.TaskState) string {
	sum, ok := s.Summaries[t.TaskID]
	if !ok {
		text, _ := imported(t.Task)["summary"].(string)
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n## What was done\n", t.TaskID, inline(t.Title))
	if text := printable(sum.Text); text != "" {
		b.WriteString(text + "\n")
	}
	fmt.Fprintf(&b, "\nVersion %s by %s, %s.\n", plan.VersionID(sum.Version), inline(sum.Agent), sum.At.UTC().Format("2006-01-02 15:04:05Z"))
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n", title)
		for _, l := range lines {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	var files, tested, users, remarks []string
	for _, f := range sum.Files {
		files = append(files, "`"+strings.ReplaceAll(plan.OneLine(f), "`", "'")+"`")
	}
	for _, c := range sum.Criteria {
		tested = append(tested, fmt.Sprintf("%s %s: %s", inline(c.ID), inline(string(c.Result)), inline(c.Statement)))
	}
	for _, id := range sum.Dependent {
		users = append(users, string(id))
	}
	for _, r := range sum.Remarks {
		remarks = append(remarks, inline(r))
	}
	section("Files", files)
	section("Integration points", users)
	section(fmt.Sprintf("Tests (approved by %s, score %d)", inline(sum.Reviewer), sum.Score), tested)
	section("Notes for Future Tasks", remarks)
	return b.String()
}

// inline is text of a plan on one line of Markdown, with nothing in it that would begin something.
func inline(s string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "'", "[", "\\[", "]", "\\]", "<", "&lt;", "*", "\\*").Replace(plan.OneLine(s))
}
