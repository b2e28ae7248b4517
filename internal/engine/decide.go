package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/act"
	"gitwf/internal/each"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
)

// decisionOf reads the decision in a version of a deciding task.
func (e *Engine) decisionOf(ctx context.Context, snap *gitstore.Snapshot, made plan.Artifact) (export.Decided, error) {
	d, err := export.ReadDecided(ctx, e.Store, snap, made)
	d.Deciding.Amends = e.amends(snap.State(), made)
	return d, err
}

// amends is the review of a plan that an agent's decision puts in the place of this one; a person's may loosen more.
func (e *Engine) amends(s *plan.State, made plan.Artifact) func([]byte) plan.Findings {
	return func(text []byte) plan.Findings {
		broken := func(err error) plan.Findings {
			if fs, ok := errors.AsType[plan.Findings](err); ok {
				return fs
			}
			return plan.Findings{{Message: err.Error(), Expected: "a plan that can replace this one"}}
		}
		c, err := plan.Replan{Planner: e.planner(made.Agent)}.Apply(s)
		if err != nil {
			return broken(err)
		}
		next := plan.Derive(c.Plan, s.Records, nil, e.Now())
		id := c.Plan.PlanningOf("").TaskID
		p, err := plandoc.ParseCandidate(next, id, planFile, text, e.Policy.Floors)
		if err != nil {
			return broken(err)
		}
		whole, err := next.Merged(id, p, 1)
		if err != nil {
			return broken(err)
		}
		if made.Session == "" {
			return plandoc.Locate(planFile, text, next.Amended(whole))
		}
		asked := candidate{name: planFile, data: text, whole: whole}
		return append(asked.forbidden(next, made.Agent), whole.ChecksAlone(s.Plan)...)
	}
}

// findings say why the decision can't take effect.
func findings(d export.Decided) []string {
	fs := d.Broken
	if len(fs) == 0 {
		fs = d.Deciding.Findings(d.Decision)
	}
	return each.Of(fs, func(f plan.Finding) string { return f.Code + ": " + f.Error() })
}

// reviewDecision has the built-in review judge the newest version of a deciding task under a claim.
func (e *Engine) reviewDecision(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	findings := func(h *hold, made plan.Artifact) ([]string, bool, error) {
		d, err := e.decisionOf(ctx, h.snap, made)
		return findings(d), false, err
	}
	return e.reviewAct(ctx, id, t, plan.ReviewerDecision, findings)
}

// applyDecision lets an approved decision take effect. One that can't any more is overtaken.
func (e *Engine) applyDecision(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool { return among(h.state.ToApply(), t.TaskID) }
	want := plan.Claim{Task: t.TaskID, Agent: plan.ReviewerDecision}
	return e.underClaim(ctx, id, want, due, func(h *hold) error {
		made, err := export.ReadArtifact(ctx, e.Store, h.snap, t.TaskID, h.task.Active)
		if err != nil {
			return err
		}
		d, err := e.decisionOf(ctx, h.snap, made)
		if err != nil {
			return err
		}
		if said := findings(d); len(said) > 0 {
			return e.overtake(ctx, h.snap, t.TaskID, plan.ReviewerDecision, said)
		}
		ev := d.Deciding.Apply(d.Decision, made.Agent)
		ev.Time = e.Now()
		ev.Holds = func(s *plan.State) error {
			again := d
			again.Deciding.State, again.Deciding.Amends = s, e.amends(s, made)
			if said := findings(again); len(said) > 0 {
				return &plan.RefusedError{Task: t.TaskID, Reason: said[0]}
			}
			return nil
		}
		batch := e.Store.NewBatch()
		defer batch.Discard() // unless it is recorded
		if text := d.DevPlan(); text != nil {
			if ev.Amended, err = e.amended(batch, made, text); err != nil {
				return err
			}
			ev.Planner = e.planner(plan.AgentManual) // who decided makes it
		}
		err = e.record(ctx, id, t.TaskID, ev, h, batch, what)
		if _, ok := errors.AsType[*plan.RefusedError](err); ok {
			return nil // what it decides has changed meanwhile: the next look finds it overtaken
		}
		return err
	})
}

