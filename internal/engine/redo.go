package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/check"
	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Redo is what is made again, in plan order.
type Redo struct {
	Again  []Again       `json:"made_again"` // approved versions are set aside at once
	Follow []plan.TaskID `json:"follow"`     // made again when what they were made from is approved anew
	Asks   []plan.TaskID `json:"asked"`      // made by a person, who is asked
	Landed []plan.TaskID `json:"landed"`     // changes that have landed, and stay
	Kept   []plan.TaskID `json:"kept"`       // that an amendment changes in what nothing is judged by
}

// Again is a task that is made again, and why.
type Again struct {
	TaskID plan.TaskID `json:"task_id"`
	Reason string      `json:"reason"`

	findings []string // what is to be changed, if somebody has said it
}

// ids are the tasks whose approved versions are set aside.
func (r Redo) ids() []plan.TaskID {
	return each.Of(r.Again, func(a Again) plan.TaskID { return a.TaskID })
}

// redo finds what is made again with some tasks, in a plan as it is or would be. What was made from them follows by
// itself where its version names what it was made from; else it is set aside too, unless a person made it.
func (e *Engine) redo(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, asked []Again) (Redo, error) {
	r := Redo{Again: append([]Again{}, asked...), Follow: []plan.TaskID{}, Asks: []plan.TaskID{},
		Landed: []plan.TaskID{},
		Kept:   []plan.TaskID{}}
	persons := map[plan.TaskID]bool{}
	for grows := true; grows; {
		grows = false
		again, asks := s.Impact(r.ids()...)
		r.Follow, r.Asks = append(r.Follow[:0], again...), append(r.Asks[:0], asks...)
		for _, id := range asks {
			if persons[id] {
				continue
			}
			byAgent, err := e.byAgent(ctx, snap, s.Tasks[id])
			if err != nil {
				return r, err
			}
			if persons[id] = !byAgent; byAgent {
				grows = true
				r.Again = append(r.Again, Again{TaskID: id, Reason: "made from what is made again"})
			}
		}
	}
	each.Sort(r.Again, func(a, b Again) int { return s.Place(a.TaskID) - s.Place(b.TaskID) })
	return r, nil
}

// byAgent reports whether an agent or a command made the approved version of a task, and so would make it again.
func (e *Engine) byAgent(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (bool, error) {
	a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Approved)
	return a.Session != "", err
}

// amendment is what a person's plan has made again: what it changes of tasks with an approved version, and what
// follows. A task that gets another input is made again with it; other changes are for the next version to heed.
func (e *Engine) amendment(ctx context.Context, snap *gitstore.Snapshot, by plan.TaskID, whole *plan.Plan) (Redo,
	error) {
	if len(snap.Plan.Grafts) == 0 {
		return e.redo(ctx, snap, plan.Derive(whole, snap.Records, nil, e.Now()), nil)
	}
	s, fields, amends := snap.State(), map[plan.TaskID]string{}, whole.Task(by)
	rebinds := amends.SplitTargetTaskID+amends.FillTargetTaskID != "" // what stands for a task is its heir
	for _, f := range s.Amended(whole) {
		_, fields[f.TaskID], _ = strings.Cut(f.Path, ".")
	}
	var asked []Again
	var kept []plan.TaskID
	for _, t := range s.Plan.Tasks {
		field, now := fields[t.TaskID], whole.Task(t.TaskID)
		if field == "" && now != nil && now.NodeType == plan.Action && s.Tasks[t.TaskID].Status == plan.StatusDone {
			switch {
			case !rebinds && hasMoreInputs(t, now):
				field = "depends_on"
			case !rebinds && reworded(t, now):
				kept = append(kept, t.TaskID)
			}
		}
		if field != "" {
			reason := strings.TrimSuffix(fmt.Sprintf("%s changes its %s: %s", by, field, amends.Description), ": ")
			asked = append(asked, Again{TaskID: t.TaskID, Reason: reason})
		}
	}
	r, err := e.redo(ctx, snap, plan.Derive(whole, snap.Records, nil, e.Now()), asked)
	for _, id := range kept {
		if !slices.Contains(r.ids(), id) && !slices.Contains(r.Follow, id) {
			r.Kept = append(r.Kept, id)
		}
	}
	return r, err
}

