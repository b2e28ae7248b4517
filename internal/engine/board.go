package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/act"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

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
				fmt.Fprintf(&asked, "  answer of %s: %s\n", q.Answer.By,
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

// firstBoard adds what a decider is shown once: what the plan was made from, and the paths of the repository, if it has
// a commit yet.
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
