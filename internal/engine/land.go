package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// LandOptions say what lands where.
type LandOptions struct {
	Tasks  []plan.TaskID // none: every approved change
	Branch string        // "" means gitstore.Store.Trunk
	Person plan.Actor    // who lands
	One    bool          // in one commit
	Push   bool          // the branch and the plan, together

	Propose bool // push each change as a branch, with a pull request, and leave the branch to the forge
	Watch   bool // propose nothing new: only look after what is proposed
	Auto    bool // the forge merges as soon as it may

	// Hook finds the user's own hook of a name, "" if there is none; nil runs no hooks.
	Hook func(ctx context.Context, name string) (string, error)
}

// Landed is the outcome of landing: the branch, where it was and is, and what became of each change.
type Landed struct {
	Branch string         `json:"branch"`
	Before plan.OID       `json:"before"`
	After  plan.OID       `json:"after"`
	Remote string         `json:"remote,omitempty"` // that was pushed to
	Tasks  []plan.Landing `json:"tasks"`            // in the order of landing, without those that were there already
	Kept   []KeptBack     `json:"kept_back,omitempty"`

	GivenUp []string `json:"given_up,omitempty"` // lines of what has landed that need not pass any more, and why
	NotRun  []string `json:"not_run,omitempty"`  // lines of what has landed that are too many
	Notes   []string `json:"notes,omitempty"`    // what else is to be known of proposals
}

// KeptBack is an approved version that may not leave the plan, and why.
type KeptBack struct {
	TaskID     plan.TaskID `json:"task_id"`
	ArtifactID string      `json:"artifact_id"`
	Reason     string      `json:"reason"`
}

// mostRounds is how often landing begins again because somebody else moved the branch.
const mostRounds = 10

// Land applies approved changes to a branch, one commit each, in the order in which they build on each other. Each
// commit's tree passes its checks before the branch moves, once for all of them. A change that conflicts with the
// branch or fails on it is recorded as refused. If the branch moves meanwhile, all is judged anew on its new tip.
//
// An error beside a result says why landing stopped after what the result has. Where there is nothing to watch, the
// result has no tip.
func (e *Engine) Land(ctx context.Context, id plan.ID, o LandOptions) (Landed, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	proposed := func(id plan.TaskID) bool { return snap.Records.Of(id).Proposed(0) }
	if err != nil || o.Watch && !slices.ContainsFunc(snap.State().Changes(), proposed) {
		return Landed{}, err
	}
	passed := e.openPassed()
	for round := 1; ; round++ {
		l := landing{engine: e, options: o, passed: passed}
		err := l.round(ctx, id)
		switch {
		case !errors.Is(err, gitstore.ErrBranchMoved):
			return l.Landed, err
		case round == mostRounds:
			return l.Landed, fault.Refused("the same git wf land, when others rest",
				"others were faster %d times: nothing landed", round)
		}
		// Two that race must not do it in step.
		if err := gitstore.Pause(ctx, time.Duration(rand.IntN(round*50))*time.Millisecond); err != nil {
			return l.Landed, err
		}
	}
}

// landing is one round of Land.
type landing struct {
	Landed
	engine  *Engine
	options LandOptions
	snap    *gitstore.Snapshot
	batch   *gitstore.Batch
	passed  passed
	makers  map[string]plan.Actor // of the versions; read on demand
	there   map[plan.TaskID]gitstore.LandedCommit
	theirs  plan.OID // the tip of the remote's branch, if it is pushed
	tip     plan.OID // what the next commit builds on
	tipTree plan.OID
	tree    plan.OID // of the tip, with the group applied
	group   []arrival
	landed  []arrival              // of the plan, that are there, or will be
	others  []arrival              // of other plans that are there, newest first
	held    map[plan.TaskID]string // tasks whose changes did not land, and why
	silent  map[plan.TaskID]bool   // those of them that no record is about
	checked int                    // landed tasks whose record was looked for
	hooks   *[2]string             // the user's pre-commit and commit-msg; nil: not looked for yet
	*proposals
}

