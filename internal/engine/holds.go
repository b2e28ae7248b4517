package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// HoldsKey has runs ask the reviewing agent whether a version still holds before it is made again.
const HoldsKey = "wf.askHolds"

func (e *Engine) readHolds(ctx context.Context) error {
	value, set, err := e.Store.Config(ctx, HoldsKey)
	if err != nil || !set {
		return err
	}
	if e.asksHolds, err = strconv.ParseBool(value); err != nil {
		return fault.Usage("git config "+HoldsKey+" true", "%s is %q, and has to be true or false", HoldsKey, value)
	}
	return nil
}

// heldVersion is a version and what its inputs are now.
type heldVersion struct {
	plan         plan.ID
	task, inputs string
}

func heldOf(s *plan.State, t *plan.TaskState) heldVersion {
	of := fmt.Sprint(t.Active)
	for _, in := range s.Inputs(t.TaskID) {
		of += fmt.Sprintf(" %s v%d", in, s.Tasks[in].Approved)
	}
	return heldVersion{s.Plan.PlanID, string(t.TaskID), of}
}

// holdsWork is to ask a reviewing agent about a version whose inputs have changed. A change of the repository is moved
// first, and what judges or decides speaks anew. Each is asked about once.
func (e *Engine) holdsWork(s *plan.State, t *plan.TaskState) (work, bool) {
	if !e.asksHolds || t.Status != plan.StatusToBeModified || t.Verdict != plan.Approved || t.Changes() ||
		t.Judges != nil || t.Decides != nil || t.Planning() || len(s.Outdated(t.TaskID, t.Active)) == 0 ||
		e.lacks(s, t.Task).Text != "" {
		return work{}, false
	}
	if _, asked := e.askedHold.Load(heldOf(s, t)); asked {
		return work{}, false
	}
	who, ok := e.holdsSpeaker(s, t)
	do := func(ctx context.Context, id plan.ID, t *plan.TaskState) error { return e.askHolds(ctx, id, t, who) }
	return work{task: t, do: do, what: "review", agent: who.agent}, ok
}

// holdsSpeaker is the first of a task's reviewers that is an agent which can be asked here.
func (e *Engine) holdsSpeaker(s *plan.State, t *plan.TaskState) (speaker, bool) {
	names := s.Reviewers(t.TaskID)
	if len(names) == 0 {
		names = []string{e.Agents.Reviewer()}
	}
	seats := s.Seats(t.TaskID)
	for _, name := range names {
		who := speaker{agent: name}
		if slices.Contains(seats, name) {
			who = speaker{e.agentOfSeat(s, t, name), name}
		}
		if e.Agents.Knows(who.agent) && e.mayJudge(s.CheckOf(t.TaskID).Task, who) &&
			e.Agents.Missing(who.agent, nil) == nil {
			return who, true
		}
	}
	return speaker{}, false
}

// askHolds records a reviewing agent's word that a version holds for what its inputs are now. Whatever else it says, or
// that it says nothing, leaves the version to be made again.
func (e *Engine) askHolds(ctx context.Context, id plan.ID, t *plan.TaskState, who speaker) error {
	h, work, err := e.claimAs(ctx, id, plan.Claim{Task: t.TaskID, Agent: who.agent})
	if err != nil {
		return err
	}
	defer e.release(ctx, id, h)
	snap, s, t, err := e.afterClaim(ctx, id, t.TaskID)
	if err != nil || t == nil {
		return err
	}
	if _, ok := e.holdsWork(s, t); !ok {
		return nil
	}
	e.askedHold.Store(heldOf(s, t), true)
	made, err := export.ReadArtifact(work, e.Store, snap, t.TaskID, t.Approved)
	if err != nil {
		return err
	}
	now := made
	now.Inputs = approvedInputs(snap, s, t.TaskID)
	ev := evidence{subject: check.Subject{Task: t.Task, Artifact: now, MinScore: s.MinScore(t.TaskID),
		Rubric: s.RubricOf(t.TaskID)}}
	no := func(why string) error {
		if work.Err() != nil {
			return e.broken(ctx, h)
		}
		e.report(t.TaskID, fmt.Sprintf("%s is made again: %s", made.ArtifactID, why))
		return nil
	}
	if ev.ran, err = e.examine(work, snap, s, ev.subject); err != nil {
		return no("its criteria could not be tried: " + err.Error())
	}
	if failedAny(ev.ran) {
		return no("it fails with what its inputs are now")
	}
	w, err := e.prepareAs(work, snap, t, contract.RoleCheck, who.seat, now.Inputs)
	if err != nil {
		return err
	}
	defer w.remove()
	if err := w.makePlaces(); err != nil {
		return err
	}
	if err := e.showOutdated(work, w, snap, t); err != nil {
		return err
	}
	data, err := e.reviewData(work, w, snap, t, ev, who)
	if err != nil {
		return err
	}
	data.Outdated = w.outdated
	e.report(t.TaskID, fmt.Sprintf("%s asks whether %s still holds", who, made.ArtifactID))
	var log bytes.Buffer
	want := contract.Want{Role: w.role, Criteria: t.AcceptanceCriteria, Rubric: ev.subject.Rubric}
	reply, res, err := e.consult(work, w, snap, t, who, data, want, &log)
	by := res.MadeBy(who.agent)
	switch {
	case err != nil:
		return no(err.Error())
	case res.Kind != agent.Artifact:
		return no(firstLine(res.Message))
	case !reply.StillHolds || reply.Review.Verdict != plan.Approved:
		return no(by + " does not say that it still holds")
	}
	said := plan.StillHolds{Task: t.TaskID, Version: made, Author: AgentActor(by), Seat: who.seat,
		Decision: plan.Decision{By: by, CreatedAt: plan.Second(e.Now()), Reason: reply.Summary}}
	return e.record(ctx, id, t.TaskID, said, h, nil, what)
}
