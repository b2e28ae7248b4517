package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"gitwf/internal/act"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/repotest"
	"gitwf/internal/secret"
)

// teamPlan has tasks that build on each other in rows of three, and one that changes the repository.
func teamPlan(word string) string {
	var b strings.Builder
	b.WriteString("title: Team\nroot_acceptance_criteria: [{id: R1, statement: it is there}]\nconfig: {max_attempts: 2}\ntasks:\n")
	for i := 1; i <= 6; i++ {
		fmt.Fprintf(&b, `  - {task_id: T-%d, title: Task %[1]d, description: %s, estimated_person_days: 1, covers: [R1],
     deliverable_spec: {filename: t%[1]d.md},
     acceptance_criteria: [{id: A1, statement: it says something, run: test -s t%[1]d.md}, {id: A2, statement: it is good, severity: SHOULD}]`, i, word)
		if i%3 != 1 {
			fmt.Fprintf(&b, ", depends_on: [T-%d]", i-1)
		}
		b.WriteString("}\n")
	}
	b.WriteString(`  - {task_id: CODE-1, title: Code, estimated_person_days: 1, deliverable_spec: {format: change, paths: [src]},
     acceptance_criteria: [{id: A1, statement: src has a file}]}
`)
	return b.String()
}

// flowPlan is of version 2: a register with who decides, judges, and tasks whose rounds end in two ways.
func flowPlan(word string) string {
	const task = `  - {task_id: %s, title: %[1]s, description: %s, estimated_person_days: 1, deliverable_spec: {filename: a.md},
     acceptance_criteria: [{id: A1, statement: a.md has 3 lines}]%s}
`
	const judge = `  - {task_id: %s, title: Judge, estimated_person_days: 1, depends_on: [%s], judges: {tasks: [%[2]s], partial: {blocked_rounds: 1, done: 1}},
     deliverable_spec: {format: verdicts, filename: verdicts.json, single_file: true},
     acceptance_criteria: [{id: V1, statement: each task has its verdict}]%s}
  - {task_id: CHECK-%[1]s, node_type: CHECK, title: Review, review_target_task_id: %[1]s, reviewers: [verdict-review]}
`
	const check = "  - {task_id: CHECK-%s, node_type: CHECK, title: Review, review_target_task_id: %[1]s, max_rounds: 1, on_exhausted: %s}\n"
	return `title: Flow
register: true
config: {max_attempts: 2}
roles:
  main: {text: You decide., kind: orchestrator}
  dev: {text: You make it.}
  review: {text: You judge.}
tasks:
  - {task_id: MAIN-1, title: Decisions, role: main, agent: manual, estimated_person_days: 1, decides: {orders: [dev, review], max: 90},
     deliverable_spec: {format: decision, filename: decision.json, single_file: true},
     acceptance_criteria: [{id: RULES, statement: each decision keeps the rules}]}
  - {task_id: CHECK-MAIN-1, node_type: CHECK, title: Review, review_target_task_id: MAIN-1, reviewers: [decision-review]}
` + fmt.Sprintf(task, "DEV-1", word, ", role: dev") + fmt.Sprintf(task, "DEV-2", word, ", role: dev, depends_on: [DEV-1]") +
		fmt.Sprintf(judge, "REVIEW-1", "DEV-1, DEV-2", ", role: review") +
		fmt.Sprintf(task, "ART-1", word, "") + fmt.Sprintf(task, "ART-2", word, ", depends_on: [ART-1]") +
		fmt.Sprintf(judge, "JUDGE-1", "ART-1, ART-2", "") +
		fmt.Sprintf(task, "DROP-1", word, "") + fmt.Sprintf(check, "DROP-1", "drop") +
		fmt.Sprintf(task, "USE-1", word, ", depends_on: [DROP-1]") +
		fmt.Sprintf(task, "ACC-1", word, "") + fmt.Sprintf(check, "ACC-1", "accept") +
		fmt.Sprintf(task, "OPEN-1", word, "")
}