// decline gives up the task that amends the plan as a decision has it, when its version is rejected.
func (e *Engine) decline(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	return e.giveUp(ctx, id, (*plan.State).Declined, plan.Abandon{Task: t.TaskID}, plan.ReviewerDecision,
		fmt.Sprintf("%s was rejected; %s decides what comes of that", plan.VersionID(t.Active), t.Agent))
}

// amended is the plan in a decision as the first version of the task that amends the plan.
func (e *Engine) amended(batch *gitstore.Batch, by plan.Artifact, text []byte) (plan.Artifact, error) {
	tree, files, err := batch.AddFiles(map[string][]byte{planFile: text})
	a := e.newArtifact("", by.Agent, tree, files, []plan.Input{})
	a.Session, a.Summary = by.Session, fmt.Sprintf("Decided by %s %s", by.TaskID, by.ArtifactID)
	return a, err
}

// decideByRule makes the next version of a deciding task, as a rule has it.
func (e *Engine) decideByRule(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	want := plan.Claim{Task: t.TaskID, Agent: act.ByRule}
	return e.underClaim(ctx, id, want, (*hold).isReady, func(h *hold) error {
		d, err := export.ReadDeciding(ctx, e.Store, h.snap, t.TaskID, h.task.Active+1)
		if err != nil {
			return err
		}
		x, ok := d.Policy()
		if !ok {
			return &undecidedError{t.TaskID, h.snap.Commit}
		}
		batch := e.Store.NewBatch()
		defer batch.Discard() // unless it is recorded
		tree, files, err := batch.AddFiles(map[string][]byte{h.task.DeliverableSpec.Filename: x.Line()})
		if err != nil {
			return err
		}
		a := e.newArtifact(t.TaskID, act.ByRule, tree, files, approvedInputs(h.snap, h.state, t.TaskID))
		a.Session, a.Summary = h.claim.Session, x.Reason
		ev := plan.NewVersion{Author: AgentActor(act.ByRule), Artifact: a}
		return e.record(ctx, id, t.TaskID, ev, h, batch, what)
	})
}

// undecidedError says that no rule has anything to decide in a state of the plan: a person has to act.
type undecidedError struct {
	task plan.TaskID
	at   plan.OID
}

func (e *undecidedError) Error() string { return string(e.task) + ": nothing can be decided by rule" }

// order is what a decision told the maker of a task, nil if no order of it is open.
func (e *Engine) order(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (*prompt.Order, error) {
	path := snap.Records.Of(t.TaskID).LastOrder()
	if path == "" || t.Decides != nil {
		return nil, nil
	}
	var o plan.Order
	if err := e.documents(ctx, snap, t.TaskID).Read(path, &o); err != nil {
		return nil, err
	}
	return &prompt.Order{By: string(o.ByTask) + " " + o.Decision, Mode: o.Mode, Text: prompt.Text(o.Text)}, nil
}

// board is what a task that decides is shown, and all that it is shown.
func (e *Engine) board(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (*prompt.Board, error) {
	s := snap.State()
	b := &prompt.Board{Iteration: t.Active + 1, Orders: t.Decides.Orders, Plan: prompt.Text(act.DevPlan(s))}
	var asked, reports strings.Builder
	last := s.LastAct(t.TaskID)
	amends, err := e.amendedBy(ctx, snap, t)
	if err != nil {
		return nil, err
	}
	for _, other := range s.Plan.Tasks {
		docs := e.documents(ctx, snap, other.TaskID)
		for _, n := range snap.Records.Of(other.TaskID).Questions {
			q, err := docs.Question(n)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&asked, "%s %s: %s\n", other.TaskID, q.QuestionID, q.Question.Question)
			if q.Answer == nil {
				asked.WriteString("  not answered\n")
			} else {
				fmt.Fprintf(&asked, "  answer of %s: %s\n", q.Answer.Who(),
					strings.TrimSpace(q.Answer.OptionID+" "+q.Answer.Text))
			}
		}
		if last > 0 && (s.OrderedBy(other.TaskID, last) || amends[other.TaskID]) {
			if err := e.reportOf(ctx, snap, s.Tasks[other.TaskID], &reports); err != nil {
				return nil, err
			}
		}
	}
	b.Asked, b.Reports = prompt.Text(asked.String()), prompt.Text(reports.String())
	if last == 0 {
		return b, e.firstBoard(ctx, snap, b)
	}
	made, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, last)
	if err != nil {
		return nil, err
	}
	d, err := export.ReadDecided(ctx, e.Store, snap, made)
	b.History = prompt.Text(d.HistoryAppend)
	return b, err
}