// hasMoreInputs reports whether a task that can be made again depends on more than it did.
func hasMoreInputs(before, now *plan.Task) bool {
	return !now.Planning() && now.Judges == nil && now.Decides == nil &&
		slices.ContainsFunc(now.DependsOn, func(id plan.TaskID) bool { return !slices.Contains(before.DependsOn, id) })
}

// reworded reports whether a task says something else to who makes it.
func reworded(before, now *plan.Task) bool {
	says := func(t plan.Task) string {
		t.ParentTaskID, t.DependsOn, t.Covers, t.EstimatedPersonDays, t.Agent, t.Follows = "", nil, nil, 0, "", nil
		return string(plan.Document(t))
	}
	return says(*before) != says(*now)
}

// foreseen is the plan as it would be with a person's plan in it, and what that has made again. It leaves out nothing
// that somebody is working on.
func (e *Engine) foreseen(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, by plan.TaskID,
	candidate *plan.Plan) (*plan.State, Redo, error) {
	whole, err := s.Merged(by, candidate, 1)
	if err != nil {
		return nil, Redo{}, err
	}
	claims, err := e.Store.Claims(ctx, snap.ID)
	if err != nil {
		return nil, Redo{}, err
	}
	claims = e.Standing(claims, e.Now())
	for _, t := range snap.Plan.Tasks {
		if c, held := claims[t.TaskID]; held && whole.Task(t.TaskID) == nil {
			return nil, Redo{}, &plan.RefusedError{Task: t.TaskID,
				Reason: "is in work by " + plain.Line(c.Agent) + ", and the plan leaves it out",
				Hint:   "git wf status shows who; git wf pause lets nothing new begin"}
		}
	}
	r, err := e.amendment(ctx, snap, by, whole)
	if err != nil {
		return nil, r, err
	}
	return plan.Derive(whole, snap.State().Redone(r.ids()), claims, e.Now()), r, nil
}

// Rerun finds what is made again if the plan is, or some of its tasks: a GOAL stands for all of its leaves. Of the
// whole plan, what people made stays, and what has landed.
func (e *Engine) Rerun(ctx context.Context, snap *gitstore.Snapshot, tasks []plan.TaskID, reason string) (Redo, error) {
	s := snap.State()
	var asked []Again
	var asks, landed []plan.TaskID
	whole := len(tasks) == 0
	if whole {
		tasks = []plan.TaskID{s.Plan.RootTaskID}
	}
	if reason == "" {
		reason = "for the repository as it is now"
	}
	for _, id := range tasks {
		goal := whole || s.Tasks[id].NodeType == plan.Goal
		leaves := []plan.TaskID{id}
		if goal {
			leaves = s.Leaves(id)
		}
		for _, leaf := range leaves {
			t := s.Tasks[leaf]
			if goal && (t.Approved == 0 || t.Judges != nil || t.Decides != nil) {
				continue // it has nothing yet, or follows
			}
			if whole {
				byAgent, err := e.byAgent(ctx, snap, t)
				if err != nil {
					return Redo{}, err
				}
				switch {
				case s.Records.Of(leaf).Landed(t.Approved):
					landed = append(landed, leaf)
					continue
				case !byAgent:
					asks = append(asks, leaf)
					continue
				}
			}
			if !slices.ContainsFunc(asked, func(a Again) bool { return a.TaskID == leaf }) {
				asked = append(asked, Again{TaskID: leaf, Reason: reason})
			}
		}
	}
	if len(asked) == 0 && len(asks)+len(landed) == 0 {
		return Redo{}, fault.Refused("git wf run", "%s: nothing is approved that could be made again", snap.ID)
	}
	for _, a := range asked {
		if _, err := s.SetAside(a.TaskID); err != nil {
			return Redo{}, err
		}
	}
	r, err := e.redo(ctx, snap, s, asked)
	for _, id := range asks {
		r.Asks = each.Add(r.Asks, id)
	}
	r.Landed = append(r.Landed, landed...)
	return r, err
}

