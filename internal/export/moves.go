package export

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Move is a decision that took effect: who decided what, for whom, when, why, and what came of it.
type Move struct {
	By       plan.TaskID `json:"by_task"`  // the deciding task
	Decision string      `json:"decision"` // its version
	From     string      `json:"from"`     // a role, with who speaks for it
	To       string      `json:"to,omitempty"`
	Kind     string      `json:"kind"`              // order, question or finish
	Task     plan.TaskID `json:"task_id,omitempty"` // that is ordered
	Text     string      `json:"text,omitempty"`
	Why      string      `json:"why"`
	Came     []string    `json:"came,omitempty"` // of it; nothing yet if it is empty
	Time     time.Time   `json:"created_at"`
}

// Moves are a plan's decisions, at most so many, newest first.
func Moves(ctx context.Context, store reader, snap *gitstore.Snapshot, most int) (all []Move, err error) {
	t := TalkOf(ctx, store, snap)
	if t == nil {
		return nil, nil
	}
	for _, task := range snap.Plan.Tasks {
		if task.Decides == nil {
			continue
		}
		for _, version := range slices.Backward(t.s.Acted(task.TaskID)) {
			if len(all) == most {
				break
			}
			m, err := t.move(task.TaskID, version)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// move is what the version of a deciding task has decided.
func (t *Talk) move(by plan.TaskID, version int) (m Move, err error) {
	made, err := ReadArtifact(t.ctx, t.store, t.snap, by, version)
	if err != nil {
		return m, err
	}
	d := t.decision(made)
	m = Move{By: by, Decision: made.ArtifactID, From: speakerOf(t.s.Tasks[by].Role, made.Agent), Kind: saidFinish,
		Why: d.Reason, Time: made.CreatedAt}
	for _, task := range t.snap.Plan.Tasks {
		for i, o := range t.snap.Records.Of(task.TaskID).Orders {
			if o.Decision != version {
				continue
			}
			m.Kind, m.Task, m.To, m.Text = saidOrder, task.TaskID, task.Role, d.Task
			if o.Mode != "" {
				m.Text = o.Mode + ": " + m.Text
			}
			for _, a := range d.Answers {
				m.Text += fmt.Sprintf(" (answers %s %s: %s)", a.TaskID, a.QuestionID, a.Text)
			}
			m.Came, err = t.outcome(task.TaskID, i)
			return m, err
		}
	}
	return m, t.addAsked(&m, version)
}

// addAsked adds what the decision asked the user, and the answer.
func (t *Talk) addAsked(m *Move, version int) error {
	docs := DocumentsOf(t.ctx, t.store, t.snap, m.By)
	for _, a := range docs.records().Acts {
		var doc struct {
			Wrote []string `json:"wrote"`
		}
		if a.Version != version {
			continue
		}
		if err := docs.Read(a.Path(), &doc); err != nil {
			return err
		}
		for _, name := range doc.Wrote {
			n, ok := strings.CutPrefix(name, m.By.Dir()+"/questions/q")
			number, err := strconv.Atoi(strings.TrimSuffix(n, ".json"))
			if !ok || err != nil {
				continue
			}
			q, err := docs.Question(number)
			if err != nil {
				return err
			}
			m.Kind, m.To, m.Text = saidQuestion, theUser, q.Question.Question
			if a := q.Answer; a != nil {
				m.Came = []string{fmt.Sprintf("%s: %s", a.By, cmp.Or(a.OptionID, a.Text, strings.Join(a.Inputs, ", ")))}
			}
		}
	}
	return nil
}

// outcome is what came of a task's nth order, up to the next one.
func (t *Talk) outcome(id plan.TaskID, n int) (came []string, err error) {
	r, docs := t.snap.Records.Of(id), DocumentsOf(t.ctx, t.store, t.snap, id)
	from, versions, attempts := r.Orders[n], math.MaxInt, math.MaxInt
	if n+1 < len(r.Orders) {
		versions, attempts = r.Orders[n+1].Versions, r.Orders[n+1].Attempts
	}
	for _, rec := range r.Attempts {
		if rec.N <= from.Attempts || rec.N > attempts {
			continue
		}
		a, err := docs.Attempt(rec)
		if err != nil {
			return nil, err
		}
		text := a.Kind
		if a.Kind == plan.AttemptNeedsInput {
			text = "asked"
		}
		came = append(came, text+": "+a.Message)
	}
	for _, rec := range r.Artifacts {
		if rec.Version <= from.Versions || rec.Version > versions {
			continue
		}
		text := plan.VersionID(rec.Version) + " awaits review"
		if v := t.s.VersionVerdict(id, plan.VersionID(rec.Version)); v != "" {
			text = plan.VersionID(rec.Version) + " " + strings.ToLower(string(v))
		}
		ruled, err := t.rulings(id, rec.Version)
		if err != nil {
			return nil, err
		}
		came = append(append(came, text), ruled...)
	}
	return came, nil
}

// rulings is what a version of a judge said of what it judges.
func (t *Talk) rulings(judge plan.TaskID, version int) (ruled []string, err error) {
	for _, id := range t.s.Judged(judge) {
		docs := DocumentsOf(t.ctx, t.store, t.snap, id)
		for _, rec := range t.snap.Records.Of(id).Reviews {
			if rec.Reviewer != plan.EscapeName(string(judge)) {
				continue
			}
			r, err := docs.Review(rec)
			if err != nil {
				return nil, err
			}
			if r.JudgedBy != nil && r.JudgedBy.ArtifactID == plan.VersionID(version) {
				ruled = append(ruled, fmt.Sprintf("%s %s %s", id, r.ReviewedArtifactID,
					strings.ToLower(string(r.Verdict))))
			}
		}
	}
	return ruled, nil
}
