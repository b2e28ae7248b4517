package repotest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// ID is the plan's id.
const ID plan.ID = "WFS-site"

// Ref is the plan's ref.
const Ref = "refs/workflow/WFS-site"

// event is an event made for one test.
type event func(s *plan.State) (plan.Change, error)

func (e event) Apply(s *plan.State) (plan.Change, error) { return e(s) }

func data(s string) string { return fmt.Sprintf("data %d\n%s\n", len(s), s) }

// Begin starts the plan that the text describes, written as people write plans, as if it were grafted already.
func (r *Repo) Begin(text string) {
	r.t.Helper()
	p, err := plandoc.ParseValid("plan.yaml", []byte(text), policy.Floors{})
	if err != nil {
		r.t.Fatal(err)
	}
	p.PlanID = ID
	r.append(event(func(*plan.State) (plan.Change, error) {
		return plan.Change{Subject: "begin", Plan: p, Trailers: []plan.Trailer{{Key: "Wf-Event", Value: plan.EventPlan}}}, nil
	}), gitstore.AppendOptions{Create: true})
}

// Plan starts the plan that the text describes as the program does: it hands in the file, approves and grafts it.
func (r *Repo) Plan(text string) {
	r.t.Helper()
	const name = "plan.yaml"
	p, err := plandoc.ParseValid(name, []byte(text), policy.Floors{})
	if err != nil {
		r.t.Fatal(err)
	}
	batch := r.Store.NewBatch()
	tree, infos, err := batch.AddFiles(map[string][]byte{name: []byte(text)})
	if err != nil {
		r.t.Fatal(err)
	}
	a := plan.Artifact{TaskID: plan.PlanTaskID, ArtifactID: "v1", Tree: tree, Agent: user, CreatedAt: Now,
		Inputs: []plan.Input{}, Files: infos}
	begin := plan.Begin{Plan: plan.Bootstrap(ID, p, plan.Planner{Agent: plan.AgentManual, File: name}), Artifact: a}
	r.append(begin, gitstore.AppendOptions{Create: true, Batch: batch})
	r.Review(plan.PlanTaskID, 1, plan.ReviewerPlan, plan.Approved, nil)
	r.append(plan.GraftPlan{Task: plan.PlanTaskID, Version: 1, Plan: p}, gitstore.AppendOptions{})
}

// Replan replaces plan.json with what change makes of it.
func (r *Repo) Replan(change func(p *plan.Plan)) {
	r.t.Helper()
	r.append(event(func(s *plan.State) (plan.Change, error) {
		data, err := plandoc.Encode(s.Plan)
		if err != nil {
			return plan.Change{}, err
		}
		p, err := plandoc.Decode(data) // decode a copy, since the state shares its plan
		if err != nil {
			return plan.Change{}, err
		}
		change(p)
		return plan.Change{Subject: "graft", Plan: p, Trailers: []plan.Trailer{{Key: "Wf-Event", Value: plan.EventGraft}}},
			nil
	}), gitstore.AppendOptions{})
}

func (r *Repo) append(ev plan.Event, o gitstore.AppendOptions) {
	r.t.Helper()
	o.Now = Now
	if _, err := r.Store.Append(context.Background(), ID, ev, o); err != nil {
		r.t.Fatal(err)
	}
}

// user is the name in the configuration.
const user = "Ada"

// appendAs appends an event as somebody: an agent of the program, the user, or another person.
func (r *Repo) appendAs(name string, event func(by plan.Actor) plan.Event, o gitstore.AppendOptions) {
	r.t.Helper()
	by := plan.Actor{Name: name, Email: name + "@example.com"}
	switch name {
	case plan.AgentExec, plan.ReviewerChecks, plan.ReviewerPlan:
		by.Email = name + "@agents.git-wf.invalid"
	case user:
		by = plan.Actor{}
	default:
		for key, value := range map[string]string{"GIT_COMMITTER_NAME": by.Name, "GIT_COMMITTER_EMAIL": by.Email} {
			os.Setenv(key, value)
			defer os.Unsetenv(key)
		}
		own := r.Store
		defer func() { r.Store = own }()
		r.Store = r.Open() // reopen the store, since it caches the user
	}
	r.append(event(by), o)
}