// amendedBy are the tasks that amend the plan as the newest decision has it.
func (e *Engine) amendedBy(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (map[plan.TaskID]bool,
	error) {
	amends := map[plan.TaskID]bool{}
	path := snap.Records.Of(t.TaskID).LastAct()
	if path == "" {
		return amends, nil
	}
	var act struct {
		Wrote []string `json:"wrote"`
	}
	err := e.documents(ctx, snap, t.TaskID).Read(path, &act)
	for _, other := range snap.Plan.Tasks {
		amends[other.TaskID] = other.Planning() && slices.ContainsFunc(act.Wrote, func(p string) bool {
			return strings.HasPrefix(p, other.TaskID.Dir()+"/")
		})
	}
	return amends, err
}

// firstBoard adds what a decider is shown once: what the plan was made from, and the paths of the repository.
func (e *Engine) firstBoard(ctx context.Context, snap *gitstore.Snapshot, b *prompt.Board) error {
	given, err := expand.Given(ctx, e.Store, snap)
	if err != nil {
		return err
	}
	b.Given = prompt.Text(given)
	b.Tree, err = e.paths(ctx)
	return err
}

// paths lists the files of the repository as it is; "" before its first commit.
func (e *Engine) paths(ctx context.Context) (prompt.Text, error) {
	head, err := e.Store.CommitOf(ctx, "HEAD")
	if err != nil || head == "" {
		return "", err
	}
	tree, err := e.Store.Git(ctx, "ls-tree", "-r", "--name-only", string(head))
	return prompt.Text(tree), err
}

// reportOf is what became of an order: what was made and said, and what the reviews say.
func (e *Engine) reportOf(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, b *strings.Builder) error {
	s, docs := snap.State(), e.documents(ctx, snap, t.TaskID)
	r := s.Records.Of(t.TaskID)
	versions, attempts := s.BeforeOrder(t.TaskID)
	fmt.Fprintf(b, "# %s: %s\n", t.TaskID, act.DevPlanWord(s, t.TaskID))
	var concerns []plan.Note
	if n := len(r.Artifacts); n > 0 && r.Artifacts[n-1].Version > versions {
		a, err := docs.Artifact(r.Artifacts[n-1])
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s by %s: %s\n", a.ArtifactID, a.Agent, a.Summary)
		concerns = a.Concerns
		if t.Judges != nil {
			v, err := export.ReadVerdicts(ctx, e.Store, snap, a)
			if err != nil {
				return err
			}
			b.WriteString(v.Report())
		}
	}
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].N > attempts {
		a, err := docs.Attempt(r.Attempts[n-1])
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s, %s: %s\n", a.AttemptID, a.Kind, a.Message)
		concerns = append(concerns, a.Concerns...)
	}
	for _, c := range concerns {
		fmt.Fprintf(b, "concern about %s: %s\n", c.TaskID, c.Text)
	}
	for _, rec := range r.Reviews {
		if rec.Version != t.Active {
			continue
		}
		text, err := docs.ReviewFile(rec)
		if err != nil {
			return err
		}
		b.Write(text)
	}
	return nil
}
