package act

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Deciding is what a decision is checked against: the plan's state, and what Derive does not read.
type Deciding struct {
	State     *plan.State
	Decider   plan.TaskID
	Version   int       // of the decision
	Questions []Asked   // of all tasks, in the order of the plan
	Concerns  []Concern // about other tasks, in what was ordered last, that nobody has looked into
	Failures  map[plan.TaskID]Failure
	Amends    func(text []byte) plan.Findings // the review of a plan that replaces this one; nil finds nothing
}

// Asked is a question of a task.
type Asked struct {
	plan.Question
	Answered bool
}

// Concern is what the maker of a task says against another one.
type Concern struct {
	By, About plan.TaskID
	Text      string
}

// Failure is how often in a row the newest versions of a task were rejected for the same criteria.
type Failure struct {
	Times    int
	Criteria []string
}

// Findings says why the decision can't take effect, nothing if it can. The codes are the rules' (docs/workflows.md).
func (d Deciding) Findings(x Decision) plan.Findings {
	r := ruling{Deciding: d, x: x}
	r.checkHistory()
	switch x.NextAgent {
	case NextFinish:
		r.checkFinish()
	case NextUser:
		r.checkUserQuestion()
	default:
		r.checkOrder()
	}
	r.checkAnswers()
	if text := x.DevPlan(); text != nil && x.NextAgent != NextFinish && d.Amends != nil {
		for _, f := range d.Amends(text) {
			f.Code, f.Path = "D12", strings.TrimSuffix("dev_plan_next."+f.Path, ".")
			r.found = append(r.found, f)
		}
	}
	return r.found.Capped()
}

// ruling gathers the findings of one decision.
type ruling struct {
	Deciding
	x     Decision
	found plan.Findings
}

func (r *ruling) add(code, path, message, expected, found, example string) {
	r.found = append(r.found, plan.Finding{Code: code, Path: path, Message: message, Expected: expected, Found: found,
		Example: example})
}

// checkHistory applies D10: the entry for the history has its form.
func (r *ruling) checkHistory() {
	lines := strings.Split(r.x.HistoryAppend, "\n")
	head := fmt.Sprintf("## Iteration %d:", r.Version)
	if strings.TrimSpace(lines[0]) != head {
		r.add("D10", "history_append", "does not begin with the heading of this decision", head, lines[0], head)
	}
	for _, l := range lines[1:] {
		if strings.HasPrefix(strings.TrimSpace(l), "## ") {
			r.add("D10", "history_append", "has a second heading, as if more was decided", "one heading", l, head)
		}
	}
	for _, field := range []string{"next_agent:", "reason:", "dev_plan:"} {
		if !hasLine(lines, field) {
			r.add("D10", "history_append", "lacks a line of its own", "a line that begins with "+field,
				"none", field+" ...")
		}
	}
}

func hasLine(lines []string, field string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		rest, ok := strings.CutPrefix(l, field)
		return ok && strings.TrimSpace(rest) != ""
	})
}

// checkFinish applies D9: nothing is open at the end.
func (r *ruling) checkFinish() {
	if open := r.State.Unfinished(r.Decider); len(open) > 0 {
		var stand []string
		for i, id := range open {
			if i == 5 {
				break
			}
			stand = append(stand, fmt.Sprintf("%s is %s", id, DevPlanWord(r.State, id)))
		}
		r.add("D9", "next_agent", "the plan is not finished", "every task VERIFIED or abandoned",
			strings.Join(stand, ", "), `"next_agent": "`+r.exampleNext()+`"`)
	}
	if r.x.Task != "" || r.x.TaskID != "" || r.x.Mode != "" || len(r.x.Answers) > 0 ||
		r.x.DevPlan() != nil || r.asksUser() {
		r.add("D9", "next_agent", "a decision that finishes does nothing else",
			"no order, question, answer or plan beside it", "one of them", `"task": null, "dev_plan_next": null`)
	}
}

// exampleNext is a value for next_agent.
func (r *ruling) exampleNext() string {
	if t := r.State.Tasks[r.Decider]; t != nil && t.Decides != nil && len(t.Decides.Orders) > 0 {
		return t.Decides.Orders[0]
	}
	return NextUser
}

