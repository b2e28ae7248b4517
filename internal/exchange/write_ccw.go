package exchange

import (
	"cmp"
	"maps"
	"path"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// CCW is the plan as the session directory that its system would have (seed 1, "File Structure"): the content of each
// file, by its path below .workflow.
func CCW(s Snapshot) map[string][]byte {
	name := string(s.plan().PlanID)
	files := Session(s)
	tasks := s.tasks()
	for _, t := range tasks {
		files[path.Join(name, ".task", string(t.TaskID)+".json")] = plan.Document(s.task(t))
		if sum, ok := s.Summaries[t.TaskID]; ok { // of what is approved, and nothing else
			files[path.Join(name, ".summaries", string(t.TaskID)+"-summary.md")] =
				[]byte(sum.Text(t.Task, s.State.Dependents(t.TaskID)))
		}
	}
	files[path.Join(name, "TODO_LIST.md")] = []byte(s.todoList(tasks))
	files[path.Join(name, "IMPL_PLAN.md")] = []byte(s.implPlan(tasks))
	return files
}

// Session is the part of CCW that says which session is active: workflow-session.json and the marker, which is nil if
// there should be none.
func Session(s Snapshot) map[string][]byte {
	id := s.plan().PlanID
	files := map[string][]byte{
		path.Join(string(id), "workflow-session.json"): plan.Document(s.session(s.tasks())), Marker(id): nil,
	}
	if s.sessionStatus() == plan.SessionActive {
		files[Marker(id)] = []byte{}
	}
	return files
}

// Marker is the file that marks the plan as the active one.
func Marker(id plan.ID) string { return ".active-" + string(id) }

// sessionStatus is active for the plan that is worked on alone: one session is active at a time.
func (s Snapshot) sessionStatus() plan.SessionStatus {
	if status := s.State.SessionStatus(); s.Active || status != plan.SessionActive {
		return status
	}
	return plan.SessionPaused
}

// session is workflow-session.json.
func (s Snapshot) session(tasks []*plan.TaskState) map[string]any {
	completed, current := []any{}, []any{}
	for _, phase := range s.State.CompletedPhases() {
		completed = append(completed, string(phase))
	}
	for _, t := range tasks {
		if t.NodeType == plan.Action && wordsOf(t).ccw == "active" {
			current = append(current, string(t.TaskID))
		}
	}
	return map[string]any{
		"session_id": string(s.plan().PlanID), "project": s.plan().Title, "type": string(s.plan().AssessComplexity()),
		"current_phase": string(s.State.Phase()), "status": string(s.sessionStatus()),
		"progress": map[string]any{"completed_phases": completed, "current_tasks": current},
	}
}

// task is .task/<id>.json: the five fields of the specification. What the plan has in its sections stays.
func (s Snapshot) task(t *plan.TaskState) map[string]any {
	meta, flow := cloned(t.Meta), cloned(t.FlowControl)
	if fields, _ := imported(t.Task)["fields"].(map[string]any); t.FlowControl == nil {
		kept, _ := fields["flow_control"].(map[string]any) // of a session that was imported: it runs nothing here
		flow = cloned(kept)
	}
	delete(meta, keyImported)
	delete(meta, keyAssumed)
	context := cloned(plandoc.WithInherited(s.State, t.Task).Context)
	s.fill(t, meta, context, flow)
	status := wordsOf(t).ccw
	if t.NodeType == plan.Goal {
		status = "container"
	}
	return map[string]any{"id": string(t.TaskID), "title": t.Title, "status": status, "meta": meta, "context": context,
		"flow_control": flow}
}

// cloned is a map with the same entries, never nil.
func cloned(m map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, m)
	return out
}

// fill adds to the sections of a task what they lack. Its links are those of the plan.
func (s Snapshot) fill(t *plan.TaskState, meta, context, flow map[string]any) {
	set := func(m map[string]any, key string, v any) {
		if _, has := m[key]; !has {
			m[key] = v
		}
	}
	set(meta, "type", "feature")
	agent := t.Agent // else the one for its kind and title
	if agent == "" && s.Agent != nil {
		agent = s.Agent(t.Task)
	}
	set(meta, "agent", cmp.Or(agent, "code-developer"))
	if t.EstimatedPersonDays > 0 {
		set(meta, "estimated_person_days", t.EstimatedPersonDays)
	}
	requirements := []any{}
	if t.Description != "" {
		requirements = append(requirements, t.Description)
	}
	set(context, "requirements", requirements)
	acceptance := []any{}
	for _, c := range t.AcceptanceCriteria {
		text := c.Statement
		if c.Run != "" {
			text += " (`" + c.Run + "`)"
		}
		acceptance = append(acceptance, text)
	}
	set(context, "acceptance", acceptance)
	set(context, "focus_paths", []any{})
	context["depends_on"] = anyList(t.DependsOn)
	delete(context, "parent")
	if t.ParentTaskID != s.plan().RootTaskID {
		context["parent"] = string(t.ParentTaskID)
	}
	set(flow, "pre_analysis", []any{})
	set(flow, "implementation_approach", map[string]any{"task_description": firstText(t.Description, t.Title),
		"modification_points": []any{}, "logic_flow": []any{}})
	set(flow, "target_files", anyList(deliverables(t.Task)))
}