// split is a fragment for a leaf.
func split(leaf plan.TaskID, file string) string {
	return fmt.Sprintf(`title: Split
tasks:
  - {task_id: %s.1, title: Half, estimated_person_days: 1, deliverable_spec: {filename: half.md},
     acceptance_criteria: [{id: A1, statement: half.md has 3 lines}]}
  - {task_id: %[1]s.2, title: Other half, estimated_person_days: 1, depends_on: [%[1]s.1], deliverable_spec: {filename: %s},
     acceptance_criteria: [{id: A1, statement: it has 3 chapters}]}
`, leaf, file)
}

// maker makes events for a plan as it is in one clone.
type maker struct {
	ctx   context.Context
	store *gitstore.Store
	snap  *gitstore.Snapshot
	s     *plan.State
	rnd   *rand.Rand
	batch *gitstore.Batch
	who   string // the person
	tag   string // of all that this event says
	now   time.Time
}

func agent(name string) plan.Actor {
	return plan.Actor{Name: name, Email: name + "@agents.git-wf.invalid"}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pick is one of the ACTIONs for which fits holds, nil if there is none.
func (m *maker) pick(fits func(t *plan.TaskState) bool) *plan.TaskState {
	var list []*plan.TaskState
	for _, t := range m.snap.Plan.Tasks {
		if ts := m.s.Tasks[t.TaskID]; t.NodeType == plan.Action && fits(ts) {
			list = append(list, ts)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[m.rnd.IntN(len(list))]
}

func anyTask(*plan.TaskState) bool { return true }

func (m *maker) decision() plan.Decision {
	return plan.Decision{By: m.who, CreatedAt: m.now, Reason: m.tag}
}

// events are the kinds of what may happen, each with who makes one; nil where nothing of the kind can happen.
func (m *maker) events() map[string]func() plan.Event {
	return map[string]func() plan.Event{
		"artifact": m.version, "more": m.version, "engine": m.engine, "engines": m.engine, "review": m.review, "reviews": m.review,
		"holds": m.holds, "attempt": m.attempt, "question": m.ask, "answer": m.answer, "input": m.handIn, "check": m.check,
		"masked": m.mask, "landing": m.land, "completed": m.complete, "closed": m.closeTask,
		"retry": func() plan.Event {
			if t := m.pick(func(t *plan.TaskState) bool { return t.Status == plan.StatusWaitingExternal }); t != nil {
				return plan.Retry{Task: t.TaskID, Decision: m.decision()}
			}
			return nil
		},
		"waiver": func() plan.Event {
			if t := m.pick(func(t *plan.TaskState) bool { return t.Active > 0 }); t != nil {
				return plan.Waive{Task: t.TaskID, Version: t.Active, Criterion: t.AcceptanceCriteria[0].ID,
					Decision: m.decision()}
			}
			return nil
		},
		"note": func() plan.Event {
			kinds := []string{"learnings", "decisions", "conventions", "issues", "feedback", "debt"}
			return plan.Note{Category: kinds[m.rnd.IntN(len(kinds))], Text: m.tag, By: m.who, CreatedAt: m.now}
		},
		"doctor": func() plan.Event {
			return plan.Mend{Mended: []plan.Mended{{Code: "scratch", Place: m.who, Did: m.tag}}, By: m.who,
				CreatedAt: m.now}
		},
		"paused":  func() plan.Event { return plan.Pause{Decision: m.decision()} },
		"resumed": func() plan.Event { return plan.Resume{Decision: m.decision()} },
		"abandoned": func() plan.Event {
			if t := m.pick(func(t *plan.TaskState) bool { return t.Status != plan.StatusDone }); t != nil {
				return plan.Abandon{Task: t.TaskID, Decision: m.decision()}
			}
			return nil
		},
		"restored": func() plan.Event {
			for _, t := range m.snap.Plan.Tasks {
				if m.s.Tasks[t.TaskID].Status.Gone() && t.NodeType != plan.Check {
					return plan.Restore{Task: t.TaskID, Decision: m.decision()}
				}
			}
			return nil
		},
		"replan": func() plan.Event {
			leaf := plan.TaskID("")
			if m.rnd.IntN(3) > 0 {
				leaf = m.pick(anyTask).TaskID
			}
			return plan.Replan{Leaf: leaf, Planner: plan.Planner{Agent: plan.AgentManual, File: "plan.yaml"},
				Reason: m.tag}
		},
	}
}

// version is the next version of a task.
func (m *maker) version() plan.Event {
	open := func(t *plan.TaskState) bool {
		return t.Status == plan.StatusReady || t.Status == plan.StatusToBeModified ||
			t.Status == plan.StatusWaitingExternal
	}
	first := func(t *plan.TaskState) bool { return open(t) && (t.Planning() || t.Judges != nil || t.Decides != nil) }
	t := m.pick(first)
	if t == nil || m.rnd.IntN(2) == 0 {
		t = m.pick(open)
	}
	if t == nil {
		return nil
	}
	a := plan.Artifact{TaskID: t.TaskID, Agent: "exec", CreatedAt: m.now, Inputs: []plan.Input{}}
	for _, in := range m.s.Inputs(t.TaskID) {
		v, _ := m.snap.Records.Of(in).Version(m.s.Tasks[in].Approved)
		a.Inputs = append(a.Inputs, plan.Input{TaskID: in, ArtifactID: plan.VersionID(v.Version), Tree: v.Files})
	}
	text := []byte(m.tag + "\n")
	var err error
	switch {
	case t.Changes():
		head := must(m.store.Head(m.ctx))
		readme := []byte("hello\n")
		was, _, _ := m.batch.AddFiles(map[string][]byte{"README": readme})
		is, _, _ := m.batch.AddFiles(map[string][]byte{"README": readme, "src/new": text})
		a.Base = &plan.Base{Commit: head, Tree: was, After: is}
		a.Tree, a.Files, err = m.batch.AddFiles(map[string][]byte{"b/src/new": text})
	case t.Planning():
		a.Agent, text = m.who, []byte(m.amended())
		if leaf := m.s.Tasks[t.SplitTargetTaskID]; leaf != nil {
			text = []byte(split(leaf.TaskID, path.Base(leaf.DeliverableSpec.Filename)))
		}
		a.Tree, a.Files, err = m.batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: text})
	case t.Decides != nil:
		if text = m.decide(t); text == nil {
			return nil
		}
		a.Tree, a.Files, err = m.batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: text})
	case t.Judges != nil:
		a.Tree, a.Files, err = m.batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: m.judge(t)})
	default:
		a.Tree, a.Files, err = m.batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: text})
	}
	if err != nil {
		panic(err)
	}
	if a.Agent == m.who || m.rnd.IntN(6) == 0 {
		a.Agent = m.who
		return plan.NewVersion{Artifact: a, ByPerson: true}
	}
	return plan.NewVersion{Artifact: a, Author: agent("exec"), Notes: []plan.Note{{Category: "learnings", Text: m.tag}}}
}

