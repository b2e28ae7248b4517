package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Complete ends the work on a plan: it records what the work cost and what it taught. It fails with a *plan.OpenError
// while anything is open.
func (e *Engine) Complete(ctx context.Context, id plan.ID, d plan.Decision, author plan.Actor) (*gitstore.Appended,
	plan.CompletionDocument, error) {
	for tries := 5; ; tries-- {
		snap, err := e.Store.Snapshot(ctx, id)
		if err != nil {
			return nil, plan.CompletionDocument{}, err
		}
		ev := plan.Complete{Author: author, Seen: snap.Records.Count()}
		if err := e.unfinished(ctx, snap); err != nil {
			return nil, ev.Document, err
		}
		if err := e.undecided(ctx, snap); err != nil {
			return nil, ev.Document, err
		}
		var lessons lessons
		if ev.Document, lessons, err = e.measure(ctx, snap); err != nil {
			return nil, ev.Document, fmt.Errorf("collect the metrics of %s: %w", id, err)
		}
		ev.Document.By, ev.Document.CreatedAt, ev.Document.Reason = d.By, d.CreatedAt, d.Reason
		ev.Learnings = lessons.write(snap.Plan, ev.Document)
		done, err := e.Store.Append(ctx, id, ev, gitstore.AppendOptions{Now: e.Now()})
		var moved *plan.RefusedError // it has gone on since: look again
		if errors.As(err, &moved) && tries > 0 {
			continue
		}
		return done, ev.Document, err
	}
}

// unfinished refuses to end a plan with open tasks, each with what it waits for.
func (e *Engine) unfinished(ctx context.Context, snap *gitstore.Snapshot) error {
	s := snap.State()
	open := s.Open()
	if len(open) == 0 {
		return nil
	}
	waits, err := e.waits(ctx, snap, s)
	if err != nil {
		return err
	}
	commands := map[plan.TaskID]string{}
	for _, w := range Explain(s, waits, nil) {
		commands[w.Task] = w.Command
	}
	for i := range open {
		open[i].Command = commands[open[i].Task]
	}
	return &plan.OpenError{Plan: snap.ID, Root: s.Plan.RootTaskID, Open: open}
}

// undecided refuses to end a plan, unless it is given up, while a person is asked about a version of theirs.
func (e *Engine) undecided(ctx context.Context, snap *gitstore.Snapshot) error {
	s := snap.State()
	if s.Root().Status == plan.StatusAbandoned {
		return nil
	}
	asks, err := e.asks(ctx, snap, s)
	if err != nil || len(asks) == 0 {
		return err
	}
	return fault.Refused(asks[0].Command, "%s can't be completed, %s: %s", snap.ID, asks[0].Task, asks[0].Text)
}

// measure sums up what the work on a plan cost and what went wrong.
func (e *Engine) measure(ctx context.Context, snap *gitstore.Snapshot) (plan.CompletionDocument, lessons, error) {
	s := snap.State()
	doc := plan.CompletionDocument{PlanID: snap.ID, PlanType: snap.Plan.PlanType,
		Complexity: snap.Plan.AssessComplexity(), Tasks: []plan.TaskCost{}}
	m := measurement{ctx: ctx, engine: e, snap: snap, first: snap.Time}
	err := e.Store.Log(ctx, snap.ID, snap.Commit, func(l gitstore.LogEntry) bool {
		m.saw(l.Time)
		return true
	})
	if err != nil {
		return doc, m.lessons, err
	}
	for _, t := range snap.Plan.Tasks {
		if t.NodeType != plan.Action {
			continue
		}
		c := plan.TaskCost{TaskID: t.TaskID, Title: t.Title, Status: s.Tasks[t.TaskID].Status}
		if err := m.task(t, &c); err != nil {
			return doc, m.lessons, err
		}
		doc.Tasks = append(doc.Tasks, c)
		doc.Metrics.Add(c.Effort)
		if !t.Planning() {
			doc.Metrics.Tasks++
			switch c.Status {
			case plan.StatusDone:
				doc.Metrics.Approved++
			case plan.StatusAbandoned:
				doc.Metrics.Abandoned++
			}
		}
	}
	doc.Metrics.StartedAt, doc.Metrics.EndedAt = plan.Second(m.first), plan.Second(snap.Time)
	doc.Metrics.WallSeconds = int64(doc.Metrics.EndedAt.Sub(doc.Metrics.StartedAt) / time.Second)
	return doc, m.lessons, nil
}

// measurement goes through the records of a plan.
type measurement struct {
	ctx     context.Context
	engine  *Engine
	snap    *gitstore.Snapshot
	first   time.Time // of all records; after a prune the history begins late, but the records are complete
	lessons lessons
}

func (m *measurement) saw(t time.Time) {
	if !t.IsZero() && t.Before(m.first) {
		m.first = t
	}
}

// task adds up the cost of a task and its CHECK.
func (m *measurement) task(t *plan.Task, c *plan.TaskCost) error {
	r := m.snap.Records.Of(t.TaskID)
	work, err := m.engine.documents(m.ctx, m.snap, t.TaskID).Work()
	if err != nil {
		return err
	}
	calls, err := m.engine.calls(m.ctx, m.snap, t.TaskID)
	if err != nil {
		return err
	}
	for _, call := range calls {
		c.AddUsage(&call.Usage)
	}
	m.effort(t, r, work, &c.Effort)
	return nil
}

