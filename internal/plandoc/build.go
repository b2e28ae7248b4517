package plandoc

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// builder turns a document that fits the schema into a complete plan.
type builder struct {
	plan   *plan.Plan
	places map[*plan.Task]string
	by     map[*plan.Task][]string // who reviews a task, where its CHECK is left out

	fs plan.Findings
}

// buildPlan completes the plan of a document. Its findings have paths, not lines.
func (d *written) buildPlan(root *document.Node) plan.Findings {
	b := &builder{&plan.Plan{}, map[*plan.Task]string{}, map[*plan.Task][]string{}, nil}
	top := &plan.Task{}
	b.fillFields(root, reflect.ValueOf(b.plan), "", "tasks", "root_acceptance_criteria", "final_deliverable_spec")
	for _, key := range []string{"root_acceptance_criteria", "final_deliverable_spec"} {
		if n := root.Child(key); n != nil {
			part := document.Node{Kind: document.Object, Kids: []document.Node{*n}}
			b.fillFields(&part, reflect.ValueOf(top), "")
		}
	}
	b.readTasks(root.Child("tasks"), "", "tasks")
	p := b.plan
	if p.TopTask == "" {
		p.TopTask = p.Title
	}
	b.buildRoot(top)
	b.handDown()
	b.addChecks()
	p.SetVersion()
	d.plan = p
	d.places = each.Of(p.Tasks, func(t *plan.Task) string { return b.places[t] })
	return b.fs
}

// fillFields fills what v points to. A document that fits the schema can only have a number too large for its field.
func (b *builder) fillFields(n *document.Node, v reflect.Value, at string, skip ...string) {
	if !fillStruct(n, v.Elem(), skip...) {
		b.fs = append(b.fs, plan.Finding{Code: "wrong-type", Path: at, Message: "has a number that is out of range"})
	}
}

// readTasks reads tasks and their inline children, parents first. The depth of the document bounds the recursion.
func (b *builder) readTasks(n *document.Node, parent plan.TaskID, at string) {
	for i := range n.Kids {
		b.readTask(&n.Kids[i], parent, fmt.Sprintf("%s[%d]", at, i))
	}
}

func (b *builder) readTask(n *document.Node, parent plan.TaskID, at string) {
	t := &plan.Task{}
	b.fillFields(n, reflect.ValueOf(t), at, "tasks", "review")
	b.places[t] = at
	for _, name := range n.Child("review").Child("by").Items() {
		b.by[t] = append(b.by[t], name.Text)
	}
	b.plan.Tasks = append(b.plan.Tasks, t)
	standIn(t, func(field string) bool {
		// a task inside another one has its parent from there
		return parent != "" && field == "parent_task_id" || n.Child(field) != nil
	})
	switch {
	case parent == "" || t.ParentTaskID == parent:
	case t.ParentTaskID == "":
		t.ParentTaskID = parent
	default:
		b.addFinding(t, "parent-conflict", "parent_task_id", "the task stands inside another task than its parent",
			string(parent)+", or nothing", string(t.ParentTaskID), "parent_task_id: "+string(parent))
	}
	inline := n.Child("tasks")
	if inline == nil || len(inline.Kids) == 0 {
		b.fillDefaults(t, n)
		return
	}
	if t.NodeType == "" {
		t.NodeType = plan.Goal
	}
	if t.NodeType != plan.Goal {
		b.addFinding(t, "children-of-"+strings.ToLower(string(t.NodeType)), "node_type",
			"a task with children is a GOAL",
			string(plan.Goal)+", or nothing", string(t.NodeType), "node_type: GOAL")
	}
	b.readTasks(inline, t.TaskID, at+".tasks")
}

func (b *builder) addFinding(t *plan.Task, code, field, text, expected, found, example string) {
	b.fs = append(b.fs, plan.Finding{
		Code: code, Path: joinPath(b.places[t], field), TaskID: t.TaskID,
		Message: text, Expected: expected, Found: found, Example: example,
	})
}

// fillDefaults fills in what may be left out of an ACTION or a CHECK.
func (b *builder) fillDefaults(t *plan.Task, n *document.Node) {
	if t.NodeType == "" {
		t.NodeType = plan.Action
	}
	if t.NodeType == plan.Check && t.ReviewOutputSpec == "" {
		t.ReviewOutputSpec = plan.ReviewOutput
	}
	if t.NodeType != plan.Action {
		return
	}
	if t.Agent == "" && t.Run != "" {
		t.Agent = plan.AgentExec
	}
	if t.DeliverableSpec != nil {
		spec := n.Child("deliverable_spec")
		completeSpec(t.DeliverableSpec, spec.Child("single_file") != nil)
		completeChange(t)
	}
	for i := range t.AcceptanceCriteria {
		CompleteCriterion(&t.AcceptanceCriteria[i])
	}
}

func completeSpec(s *plan.DeliverableSpec, saysSingle bool) {
	if s.Changes() {
		return
	}
	if !saysSingle {
		s.SingleFile = s.Filename != "" && !relpath.IsPattern(s.Filename) && len(s.Files) == 0
	}
	if !s.SingleFile && s.BundleMode == "" {
		s.BundleMode = plan.BundleManifest
	}
	if s.Format == "" && !relpath.IsPattern(s.Filename) {
		// An extension must not turn a task into one that makes plans.
		if ext := strings.TrimPrefix(path.Ext(s.Filename), "."); ext != plan.FormatPlan {
			s.Format = ext
		}
	}
}

// CompleteCriterion fills in what may be left out of a criterion.
func CompleteCriterion(c *plan.Criterion) {
	if c.Severity == "" {
		c.Severity = plan.Must
	}
	if c.CheckMethod == "" {
		c.CheckMethod = plan.ManualReview
		if c.Run != "" {
			c.CheckMethod = plan.StaticCheck
		}
	}
}