// amended is the plan with other descriptions.
func (m *maker) amended() string {
	if m.snap.Plan.SchemaVersion > 1 {
		return flowPlan(m.tag)
	}
	return teamPlan(m.tag)
}

// judge is a document with verdicts, as they were ordered.
func (m *maker) judge(t *plan.TaskState) []byte {
	doc := map[string]any{"schema_version": 1, "mode": "milestone", "summary": m.tag}
	for _, mode := range []string{"partial", "investigate"} {
		if m.s.IsOrdered(t.TaskID) && strings.HasSuffix(m.snap.Records.Of(t.TaskID).LastOrder(), "-"+mode+".json") {
			doc["mode"] = mode
		}
	}
	verdicts, excluded := []any{}, []any{}
	for _, id := range m.s.Judged(t.TaskID) {
		judged := m.s.Tasks[id]
		if doc["mode"] != "milestone" && judged.Status != plan.StatusDone {
			excluded = append(excluded, map[string]any{"task_id": id, "reason": m.tag})
			continue
		}
		pass := m.rnd.IntN(4) > 0
		v := map[string]any{"task_id": id, "artifact_id": plan.VersionID(judged.Approved), "verdict": plan.Approved}
		if !pass {
			v["verdict"], v["cause"] = plan.Rejected, []string{"implementation", "request"}[m.rnd.IntN(2)]
			v["suggestions"] = []any{map[string]any{"priority": "HIGH", "text": m.tag}}
		}
		rulings := []any{}
		for _, c := range judged.AcceptanceCriteria {
			rulings = append(rulings, map[string]any{"id": c.ID, "pass": pass, "evidence": m.tag})
		}
		v["criteria"] = rulings
		verdicts = append(verdicts, v)
	}
	if doc["verdicts"] = verdicts; len(excluded) > 0 {
		doc["excluded"] = excluded
	}
	return must(json.Marshal(doc))
}

