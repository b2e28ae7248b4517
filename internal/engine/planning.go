package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
)

// Draft is a plan that a person hands in.
type Draft struct {
	Name   string // of the file, for messages and for the candidate's own name
	Data   []byte
	Plan   *plan.Plan // as parsed and validated
	Author plan.Actor
	Source plan.OID // HEAD
	Aside  bool     // a new plan does not become the active one

	Material

	// of a split or an amendment, the plan with it, and what is made again
	After *plan.State
	Redo  Redo

	// of a plan that is made from a workflow: the command lines of the parts that come later, and the plan with samples
	// of these, with what gives findings in it their place in the workflow
	Later  []plandoc.CommandLine
	Whole  *plan.Plan
	Placed func(plan.Findings) plan.Findings
}

// Material is what comes with the top task of a new plan: every task gets it.
type Material struct {
	Files  []string  // absolute paths
	From   []plan.ID // plans whose deliverables it gets
	Pinned []Pinned  // what it is made from
}

// Pinned is a file in memory that is handed in.
type Pinned struct {
	Input string // of which requirement
	Name  string // of the file
	Data  []byte
}

// version is the draft as a version of a planning task.
func (e *Engine) version(d Draft, task plan.TaskID, tree plan.OID, files []plan.FileInfo) plan.Artifact {
	a := e.newArtifact(task, d.Author.Name, tree, files, []plan.Input{})
	a.SourceCommit, a.Summary = d.Source, "Handed in as "+plain.Line(filepath.Base(d.Name))
	return a
}

// candidateName is the name of the plan's file in its artifact.
func (d Draft) candidateName() string {
	if strings.EqualFold(filepath.Ext(d.Name), ".json") {
		return "plan.json"
	}
	return "plan.yaml"
}

// CreatePlan records the draft as the first version of a new plan or, if a plan of the same name still waits for an
// acceptable version, as its next one. The built-in review judges it; CreatePlan grafts it if approved: one commit for
// each step. If another process was killed on the way, it continues from there. The new plan becomes active as soon as
// it exists. The plan's trusted lines must have been tried (RedFirst) before.
func (e *Engine) CreatePlan(ctx context.Context, d Draft) (plan.ID, *plan.State, error) {
	if err := e.BeginType(d); err != nil {
		return "", nil, err
	}
	batch := e.Store.NewBatch()
	tree, files, err := batch.AddFiles(map[string][]byte{d.candidateName(): d.Data})
	if err != nil {
		return "", nil, err
	}
	id, found, err := e.choosePlan(ctx, d.Plan, tree)
	switch {
	case err != nil:
		return "", nil, err
	case found == planRejected:
		state, err := e.HandInPlan(ctx, id, plan.PlanTaskID, d)
		return id, state, err
	case found == planUnsettled:
		state, err := e.settlePlan(ctx, id, plan.PlanTaskID)
		return id, state, err
	}
	a := e.version(d, plan.PlanTaskID, tree, files)
	a.ArtifactID = "v1"
	by := plan.Planner{Agent: plan.AgentManual, File: d.candidateName(), Reviewers: e.Policy.PlanReviewers}
	if d.Plan.Workflow != nil {
		by.Agent = plan.AgentWorkflow
		a.Summary = "Made from the workflow " + d.Plan.Workflow.Name
	}
	docs, err := e.material(ctx, batch, d.Plan.Limits(), d.Material, d.Author)
	if err != nil {
		return "", nil, err
	}
	opts := gitstore.AppendOptions{Now: e.Now(), Batch: batch, Create: true}
	ev := plan.Begin{Plan: plan.Bootstrap(id, d.Plan, by), Artifact: a, Author: d.Author, Files: docs}
	if _, err := e.Store.Append(ctx, id, ev, opts); err != nil {
		return "", nil, err
	}
	if !d.Aside {
		if err := e.Store.SetActive(context.WithoutCancel(ctx), id); err != nil {
			return "", nil, err
		}
	}
	state, err := e.settlePlan(ctx, id, plan.PlanTaskID)
	return id, state, err
}

// existing says what choosePlan found under an id.
type existing int

const (
	planNone      existing = iota // nothing
	planRejected                  // a plan that waits for a better version of itself
	planUnsettled                 // this very plan, neither rejected nor grafted yet
)