// arrival is an approved version that is to land.
type arrival struct {
	snap *gitstore.Snapshot
	task *plan.TaskState
	plan.Artifact
	commit plan.OID // with which it landed
	at     time.Time
	paths  map[string]bool // what it changes; filled on demand
}

func (l *landing) round(ctx context.Context, id plan.ID) error {
	if err := l.begin(ctx, id); err != nil {
		return err
	}
	defer l.batch.Discard()
	if l.proposals != nil {
		if err := l.lookAfter(ctx); err != nil {
			return err
		}
	}
	queue, err := l.queue(ctx)
	if err == nil && len(queue) > 0 {
		err = l.findOthers(ctx)
	}
	if err != nil {
		return err
	}
	stopped := l.all(ctx, queue)
	var stop *stopError
	if stopped != nil && !errors.As(stopped, &stop) {
		l.Landed = Landed{}
		return stopped
	}
	if err := l.move(ctx); err != nil {
		l.Landed = Landed{}
		return err
	}
	err = l.record(ctx)
	if err == nil && l.Remote != "" && len(l.Tasks) > 0 {
		err = l.engine.Store.Share(ctx, l.Remote, id)
	}
	if err == nil {
		err = l.engine.closeTasks(ctx, id)
	}
	return errors.Join(err, stopped)
}

// begin reads where the plan, the branch and, if it is asked, the remote are.
func (l *landing) begin(ctx context.Context, id plan.ID) (err error) {
	e := l.engine
	l.held, l.silent = map[plan.TaskID]string{}, map[plan.TaskID]bool{}
	if l.snap, err = e.Store.Snapshot(ctx, id); err != nil {
		return err
	}
	if l.Branch, l.Before, err = e.landsOn(ctx, l.options.Branch); err != nil {
		return err
	}
	l.tip, l.After = l.Before, l.Before
	if l.options.Push {
		err = l.fetch(ctx)
	} else if l.options.Propose {
		err = l.beginProposing(ctx)
	}
	if err != nil {
		return err
	}
	if l.tipTree, err = e.Store.TreeOf(ctx, l.tip); err != nil {
		return err
	}
	l.tree, l.batch = l.tipTree, e.Store.NewBatch()
	return nil
}

// fetch begins landing where the remote's branch is, which takes the branch along.
func (l *landing) fetch(ctx context.Context) (err error) {
	store := l.engine.Store
	if l.Remote, err = store.RemoteOf(ctx, l.Branch); err != nil {
		return err
	}
	if l.theirs, err = store.RemoteTip(ctx, l.Remote, l.Branch); err != nil || l.theirs == "" {
		return err
	}
	behind, err := store.IsAncestor(ctx, l.Before, l.theirs)
	if err != nil {
		return err
	}
	if behind {
		l.tip = l.theirs
		return nil
	}
	if ahead, err := store.IsAncestor(ctx, l.theirs, l.Before); err != nil || ahead {
		return err
	}
	return fault.Refused("git pull --rebase "+shell.Word(l.Remote)+" "+shell.Word(l.Branch),
		"%s and that of %s have diverged", l.Branch, plain.Quote(l.Remote))
}

// push pushes the new tip and the plan. If somebody else pushed first, all is judged anew.
func (l *landing) push(ctx context.Context) error {
	store := l.engine.Store
	if err := store.MayAdvance(ctx, l.Branch, l.tip); err != nil {
		return err
	}
	moved, err := store.PushLanded(ctx, l.Remote, l.Branch, l.tip, l.theirs, l.snap.ID)
	if moved {
		return gitstore.ErrBranchMoved
	}
	return err
}

// all tries the queue until landing stops.
func (l *landing) all(ctx context.Context, queue []arrival) error {
	for _, c := range queue {
		if l.proposals != nil {
			if err := l.standOn(ctx, c); err != nil {
				return err
			}
		}
		if err := l.apply(ctx, c); err != nil {
			return err
		}
		if !l.options.One {
			if err := l.commitGroup(ctx); err != nil {
				return err
			}
		}
	}
	return l.commitGroup(ctx)
}