func (r *ruling) asksUser() bool {
	return r.x.Question != "" || len(r.x.Options) > 0 || r.x.RecommendedOptionID != "" || r.x.DecisionTitle != ""
}

// checkUserQuestion applies D8: the user gets two options, and no question twice.
func (r *ruling) checkUserQuestion() {
	const example = `"question": "Which?", "options": [{"option_id": "a", "description": "..."}, ` +
		`{"option_id": "b", "description": "..."}], "recommended_option_id": "a"`
	if r.x.Task != "" || r.x.TaskID != "" || r.x.Mode != "" {
		r.add("D8", "task", "who asks the user orders nothing", "no task, task_id and mode", "an order", `"task": null`)
	}
	if strings.TrimSpace(r.x.Question) == "" {
		r.add("D8", "question", "asks nothing", "a question", "none", example)
	}
	ids := map[string]bool{}
	for i, o := range r.x.Options {
		path := fmt.Sprintf("options[%d].option_id", i)
		switch {
		case o.OptionID != plain.Line(o.OptionID) || strings.TrimSpace(o.OptionID) == "":
			r.add("D8", path, "is no name", "a word on one line", plain.Quote(o.OptionID), example)
		case ids[o.OptionID]:
			r.add("D8", path, "is there twice", "another id", plain.Quote(o.OptionID), example)
		}
		ids[o.OptionID] = true
	}
	if len(r.x.Options) < 2 {
		r.add("D8", "options", "leaves no choice", "two options or more", fmt.Sprint(len(r.x.Options)), example)
	}
	if !ids[r.x.RecommendedOptionID] {
		r.add("D8", "recommended_option_id", "recommends no option", "the id of one of the options",
			plain.Quote(r.x.RecommendedOptionID), example)
	}
	for _, q := range r.Questions {
		if q.Answered && (sameQuestion(q.Question.Question, r.x.Question) ||
			sameQuestion(q.Question.Question, r.x.asked())) {
			r.add("D8", "question", fmt.Sprintf("is answered already, as %s of %s", q.QuestionID, q.TaskID),
				"another question, or a decision", r.x.Question, example)
		}
	}
}

// asked is the question as it is recorded.
func (x Decision) asked() string {
	if title := plain.Line(x.DecisionTitle); title != "" {
		return title + "\n" + x.Question
	}
	return x.Question
}

