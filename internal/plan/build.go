package plan

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	"gitwf/internal/document"
)

// builder turns a document that fits the schema into a complete plan.
type builder struct {
	fill   filler
	plan   *Plan
	places map[*Task]string

	fs Findings
}

// build completes the document's plan. Its findings have paths, not lines.
func (d *written) build() Findings {
	b := &builder{newFiller(), &Plan{}, map[*Task]string{}, nil}
	if err := b.fill.object(d.root, reflect.ValueOf(b.plan).Elem(), "tasks", "root_acceptance_criteria",
		"final_deliverable_spec"); err != nil {
		return Findings{err.finding()}
	}
	top := &Task{}
	for _, key := range []string{"root_acceptance_criteria", "final_deliverable_spec"} {
		if n := d.root.Child(key); n != nil {
			part := document.Node{Kind: document.Object, Kids: []document.Node{*n}}
			if err := b.fill.object(&part, reflect.ValueOf(top).Elem()); err != nil {
				return Findings{err.finding()}
			}
		}
	}
	b.list(d.root.Child("tasks"), "", "tasks")
	p := b.plan
	p.SchemaVersion = SchemaVersion
	if p.TopTask == "" {
		p.TopTask = p.Title
	}
	b.root(top)
	b.handDown()
	b.checks()
	if len(b.fs) > 0 {
		return b.fs
	}
	d.plan = p
	for _, t := range p.Tasks {
		d.places = append(d.places, b.places[t])
	}
	return nil
}

// list reads tasks and their inline children, parents first. The depth of the document bounds the recursion.
func (b *builder) list(n *document.Node, parent TaskID, at string) {
	for i := range n.Kids {
		b.task(&n.Kids[i], parent, fmt.Sprintf("%s[%d]", at, i))
	}
}

func (b *builder) task(n *document.Node, parent TaskID, at string) {
	t := &Task{}
	if err := b.fill.object(n, reflect.ValueOf(t).Elem(), "tasks"); err != nil {
		b.fs = append(b.fs, err.under(at).finding())
		return
	}
	b.places[t] = at
	b.plan.Tasks = append(b.plan.Tasks, t)
	if parent == "" { // a task inside another one has its parent from there
		t.standIn(func(field string) bool { return n.Child(field) != nil })
	} else {
		t.standIn(func(field string) bool { return field == "parent_task_id" || n.Child(field) != nil })
	}
	switch {
	case parent == "" || t.ParentTaskID == parent:
	case t.ParentTaskID == "":
		t.ParentTaskID = parent
	default:
		b.find(t, "parent-conflict", "parent_task_id", "the task stands inside another task than its parent",
			string(parent)+", or nothing", string(t.ParentTaskID), "parent_task_id: "+string(parent))
	}
	inline := n.Child("tasks")
	if inline == nil || len(inline.Kids) == 0 {
		b.defaults(t, n)
		return
	}
	if t.NodeType == "" {
		t.NodeType = Goal
	}
	if t.NodeType != Goal {
		b.find(t, "children-of-"+strings.ToLower(string(t.NodeType)), "node_type", "a task with children is a GOAL",
			string(Goal)+", or nothing", string(t.NodeType), "node_type: GOAL")
	}
	b.list(inline, t.TaskID, at+".tasks")
}

func (b *builder) find(t *Task, code, field, text, expected, found, example string) {
	b.fs = append(b.fs, Finding{
		Code: code, Path: joinPath(b.places[t], field), TaskID: t.TaskID,
		Message: text, Expected: expected, Found: found, Example: example,
	})
}

// defaults fills in what may be left out of an ACTION or a CHECK.
func (b *builder) defaults(t *Task, n *document.Node) {
	if t.NodeType == "" {
		t.NodeType = Action
	}
	if t.NodeType == Check && t.ReviewOutputSpec == "" {
		t.ReviewOutputSpec = ReviewOutput
	}
	if t.NodeType != Action {
		return
	}
	if t.Agent == "" && t.Run != "" {
		t.Agent = AgentExec
	}
	if t.DeliverableSpec != nil {
		spec := n.Child("deliverable_spec")
		t.DeliverableSpec.complete(spec.Child("single_file") != nil)
	}
	for i := range t.AcceptanceCriteria {
		t.AcceptanceCriteria[i].complete()
	}
}

func (s *DeliverableSpec) complete(saysSingle bool) {
	if !saysSingle {
		s.SingleFile = s.Filename != "" && !IsPattern(s.Filename) && len(s.Files) == 0
	}
	if !s.SingleFile && s.BundleMode == "" {
		s.BundleMode = BundleManifest
	}
	if s.Format == "" && !IsPattern(s.Filename) {
		// An extension must not turn a task into one that makes plans.
		if ext := strings.TrimPrefix(path.Ext(s.Filename), "."); ext != FormatPlan {
			s.Format = ext
		}
	}
}

func (c *Criterion) complete() {
	if c.Severity == "" {
		c.Severity = Must
	}
	if c.CheckMethod == "" {
		c.CheckMethod = ManualReview
		if c.Run != "" {
			c.CheckMethod = StaticCheck
		}
	}
}