// move moves the branch, once for all commits.
func (l *landing) move(ctx context.Context) error {
	if err := l.batch.Flush(ctx); err != nil {
		return err
	}
	if l.proposals != nil {
		return l.publish(ctx)
	}
	if l.Remote != "" {
		if err := l.push(ctx); err != nil {
			return err
		}
	}
	if l.tip == l.Before {
		return nil
	}
	if err := l.engine.Store.Advance(ctx, l.Branch, l.Before, l.tip); err != nil {
		return err
	}
	l.After = l.tip
	_, err := l.batch.Keep(context.WithoutCancel(ctx))
	return err
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
		err = fault.Refused("git branch", "%s is no branch of this repository", plain.Quote(branch))
	}
	return branch, tip, err
}

// staysBehind refuses an approved version that may not leave the plan: it is to be judged, or made anew.
func staysBehind(s *plan.State, id plan.TaskID) error {
	version, mend := s.Tasks[id].Approved, "git wf run"
	if s.Unjudged(id, version) == "" {
		mend = "git wf review " + string(id) + " --reject -m WHY has it made again"
	}
	return fault.Refused(mend, "%s: %s %s", id, plan.VersionID(version), s.KeptBack(id, version))
}

// queue lists the versions to land, each after those that it builds on, without those that are there.
func (l *landing) queue(ctx context.Context) ([]arrival, error) {
	e, s := l.engine, l.snap.State()
	for _, id := range l.options.Tasks {
		switch t := s.Tasks[id]; {
		case !t.Changes():
			return nil, fault.Refused("git wf export --plan "+string(l.snap.ID), "%s: does not change the repository",
				id)
		case t.Approved == 0:
			return nil, fault.Refused("git wf status", "%s: no version of it is approved", id)
		case !s.Delivers(id, t.Approved):
			return nil, staysBehind(s, id)
		}
	}
	first, err := e.firstBase(ctx, l.snap)
	if err != nil {
		return nil, err
	}
	if l.there, err = e.Store.LandedOn(ctx, l.snap, first, l.tip); err != nil {
		return nil, err
	}
	for _, d := range l.Tasks { // of proposals
		if d.Commit != "" {
			l.there[d.TaskID] = gitstore.LandedCommit{Version: d.ArtifactID, Commit: d.Commit, Parent: d.On}
		}
	}
	wanted := s.Changes(l.options.Tasks...)
	approved := 0
	if l.proposals != nil {
		wanted = each.If(wanted, l.mayPropose)
	}
	if l.options.Watch || len(l.Tasks) > 0 {
		approved = 1 // or not: it may be on its way again
	}
	var queue []arrival
	for _, id := range s.Changes() {
		t := s.Tasks[id]
		if why := s.KeptBack(id, t.Approved); why != "" {
			if version := plan.VersionID(t.Approved); t.Approved > 0 && l.there[id].Version != version {
				l.held[id] = why // what is built on it stays, too
				if slices.Contains(wanted, id) {
					l.Kept = append(l.Kept, KeptBack{id, version, why})
				}
			}
			continue
		}
		a, err := export.ReadArtifact(ctx, e.Store, l.snap, id, t.Approved)
		if err == nil && a.Base == nil {
			err = baseless(a)
		}
		if err != nil {
			return nil, err
		}
		c := arrival{snap: l.snap, task: t, Artifact: a, commit: l.there[id].Commit}
		last, err := l.lastRecord(ctx, id, a.ArtifactID)
		landed, landedErr := e.hasLanded(ctx, l.snap, id, t.Approved, l.tip)
		if err = cmp.Or(err, landedErr); err != nil {
			return nil, err
		}
		switch isWanted := slices.Contains(wanted, id); {
		case landed || l.there[id].Version == a.ArtifactID:
			c.commit, c.at = cmp.Or(c.commit, last.Commit), last.CreatedAt
			l.landed = append(l.landed, c)
			approved++
		case isWanted && l.proposals == nil && len(l.options.Tasks) == 0 && l.snap.Records.Of(id).Proposed(t.Approved):
			l.held[id] = "is proposed: git wf land --prs looks after it"
			l.Kept = append(l.Kept, KeptBack{id, a.ArtifactID, l.held[id]})
			approved++
		case isWanted:
			queue = append(queue, c)
			approved++
		}
	}
	if approved == 0 && len(l.Kept) > 0 {
		return nil, staysBehind(s, l.Kept[0].TaskID)
	}
	if approved == 0 {
		return nil, fault.Refused("git wf status", "%s: no change of it is approved", l.snap.ID)
	}
	l.checked = len(l.landed)
	return queue, nil
}

