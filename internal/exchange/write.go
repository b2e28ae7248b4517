package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Snapshot is a plan at one moment: all that the writers show. They compute nothing but text from it: equal snapshots
// give equal files.
type Snapshot struct {
	State     *plan.State
	Active    bool                            // it is the one that is worked on: CCW marks it
	Summaries map[plan.TaskID]plandoc.Summary // of the tasks with an approved version
	Agent     func(*plan.Task) string         // who does a task that names nobody, "" where no rule says; may be nil
}

func (s Snapshot) plan() *plan.Plan { return s.State.Plan }

func (s Snapshot) root() *plan.Task { return s.State.Root().Task }

// tasks are the goals and actions below the root, in plan order: no root, no CHECK, nothing that makes plans.
func (s Snapshot) tasks() []*plan.TaskState {
	var out []*plan.TaskState
	p := s.plan()
	for _, t := range p.Tasks {
		if t.NodeType == plan.Check || t.TaskID == p.RootTaskID || t.Planning() {
			continue
		}
		if ts := s.State.Tasks[t.TaskID]; ts != nil {
			out = append(out, ts)
		}
	}
	return out
}

// imported is what the task's meta holds of the source that it was imported from, nil if it was not.
func imported(t *plan.Task) map[string]any {
	if t == nil {
		return nil
	}
	m, _ := t.Meta[keyImported].(map[string]any)
	return m
}

// words are what a task's status comes down to in other systems.
type words struct{ ccw, outline, box string }

func wordsOf(t *plan.TaskState) words {
	switch t.Status {
	case plan.StatusDone:
		return words{"completed", "VERIFIED", "x"}
	case plan.StatusDoneElsewhere:
		return words{"completed", "DONE", "x"}
	case plan.StatusReadyToCheck:
		return words{"active", "DONE", " "} // made, and not reviewed: done is what was approved
	case plan.StatusInProgress, plan.StatusToBeModified:
		return words{"active", "DOING", " "}
	case plan.StatusAbandoned, plan.StatusWaitingInput, plan.StatusWaitingExternal:
		return words{"blocked", "BLOCKED", " "}
	}
	return words{"pending", "TODO", " "}
}

// anyList is a list of texts as JSON holds it.
func anyList[S ~string](list []S) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func joined(list []plan.TaskID) string {
	return strings.Join(each.Of(list, func(id plan.TaskID) string { return string(id) }), ", ")
}

// JSON is one document: the plan without the tasks that made it, and where its session stands. Read takes it back.
func JSON(s Snapshot) ([]byte, error) {
	whole := *s.plan()
	whole.Grafts, whole.Tasks = nil, slices.DeleteFunc(slices.Clone(whole.Tasks), func(t *plan.Task) bool {
		return t.TaskID.Reserved() || t.ReviewTargetTaskID.Reserved()
	})
	data, err := plandoc.Encode(&whole)
	if err != nil {
		return nil, err
	}
	return plan.Document(struct {
		PlanID plan.ID            `json:"plan_id"`
		Title  string             `json:"title"`
		Status plan.SessionStatus `json:"session_status"`
		Plan   json.RawMessage    `json:"plan"`
	}{whole.PlanID, whole.Title, s.State.SessionStatus(), data}), nil
}

// Inner is the plan in what JSON wrote, or the text itself, where that is something else.
func Inner(text []byte) []byte {
	var d struct {
		ID   string          `json:"plan_id"`
		Plan json.RawMessage `json:"plan"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Unmarshal(text, &d) != nil || d.ID == "" ||
		len(d.Plan) == 0 {
		return text
	}
	if p, err := plandoc.Decode(d.Plan); err == nil { // without the tasks that made it
		if written, err := plandoc.WriteYAML(p); err == nil {
			return written
		}
	}
	return d.Plan
}

func deliverables(t *plan.Task) []string {
	d := t.DeliverableSpec
	if d == nil {
		return nil
	}
	out := each.If(d.Paths, func(p string) bool { return p != "**" })
	if d.Filename != "" {
		out = append(out, path.Join(d.OutputDir, d.Filename))
	}
	for _, f := range d.Files {
		out = append(out, path.Join(d.OutputDir, f))
	}
	return out
}

// Markdown is the plan as milestones and tasks with status, acceptance and evidence (seed 4, "Dev Plan"), in git wf's
// own Markdown. DONE there means that a version awaits review, or the word of who did it elsewhere; VERIFIED that one
// is approved.
func Markdown(s Snapshot) ([]byte, error) {
	return plandoc.WriteMarkdown(s.plan(), func(id plan.TaskID) plandoc.Progress {
		t := s.State.Tasks[id]
		now := plandoc.Progress{Status: wordsOf(t).outline}
		switch sum, ok := s.Summaries[id]; {
		case ok && sum.Review != nil:
			now.Evidence = fmt.Sprintf("%s, approved by %s with a score of %d", sum.Artifact.ArtifactID,
				inline(sum.Review.Reviewer), sum.Review.Score)
		case t.Status == plan.StatusDoneElsewhere:
			now.Evidence = inline(t.DoneElsewhere) + " where the plan is from"
		case t.Approved > 0:
			now.Evidence = plan.VersionID(t.Approved) + " is approved"
		case t.Verdict == plan.Rejected:
			now.Evidence = inline(s.State.Reason(t))
		case t.Active > 0:
			now.Evidence = plan.VersionID(t.Active) + " awaits review"
		}
		return now
	})
}

// YAML is the plan as people write it.
func YAML(s Snapshot) ([]byte, error) { return plandoc.WriteYAML(s.plan()) }

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
