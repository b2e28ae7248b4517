package main

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func (e *env) add(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	if !snap.Plan.Grafted(plan.PlanTaskID) || snap.Plan.Task(snap.Plan.RootTaskID) == nil {
		return &plan.RefusedError{Task: plan.PlanTaskID, Reason: "the plan itself is not accepted yet",
			Hint: "git wf plan --edit"}
	}
	if open := snap.State().PlanningOf(""); open != nil {
		return &plan.RefusedError{Task: open.TaskID, Reason: "amends the plan, and is not part of it yet",
			Hint: "git wf plan --edit goes on with it, git wf abandon " + string(open.TaskID) + " -m WHY gives it up"}
	}
	what := strings.TrimSpace(strings.Join(c.Args().Slice(), " "))
	if what == "" {
		return usage("nothing says what is to be added")
	}
	days, err := daysOf(c, "days")
	if err != nil {
		return err
	}
	t := &plan.Task{
		TaskID: freeTask(snap), NodeType: plan.Action, Title: engine.TitleOf(what), Description: what,
		ParentTaskID: snap.Plan.RootTaskID, Run: c.String("run"), EstimatedPersonDays: days,
		DeliverableSpec: &plan.DeliverableSpec{Filename: c.String("deliverable")},
	}
	for _, id := range c.StringSlice("depends") {
		t.DependsOn = append(t.DependsOn, plan.TaskID(id))
	}
	spec := t.DeliverableSpec
	if spec.Paths = c.StringSlice("path"); len(spec.Paths) == 0 && spec.Filename == "" {
		spec.Paths = changedPaths(snap.Plan)
	}
	switch {
	case len(spec.Paths) > 0:
		spec.Format = "change"
	default:
		spec.Filename, spec.SingleFile = cmp.Or(spec.Filename, string(t.TaskID)+".md"), true
		spec.Format = cmp.Or(strings.TrimPrefix(path.Ext(spec.Filename), "."), "text")
	}
	for _, text := range c.StringSlice("criterion") {
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{Statement: text})
	}
	for _, line := range c.StringSlice("check") {
		t.AcceptanceCriteria = append(t.AcceptanceCriteria,
			plan.Criterion{Statement: "passes: " + plain.Line(line), Run: line})
	}
	if len(t.AcceptanceCriteria) == 0 {
		t.AcceptanceCriteria = []plan.Criterion{{Statement: "shows the result that the task asks for: " + t.Title}}
	}
	for i := range t.AcceptanceCriteria {
		a := &t.AcceptanceCriteria[i]
		a.ID, a.Severity, a.CheckMethod = fmt.Sprintf("A%d", i+1), plan.Must, plan.ManualReview
		if a.Run != "" {
			a.CheckMethod = plan.StaticCheck
		}
	}
	data, err := plandoc.WriteYAML(withTask(snap.Plan, t))
	if err != nil {
		return err
	}
	r := engine.Replanning{Agent: plan.AgentManual, Person: person, Reason: cmp.Or(c.String("message"), "Also: "+what)}
	const again = "git wf add, or git wf plan --edit"
	d, err := eng.DraftFor(c.Context, snap.ID, r, "the plan with "+string(t.TaskID), data)
	weights, werr := eng.Weights()
	if err = errors.Join(err, werr); err == nil {
		e.tell("%s: %s", t.TaskID, plain.Line(t.Title))
		if c.Bool("dry-run") || plandoc.ReviewPlan(d.Plan, weights.Days).Verdict != plan.Approved { // it has no file
			err = e.dryRun(c, eng, d, again)
		} else {
			err = e.handInDraft(c, eng, snap.ID, r, d, again)
		}
	}
	return mendFile(withoutFile(err), "mend the options, or add it with git wf plan --edit")
}

// withoutFile leaves out of findings where they are, in a file that nobody sees.
func withoutFile(err error) error {
	var fs plan.Findings
	if !errors.As(err, &fs) {
		return err
	}
	for i := range fs {
		_, field, _ := strings.Cut(fs[i].Path, "].")
		fs[i].File, fs[i].Line, fs[i].Path = "", 0, cmp.Or(field, fs[i].Path)
	}
	return fs
}

// changedPaths are the paths that the plan's changes of the repository may touch.
func changedPaths(p *plan.Plan) []string {
	var paths []string
	for _, t := range p.Tasks {
		if t.Changes() {
			paths = append(paths, t.DeliverableSpec.Paths...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(paths)))
}

// freeTask is the next id like that of the plan's last task that no task has or had.
func freeTask(snap *gitstore.Snapshot) plan.TaskID {
	prefix, p := "IMPL-", snap.Plan
	for _, t := range p.Tasks {
		if t.NodeType == plan.Action && !t.Planning() {
			prefix = string(t.TaskID[:strings.LastIndexByte(string(t.TaskID), '-')+1])
		}
	}
	for n := 1; ; n++ {
		id := plan.TaskID(fmt.Sprint(prefix, n))
		if _, had := snap.Records.Tasks[id]; !had && p.Task(id) == nil {
			return id
		}
	}
}

// withTask is the plan with one more task, and with an item of the checklist that it covers. What is assembled has it.
func withTask(p *plan.Plan, t *plan.Task) *plan.Plan {
	whole := *p
	whole.Tasks = slices.Clone(p.Tasks)
	at := slices.IndexFunc(whole.Tasks, func(o *plan.Task) bool { return o.TaskID == p.RootTaskID })
	root := *whole.Tasks[at]
	id := ""
	for n := len(root.RootAcceptanceCriteria) + 1; id == ""; n++ {
		try := fmt.Sprintf("R%d", n)
		if !slices.ContainsFunc(root.RootAcceptanceCriteria, func(c plan.RootCriterion) bool { return c.ID == try }) {
			id = try
		}
	}
	root.RootAcceptanceCriteria = append(slices.Clip(root.RootAcceptanceCriteria),
		plan.RootCriterion{ID: id, Statement: plain.Line(t.Description)})
	if f := root.FinalDeliverableSpec; f != nil && len(f.IncludeChildren) > 0 {
		included := *f
		included.IncludeChildren = append(slices.Clip(f.IncludeChildren), t.TaskID)
		root.FinalDeliverableSpec = &included
	}
	if f := root.FinalDeliverableSpec; f != nil && f.Mode == plan.Assemble {
		for i, o := range whole.Tasks {
			if o.TaskID == f.AssembleTaskID {
				last := *o
				last.DependsOn = append(slices.Clip(o.DependsOn), t.TaskID)
				whole.Tasks[i] = &last
			}
		}
	}
	t.Covers = []string{id}
	whole.Tasks[at] = &root
	whole.Tasks = append(whole.Tasks, t)
	return &whole
}