// effort counts versions, reviews and failed attempts. It leaves out what agents reported.
func (m *measurement) effort(t *plan.Task, r *plan.TaskRecords, work export.Work, effort *plan.Effort) {
	effort.Versions, effort.Reviews, effort.Attempts = len(r.Artifacts), len(r.Reviews), len(r.Attempts)
	effort.Retries, effort.Waivers = len(r.Resets), len(r.Waivers)
	made, judged := map[int]time.Time{}, map[int]time.Time{}
	for i, a := range work.Artifacts {
		m.saw(a.CreatedAt)
		made[r.Artifacts[i].Version] = a.CreatedAt
		effort.WorkSeconds += seconds(a.DurationMS)
	}
	for i, rev := range work.Reviews {
		rec := r.Reviews[i]
		if rev.CreatedAt.After(judged[rec.Version]) {
			judged[rec.Version] = rev.CreatedAt
		}
		if rec.FindsFault() {
			effort.Rejections++
			m.lessons.rejected(t, rev)
		}
	}
	effort.Rounds = len(judged)
	for version, at := range judged {
		if begun, ok := made[version]; ok && at.After(begun) {
			effort.ReviewSeconds += at.Sub(begun).Seconds()
		}
	}
	for _, a := range work.Attempts {
		m.saw(a.CreatedAt)
		effort.WorkSeconds += seconds(a.DurationMS)
	}
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

// lessons is what a plan taught, ready to be written.
type lessons struct {
	criteria []criterionLesson // in the order in which they first failed
	reasons  []string          // of rejections, each a line of text from plans and people
}

// criterionLesson is a criterion that versions were rejected for.
type criterionLesson struct {
	task     plan.TaskID
	id, text string
	times    int
	evidence string // of the last time
}

func (l *lessons) rejected(t *plan.Task, rev plan.Review) {
	l.reasons = append(l.reasons, fmt.Sprintf("%s %s, by %s%s: %s", t.TaskID, rev.ReviewedArtifactID, rev.Who(),
		rev.Why(), firstLine(rev.Reason)))
	for _, c := range rev.Criteria {
		if c.Result != plan.ResultFail {
			continue
		}
		i := slices.IndexFunc(l.criteria, func(k criterionLesson) bool { return k.task == t.TaskID && k.id == c.ID })
		if i < 0 {
			i = len(l.criteria)
			l.criteria = append(l.criteria, criterionLesson{task: t.TaskID, id: c.ID, text: c.Statement})
		}
		l.criteria[i].times++
		l.criteria[i].evidence = firstLine(c.Evidence)
	}
}

// write makes the note: Markdown that escapes everything from plans, commands and people.
func (l *lessons) write(p *plan.Plan, doc plan.CompletionDocument) []byte {
	var b strings.Builder
	m := doc.Metrics
	fmt.Fprintf(&b, "# What %s taught\n\n%s\n\n", p.PlanID, check.Inline(p.Title))
	fmt.Fprintf(&b, "%s, %d approved, %d abandoned. %s in %s, %s. %s from the first event to the last, %s of them "+
		"in review.\n",
		plain.Count(m.Tasks, "task"), m.Approved, m.Abandoned, plain.Count(m.Versions, "version"),
		plain.Count(m.Rounds, "round"),
		plain.Count(m.Rejections, "rejection"), time.Duration(m.WallSeconds)*time.Second,
		time.Duration(m.ReviewSeconds)*time.Second)
	if m.InputTokens+m.OutputTokens > 0 {
		fmt.Fprintf(&b, "Agents reported %d tokens in, %d out, $%.4f.\n", m.InputTokens, m.OutputTokens, m.CostUSD)
	}
	const most = 200
	if len(l.criteria) > 0 {
		sort.SliceStable(l.criteria, func(i, j int) bool { return l.criteria[i].times > l.criteria[j].times })
		b.WriteString("\n## Criteria that versions were rejected for\n\n| task | criterion | times | the last " +
			"time |\n| --- | --- | --- | --- |\n")
		for _, c := range l.criteria[:min(len(l.criteria), most)] {
			fmt.Fprintf(&b, "| %s | %s: %s | %d | %s |\n", c.task, check.Inline(c.id), check.Inline(c.text), c.times,
				check.Inline(c.evidence))
		}
	}
	if len(l.reasons) > 0 {
		b.WriteString("\n## Rejections\n\n")
		for _, line := range l.reasons[:min(len(l.reasons), most)] {
			fmt.Fprintf(&b, "- %s\n", check.Inline(line))
		}
		if more := len(l.reasons) - most; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	return []byte(b.String())
}

// spentIn is what is recorded of an agent's conversation, which is about one task or about all of a role.
func (e *Engine) spentIn(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, thread string) (plan.Usage,
	error) {
	var sum plan.Effort
	for _, other := range snap.Plan.Tasks {
		if thread == "" || other.TaskID != t.TaskID && (t.Role == "" || other.Role != t.Role) {
			continue
		}
		work, err := e.documents(ctx, snap, other.TaskID).Work()
		if err != nil {
			return plan.Usage{}, err
		}
		for _, a := range work.Artifacts {
			if a.Thread == thread {
				sum.AddUsage(a.Usage)
			}
		}
		for _, a := range work.Attempts {
			if a.Thread == thread {
				sum.AddUsage(a.Usage)
			}
		}
	}
	return plan.Usage{InputTokens: sum.InputTokens, CachedTokens: sum.CachedTokens, OutputTokens: sum.OutputTokens,
		CostUSD: sum.CostUSD}, nil
}