// apply adds a version to the group that becomes the next commit, or says why it can't be.
func (l *landing) apply(ctx context.Context, c arrival) error {
	if l.held[c.TaskID] != "" {
		return nil
	}
	for _, in := range l.snap.State().Inputs(c.TaskID) {
		if l.held[in] != "" {
			l.silent[c.TaskID] = true
			l.refuse(l.doc(c), fmt.Sprintf("it builds on %s, which did not land", in))
			return nil
		}
	}
	tree, conflicts, err := l.batch.ApplyChange(ctx, c.Tree, l.tree)
	if err == nil && len(conflicts) > 0 {
		// Renames are found in trees that are written.
		if err = l.batch.Flush(ctx); err == nil {
			_, conflicts, err = l.engine.Store.NewBatch().ApplyChange(ctx, c.Tree, l.tree)
		}
		doc := l.doc(c)
		for _, met := range conflicts {
			doc.Conflicts = append(doc.Conflicts, met.String())
		}
		l.refuse(doc, "it conflicts with the branch")
		return err
	}
	if err != nil || tree == l.tree {
		return err // what it changes is there already
	}
	l.tree = tree
	l.group = append(l.group, c)
	return nil
}

// doc is the record of a landing, before its outcome is known.
func (l *landing) doc(c arrival) plan.Landing {
	return plan.Landing{
		TaskID: c.TaskID, ArtifactID: c.ArtifactID, Tree: c.Tree, Branch: l.Branch, On: l.tip,
		By: l.options.Person.Name, CreatedAt: plan.Second(l.engine.Now()),
	}
}

func (l *landing) refuse(doc plan.Landing, why string) {
	doc.Reason, l.held[doc.TaskID] = why, why
	l.Tasks = append(l.Tasks, doc)
}

// commitGroup makes the commit of the group on top of the tip, if it passes its checks.
func (l *landing) commitGroup(ctx context.Context) error {
	group := l.group
	if len(group) == 0 {
		return nil
	}
	l.group = nil
	draft, err := l.draft(ctx, group)
	if err != nil {
		return err
	}
	verdict, err := l.reviewed(ctx, group, draft.Tree)
	if err == nil && verdict.why == "" {
		verdict, err = l.judge(ctx, group, draft)
	}
	if err == nil && verdict.why == "" {
		verdict.why, err = l.runHooks(ctx, &draft)
		verdict.silent = verdict.why != "" // it is the user's setup that says no
	}
	if err == nil && verdict.why == "" {
		return l.accept(ctx, group, draft, verdict)
	}
	if err != nil {
		return err
	}
	for _, c := range group {
		doc := l.doc(c)
		doc.Criteria, doc.Flaky = verdict.results, verdict.flaky
		l.silent[c.TaskID] = verdict.silent || len(group) > 1 && !verdict.flaky // nobody knows whose fault it is
		l.refuse(doc, verdict.why)
	}
	l.tree = l.tipTree
	return nil
}

// accept makes the commit the tip.
func (l *landing) accept(ctx context.Context, group []arrival, draft gitstore.NewCommit, v verdict) error {
	if l.proposals != nil {
		return l.propose(ctx, group[0], draft, v)
	}
	commit, err := l.batch.AddUserCommit(ctx, draft, l.engine.Now())
	if err != nil {
		return err
	}
	for i, c := range group {
		group[i].commit, group[i].at = commit, l.engine.Now()
		doc := l.doc(c)
		doc.Commit, doc.Criteria = commit, v.results
		l.Tasks = append(l.Tasks, doc)
	}
	l.tip, l.tipTree, l.landed = commit, draft.Tree, append(l.landed, group...)
	return nil
}