// decide is a decision that keeps the rules: what the built-in policy says, or something else that may be decided.
func (m *maker) decide(t *plan.TaskState) []byte {
	d := must(export.ReadDeciding(m.ctx, m.store, m.snap, t.TaskID, t.Active+1))
	history := func(next string) string {
		return fmt.Sprintf("## Iteration %d:\nnext_agent: %s\nreason: %s\ndev_plan: unchanged", t.Active+1, next, m.tag)
	}
	x, ok := d.Policy()
	switch m.rnd.IntN(4) {
	case 0:
		x, ok = act.Decision{NextAgent: act.NextUser, Reason: m.tag, HistoryAppend: history(act.NextUser),
			Question: m.tag + "?",
			Options: []plan.Option{{OptionID: "a", Description: "a"}, {OptionID: "b",
				Description: "b"}}, RecommendedOptionID: "a"}, true
	case 1:
		x, ok = act.Decision{NextAgent: "review", TaskID: "REVIEW-1", Mode: []string{"investigate",
			"partial"}[m.rnd.IntN(2)],
			Reason: m.tag, HistoryAppend: history("review"), Task: m.tag}, true
	case 2:
		for _, q := range d.Questions {
			if !q.Answered && slices.Contains(m.s.Held(t.TaskID), q.TaskID) {
				text := m.tag
				if q.Kind == plan.AskChoice {
					text = q.Options[0].OptionID
				}
				x.Answers = append(x.Answers, act.Given{TaskID: q.TaskID, QuestionID: q.QuestionID, Text: text})
				break
			}
		}
		if ok && m.rnd.IntN(2) == 0 && x.NextAgent != act.NextFinish {
			x.DevPlanNext = must(json.Marshal(m.amended()))
		}
	}
	if !ok || len(d.Findings(x)) > 0 {
		if x, ok = d.Policy(); !ok {
			return nil
		}
	}
	return x.Line()
}

// review is a verdict on what waits for one, or on what has one.
func (m *maker) review() plan.Event {
	waits := func(t *plan.TaskState) bool { return t.Status == plan.StatusReadyToCheck && t.Verdict == "" }
	t := m.pick(waits)
	if t == nil || m.rnd.IntN(8) == 0 {
		t = m.pick(func(t *plan.TaskState) bool {
			return t.Active > 0 && !t.Planning() && t.Judges == nil && t.Decides == nil
		})
	}
	if t == nil {
		return nil
	}
	verdict := plan.Approved
	if m.rnd.IntN(4) == 0 {
		verdict = plan.Rejected
	}
	by := m.who
	if names := m.s.Reviewers(t.TaskID); len(names) > 0 {
		by = strings.Replace(names[m.rnd.IntN(len(names))], plan.ReviewerPerson, m.who, 1)
	}
	return m.reviewOf(t, by, verdict)
}

func (m *maker) reviewOf(t *plan.TaskState, by string, verdict plan.Verdict) plan.Event {
	made, err := export.ReadArtifact(m.ctx, m.store, m.snap, t.TaskID, t.Active)
	if err != nil {
		return nil
	}
	rev := plan.Review{TaskID: t.TaskID, ReviewedArtifactID: plan.VersionID(t.Active), Tree: made.Tree,
		Verdict: verdict, Score: 100,
		Reviewer: by, CreatedAt: m.now, SpecHash: t.SpecHash(), SelfReviewed: verdict == plan.Approved &&
			made.Agent == by}
	result := plan.ResultPass
	if verdict == plan.Rejected {
		result, rev.Score = plan.ResultFail, 0
	}
	for _, c := range t.AcceptanceCriteria {
		rev.Criteria = append(rev.Criteria, plan.CriterionResult{ID: c.ID, Statement: c.Statement,
			Severity: c.Severity, Result: result, By: by})
	}
	return m.addReview(rev, made)
}

