package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/workspace"
)

// LandOptions say what lands where.
type LandOptions struct {
	Tasks  []plan.TaskID // none: every approved change
	Branch string        // "" means gitstore.Store.Trunk
	Person plan.Actor    // who lands
}

// Landed is the outcome of landing: the branch, where it was and is, and what became of each change.
type Landed struct {
	Branch string         `json:"branch"`
	Before plan.OID       `json:"before"`
	After  plan.OID       `json:"after"`
	Tasks  []plan.Landing `json:"tasks"` // in the order of landing; those that were there already are left out
}

// Land applies approved changes to a branch, one commit each, in the order in which they build on each other. Each
// commit's tree passes its task's criteria before the branch moves, once for all of them. A change that conflicts with
// the branch or fails on it is recorded as refused, and so are those that build on it.
func (e *Engine) Land(ctx context.Context, id plan.ID, o LandOptions) (Landed, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return Landed{}, err
	}
	l := landing{engine: e, snap: snap, options: o, held: map[plan.TaskID]string{}}
	if l.branch, l.tip, err = e.landsOn(ctx, o.Branch); err != nil {
		return Landed{}, err
	}
	l.Landed = Landed{Branch: l.branch, Before: l.tip}
	queue, err := l.queue()
	if err != nil {
		return l.Landed, err
	}
	base, err := e.firstBase(ctx, snap)
	if err != nil {
		return l.Landed, err
	}
	there, err := e.Store.LandedOn(ctx, snap.ID, base.Commit, l.tip)
	if err != nil {
		return l.Landed, err
	}
	queue = slices.DeleteFunc(queue, func(id plan.TaskID) bool {
		return there[id] == plan.VersionID(snap.State().Tasks[id].Approved)
	})
	for _, id := range queue {
		if err := l.land(ctx, id); err != nil {
			return l.Landed, err
		}
	}
	if l.tip != l.Before {
		if err := e.Store.Advance(ctx, l.branch, l.Before, l.tip); err != nil {
			return l.Landed, err
		}
	}
	l.After = l.tip
	return l.Landed, l.record(ctx)
}

// landsOn is the branch that changes land on, and its tip.
func (e *Engine) landsOn(ctx context.Context, branch string) (string, plan.OID, error) {
	if branch == "" {
		branch, tip, err := e.Store.Trunk(ctx)
		if err == nil && branch == "" {
			err = fault.Refused("git wf land --branch BRANCH", "HEAD is on no branch")
		}
		return branch, tip, err
	}
	tip, err := e.Store.CommitOf(ctx, "refs/heads/"+branch)
	if err == nil && tip == "" {
		err = fault.Refused("git branch", "%s is no branch of this repository", plan.Quote(branch))
	}
	return branch, tip, err
}

// landing is one run of Land.
type landing struct {
	Landed
	engine  *Engine
	snap    *gitstore.Snapshot
	options LandOptions
	branch  string
	tip     plan.OID
	held    map[plan.TaskID]string // tasks whose changes did not land, and why
}

// queue lists the tasks to land, each after those that it builds on.
func (l *landing) queue() ([]plan.TaskID, error) {
	s := l.snap.State()
	for _, id := range l.options.Tasks {
		switch t := s.Tasks[id]; {
		case !t.Changes():
			return nil, fault.Refused("git wf export "+string(l.snap.ID), "%s: does not change the repository", id)
		case t.Approved == 0:
			return nil, fault.Refused("git wf status", "%s: no version of it is approved", id)
		}
	}
	var queue []plan.TaskID
	for _, id := range changesOf(l.snap, l.options.Tasks) {
		if s.Tasks[id].Approved > 0 {
			queue = append(queue, id)
		}
	}
	if len(queue) == 0 {
		return nil, fault.Refused("git wf status", "%s: no change of it is approved", l.snap.ID)
	}
	return queue, nil
}

// land makes the commit of one task's approved version on top of the tip.
func (l *landing) land(ctx context.Context, id plan.TaskID) error {
	e, s := l.engine, l.snap.State()
	a, err := export.ReadArtifact(ctx, e.Store, l.snap, id, s.Tasks[id].Approved)
	if err != nil {
		return err
	}
	doc := plan.Landing{
		TaskID: id, ArtifactID: a.ArtifactID, Tree: a.Tree, Branch: l.branch, On: l.tip, By: l.options.Person.Name,
		CreatedAt: plan.Second(e.Now()),
	}
	for _, in := range s.Inputs(id) {
		if why := l.held[in]; why != "" {
			return l.refuse(doc, fmt.Sprintf("it builds on %s, which did not land", in))
		}
	}
	batch := e.Store.NewBatch()
	defer batch.Discard()
	on, err := e.Store.TreeOf(ctx, l.tip)
	if err != nil {
		return err
	}
	tree, conflicts, err := batch.ApplyChange(ctx, a.Tree, on)
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		for _, c := range conflicts {
			doc.Conflicts = append(doc.Conflicts, c.String())
		}
		return l.refuse(doc, "it conflicts with the branch")
	}
	if tree == on {
		return nil // it is there already
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	commit, err := l.commit(ctx, s.Tasks[id].Task, a, tree)
	if err != nil {
		return err
	}
	if why, err := l.judge(ctx, s.Tasks[id], a, commit, tree, &doc); err != nil || why != "" {
		return errors.Join(err, l.refuse(doc, why))
	}
	doc.Commit, l.tip = commit, commit
	l.Tasks = append(l.Tasks, doc)
	return nil
}