// buildRoot finds the root among the tasks or makes it, gives it what stands at the top of the file, and hangs below it
// what has no parent.
func (b *builder) buildRoot(top *plan.Task) {
	p := b.plan
	root := b.findRoot()
	if root == nil {
		if p.RootTaskID == "" {
			p.RootTaskID = plan.RootID
		}
		root = &plan.Task{TaskID: p.RootTaskID, NodeType: plan.Goal, Title: p.Title}
		p.Tasks = append([]*plan.Task{root}, p.Tasks...)
		b.places[root] = ""
	}
	p.RootTaskID = root.TaskID
	if top.RootAcceptanceCriteria != nil {
		b.refuseTwice(root.RootAcceptanceCriteria != nil, "root_acceptance_criteria")
		root.RootAcceptanceCriteria = top.RootAcceptanceCriteria
	}
	if top.FinalDeliverableSpec != nil {
		b.refuseTwice(root.FinalDeliverableSpec != nil, "final_deliverable_spec")
		root.FinalDeliverableSpec = top.FinalDeliverableSpec
	}
	if root.FinalDeliverableSpec == nil {
		root.FinalDeliverableSpec = &plan.FinalDeliverableSpec{Mode: plan.PassThrough}
	}
	for _, t := range p.Tasks {
		if t != root && t.ParentTaskID == "" && t.NodeType != plan.Check {
			t.ParentTaskID = root.TaskID
		}
	}
}

// refuseTwice refuses a field of the root that stands at the top as well.
func (b *builder) refuseTwice(twice bool, field string) {
	if twice {
		b.fs = append(b.fs, plan.Finding{Code: "root-twice", Path: field, TaskID: b.plan.RootTaskID,
			Message: "stands both at the top and in the root task", Expected: "one of the two"})
	}
}

// findRoot is the task that root_task_id names, or the first GOAL without a parent that has what only a root has, or
// that is called GOAL-1; nil if the file leaves the root out.
func (b *builder) findRoot() *plan.Task {
	p := b.plan
	for _, t := range p.Tasks {
		if t.NodeType != plan.Goal || t.ParentTaskID != "" {
			continue
		}
		if p.RootTaskID != "" {
			if t.TaskID == p.RootTaskID {
				return t
			}
		} else if t.TaskID == plan.RootID || t.RootAcceptanceCriteria != nil || t.FinalDeliverableSpec != nil {
			return t
		}
	}
	return nil
}

// handDown gives the dependencies of a GOAL to every ACTION below it: only ACTIONs have inputs.
func (b *builder) handDown() {
	if !slices.ContainsFunc(b.plan.Tasks, func(t *plan.Task) bool {
		return t.NodeType == plan.Goal && len(t.DependsOn) > 0
	}) {
		return
	}
	tasks, room := b.plan.Index(), maxHandedDown
	for _, t := range b.plan.Tasks {
		if t.NodeType == plan.Action && !inherit(t, tasks, &room) {
			b.addFinding(t, "too-many-dependencies", "depends_on", "the GOALs above hand down too many dependencies",
				fmt.Sprintf("at most %d in the whole plan", maxHandedDown), "more", "")
			return
		}
	}
	for _, t := range b.plan.Tasks {
		if t.NodeType == plan.Goal {
			t.DependsOn = nil
		}
	}
}

// maxHandedDown bounds what handDown may add: goals times leaves times dependencies can be far more than was written.
const maxHandedDown = 200_000

// inherit adds to the task what the GOALs above it depend on. It reports false when there is no room left.
func inherit(t *plan.Task, tasks plan.Index, room *int) bool {
	has := map[plan.TaskID]bool{}
	for _, d := range t.DependsOn {
		has[d] = true
	}
	for above := range tasksAbove(t, tasks.Task) {
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
	}
	return true
}

// addChecks adds the CHECKs that the file leaves out, each behind its ACTION, and completes those it has.
func (b *builder) addChecks() {
	p := b.plan
	parents := make(map[plan.TaskID]plan.TaskID, len(p.Tasks))
	bound := make(map[plan.TaskID]bool, len(p.Tasks))
	for _, t := range p.Tasks {
		if t.NodeType == plan.Check {
			bound[t.ReviewTargetTaskID] = true
		} else {
			parents[t.TaskID] = t.ParentTaskID
		}
	}
	tasks := make([]*plan.Task, 0, 2*len(p.Tasks))
	for _, t := range p.Tasks {
		tasks = append(tasks, t)
		if len(b.by[t]) > 0 && (t.NodeType != plan.Action || bound[t.TaskID]) {
			b.addFinding(t, "review-twice", "review", "says who reviews an ACTION whose CHECK is left out",
				"reviewers of its CHECK", strings.Join(b.by[t], ", "), "review: {by: [checks]}")
		}
		if t.NodeType == plan.Check && t.ParentTaskID == "" {
			t.ParentTaskID = parents[t.ReviewTargetTaskID]
		}
		if t.NodeType != plan.Action || bound[t.TaskID] {
			continue
		}
		bound[t.TaskID] = true
		check := defaultCheck(t)
		check.Reviewers = b.by[t]
		b.places[check] = b.places[t]
		tasks = append(tasks, check)
	}
	p.Tasks = tasks
}

// defaultCheck is the CHECK of an ACTION that has none in the file.
func defaultCheck(t *plan.Task) *plan.Task {
	return &plan.Task{
		TaskID: t.TaskID.CheckID(), NodeType: plan.Check, Title: "Review " + string(t.TaskID),
		ParentTaskID: t.ParentTaskID, ReviewTargetTaskID: t.TaskID, ReviewOutputSpec: plan.ReviewOutput,
	}
}