func (m *maker) addReview(rev plan.Review, made plan.Artifact) plan.Event {
	ev := plan.AddReview{Review: rev, Artifact: made, Render: func(rev plan.Review) []byte {
		return fmt.Appendf(nil,
			"# %s\n", rev.Verdict)
	}}
	if rev.Reviewer != m.who {
		ev.Author = agent(rev.Reviewer)
	}
	return ev
}

// engine is what a run records by itself: grafts, acts, and what follows from used up rounds.
func (m *maker) engine() plan.Event {
	for _, t := range m.s.Ungrafted() {
		if ev := m.graft(t); ev != nil {
			return ev
		}
	}
	for _, t := range m.s.ToApply() {
		ev, err := m.apply(t)
		if refused := (*plan.RefusedError)(nil); errors.As(err, &refused) {
			made := must(export.ReadArtifact(m.ctx, m.store, m.snap, t.TaskID, t.Active))
			rev := m.reviewOf(t, m.who, plan.Rejected).(plan.AddReview).Review.Overtaken()
			rev.SelfReviewed = false
			return m.addReview(rev, made)
		}
		if must(ev, err) != nil {
			return ev
		}
	}
	for _, t := range m.s.ToAccept() {
		reviews := m.snap.Records.Of(t.TaskID).Reviews
		last := must(export.ReadReview(m.ctx, m.store, m.snap, t.TaskID, reviews[len(reviews)-1]))
		return m.addReview(last.Take(m.now), must(export.ReadArtifact(m.ctx, m.store, m.snap, t.TaskID, t.Active)))
	}
	for _, t := range m.s.ToDrop() {
		return plan.Abandon{Task: t.TaskID, Drops: true, Author: agent(plan.AgentWorkflow),
			Decision: plan.Decision{By: plan.AgentWorkflow, CreatedAt: m.now, Reason: m.tag}}
	}
	return m.review()
}

func (m *maker) graft(t *plan.TaskState) plan.Event {
	rec, _ := m.snap.Records.Of(t.TaskID).Version(t.Approved)
	data, err := m.store.ReadFile(m.ctx, rec.Files, t.DeliverableSpec.Filename)
	if err != nil {
		return nil
	}
	p, err := plandoc.ParseCandidate(m.s, t.TaskID, t.DeliverableSpec.Filename, data, policy.Floors{})
	if err != nil {
		return nil
	}
	return plan.GraftPlan{Task: t.TaskID, Version: t.Approved, Plan: p, Feasibility: []byte("{}\n")}
}

// apply lets verdicts or a decision take effect; a RefusedError says that they can't any more.
func (m *maker) apply(t *plan.TaskState) (plan.Event, error) {
	made := must(export.ReadArtifact(m.ctx, m.store, m.snap, t.TaskID, t.Active))
	if t.Decides != nil {
		d := must(export.ReadDecided(m.ctx, m.store, m.snap, made))
		if fs := d.Deciding.Findings(d.Decision); len(fs) > 0 {
			return nil, &plan.RefusedError{Task: t.TaskID, Reason: fs.Error()}
		}
		ev := d.Deciding.Apply(d.Decision, made.Agent)
		ev.Time, ev.Holds = m.now, func(*plan.State) error { return nil }
		if text := d.DevPlan(); text != nil {
			ev.Planner = plan.Planner{Agent: plan.AgentManual, File: "plan.yaml"}
			ev.Amended = plan.Artifact{Agent: made.Agent, CreatedAt: m.now, Inputs: []plan.Input{}}
			ev.Amended.Tree, ev.Amended.Files, _ = m.batch.AddFiles(map[string][]byte{"plan.yaml": text})
		}
		return ev, nil
	}
	group := m.s.Together(t.TaskID)
	if len(group) == 0 || group[0] != t.TaskID {
		return nil, nil
	}
	outcome := func(s *plan.State) (reviews []plan.Review, asks []plan.Question, err error) {
		for _, judge := range group {
			made := must(export.ReadArtifact(m.ctx, m.store, m.snap, judge, m.s.Tasks[judge].Active))
			r, q, err := must(export.ReadVerdicts(m.ctx, m.store, m.snap, made)).Outcome(s, m.now)
			if err != nil {
				return nil, nil, err
			}
			reviews, asks = append(reviews, r...), append(asks, q...)
		}
		return reviews, asks, nil
	}
	if _, _, err := outcome(m.s); err != nil {
		return nil, err
	}
	return plan.ApplyVerdicts{Judges: group, Make: outcome, Time: m.now,
		Render: func(rev plan.Review) []byte { return fmt.Appendf(nil, "# %s\n", rev.Verdict) }}, nil
}

