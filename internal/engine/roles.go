package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// agentOf is the name of the agent that does a task: the task's own, that of its role, the one of the user's table,
// wf.executor, or exec or a person.
func (e *Engine) agentOf(p *plan.Plan, t *plan.Task) string {
	if t.Agent == "" && t.Run == "" {
		return cmp.Or(e.agentOfRole(p, t.Role), e.assigned(t), e.Agents.Read().Executor, agent.Name(t))
	}
	return agent.Name(t)
}

// agentOfRole is the agent that speaks for a role: the one that the plan names, if it can be asked here, else the one
// that the user's git config names; "" if neither does.
func (e *Engine) agentOfRole(p *plan.Plan, role string) string {
	if !p.HasRole(role) {
		return ""
	}
	if name := p.Roles[role].Agent; e.isSetUp(name) && e.Agents.Missing(name, nil) == nil {
		return name
	}
	return e.Agents.Read().Roles[role]
}

// speaker is who reviews: an agent for itself or, in a seat, for a role.
type speaker struct{ agent, seat string }

// reviewer is the name that the review goes by.
func (s speaker) reviewer() string { return cmp.Or(s.seat, s.agent) }

// String is the reviewer for people to read.
func (s speaker) String() string { return plan.Review{Reviewer: s.reviewer(), Agent: s.spoken()}.Who() }

// spoken is the agent of a review in a seat, "" for one who reviews for itself.
func (s speaker) spoken() string {
	if s.seat == "" {
		return ""
	}
	return s.agent
}

// agentOfSeat is the agent that would take a seat of a task's reviewers, "" if only a person can.
func (e *Engine) agentOfSeat(s *plan.State, t *plan.TaskState, seat string) string {
	return cmp.Or(e.agentOfRole(s.Plan, seat), e.byTable(s.CheckOf(t.TaskID).Task), e.Agents.Read().Reviewer)
}

// listed is the next of a task's named reviewers that this machine knows: best, one that it can ask now.
func (e *Engine) listed(s *plan.State, t *plan.TaskState) (who speaker, ok bool) {
	seats := s.Seats(t.TaskID)
	for _, name := range s.Reviewers(t.TaskID) {
		next := speaker{agent: name}
		if slices.Contains(seats, name) {
			next = speaker{e.agentOfSeat(s, t, name), name}
		}
		if !e.Agents.Knows(next.agent) || hasReviewed(s, t, name) {
			continue
		}
		if e.mayJudge(s.CheckOf(t.TaskID).Task, next) &&
			(next.seat == "" && !ok || e.Agents.Missing(next.agent, e.mayReview(s, t, next)) == nil) {
			return next, true
		}
		if !ok {
			who, ok = next, true
		}
	}
	return who, ok
}

// mostNotes is how many notes somebody who works on a task is told, the newest.
const mostNotes = 200

// notes are what somebody who works on a task is told: of the role's categories, or of all. A reviewer does not hear
// what came with the task's own versions.
func (e *Engine) notes(ctx context.Context, w *workDir) ([]plan.Note, error) {
	notes, err := export.Notes(ctx, e.Store, w.snap, mostNotes, w.snap.Plan.Roles[w.as].Notes...)
	if w.role.Usual() != contract.Artifact {
		notes = slices.DeleteFunc(notes, func(n plan.Note) bool { return n.Is(w.task.TaskID) })
	}
	return notes, err
}

// Note records a note; with an agent's name, as what that agent says.
func (e *Engine) Note(ctx context.Context, id plan.ID, n plan.Note, by string) (*gitstore.Appended, error) {
	if by != "" {
		n.By, n.Author = by, AgentActor(by)
	}
	return e.append(ctx, id, n, nil, nil)
}

// roleThread is the agent's own name for the newest conversation in which it made a version in a role.
func (e *Engine) roleThread(ctx context.Context, snap *gitstore.Snapshot, role, name string) (string, error) {
	thread, newest := "", time.Time{}
	for _, t := range snap.Plan.Tasks {
		version := snap.Records.Of(t.TaskID).Active()
		if t.Role != role || version == 0 {
			continue
		}
		a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, version)
		if err != nil {
			return "", err
		}
		if a.Agent == name && a.Thread != "" && !a.CreatedAt.Before(newest) {
			thread, newest = a.Thread, a.CreatedAt
		}
	}
	return thread, nil
}

// Vacancy is a seat that has not spoken on the newest version of a task, and who would take it here.
type Vacancy struct {
	Task    plan.TaskID `json:"task_id"`
	Role    string      `json:"role"`
	Agent   string      `json:"agent,omitempty"` // "" is a person
	Command string      `json:"command"`         // that takes the seat, or has an agent take it
}

// Vacancies lists the open seats of the versions that await review, in plan order.
func (e *Engine) Vacancies(s *plan.State) []Vacancy {
	var all []Vacancy
	for _, t := range s.Plan.Tasks {
		ts := s.Tasks[t.TaskID]
		if ts.Status != plan.StatusReadyToCheck {
			continue
		}
		for _, role := range s.OpenSeats(t.TaskID) {
			v := Vacancy{Task: t.TaskID, Role: role, Agent: e.agentOfSeat(s, ts, role), Command: "git wf run"}
			switch {
			case !e.Agents.Knows(v.Agent):
				v.Agent, v.Command = "", seatCommand(t.TaskID, role)
			case !e.mayJudge(s.CheckOf(t.TaskID).Task, speaker{v.Agent, role}):
				v.Command = "git wf trust"
			}
			all = append(all, v)
		}
	}
	return all
}

// seatCommand says how a seat is filled that no agent takes.
func seatCommand(task plan.TaskID, role string) string {
	return fmt.Sprintf("git wf review %s --as %s", task, role)
}

// people is how many people the policy wants to approve a version of a task before it lands.
func (e *Engine) people(t *plan.Task) int {
	least := 0
	for _, root := range e.demands(t) {
		least = max(least, e.Policy.Quorum(root))
	}
	return least
}

// demands are the roots' rules that a version of a task may be held against.
func (e *Engine) demands(t *plan.Task) []policy.Root {
	switch code := e.Policy.Changes; {
	case t.Planning() || t.Judges != nil || t.Decides != nil || t.Changes() && len(code.Paths) == 0:
		return nil
	case t.Changes():
		return []policy.Root{code.Demands()}
	}
	return e.Policy.Protected()
}

// Unmet says which approvals the policy wants besides those that a task's newest version has, in the words of the gate;
// "" if none, or if the plan itself has not approved it.
func (e *Engine) Unmet(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID) (string, error) {
	t := snap.State().Tasks[id]
	if t == nil || t.Verdict != plan.Approved || len(e.demands(t.Task)) == 0 {
		return "", nil
	}
	p := &gitstore.Policy{Policy: e.Policy}
	proven, err := export.Prove(ctx, e.Store, snap, p)
	if err != nil {
		return "", err
	}
	v, unmet := export.Version{TaskID: id, Number: t.Active}, ""
	for _, root := range e.demands(t.Task) {
		lacks, err := export.Lacks(ctx, e.Store, proven.Snapshot, p, root, []export.Version{v})
		if unmet = lacks[v]; err != nil || unmet == "" {
			return "", err
		}
	}
	return fmt.Sprintf("the policy wants more before %s lands (%s): %s", plan.VersionID(t.Active), unmet,
		snap.State().AskPerson(id)), nil
}