// MakeAgain records that versions are set aside, because a person wants them made again.
func (e *Engine) MakeAgain(ctx context.Context, id plan.ID, r Redo, person string) error {
	for _, again := range r.Again {
		snap, err := e.Store.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		s := snap.State()
		versions, err := s.SetAside(again.TaskID)
		if err != nil {
			return err
		}
		for _, v := range versions {
			subject, err := e.subject(ctx, snap, s, again.TaskID, v.Version)
			if err != nil {
				return err
			}
			rev := check.Again(subject, person, again.Reason, e.Now())
			for i, text := range again.findings {
				rev.Suggestions = append(rev.Suggestions[:i:i], plan.Suggestion{Priority: "HIGH", Text: text})
			}
			done, err := e.append(ctx, id, reviewEvent(rev, subject), nil, nil)
			if err != nil {
				return err
			}
			e.report(again.TaskID, what(done.Change))
		}
	}
	return nil
}

// Waive passes one criterion of a task's newest version on a person's word. If the engine rejected the version, the
// same event renews its verdict with the waiver; a person's rejection stands until that person changes it.
func (e *Engine) Waive(ctx context.Context, id plan.ID, task plan.TaskID, criterion string,
	d plan.Decision) (*gitstore.Appended, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	s := snap.State()
	t := s.Tasks[task]
	if t == nil || t.NodeType != plan.Action || t.Active == 0 {
		return nil, &plan.RefusedError{Task: task, Reason: "has no version to waive anything of", Hint: "git wf status"}
	}
	passed := false
	if t.Verdict == plan.Rejected { // what is approved may fail later, when others land
		if passed, err = e.passed(ctx, snap, t, criterion); err != nil {
			return nil, err
		}
	}
	if passed {
		return nil, &plan.RefusedError{Task: task, Hint: fmt.Sprintf("git wf show %s says what it lacks", task),
			Reason: fmt.Sprintf("%s passed in %s: there is nothing to waive", criterion, plan.VersionID(t.Active))}
	}
	ev := plan.Waive{Task: task, Version: t.Active, Criterion: criterion, Decision: d}
	if ev.Rejudged, err = e.rejudge(ctx, snap, s, t, criterion, d); err != nil {
		return nil, err
	}
	return e.append(ctx, id, ev, nil, nil)
}

// passed reports whether a criterion of the newest version passed, and failed nowhere.
func (e *Engine) passed(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, criterion string) (
	passed bool, err error) {
	for _, r := range snap.Records.Of(t.TaskID).Reviews {
		if r.Version != t.Active {
			continue
		}
		rev, err := export.ReadReview(ctx, e.Store, snap, t.TaskID, r)
		for _, c := range rev.Criteria {
			if passed = passed || c.ID == criterion && c.Result == plan.ResultPass; c.ID == criterion && !c.Passed() {
				return false, err
			}
		}
		if err != nil {
			return false, err
		}
	}
	return passed, nil
}

// rejudge repeats the engine's last review of the version with one criterion waived; nil if there was none.
func (e *Engine) rejudge(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, t *plan.TaskState,
	criterion string, d plan.Decision) (*plan.AddReview, error) {
	var last *plan.ReviewRecord
	for i, r := range snap.Records.Of(t.TaskID).Reviews {
		if r.Version == t.Active && r.Reviewer == plan.ReviewerChecks {
			last = &snap.Records.Of(t.TaskID).Reviews[i]
		}
	}
	if last == nil || last.Verdict != plan.Rejected {
		return nil, nil
	}
	old, err := export.ReadReview(ctx, e.Store, snap, t.TaskID, *last)
	if err != nil {
		return nil, err
	}
	subject, err := e.subject(ctx, snap, s, t.TaskID, t.Active)
	if err != nil {
		return nil, err
	}
	if subject.Rubric != nil {
		return nil, nil // the engine rates nothing: a reviewer has the last word
	}
	rev := check.ByEngine(subject, subject.Task.Rejudge(old.Criteria, criterion, d), "", e.Now())
	return &plan.AddReview{Review: rev, Artifact: subject.Artifact, Render: check.File,
		Author: AgentActor(plan.ReviewerChecks)}, nil
}