// holds says of a version that it holds for what is approved now.
func (m *maker) holds() plan.Event {
	if t := m.pick(func(t *plan.TaskState) bool {
		return t.Approved > 0 && t.Status == plan.StatusToBeModified && t.Verdict == plan.Approved
	}); t != nil {
		made := must(export.ReadArtifact(m.ctx, m.store, m.snap, t.TaskID, t.Approved))
		return plan.StillHolds{Task: t.TaskID, Decision: m.decision(), Version: made}
	}
	if t := m.pick(func(t *plan.TaskState) bool { return t.Status == plan.StatusDone && m.feeds(t.TaskID) }); t != nil {
		return m.reviewOf(t, m.who, plan.Rejected) // then there is one, once it is made again
	}
	return nil
}

func (m *maker) feeds(id plan.TaskID) bool {
	return m.pick(func(t *plan.TaskState) bool {
		return t.Status == plan.StatusDone && slices.Contains(t.DependsOn,
			id)
	}) != nil
}

func (m *maker) attempt() plan.Event {
	kinds := []string{plan.AttemptError, plan.AttemptError, plan.AttemptLost, plan.AttemptNoop}
	t := m.pick(func(t *plan.TaskState) bool { return t.Status != plan.StatusDone })
	if t == nil {
		return nil
	}
	ev := plan.AddAttempt{Attempt: plan.Attempt{TaskID: t.TaskID, Kind: kinds[m.rnd.IntN(len(kinds))], Agent: "exec",
		CreatedAt: m.now,
		Message:   m.tag}, Log: []byte(m.tag + "-of-the-attempts\n"), Author: agent("exec")}
	if check := m.s.CheckOf(t.TaskID); check != nil && t.Active > 0 && m.rnd.IntN(2) == 0 {
		ev.Attempt.TaskID, ev.Version = check.TaskID, t.Active
	}
	return ev
}

func (m *maker) ask() plan.Event {
	t := m.pick(anyTask)
	return plan.Ask{Attempt: plan.AddAttempt{Attempt: plan.Attempt{TaskID: t.TaskID, Kind: plan.AttemptNeedsInput,
		Agent:     "exec",
		CreatedAt: m.now}, Author: agent("exec")}, Questions: []plan.Question{{TaskID: t.TaskID, Name: "what", Question: m.tag + "?",
		Kind: plan.AskText, By: "exec", CreatedAt: m.now}}}
}

func (m *maker) answer() plan.Event {
	t := m.pick(func(t *plan.TaskState) bool { return len(m.snap.Records.Of(t.TaskID).OpenQuestions()) > 0 })
	if t == nil {
		return nil
	}
	n := m.snap.Records.Of(t.TaskID).OpenQuestions()[0]
	data := must(m.store.ReadFile(m.ctx, m.snap.Commit, t.TaskID.Dir()+"/"+m.snap.Records.Of(t.TaskID).QuestionPath(n)))
	ev := plan.AnswerQuestion{Task: t.TaskID, Number: n, Answer: plan.Answer{TaskID: t.TaskID, Text: m.tag,
		By: m.who, CreatedAt: m.now}}
	if err := json.Unmarshal(data, &ev.Question); err != nil {
		panic(err)
	}
	if ev.Question.Kind == plan.AskChoice {
		ev.Answer.Text, ev.Answer.OptionID = "", ev.Question.Options[0].OptionID
	}
	return ev
}

