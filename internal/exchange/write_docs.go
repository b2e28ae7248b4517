package exchange

import (
	"fmt"
	"strings"

	"gitwf/internal/plain"
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
	deepest := 0
	var list func(t *plan.TaskState, depth int)
	list = func(t *plan.TaskState, depth int) {
		if shown[t.TaskID] || depth > maxLevels {
			return
		}
		shown[t.TaskID] = true
		deepest = max(deepest, depth)
		indent := strings.Repeat("  ", depth)
		link := fmt.Sprintf("**%s**: %s → [📋](./.task/%s.json)", t.TaskID, inline(t.Title), t.TaskID)
		if t.NodeType == plan.Goal {
			fmt.Fprintf(&b, "%s▸ %s\n", indent, link)
		} else {
			fmt.Fprintf(&b, "%s- [%s] %s", indent, wordsOf(t).box, link)
			if _, written := s.Summaries[t.TaskID]; written && t.Status == plan.StatusDone {
				fmt.Fprintf(&b, " | [✅](./.summaries/%s-summary.md)", t.TaskID)
			}
			if waived := s.State.WaivedNote(t.TaskID); waived != "" && t.Status == plan.StatusDone {
				b.WriteString(" | " + inline(waived))
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
	b.WriteString("\n## Status Legend\n- `▸` = Container task (has subtasks)\n- `- [ ]` = Pending leaf task\n- `- " +
		"[x]` = Completed leaf task\n")
	if deepest < 2 {
		b.WriteString("- Maximum 2 levels: Main tasks and subtasks only\n")
	}
	return b.String()
}

// implPlan is IMPL_PLAN.md.
func (s Snapshot) implPlan(tasks []*plan.TaskState) string {
	p := s.plan()
	var b strings.Builder
	fmt.Fprintf(&b, "# Implementation Plan: %s\n\n## Overview\n%s\n", inline(p.Title), printable(p.TopTask))
	b.WriteString("\n## Requirements\n")
	for _, c := range s.root().RootAcceptanceCriteria {
		fmt.Fprintf(&b, "- **%s**: %s\n", inline(c.ID), inline(c.Statement))
	}
	for _, t := range tasks {
		for _, c := range t.AcceptanceCriteria {
			fmt.Fprintf(&b, "- **%s %s**: %s\n", t.TaskID, inline(c.ID), inline(c.Statement))
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

// inline is text of a plan on one line of Markdown, with nothing in it that would begin something.
func inline(s string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "'", "[", "\\[", "]", "\\]", "<", "&lt;", "*",
		"\\*").Replace(plain.Line(s))
}