// root finds the root among the tasks or makes it, gives it what stands at the top of the file, and hangs below it
// what has no parent.
func (b *builder) root(top *Task) {
	p := b.plan
	root := b.findRoot()
	if root == nil {
		if p.RootTaskID == "" {
			p.RootTaskID = rootID
		}
		root = &Task{TaskID: p.RootTaskID, NodeType: Goal, Title: p.Title}
		p.Tasks = append([]*Task{root}, p.Tasks...)
		b.places[root] = ""
	}
	p.RootTaskID = root.TaskID
	if top.RootAcceptanceCriteria != nil {
		if root.RootAcceptanceCriteria != nil {
			b.rootTwice("root_acceptance_criteria")
		}
		root.RootAcceptanceCriteria = top.RootAcceptanceCriteria
	}
	if top.FinalDeliverableSpec != nil {
		if root.FinalDeliverableSpec != nil {
			b.rootTwice("final_deliverable_spec")
		}
		root.FinalDeliverableSpec = top.FinalDeliverableSpec
	}
	if root.FinalDeliverableSpec == nil {
		root.FinalDeliverableSpec = &FinalDeliverableSpec{Mode: PassThrough}
	}
	for _, t := range p.Tasks {
		if t != root && t.ParentTaskID == "" && t.NodeType != Check {
			t.ParentTaskID = root.TaskID
		}
	}
}

func (b *builder) rootTwice(field string) {
	b.fs = append(b.fs, Finding{
		Code: "root-twice", Path: field, TaskID: b.plan.RootTaskID, Message: "stands both at the top and in the root task",
		Expected: "one of the two",
	})
}

// findRoot is the task that root_task_id names, or the first GOAL without a parent that has what only a root has, or
// that is called GOAL-1; nil if the file leaves the root out.
func (b *builder) findRoot() *Task {
	p := b.plan
	for _, t := range p.Tasks {
		if t.NodeType != Goal || t.ParentTaskID != "" {
			continue
		}
		if p.RootTaskID != "" {
			if t.TaskID == p.RootTaskID {
				return t
			}
		} else if t.TaskID == rootID || t.RootAcceptanceCriteria != nil || t.FinalDeliverableSpec != nil {
			return t
		}
	}
	return nil
}

// handDown gives the dependencies of a GOAL to every ACTION below it: only ACTIONs have inputs.
func (b *builder) handDown() {
	byID := make(map[TaskID]*Task, len(b.plan.Tasks))
	handed := false
	for _, t := range b.plan.Tasks {
		byID[t.TaskID] = t
		handed = handed || t.NodeType == Goal && len(t.DependsOn) > 0
	}
	if !handed {
		return
	}
	room := maxHandedDown
	for _, t := range b.plan.Tasks {
		if t.NodeType == Action && !inherit(t, byID, &room) {
			b.find(t, "too-many-dependencies", "depends_on", "the GOALs above hand down too many dependencies",
				fmt.Sprintf("at most %d in the whole plan", maxHandedDown), "more", "")
			return
		}
	}
	for _, t := range b.plan.Tasks {
		if t.NodeType == Goal {
			t.DependsOn = nil
		}
	}
}

// maxHandedDown bounds what handDown may add: goals times leaves times dependencies can be far more than was written.
const maxHandedDown = 200_000

// inherit adds to the task what the GOALs above it depend on. It reports false when there is no room left.
func inherit(t *Task, byID map[TaskID]*Task, room *int) bool {
	has := map[TaskID]bool{}
	for _, d := range t.DependsOn {
		has[d] = true
	}
	above := byID[t.ParentTaskID]
	// A loop of parents is Validate's to report; here it must only end.
	for steps := 0; above != nil && steps <= maxDepth; steps++ {
		for _, d := range above.DependsOn {
			if has[d] {
				continue
			}
			has[d] = true
			t.DependsOn = append(t.DependsOn, d)
			if *room--; *room < 0 {
				return false
			}
		}
		above = byID[above.ParentTaskID]
	}
	return true
}

// checks adds the CHECKs that the file leaves out, each behind its ACTION, and completes those it has.
func (b *builder) checks() {
	p := b.plan
	parents := make(map[TaskID]TaskID, len(p.Tasks))
	bound := make(map[TaskID]bool, len(p.Tasks))
	added := 0
	for _, t := range p.Tasks {
		if t.NodeType == Check {
			bound[t.ReviewTargetTaskID] = true
		} else {
			parents[t.TaskID] = t.ParentTaskID
		}
		if t.NodeType == Action {
			added++
		}
	}
	tasks := make([]*Task, 0, len(p.Tasks)+added)
	for _, t := range p.Tasks {
		tasks = append(tasks, t)
		if t.NodeType == Check && t.ParentTaskID == "" {
			t.ParentTaskID = parents[t.ReviewTargetTaskID]
		}
		if t.NodeType != Action || bound[t.TaskID] {
			continue
		}
		bound[t.TaskID] = true
		check := &Task{
			TaskID: t.TaskID.CheckID(), NodeType: Check, Title: "Review " + string(t.TaskID), ParentTaskID: t.ParentTaskID,
			ReviewTargetTaskID: t.TaskID, ReviewOutputSpec: ReviewOutput,
		}
		b.places[check] = b.places[t]
		tasks = append(tasks, check)
	}
	p.Tasks = tasks
}