// Version adds a task's next version, made by the named agent. change, if not nil, alters its artifact.json.
func (r *Repo) Version(task plan.TaskID, agent string, files map[string]string, change func(a *plan.Artifact)) {
	r.t.Helper()
	bytes := map[string][]byte{}
	for name, content := range files {
		bytes[name] = []byte(content)
	}
	batch := r.Store.NewBatch()
	tree, infos, err := batch.AddFiles(bytes)
	if err != nil {
		r.t.Fatal(err)
	}
	snap, err := r.Store.Snapshot(context.Background(), ID)
	if err != nil {
		r.t.Fatal(err)
	}
	state := snap.State()
	a := plan.Artifact{TaskID: task, Tree: tree, Agent: agent, CreatedAt: Now, Inputs: []plan.Input{}, Files: infos}
	for _, in := range state.Inputs(task) {
		v, _ := snap.Records.Of(in).Version(state.Tasks[in].Approved)
		a.Inputs = append(a.Inputs, plan.Input{TaskID: in, ArtifactID: plan.VersionID(v.Version), Tree: v.Files})
	}
	if change != nil {
		change(&a)
	}
	if err := batch.Flush(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.appendAs(a.Agent, func(by plan.Actor) plan.Event {
		return plan.NewVersion{Artifact: a, Author: by}
	}, gitstore.AppendOptions{})
}

// Review adds a review of one version in which every criterion passed or, for a rejection, failed. change, if not nil,
// alters it.
func (r *Repo) Review(task plan.TaskID, version int, reviewer string, verdict plan.Verdict,
	change func(rev *plan.Review)) {
	r.t.Helper()
	snap, err := r.Store.Snapshot(context.Background(), ID)
	if err != nil {
		r.t.Fatal(err)
	}
	rec, _ := snap.Records.Of(task).Version(version)
	t := snap.State().Tasks[task]
	rev := plan.Review{
		TaskID: task, ReviewedArtifactID: plan.VersionID(version), Tree: rec.Files, Verdict: verdict, Score: 100,
		Reviewer: reviewer, CreatedAt: Now, SpecHash: t.SpecHash(),
	}
	result := plan.ResultPass
	if verdict == plan.Rejected {
		result, rev.Score = plan.ResultFail, 0
	}
	for _, c := range t.AcceptanceCriteria {
		rev.Criteria = append(rev.Criteria, plan.CriterionResult{ID: c.ID, Statement: c.Statement, Severity: c.Severity,
			Result: result, By: reviewer})
	}
	if change != nil {
		change(&rev)
	}
	data, err := r.Store.ReadFile(context.Background(), snap.Commit, task.Dir()+"/"+plan.ArtifactRecord{Version: version}.Path())
	var made plan.Artifact
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	rev.SelfReviewed = rev.SelfReviewed || made.Agent == rev.By()
	render := func(rev plan.Review) []byte { return fmt.Appendf(nil, "# %s\n", rev.Verdict) }
	r.appendAs(rev.Reviewer, func(by plan.Actor) plan.Event {
		return plan.AddReview{Review: rev, Artifact: made, Render: render, Author: by}
	}, gitstore.AppendOptions{})
}

// Approved adds a version of a task with one file, and ann's approval.
func (r *Repo) Approved(task plan.TaskID, name, content string) {
	r.t.Helper()
	r.Version(task, "exec", map[string]string{name: content}, nil)
	snap, err := r.Store.Snapshot(context.Background(), ID)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Review(task, snap.Records.Of(task).Active(), "ann", plan.Approved, nil)
}

// Waive passes one criterion of a version on the user's word.
func (r *Repo) Waive(task plan.TaskID, version int, criterion string) {
	r.t.Helper()
	r.append(plan.Waive{Task: task, Version: version, Criterion: criterion,
		Decision: plan.Decision{By: user, CreatedAt: Now, Reason: "it will do"}}, gitstore.AppendOptions{})
}