// draft is the commit of the group: by who made its versions, with the task as its subject.
func (l *landing) draft(ctx context.Context, group []arrival) (gitstore.NewCommit, error) {
	draft := gitstore.NewCommit{Tree: l.tree, Parent: l.tip, Time: group[0].CreatedAt}
	if l.makers == nil {
		var err error
		if l.makers, err = l.engine.Store.Makers(ctx, l.snap); err != nil {
			return draft, err
		}
	}
	subject, body := group[0].task.Title, group[0].Summary
	if len(group) > 1 {
		subject, body = l.snap.Plan.Title, ""
	}
	var brought []gitstore.Lands
	var authors []plan.Actor
	for _, c := range group {
		version := plan.VersionNumber(c.ArtifactID)
		review, err := export.ApprovedBy(ctx, l.engine.Store, l.snap, c.TaskID, version)
		if err != nil {
			return draft, err
		}
		brought = append(brought, gitstore.Lands{
			Brought: gitstore.Brought{Plan: l.snap.ID, Task: c.TaskID, Artifact: c.ArtifactID}, Review: review.ReviewID,
		})
		by := l.makers[c.TaskID.Dir()+"/"+plan.ArtifactRecord{Version: version}.Path()]
		if by.Name == "" {
			return draft, fmt.Errorf("%s %s was recorded by nobody", c.TaskID, c.ArtifactID)
		}
		if !slices.Contains(authors, by) {
			authors = append(authors, by)
		}
		if len(group) > 1 {
			body += fmt.Sprintf("* %s: %s\n", c.TaskID, plain.Line(c.task.Title))
		}
	}
	if draft.Author = authors[0]; len(authors) > 1 { // of several makers none is the author
		draft.Author = l.options.Person
		for _, by := range authors {
			body += fmt.Sprintf("\nMade by %s", plain.Line(by.Name))
		}
	}
	draft.Message = gitstore.LandingMessage(subject, body, brought)
	return draft, nil
}

// record records what became of each change, and of those that landed before without one: it may have been killed.
func (l *landing) record(ctx context.Context) error {
	docs := slices.Clone(l.Tasks)
	docs = slices.DeleteFunc(docs, func(d plan.Landing) bool {
		return l.silent[d.TaskID] || l.recordedBefore(ctx, d)
	})
	for _, c := range l.landed[:l.checked] {
		last, err := l.lastRecord(ctx, c.TaskID, c.ArtifactID)
		if last.Head != "" { // what is proposed has landed when git wf land --prs says so
			continue
		}
		if err != nil || last.Commit == "" || last.Branch != l.Branch {
			at := l.there[c.TaskID]
			doc := l.doc(c)
			doc.Commit, doc.On = at.Commit, at.Parent
			docs = append(docs, doc)
		}
	}
	var errs []error
	for _, doc := range docs {
		_, err := l.engine.append(ctx, l.snap.ID, plan.Land{Landing: doc, Author: l.options.Person}, nil, nil)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// recordedBefore reports whether the newest record of a version says the same. A proposal outlives moves of the branch.
func (l *landing) recordedBefore(ctx context.Context, d plan.Landing) bool {
	last, err := l.lastRecord(ctx, d.TaskID, d.ArtifactID)
	said := func(d plan.Landing) string {
		return fmt.Sprint(d.Branch, d.Commit, d.Reason, d.Head, d.Base, d.URL, d.State)
	}
	return err == nil && said(last) == said(d) && (last.On == d.On || d.Head != "")
}

// lastRecord reads the newest landing of a version; it is empty if there is none.
func (l *landing) lastRecord(ctx context.Context, id plan.TaskID, version string) (plan.Landing, error) {
	return export.LastLanding(ctx, l.engine.Store, l.snap, id, plan.VersionNumber(version))
}