func (l *landing) refuse(doc plan.Landing, why string) error {
	if why == "" {
		return nil
	}
	doc.Reason, l.held[doc.TaskID] = why, why
	l.Tasks = append(l.Tasks, doc)
	return nil
}

// changesOf lists tasks that change the repository, and the ones that they build on, each after those that it builds on
// itself, else in the order of the plan. No tasks means all.
func changesOf(snap *gitstore.Snapshot, tasks []plan.TaskID) []plan.TaskID {
	s := snap.State()
	var list []plan.TaskID
	seen := map[plan.TaskID]bool{}
	var visit func(id plan.TaskID)
	visit = func(id plan.TaskID) {
		if seen[id] {
			return
		}
		seen[id] = true
		inputs := slices.Clone(s.Inputs(id))
		slices.SortFunc(inputs, func(a, b plan.TaskID) int { return s.Place(a) - s.Place(b) })
		for _, in := range inputs {
			visit(in)
		}
		if t := s.Tasks[id]; t.NodeType == plan.Action && t.Changes() {
			list = append(list, id)
		}
	}
	if len(tasks) == 0 {
		for _, t := range snap.Plan.Tasks {
			visit(t.TaskID)
		}
	}
	for _, id := range tasks {
		visit(id)
	}
	return list
}

// commit makes the commit of a version on top of the tip: by who made the version, with the task as its subject.
func (l *landing) commit(ctx context.Context, t *plan.Task, a plan.Artifact, tree plan.OID) (plan.OID, error) {
	review, err := export.ApprovedBy(ctx, l.engine.Store, l.snap, t.TaskID, plan.VersionNumber(a.ArtifactID))
	if err != nil {
		return "", err
	}
	message := plan.OneLine(t.Title)
	if body := strings.TrimSpace(plan.Printable(a.Summary)); body != "" {
		message += "\n\n" + body
	}
	message += fmt.Sprintf("\n\nWf-Plan: %s\nWf-Task: %s\nWf-Artifact: %s\nWf-Review: %s\n", l.snap.ID, t.TaskID, a.ArtifactID,
		review.ReviewID)
	author, err := l.engine.Store.AuthorOf(ctx, l.snap, t.TaskID, a.ArtifactID)
	if err != nil {
		return "", err
	}
	return l.engine.Store.CommitTree(ctx, gitstore.NewCommit{Tree: tree, Parent: l.tip, Author: author, Time: a.CreatedAt,
		Message: message})
}

// judge runs the task's criteria on the tree that would land, unless they were run on just that tree when the version was
// approved. It returns why the change may not land, "" if it may. What fails is run once more: only what passes both
// times has passed. What fails on the branch as it is, too, is nobody's fault, and landing stops.
func (l *landing) judge(ctx context.Context, t *plan.TaskState, a plan.Artifact, commit, tree plan.OID,
	doc *plan.Landing) (string, error) {
	if a.Base != nil && a.Base.After == tree || !t.HasRun() {
		return "", nil
	}
	results, err := l.run(ctx, t, a, commit)
	doc.Criteria = results
	if err != nil || !failedAny(results) {
		return "", err
	}
	again, err := l.run(ctx, t, a, commit)
	if err != nil {
		return "", err
	}
	if !failedAny(again) {
		doc.Flaky = true
		return "a criterion failed once and passed once on the result", nil
	}
	bare, err := l.run(ctx, t, a, l.tip)
	if err != nil {
		return "", err
	}
	for i, r := range again {
		if r.Result == plan.ResultFail && r.Severity == plan.Must && bare[i].Result != plan.ResultFail {
			return fmt.Sprintf("%s fails on the result", r.ID), nil
		}
	}
	return "", fault.Refused("git log "+l.branch, "%s: its criteria fail on %s without it, too: %s", t.TaskID, l.branch,
		plan.OneLine(firstLine(bare[0].Evidence)))
}

// run runs the criteria of a task in a checkout of a commit.
func (l *landing) run(ctx context.Context, t *plan.TaskState, a plan.Artifact, commit plan.OID) ([]plan.CriterionResult, error) {
	e := l.engine
	if w := e.Trust.lacks(t.Task); w.Text != "" {
		return nil, fault.Waiting(w.Command, "%s: %s", t.TaskID, w.Text)
	}
	w, err := e.prepare(ctx, l.snap, t, contract.RoleCheck, a.Inputs)
	if err != nil {
		return nil, err
	}
	defer w.remove()
	var criteria []plan.Criterion
	for _, c := range t.AcceptanceCriteria {
		if c.Red = ""; c.Run != "" {
			criteria = append(criteria, c)
		}
	}
	environ, err := e.commandEnv()
	if err != nil {
		return nil, err
	}
	return check.Run(ctx, criteria, check.Setup{
		Candidate: func(ctx context.Context, dir string) error {
			_, err := workspace.Make(ctx, e.Store, dir, commit)
			return err
		},
		Scratch: w.dir, Discard: w.place.discard, Environ: process.Environ(environ, w.environ(l.snap, t)...),
		Timeout: time.Duration(l.snap.Plan.Limits().CheckTimeoutSeconds) * time.Second,
	})
}

// record records what became of each change.
func (l *landing) record(ctx context.Context) error {
	for _, doc := range l.Tasks {
		if doc.Reason == "" && l.After == l.Before {
			continue
		}
		if _, err := l.engine.append(ctx, l.snap.ID, plan.Land{Landing: doc, Author: l.options.Person}, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