// choosePlan finds the id for a plan: its own or one from its title. tree is that of its candidate, if
// it has one yet. A plan of that id that is accepted, given up or completed is another plan, and the
// new one gets a number. So is a rejected one for a plan without a candidate, or from a workflow,
// which would make the same again. A plan that takes a change back is the same until that has landed.
func (e *Engine) choosePlan(ctx context.Context, p *plan.Plan, tree plan.OID) (id plan.ID, found existing, err error) {
	for n := 1; ; n++ {
		id := e.named(plan.NewID(p.Title, n))
		if p.PlanID != "" {
			id = e.named(plan.NewID(strings.TrimPrefix(string(p.PlanID), "WFS-"), n))
		}
		snap, err := e.Store.Snapshot(ctx, id)
		if errors.Is(err, gitstore.ErrNoPlan) {
			if remote, _ := e.Store.SharedWith(ctx, id); remote != "" {
				continue // somebody else has begun it
			}
			return id, planNone, nil
		}
		if err != nil {
			return "", planNone, err
		}
		s := snap.State()
		t := s.Tasks[plan.PlanTaskID]
		undoes := p.Task(UndoTask) != nil && len(snap.Records.Of(UndoTask).Landings) == 0
		if t == nil || snap.Plan.Grafted(t.TaskID) && !undoes || isOver(s) {
			continue
		}
		rec, ok := snap.Records.Of(t.TaskID).Version(t.Active)
		switch rejected := t.Verdict == plan.Rejected; {
		case rejected && tree != "" && p.Workflow == nil:
			return id, planRejected, nil
		case !rejected && ok && rec.Files == tree:
			return id, planUnsettled, nil
		}
	}
}

// named is a plan's id as it is here.
func (e *Engine) named(id plan.ID) plan.ID {
	if e.Throwaway && !id.Throwaway() {
		return id.InThrowaway()
	}
	return id
}

// isOver reports whether a plan was completed or given up.
func isOver(s *plan.State) bool {
	t := s.Tasks[plan.PlanTaskID]
	return s.SessionStatus() == plan.SessionCompleted || s.Root().Status == plan.StatusAbandoned ||
		t != nil && t.Status == plan.StatusAbandoned
}

// PlanOf is the newest plan of what was asked for, in the same words, that is neither completed nor given up. If none
// is found, the id is that of the next one.
func (e *Engine) PlanOf(ctx context.Context, topTask string) (id plan.ID, found bool, err error) {
	for n := 1; ; n++ {
		free := e.named(plan.NewID(TitleOf(topTask), n))
		snap, err := e.Store.Snapshot(ctx, free)
		if errors.Is(err, gitstore.ErrNoPlan) {
			return cmp.Or(id, free), found, nil
		}
		if err != nil {
			return "", false, err
		}
		if snap.Plan.TopTask == topTask && !isOver(snap.State()) {
			id, found = snap.ID, true
		}
	}
}

// Asked is a request that an agent make a plan.
type Asked struct {
	TopTask string // verbatim
	Material
	Planner string  // the agent
	ID      plan.ID // of the plan, "" for the next one of its title
	Config  plan.Config
	Person  plan.Actor

	Type       string          // the plan's type, see PlanType; may be empty
	Complexity plan.Complexity // the least; may be empty
}

// BeginPlan records a request. The plan is then made like any deliverable: by Plan, or by Run.
func (e *Engine) BeginPlan(ctx context.Context, a Asked) (plan.ID, error) {
	if err := e.canPlan(); err != nil {
		return "", err
	}
	asked := &plan.Plan{Title: TitleOf(a.TopTask), TopTask: a.TopTask, Config: a.Config, PlanType: a.Type,
		Complexity: a.Complexity}
	if err := e.beginType(asked); err != nil {
		return "", err
	}
	id, err := a.ID, error(nil)
	if id == "" {
		id, _, err = e.choosePlan(ctx, asked, "")
	}
	if err != nil {
		return "", err
	}
	if err := e.Trust.add([]string{agentEntry(jobMake, a.Planner)}); err != nil {
		return "", err
	}
	p := plan.Bootstrap(id, asked, e.planner(a.Planner))
	batch := e.Store.NewBatch()
	docs, err := e.material(ctx, batch, p.Limits(), a.Material, a.Person)
	if err != nil {
		return "", err
	}
	_, err = e.Store.Append(ctx, id, plan.Begin{Plan: p, Files: docs},
		gitstore.AppendOptions{Now: e.Now(), Batch: batch, Create: true})
	return id, err
}