func (m *maker) handIn() plan.Event {
	t := m.pick(anyTask)
	tree, files, err := m.batch.AddFiles(map[string][]byte{"logo.svg": []byte(m.tag)})
	if err != nil {
		panic(err)
	}
	return plan.HandIn{Task: t.TaskID, Files: []plan.InputDocument{{Name: "logo", FileName: "logo.svg", Tree: tree,
		SHA256: files[0].SHA256,
		Size:   files[0].Size, By: m.who, CreatedAt: m.now}}}
}

func (m *maker) check() plan.Event {
	t := m.pick(func(t *plan.TaskState) bool { return t.Active > 0 })
	if t == nil {
		return nil
	}
	v, _ := m.snap.Records.Of(t.TaskID).Version(t.Active)
	c := t.AcceptanceCriteria[0]
	return plan.AddCheck{Author: agent(plan.ReviewerChecks), Checked: plan.Checked{TaskID: t.TaskID,
		ReviewedArtifactID: plan.VersionID(t.Active),
		Tree:               v.Files, CreatedAt: m.now, SpecHash: t.SpecHash(), Criteria: []plan.CriterionResult{{ID: c.ID,
			Statement: c.Statement,
			Severity:  c.Severity, Result: plan.ResultPass, By: plan.ReviewerChecks}}}}
}

// mask takes the text of an attempt's log for a secret.
func (m *maker) mask() plan.Event {
	t := m.pick(func(t *plan.TaskState) bool { return len(m.snap.Records.Of(t.TaskID).Attempts) > 0 })
	if t == nil {
		return nil
	}
	for _, a := range m.snap.Records.Of(t.TaskID).Attempts {
		name := t.TaskID.Dir() + "/" + a.Log()
		data, err := m.store.ReadFile(m.ctx, m.snap.Commit, name)
		if err != nil || strings.HasPrefix(string(data), "[masked]") {
			continue
		}
		if masked, ok := secret.NewMask([]string{"MY_TOKEN=" + strings.TrimSpace(string(data))}).Record(name,
			data); ok && masked != nil {
			oid := must(m.store.Resolve(m.ctx, string(m.snap.Commit)+":"+name))
			return secret.MaskRecords{Records: []secret.Masking{{Path: name, OID: oid, Old: data, New: masked}}}
		}
	}
	return nil
}

func (m *maker) land() plan.Event {
	t := m.pick(func(t *plan.TaskState) bool { return t.Changes() && t.Approved > 0 })
	if t == nil {
		return nil
	}
	head := must(m.store.Head(m.ctx))
	v, _ := m.snap.Records.Of(t.TaskID).Version(t.Approved)
	l := plan.Landing{TaskID: t.TaskID, ArtifactID: plan.VersionID(t.Approved), Tree: v.Files, Branch: "main",
		On: head, By: m.who, CreatedAt: m.now}
	switch m.rnd.IntN(3) {
	case 0:
		l.Commit = head
	case 1:
		l.Flaky = true
		fallthrough
	default:
		l.Reason = m.tag
	}
	return plan.Land{Landing: l}
}

func (m *maker) complete() plan.Event {
	if len(m.s.Open()) > 0 {
		if m.rnd.IntN(12) > 0 {
			return nil
		}
		return plan.Abandon{Task: m.snap.Plan.RootTaskID, Decision: m.decision()} // all that is left
	}
	return plan.Complete{Document: plan.CompletionDocument{PlanID: repotest.ID, Complexity: "simple", By: m.who,
		CreatedAt: m.now},
		Learnings: []byte(m.tag), Seen: m.snap.Records.Count()}
}

func (m *maker) closeTask() plan.Event {
	return plan.Abandon{Task: m.pick(anyTask).TaskID, Closes: true, Decision: m.decision()}
}