// sameQuestion compares questions as people would.
func sameQuestion(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// orderTarget is the task that an order is for: the one it names, or the first of the role that can be worked on.
func (d Deciding) orderTarget(x Decision) plan.TaskID {
	if x.TaskID != "" {
		return x.TaskID
	}
	for _, id := range d.State.Held(d.Decider) {
		if d.State.Tasks[id].Role == x.NextAgent && d.State.Orderable(d.Decider, id, modeOf(x.Mode),
			x.answered(id)) == "" {
			return id
		}
	}
	return ""
}

// modeOf returns a mode as records store it, "" for the usual ones.
func modeOf(mode string) string {
	if mode == modePartial || mode == modeInvestigate {
		return mode
	}
	return ""
}

// answered are the numbers of a task's questions that the decision answers.
func (x Decision) answered(id plan.TaskID) (numbers []int) {
	for _, a := range x.Answers {
		if a.TaskID == id {
			numbers = append(numbers, a.number())
		}
	}
	return numbers
}

func (a Given) number() int {
	var n int
	if _, err := fmt.Sscanf(a.QuestionID, "q%d", &n); err != nil {
		return 0
	}
	return n
}

// checkOrder applies the rules of an order: D2 to D7, and D11.
func (r *ruling) checkOrder() {
	roles := r.State.Tasks[r.Decider].Decides.Orders
	if !slices.Contains(roles, r.x.NextAgent) {
		r.add("D2", "next_agent", "is nobody who can be next", "one of "+strings.Join(roles, ", ")+", USER, FINISH",
			plain.Quote(r.x.NextAgent), `"next_agent": "`+r.exampleNext()+`"`)
		return
	}
	if r.asksUser() {
		r.add("D8", "question", "only USER is asked", "no question, options and decision_title", "a question",
			`"next_agent": "USER"`)
	}
	if strings.TrimSpace(r.x.Task) == "" {
		r.add("D11", "task", "the order says nothing", "what is to be done now", "nothing",
			`"task": "Make the tests of TEST-1 pass."`)
	}
	id := r.orderTarget(r.x)
	t := r.State.Tasks[id]
	can := strings.Join(r.orderableTasks(r.x.NextAgent), ", ")
	example := `"task_id": "` + strings.Split(can, ", ")[0] + `"`
	if can == "" {
		can, example = "another next_agent: no task of "+r.x.NextAgent+" can be worked on now", `"next_agent": "USER"`
	}
	switch {
	case id == "":
		r.add("D2", "task_id", "no task of the role can be worked on", can, "none", example)
		return
	case t == nil || t.Role != r.x.NextAgent:
		r.add("D2", "task_id", "is no task of the role "+r.x.NextAgent, can, plain.Quote(string(id)), example)
		return
	}
	if r.x.Mode != "" && t.Judges == nil {
		r.add("D3", "mode", "only a review has a mode", "no mode", r.x.Mode, `"mode": null`)
		return
	}
	if why := r.State.Orderable(r.Decider, id, modeOf(r.x.Mode), r.x.answered(id)); why != "" {
		code := "D2"
		if t.Judges != nil {
			code = "D3"
		}
		r.add(code, "task_id", string(id)+" can't be worked on: it "+why, can, string(id), example)
		return
	}
	if open := r.State.Ordered(r.Decider); len(open) > 0 {
		r.add("D2", "next_agent", "an order is open", "the end of "+plan.JoinIDs(open), string(id), "")
	}
	r.checkJudgeOrder(t)
	r.checkMilestone(t)
	r.checkConcerns(t)
	r.checkRepeated(t)
}

// orderableTasks are the tasks of a role that can be ordered now.
func (r *ruling) orderableTasks(role string) (ids []string) {
	for _, id := range r.State.Held(r.Decider) {
		if r.State.Tasks[id].Role == role && r.State.Orderable(r.Decider, id, "", r.x.answered(id)) == "" {
			ids = append(ids, string(id))
		}
	}
	return ids
}

// checkJudgeOrder applies D3 (no judge before its tasks) and D5 (no review of a single task).
func (r *ruling) checkJudgeOrder(t *plan.TaskState) {
	if t.Judges == nil {
		return
	}
	judged := r.State.Judged(t.TaskID)
	var open, blocked []plan.TaskID
	done, unverified := 0, 0
	for _, id := range judged {
		switch s := r.State.Tasks[id]; {
		case s.Status == plan.StatusDone:
			done++
			if !r.State.Verified(id) {
				unverified++
			}
		case blocks(s.Status):
			blocked = append(blocked, id)
		case s.Behind() && r.x.Mode == modePartial:
		default:
			open = append(open, id)
		}
	}
	switch mode := r.x.Mode; mode {
	case modeInvestigate:
		if r.State.ModeAgain(t.TaskID, mode) {
			r.add("D3", "mode", "the same was investigated already", "an order to who is at fault, or USER", mode,
				`"next_agent": "USER"`)
		}
	case modePartial:
		r.checkPartial(t, open, blocked, done)
	default:
		if left := append(open, blocked...); len(left) > 0 {
			r.add("D3", "task_id", "not everything that it judges is DONE", "all of them DONE, or the mode partial",
				plan.JoinIDs(left), `"mode": "partial"`)
		}
		if mode == modeSingle && unverified != 1 {
			r.add("D5", "mode", "a task is reviewed alone only as the last open one of its milestone", "milestone",
				plain.Count(unverified, "task")+" not verified", `"mode": "milestone"`)
		}
	}
}

func blocks(s plan.Status) bool {
	return s == plan.StatusWaitingInput || s == plan.StatusWaitingExternal
}

// checkPartial applies D3 to a review that leaves out what is blocked.
func (r *ruling) checkPartial(t *plan.TaskState, open, blocked []plan.TaskID, done int) {
	const milestone = `"mode": "milestone"`
	p := t.Judges.Partial
	switch {
	case p == nil:
		r.add("D3", "mode", string(t.TaskID)+" reviews the whole alone", "milestone", modePartial, milestone)
		return
	case r.State.ModeAgain(t.TaskID, modePartial):
		r.add("D3", "mode", "the same part was reviewed already", "an order to make something, or USER", modePartial,
			`"next_agent": "USER"`)
	case len(open) > 0:
		r.add("D3", "mode", "leaves out only what is blocked", "all others DONE", plan.JoinIDs(open), milestone)
	case len(blocked) == 0:
		r.add("D3", "mode", "nothing is blocked", "milestone", modePartial, milestone)
	case done < p.Done:
		r.add("D3", "mode", "too little is DONE for a part", fmt.Sprintf("at least %d", p.Done),
			fmt.Sprint(done), milestone)
	}
	for _, id := range blocked {
		if n := r.State.DecisionsSince(r.Decider, id); n < p.BlockedRounds {
			r.add("D3", "mode", string(id)+" is blocked for too short a time", plain.Count(p.BlockedRounds, "decision"),
				fmt.Sprint(n), `"next_agent": "USER"`)
		}
		for _, other := range r.State.Judged(t.TaskID) {
			if r.State.Tasks[other].Status == plan.StatusDone && slices.Contains(r.State.Inputs(other), id) {
				r.add("D3", "mode", string(other)+" depends on what is blocked",
					"parts that don't depend on each other", string(id), milestone)
			}
		}
	}
}

// dueJudges are the judges whose milestone is DONE and not judged, in plan order.
func (d Deciding) dueJudges() []plan.TaskID {
	var due []plan.TaskID
	for _, id := range d.State.Held(d.Decider) {
		t := d.State.Tasks[id]
		if t.Judges == nil || d.State.Orderable(d.Decider, id, "", nil) != "" {
			continue
		}
		judged := d.State.Judged(id)
		if len(judged) > 0 && !slices.ContainsFunc(judged, func(j plan.TaskID) bool {
			return d.State.Tasks[j].Status != plan.StatusDone
		}) {
			due = append(due, id)
		}
	}
	return due
}

// checkMilestone applies D4: a finished milestone is judged before anything later.
func (r *ruling) checkMilestone(t *plan.TaskState) {
	for _, judge := range r.dueJudges() {
		if judge == t.TaskID {
			return
		}
		if r.State.Place(judge) < r.State.Place(t.TaskID) {
			r.add("D4", "task_id", "the milestone that "+string(judge)+" judges is DONE and comes first",
				"an order for "+string(judge), string(t.TaskID), `"task_id": "`+string(judge)+`", "mode": "milestone"`)
			return
		}
	}
}

// checkConcerns applies D6: a concern about a test is looked into, or the user is asked.
func (r *ruling) checkConcerns(t *plan.TaskState) {
	if len(r.Concerns) == 0 || t.Judges != nil && r.x.Mode == modeInvestigate {
		return
	}
	c := r.Concerns[0]
	r.add("D6", "next_agent", fmt.Sprintf("%s has a concern about %s, which nobody has looked into", c.By, c.About),
		"a review that investigates, or USER", r.x.NextAgent, `"mode": "investigate"`)
}

// checkRepeated applies D7: a repeated failure needs its root cause, or the user.
func (r *ruling) checkRepeated(t *plan.TaskState) {
	const twice, thrice = 2, 3
	if t.Judges != nil && r.x.Mode == modeInvestigate {
		return
	}
	f := r.Failures[t.TaskID]
	if f.Times < twice {
		return
	}
	failed := strings.Join(f.Criteria, ", ")
	if f.Times >= thrice && !r.State.Settled(r.Decider, t.TaskID, t.TaskID) {
		r.add("D7", "next_agent", fmt.Sprintf("%s failed %s %d times in a row", t.TaskID, failed, f.Times),
			"USER, or a review that investigates", r.x.NextAgent, `"next_agent": "USER"`)
		return
	}
	if !hasLine(strings.Split(r.x.HistoryAppend, "\n"), "root_cause_analysis:") {
		r.add("D7", "history_append", fmt.Sprintf("%s failed %s %d times in a row", t.TaskID, failed, f.Times),
			"a line that begins with root_cause_analysis:", "none", "root_cause_analysis: the spec "+
				"contradicts the test")
	}
}

// checkAnswers checks that each answer fits a question that is open.
func (r *ruling) checkAnswers() {
	held := r.State.Held(r.Decider)
	seen := map[string]bool{}
	for i, a := range r.x.Answers {
		path := fmt.Sprintf("answers[%d]", i)
		at := slices.IndexFunc(r.Questions, func(q Asked) bool {
			return q.TaskID == a.TaskID && q.QuestionID == a.QuestionID
		})
		key := string(a.TaskID) + " " + a.QuestionID
		const example = `"answers": [{"task_id": "DEV-1", "question_id": "q1", "text": "..."}]`
		switch {
		case !slices.Contains(held, a.TaskID):
			r.add("D8", path+".task_id", "is no task whose questions "+string(r.Decider)+" answers",
				"a task that it orders", plain.Quote(string(a.TaskID)), example)
		case at < 0 || r.Questions[at].Answered || seen[key]:
			r.add("D8", path+".question_id", "is no open question of "+string(a.TaskID), "an open question, once",
				plain.Quote(a.QuestionID), example)
		case r.Questions[at].Kind == plan.AskFile:
			r.add("D8", path+".question_id", "asks for a file, which only a person hands in", "USER", a.QuestionID,
				`"next_agent": "USER"`)
		case r.Questions[at].Kind == plan.AskChoice && !slices.ContainsFunc(r.Questions[at].Options,
			func(o plan.Option) bool {
				return o.OptionID == a.Text
			}):
			r.add("D8", path+".text", "is no option of the question", "the id of an option",
				plain.Quote(a.Text), example)
		}
		seen[key] = true
	}
}

// The five words for where a task stands.
const (
	WordTodo     = "TODO"
	WordDoing    = "DOING"
	WordBlocked  = "BLOCKED"
	WordDone     = "DONE"
	WordVerified = "VERIFIED"
)

// DevPlanWord returns a task's progress in one of the five words, ABANDONED if it has left the plan.
func DevPlanWord(s *plan.State, id plan.TaskID) string {
	t := s.Tasks[id]
	switch {
	case t == nil || t.Status == plan.StatusAbandoned:
		return string(plan.StatusAbandoned)
	case s.Verified(id):
		return WordVerified
	case t.Status == plan.StatusDone:
		return WordDone
	case blocks(t.Status):
		return WordBlocked
	case t.Active > 0 || t.Status == plan.StatusInProgress || s.IsOrdered(id):
		return WordDoing
	}
	return WordTodo
}

// Apply returns the event that puts a decision into effect. The caller adds what it amends.
func (d Deciding) Apply(x Decision, agent string) plan.ApplyDecision {
	e := plan.ApplyDecision{Task: d.Decider, Agent: agent}
	switch x.NextAgent {
	case NextFinish:
	case NextUser:
		e.Ask = &plan.Question{Name: "decision " + plan.VersionID(d.Version), Question: x.asked(), Kind: plan.AskChoice,
			Options: x.Options, RecommendedOptionID: x.RecommendedOptionID}
	default:
		e.Order = plan.Order{TaskID: d.orderTarget(x), Mode: modeOf(x.Mode), Text: x.Task}
	}
	for _, a := range x.Answers {
		at := slices.IndexFunc(d.Questions, func(q Asked) bool {
			return q.TaskID == a.TaskID && q.QuestionID == a.QuestionID
		})
		if at < 0 {
			continue // it has a finding
		}
		q := d.Questions[at].Question
		answer := plan.Answer{Text: a.Text}
		if q.Kind == plan.AskChoice {
			answer = plan.Answer{OptionID: a.Text}
		}
		e.Answers = append(e.Answers, plan.AnswerQuestion{Task: a.TaskID, Number: a.number(), Question: q,
			Answer: answer})
	}
	return e
}