// material adds what comes with a top task. Of another plan that is what may leave it: each file as an input that is
// called PLAN.TASK.vN and says in source which file it is.
func (e *Engine) material(ctx context.Context, batch *gitstore.Batch, limits plan.Config, m Material,
	by plan.Actor) ([]plan.InputDocument, error) {
	docs, err := e.handedIn(ctx, batch, limits, requirements, nil, m.Files, by)
	if err != nil {
		return nil, hinted(err, "git wf plan --attach FILE 'what is to be made', with the path of a file that is "+
			"there")
	}
	for _, id := range m.From {
		snap, err := e.Store.Snapshot(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("--from %s: %w", id, err)
		}
		versions := export.Leaving(snap)
		if snap.Plan.Register {
			return nil, registerError(id)
		}
		if len(versions) == 0 {
			return nil, fault.Refused("git wf run --plan "+string(id),
				"--from %s: nothing of it is approved and verified", id)
		}
		for _, v := range versions {
			if docs, err = e.carry(ctx, batch, snap, v, by, docs); err != nil {
				return nil, fmt.Errorf("--from %s: %w", id, err)
			}
		}
	}
	for _, p := range m.Pinned {
		if docs, err = e.pin(batch, docs, p, by); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// carry adds a version of another plan; of a change its patch.
func (e *Engine) carry(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot, v export.Version,
	by plan.Actor, docs []plan.InputDocument) ([]plan.InputDocument, error) {
	a, err := export.ReadArtifact(ctx, e.Store, snap, v.TaskID, v.Number)
	if err != nil {
		return nil, err
	}
	if snap.Plan.Task(v.TaskID).Changes() {
		patch, err := e.Store.ChangeDiff(ctx, a.Tree)
		if err != nil {
			return nil, err
		}
		if _, a.Files, err = batch.AddFiles(map[string][]byte{"change.patch": patch}); err != nil {
			return nil, err
		}
	}
	for _, f := range a.Files {
		name := path.Base(f.Path)
		tree, err := batch.AddTreeOf([]gitstore.TreeEntry{{Path: name, Mode: "100644", OID: f.OID}})
		if err != nil {
			return nil, err
		}
		from := []string{string(snap.ID), string(v.TaskID), a.ArtifactID}
		docs = append(docs, plan.InputDocument{
			Name: strings.Join(from, "."), FileName: name, Tree: tree, SHA256: f.SHA256, Size: f.Size,
			Source: path.Join(append(from, f.Path)...), By: by.Name, CreatedAt: plan.Second(e.Now()),
		})
	}
	return docs, nil
}

// canPlan fails if one of the user's own files that planning needs is unusable, before anything is recorded.
func (e *Engine) canPlan() error {
	if err := prompt.Vet(e.Templates); err != nil {
		return err
	}
	if _, err := e.Weights(); err != nil {
		return err
	}
	return e.canAssign()
}

const (
	planFile     = "plan.yaml"    // the candidate of an agent
	requirements = "requirements" // the input of PLAN-1 with what came with the top task
)

// TitleOf is a plan's title for a top task: its first line, or the beginning of that.
func TitleOf(task string) string {
	const most = 60
	for line := range strings.Lines(task) {
		line = strings.Trim(plain.Line(strings.TrimSpace(line)), "#*-_ \t。.：:")
		if line == "" {
			continue
		}
		runes := []rune(line)
		if len(runes) <= most {
			return line
		}
		cut := string(runes[:most])
		if i := strings.LastIndexByte(cut, ' '); i > most/2 {
			cut = cut[:i]
		}
		return cut
	}
	return "Plan"
}

// Plan makes a plan ready to be carried out: it works only on the tasks that make plans.
func (e *Engine) Plan(ctx context.Context, id plan.ID) (*plan.State, error) {
	r := e.newRun(id)
	r.planning = true
	return r.loop(ctx)
}

// settlePlan reviews and grafts the newest candidate of a planning task, as far as the engine itself can.
func (e *Engine) settlePlan(ctx context.Context, id plan.ID, task plan.TaskID) (*plan.State, error) {
	for {
		snap, err := e.Store.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		s := snap.State()
		switch t := s.Tasks[task]; {
		case s.NextReviewStep(t.TaskID) == plan.StepPlan:
			if err = e.reviewPlanAlone(ctx, id, t); errors.Is(err, gitstore.ErrClaimed) {
				err = gitstore.Pause(ctx, pulseTime) // another process is doing this
			}
		case slices.Contains(s.Ungrafted(), t):
			err = e.graft(ctx, id, t)
		default:
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
