package export

import (
	"context"
	"slices"
	"strings"
	"time"

	"gitwf/internal/act"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Verdicts are those in a version of a judge, and what they are held against.
type Verdicts struct {
	act.Verdicts
	judging act.Judging
	broken  []string // what is wrong with the document itself; then it says nothing
	made    plan.Artifact
}

// Findings say why the verdicts can't take effect in a state.
func (v Verdicts) Findings(s *plan.State) []string {
	if len(v.broken) > 0 {
		return v.broken
	}
	v.judging.State = s
	return v.judging.Findings(v.Verdicts)
}

// Unanswered says which tasks the verdicts of an investigation say nothing of, though they could.
func (v Verdicts) Unanswered() []string { return v.judging.Unanswered(v.Verdicts) }

// Outcome is what the verdicts do in a state: the reviews, and what the user is asked. It fails if they can't take
// effect.
func (v Verdicts) Outcome(s *plan.State, at time.Time) ([]plan.Review, []plan.Question, error) {
	if findings := v.Findings(s); len(findings) > 0 {
		return nil, nil, &plan.RefusedError{Task: v.made.TaskID, Reason: strings.Join(findings, "; ")}
	}
	v.judging.State = s
	reviews, asks := v.judging.Outcome(v.Verdicts, v.made.Agent, at)
	return reviews, asks, nil
}

// Rejected are the tasks that the verdicts reject.
func (v Verdicts) Rejected() (ids []plan.TaskID) {
	for _, x := range v.Verdicts.Verdicts {
		if x.Verdict == plan.Rejected {
			ids = append(ids, x.TaskID)
		}
	}
	return ids
}

// Approves reports whether the verdicts approve a task. It is true of a document that says nothing: that excuses
// nobody.
func (v Verdicts) Approves() bool {
	return len(v.broken) > 0 || slices.ContainsFunc(v.Verdicts.Verdicts, func(x act.Verdict) bool {
		return x.Verdict == plan.Approved
	})
}

// Excludes reports whether the verdicts leave a task out.
func (v Verdicts) Excludes(id plan.TaskID) bool {
	return slices.ContainsFunc(v.Excluded, func(x act.Excluded) bool { return x.TaskID == id })
}

// ReadVerdicts reads the verdicts in a version of a judge, and what the engine ran on what they judge.
func ReadVerdicts(ctx context.Context, store reader, snap *gitstore.Snapshot, made plan.Artifact) (v Verdicts,
	err error) {
	s := snap.State()
	t := s.Tasks[made.TaskID]
	v.made = made
	v.judging = act.Judging{State: s, Judge: t.TaskID, Version: plan.VersionNumber(made.ArtifactID),
		Ran: map[plan.TaskID][]plan.CriterionResult{}}
	data, err := store.ReadFile(ctx, made.Tree, t.DeliverableSpec.Filename)
	if err != nil {
		return v, err
	}
	if v.Verdicts, v.broken = act.ReadVerdicts(data); len(v.broken) > 0 {
		return v, nil
	}
	for _, id := range s.Judged(t.TaskID) {
		if v.judging.Ran[id], err = Ran(ctx, store, snap, id); err != nil {
			return v, err
		}
	}
	return v, nil
}

// Ran is what the run lines of a task said of its approved version; nil if it has none, or if its criteria have changed
// since.
func Ran(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID) ([]plan.CriterionResult, error) {
	t := snap.State().Tasks[id]
	if !t.HasRun() || t.Approved == 0 {
		return nil, nil
	}
	// An approval has the results of all run lines: the engine's own, or those of a check that it cites.
	rev, err := ApprovedBy(ctx, store, snap, id, t.Approved)
	if err != nil || rev.SpecHash != t.SpecHash() {
		return nil, err
	}
	return rev.Criteria, nil
}

// Decided is the decision in a version of a deciding task, and what it is held against in a snapshot.
type Decided struct {
	act.Decision
	Deciding act.Deciding
	Broken   plan.Findings // what is wrong with the document itself; then it says nothing
}

// ReadDecided reads the decision in a version of a deciding task.
func ReadDecided(ctx context.Context, store reader, snap *gitstore.Snapshot, made plan.Artifact) (d Decided,
	err error) {
	t := snap.State().Tasks[made.TaskID]
	if d.Deciding, err = ReadDeciding(ctx, store, snap, t.TaskID, plan.VersionNumber(made.ArtifactID)); err != nil {
		return d, err
	}
	data, err := store.ReadFile(ctx, made.Tree, t.DeliverableSpec.Filename)
	if err != nil {
		return d, err
	}
	d.Decision, d.Broken = act.ReadDecision(data)
	return d, nil
}

// ReadDeciding reads what a decision is held against: questions, concerns, and what failed again and again.
func ReadDeciding(ctx context.Context, store reader, snap *gitstore.Snapshot, decider plan.TaskID,
	version int) (act.Deciding, error) {
	s := snap.State()
	d := act.Deciding{State: s, Decider: decider, Version: version, Failures: map[plan.TaskID]act.Failure{}}
	for _, t := range s.Plan.Tasks {
		docs := DocumentsOf(ctx, store, snap, t.TaskID)
		for _, n := range snap.Records.Of(t.TaskID).Questions {
			q, err := docs.Question(n)
			if err != nil {
				return d, err
			}
			d.Questions = append(d.Questions, act.Asked{Question: q.Question, Answered: q.Answer != nil})
		}
	}
	for _, id := range s.Held(decider) {
		docs := DocumentsOf(ctx, store, snap, id)
		f, err := docs.failures(s)
		if err != nil {
			return d, err
		}
		if f.Times > 0 {
			d.Failures[id] = f
		}
		if !s.OrderedOf(decider, id) {
			continue // whatever was said then has been settled
		}
		about, err := docs.concerns(s)
		if err != nil {
			return d, err
		}
		for _, c := range about {
			if !s.Settled(decider, id, c.About) {
				d.Concerns = append(d.Concerns, c)
			}
		}
	}
	return d, nil
}

// mostFailures is how many versions are looked at for equal failures.
const mostFailures = 5

// failures counts the newest versions that were rejected for the same criteria, since a person last let the task go on.
func (d Documents) failures(s *plan.State) (f act.Failure, err error) {
	r := d.records()
	for v := r.Active(); v > 0 && f.Times < mostFailures; v-- {
		if s.VersionVerdict(d.id, plan.VersionID(v)) != plan.Rejected {
			return f, nil
		}
		var failed []string
		for _, rec := range slices.Backward(r.Reviews) {
			if rec.Version != v || rec.Verdict != plan.Rejected || rec.N <= r.Reset().Review {
				continue
			}
			rev, err := d.Review(rec)
			if err != nil {
				return f, err
			}
			for _, c := range rev.Criteria {
				if c.Result == plan.ResultFail {
					failed = append(failed, c.ID)
				}
			}
			break
		}
		slices.Sort(failed)
		if len(failed) == 0 || f.Times > 0 && !slices.Equal(failed, f.Criteria) {
			return f, nil
		}
		f.Times, f.Criteria = f.Times+1, failed
	}
	return f, nil
}

// concerns are what the maker of a task said against others after its newest order.
func (d Documents) concerns(s *plan.State) (about []act.Concern, err error) {
	r := d.records()
	versions, attempts := s.BeforeOrder(d.id)
	add := func(task plan.TaskID, text string) {
		if t := s.Tasks[task]; t != nil && task != d.id {
			about = append(about, act.Concern{By: d.id, About: task, Text: text})
		}
	}
	if v := r.Active(); v > versions {
		a, err := ReadArtifact(d.ctx, d.store, d.snap, d.id, v)
		if err != nil {
			return nil, err
		}
		for _, c := range a.Concerns {
			add(c.TaskID, c.Text)
		}
	}
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].N > attempts {
		a, err := d.Attempt(r.Attempts[n-1])
		if err != nil {
			return nil, err
		}
		for _, c := range a.Concerns {
			add(c.TaskID, c.Text)
		}
	}
	return about, nil
}
