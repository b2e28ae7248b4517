package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// CCW is the plan as the session directory that its system would have (seed 1, "File Structure"): the content of each
// file, by its path below .workflow. What was imported is written as it was, but for what our state says: titles,
// parents, dependencies and statuses. It fails only on what JSON can't hold.
func CCW(s Snapshot) (map[string][]byte, error) {
	name := string(s.plan().PlanID)
	files := map[string][]byte{}
	if s.Active && s.State.SessionStatus() == plan.SessionActive {
		files[Marker(s.plan().PlanID)] = nil
	}
	tasks := s.tasks()
	session, err := encode(s.session(tasks))
	if err != nil {
		return nil, fmt.Errorf("write the session of %s: %w", name, err)
	}
	files[path.Join(name, "workflow-session.json")] = session
	for _, t := range tasks {
		data, err := encode(s.task(t))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", t.TaskID, err)
		}
		files[path.Join(name, ".task", string(t.TaskID)+".json")] = data
	}
	summaries := s.summaries(tasks)
	for id, text := range summaries {
		files[path.Join(name, ".summaries", string(id)+"-summary.md")] = []byte(text)
	}
	files[path.Join(name, "TODO_LIST.md")] = []byte(s.todoList(tasks, summaries))
	files[path.Join(name, "IMPL_PLAN.md")] = []byte(s.implPlan(tasks))
	return files, nil
}

// encode writes JSON as people read it: sorted keys, two spaces, nothing escaped for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// fields are what an imported object had, to be written again.
func fieldsOf(m map[string]any) map[string]any {
	fields, _ := m["fields"].(map[string]any)
	if fields == nil {
		return map[string]any{}
	}
	return maps.Clone(fields)
}

// session is workflow-session.json.
func (s Snapshot) session(tasks []*plan.TaskState) map[string]any {
	p := s.plan()
	out := map[string]any{}
	root := p.Task(p.RootTaskID)
	if imported(root)["format"] == string(formatCCW) {
		out = fieldsOf(imported(root))
	}
	out["session_id"] = string(p.PlanID)
	if text, _ := out["project"].(string); text == "" {
		out["project"] = p.Title
	}
	out["type"] = larger(textOf(out["type"]), p.AssessComplexity())
	out["current_phase"] = string(s.State.Phase())
	out["status"] = string(s.State.SessionStatus())
	progress := map[string]any{}
	if old, ok := out["progress"].(map[string]any); ok {
		progress = maps.Clone(old)
	}
	completed, current := []any{}, []any{}
	for _, phase := range s.State.CompletedPhases() {
		completed = append(completed, string(phase))
	}
	for _, t := range tasks {
		if t.NodeType == plan.Action && wordsOf(t).ccw == "active" {
			current = append(current, string(t.TaskID))
		}
	}
	progress["completed_phases"], progress["current_tasks"] = completed, current
	out["progress"] = progress
	return out
}

// larger is the larger of two complexities: it is never lowered. A word that is none of them stays.
func larger(was string, is plan.Complexity) string {
	if c := plan.Complexity(was); was != "" && (!c.Valid() || c.Higher(is) == c) {
		return was
	}
	return string(is)
}

// task is .task/<id>.json.
func (s Snapshot) task(t *plan.TaskState) map[string]any {
	from := imported(t.Task)
	byCCW := imported(s.root())["format"] == string(formatCCW)
	out := map[string]any{}
	if byCCW {
		out = fieldsOf(from)
	}
	was, _ := out["title"].(string)
	out["id"] = string(t.TaskID)
	if (&assembler{}).title(was, textOf(from["id"])) != t.Title {
		out["title"] = t.Title
	}
	out["status"] = wordsOf(t).ccw
	if t.NodeType == plan.Goal {
		out["status"] = "container"
	}
	meta := maps.Clone(t.Meta)
	delete(meta, keyImported)
	if meta == nil {
		meta = map[string]any{}
	}
	context, flow := maps.Clone(t.Context), maps.Clone(t.FlowControl)
	if context == nil {
		context = map[string]any{}
	}
	if !byCCW {
		s.own(t, meta, context, &flow)
	}
	s.links(t, out, context)
	for key, part := range map[string]map[string]any{"meta": meta, "context": context, "flow_control": flow} {
		if _, kept := out[key]; !kept || len(part) > 0 {
			out[key] = orEmpty(part)
		}
	}
	return out
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// links brings parent and dependencies in line with the plan.
func (s Snapshot) links(t *plan.TaskState, out, context map[string]any) {
	var stated []string
	for _, v := range []any{context["depends_on"], out["depends_on"], out["dependencies"]} {
		for _, d := range refs(v) {
			if id := legalID(d); id != "" && id != t.TaskID && s.State.Tasks[id] != nil {
				stated = appendNew(stated, string(id))
			}
		}
	}
	var now []string
	for _, d := range t.DependsOn {
		now = append(now, string(d))
	}
	_, had := context["depends_on"]
	if t.NodeType == plan.Action && !sameSet(stated, now) && (had || len(now) > 0) && !s.handedDown(t, stated, now) {
		context["depends_on"] = ids(t.DependsOn)
	}
	parent := t.ParentTaskID
	if parent == s.plan().RootTaskID {
		parent = ""
	}
	if legalID(textOf(context["parent"])) != parent && parent != "" &&
		!strings.HasPrefix(string(t.TaskID), string(parent)+".") || parent == "" && textOf(context["parent"]) != "" &&
		s.State.Tasks[legalID(textOf(context["parent"]))] != nil {
		if parent == "" {
			delete(context, "parent")
		} else {
			context["parent"] = string(parent)
		}
	}
}

// handedDown reports whether all that a task has more than it states comes from the goals above it.
func (s Snapshot) handedDown(t *plan.TaskState, stated, now []string) bool {
	for _, d := range stated {
		if !slices.Contains(now, d) {
			return false
		}
	}
	inherited := map[string]bool{}
	above := s.State.Tasks[t.ParentTaskID]
	for range maxLevels {
		if above == nil {
			break
		}
		for _, v := range []any{above.Context["depends_on"], fieldsOf(imported(above.Task))["depends_on"],
			fieldsOf(imported(above.Task))["dependencies"]} {
			for _, d := range refs(v) {
				inherited[string(legalID(d))] = true
			}
		}
		above = s.State.Tasks[above.ParentTaskID]
	}
	for _, d := range now {
		if !slices.Contains(stated, d) && !inherited[d] {
			return false
		}
	}
	return true
}

func sameSet(a, b []string) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return len(a) == len(b)
}

// own fills the sections of a task that was not imported from that system.
func (s Snapshot) own(t *plan.TaskState, meta, context map[string]any, flow *map[string]any) {
	set := func(m map[string]any, key string, v any) {
		if _, has := m[key]; !has {
			m[key] = v
		}
	}
	set(meta, "type", "feature")
	if t.Agent != "" {
		set(meta, "agent", t.Agent)
	} else {
		set(meta, "agent", "code-developer")
	}
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
	set(context, "depends_on", ids(t.DependsOn))
	if t.ParentTaskID != s.plan().RootTaskID {
		set(context, "parent", string(t.ParentTaskID))
	}
	if *flow == nil {
		*flow = map[string]any{}
	}
	set(*flow, "pre_analysis", []any{})
	set(*flow, "implementation_approach", map[string]any{"task_description": firstText(t.Description, t.Title),
		"modification_points": []any{}, "logic_flow": []any{}})
	set(*flow, "target_files", anyList(deliverables(t.Task)))
}
