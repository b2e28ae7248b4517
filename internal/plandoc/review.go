package plandoc

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// PlanReview is what the built-in review says of a plan: the same plan always gets the same review.
type PlanReview struct {
	Verdict     plan.Verdict           `json:"verdict"`
	Score       int                    `json:"score"`     // 0 to 100
	MinScore    int                    `json:"min_score"` // the least score that approves
	Criteria    []plan.CriterionResult `json:"criteria"`
	Suggestions []PlanSuggestion       `json:"suggestions"`
}

// PlanSuggestion is a change that would raise the score, and the task that it is about, "" for the whole plan.
type PlanSuggestion struct {
	plan.Suggestion
	TaskID plan.TaskID `json:"task_id"`
}

// The ids of the criteria of a plan review.
const (
	planCoverage    = "coverage"
	planComplete    = "completeness"
	planFeasible    = "feasible"
	planDependency  = "dependencies"
	planObservable  = "observable"
	planWording     = "wording"
	priorityHigh    = "HIGH"
	priorityMed     = "MED"
	priorityLow     = "LOW"
	maxSuggestions  = 50
	mostUnjudgeable = 0.5 // share of tasks without an observable outcome beyond which a plan is rejected outright
)

// Days is how long a task takes, in person-days, and whether that is assumed because the plan does not say.
type Days func(*plan.Task) (days float64, assumed bool)

// Stated is what the plan says alone: of what it leaves out somebody else judges later.
func Stated(t *plan.Task) (days float64, assumed bool) { return t.EstimatedPersonDays, false }

// ReviewPlan judges what Validate can't: coverage, completeness, estimates, dependencies and the wording of criteria.
// It expects a plan without findings. The score is 100 less the weights in review_words.go, each times the share of
// the plan that is affected.
func ReviewPlan(p *plan.Plan, days Days) PlanReview {
	r := &planReviewer{plan: p, penalty: map[string]float64{}, evidence: map[string][]string{}}
	for _, t := range p.Tasks {
		if t.NodeType == plan.Action && !t.Planning() {
			r.actions = append(r.actions, t)
		}
	}
	if root := p.Task(p.RootTaskID); root != nil && root.Meta["imported"] != nil {
		// its words and estimates are those of its author: nobody here words them anew
		return r.result(map[string]bool{})
	}
	failed := map[string]bool{}
	failed[planFeasible] = !r.feasible(days)
	r.coverage()
	r.completeness()
	r.dependencies()
	failed[planObservable] = !r.wording()
	return r.result(failed)
}

type planReviewer struct {
	plan        *plan.Plan
	actions     []*plan.Task
	penalty     map[string]float64  // by criterion
	evidence    map[string][]string // by criterion, what is wrong
	suggestions []PlanSuggestion
}

// deduct notes what is wrong with some tasks and takes the weight times their share.
func (r *planReviewer) deduct(criterion string, weight float64, affected, of int, what string, tasks []plan.TaskID) {
	if affected == 0 || of == 0 {
		return
	}
	points := weight * float64(affected) / float64(of)
	r.penalty[criterion] += points
	text := fmt.Sprintf("%s (-%.1f)", what, points)
	if len(tasks) > 0 {
		text += ": " + plan.JoinIDs(tasks)
	}
	r.evidence[criterion] = append(r.evidence[criterion], text)
}

func (r *planReviewer) suggest(priority string, id plan.TaskID, format string, args ...any) {
	if len(r.suggestions) < maxSuggestions {
		text := fmt.Sprintf(format, args...)
		r.suggestions = append(r.suggestions, PlanSuggestion{plan.Suggestion{Priority: priority, Text: text}, id})
	}
}

func (r *planReviewer) result(failed map[string]bool) PlanReview {
	review := PlanReview{Verdict: plan.Approved, MinScore: r.plan.Limits().MinScore}
	total := 0.0
	for _, c := range plan.PlanCriteria() {
		result := plan.CriterionResult{
			ID: c.ID, Statement: c.Statement, Severity: c.Severity, Result: plan.ResultPass, By: plan.ReviewerPlan,
			Evidence: fmt.Sprintf("nothing found among %d ACTIONs", len(r.actions)),
		}
		if notes := r.evidence[c.ID]; len(notes) > 0 {
			result.Evidence = strings.Join(notes, "; ")
		}
		if failed[c.ID] || c.Severity == plan.Should && r.penalty[c.ID] > 0 {
			result.Result = plan.ResultFail
		}
		total += r.penalty[c.ID]
		review.Criteria = append(review.Criteria, result)
	}
	review.Score = max(100-int(math.Round(total)), 0)
	review.Verdict = plan.Judge(review.Criteria, review.Score, review.MinScore)
	review.Suggestions = r.suggestions
	sort.SliceStable(review.Suggestions, func(i, j int) bool {
		order := []string{priorityHigh, priorityMed, priorityLow}
		return slices.Index(order, review.Suggestions[i].Priority) < slices.Index(order, review.Suggestions[j].Priority)
	})
	return review
}

func (r *planReviewer) feasible(estimate Days) bool {
	limit := r.plan.Limits().OneShotThresholdPersonDays
	var large []plan.TaskID
	for _, t := range r.actions {
		days, assumed := estimate(t)
		if days <= limit {
			continue
		}
		large = append(large, t.TaskID)
		by := map[bool]string{true: " by the rule, as the plan does not say,"}[assumed]
		r.suggest(priorityHigh, t.TaskID,
			"estimated%s at %v person-days, more than %v: split it into tasks, each with a deliverable of its own",
			by, days, limit)
	}
	if len(large) > 0 {
		r.evidence[planFeasible] = []string{
			fmt.Sprintf("estimated at more than %v person-days: %s", limit, plan.JoinIDs(large)),
		}
	}
	return len(large) == 0
}

// coverage costs points where there is no checklist at all. A checklist with a hole is a hard error, but a small plan
// whose one task says it all is sound without one.
func (r *planReviewer) coverage() {
	if len(r.plan.RootCriteria()) == 0 && !r.plan.Register {
		r.deduct(planCoverage, weightRootCriteria, 1, 1, "the plan has no root_acceptance_criteria", nil)
		r.suggest(priorityMed, "", "split what was asked for into root_acceptance_criteria and name them in covers")
	}
}

func (r *planReviewer) completeness() {
	var bare, toothless []plan.TaskID
	for _, t := range r.actions {
		if strings.TrimSpace(t.Description) == "" && (t.DeliverableSpec == nil ||
			strings.TrimSpace(t.DeliverableSpec.Description) == "") && t.Run == "" && t.Role == "" {
			bare = append(bare, t.TaskID)
			r.suggest(priorityLow, t.TaskID, "describe what is to be done: whoever does it sees only the title")
		}
		if !slices.ContainsFunc(t.AcceptanceCriteria, func(c plan.Criterion) bool { return c.Severity == plan.Must }) {
			toothless = append(toothless, t.TaskID)
			r.suggest(priorityHigh, t.TaskID,
				"make at least one criterion a MUST: now nothing can reject its deliverable outright")
		}
	}
	r.deduct(planComplete, weightDescription, len(bare), len(r.actions), "without a description", bare)
	r.deduct(planComplete, weightMust, len(toothless), len(r.actions), "without a MUST criterion", toothless)
}

// dependencies looks for tasks that serve nothing. Without root criteria every last task would be one.
func (r *planReviewer) dependencies() {
	if len(r.plan.RootCriteria()) == 0 {
		return
	}
	needed := r.needed()
	var orphans []plan.TaskID
	for _, t := range r.actions {
		covers := len(t.Covers) > 0 || slices.ContainsFunc(t.AcceptanceCriteria, func(c plan.Criterion) bool {
			return len(c.Covers) > 0
		})
		if !covers && !needed[t.TaskID] && !servesOthers(t) && !r.plan.Register {
			orphans = append(orphans, t.TaskID)
			r.suggest(priorityMed, t.TaskID,
				"nothing needs it: say which root criterion it covers, or which task depends on it, or leave it out")
		}
	}
	r.deduct(planDependency, weightOrphan, len(orphans), len(r.actions), "serves no root criterion and no other task",
		orphans)
}

// servesOthers reports whether a task is there for others that it does not show: it judges them, decides for them, or
// they are rendered from it later.
func servesOthers(t *plan.Task) bool {
	return t.Judges != nil || t.Decides != nil || slices.ContainsFunc(t.AcceptanceCriteria,
		func(c plan.Criterion) bool {
			return c.CheckMethod == plan.Expands
		})
}

// needed is the set of tasks that some task depends on, through GOALs too, or that the root names.
func (r *planReviewer) needed() map[plan.TaskID]bool {
	index := r.plan.Index()
	named := map[plan.TaskID]bool{}
	for _, t := range r.plan.Tasks {
		if f := t.FinalDeliverableSpec; f != nil {
			named[f.AssembleTaskID] = true
			for _, id := range f.IncludeChildren {
				named[id] = true
			}
		}
		if t.NodeType == plan.Action {
			for _, d := range t.DependsOn {
				named[d] = true
			}
		}
	}
	needed := map[plan.TaskID]bool{}
	for _, t := range r.actions {
		needed[t.TaskID] = named[t.TaskID]
		for above := range tasksAbove(t, index.Task) {
			needed[t.TaskID] = needed[t.TaskID] || named[above.TaskID]
		}
	}
	return needed
}

// wording judges each criterion and reports whether enough tasks have an outcome that can be observed.
func (r *planReviewer) wording() bool {
	var blind, vagueIn []plan.TaskID
	vague, all := 0, 0
	for _, t := range r.actions {
		observable, vagueHere := false, 0
		for _, c := range t.AcceptanceCriteria {
			all++
			why, mend := weakness(c, t.Title), "name an outcome that can be seen or counted, or give it a run line"
			if why == "" {
				why, mend = misplaced(t, c), "static_check runs beside the file"
			}
			if why == "" {
				observable = true
				continue
			}
			vagueHere++
			r.suggest(priorityMed, t.TaskID, "criterion %s %s: %s", plain.Line(c.ID), why, mend)
		}
		vague += vagueHere
		if vagueHere > 0 {
			vagueIn = append(vagueIn, t.TaskID)
		}
		if !observable {
			blind = append(blind, t.TaskID)
			r.suggest(priorityHigh, t.TaskID,
				"none of its criteria has an observable outcome: add one that a command or a reader can decide")
		}
	}
	r.deduct(planWording, weightObservable, len(blind), len(r.actions), "without an observable outcome", blind)
	r.deduct(planWording, weightVague, vague, all, fmt.Sprintf("%d of %d criteria too vague to judge", vague, all),
		vagueIn)
	enough := float64(len(blind)) <= mostUnjudgeable*float64(len(r.actions))
	r.evidence[planObservable] = []string{fmt.Sprintf("%d of %d ACTIONs have an observable outcome",
		len(r.actions)-len(blind), len(r.actions))}
	return enough
}

// firm is what makes a statement checkable whatever else it says: a number, a quotation, code, a file name.
var firm = pattern.Compile("[0-9<>=≤≥“”「」『』《》`\"]|[A-Za-z0-9_-]+\\.[a-z0-9]{2,5}\\b|\\bhttps?:")

// vagueWord waits for its first use: compiling it would slow the start of every command.
var vagueWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^\p{L}\p{N}-])(` + strings.Join(vagueWords, "|") + `)($|[^\p{L}\p{N}-])`)
})

// weakness says why nobody can decide whether the criterion holds; "" if somebody can.
func weakness(c plan.Criterion, title string) string {
	s := strings.ToLower(strings.TrimSpace(c.Statement))
	switch {
	case c.Run != "":
		return ""
	case bareWords(s) == bareWords(strings.ToLower(title)):
		return "repeats the task's title"
	case firm.Get().MatchString(s):
		return ""
	case tooShort(s):
		return "is too short to name an outcome"
	}
	if word := Vague(s); word != "" {
		return fmt.Sprintf("is too vague to judge (%q)", word)
	}
	return ""
}

// Vague is the first word or phrase that leaves a statement to taste; "" if none does, or it names something firm.
func Vague(statement string) string {
	s := strings.ToLower(statement)
	if firm.Get().MatchString(s) {
		return ""
	}
	for _, phrase := range vaguePhrases {
		if strings.Contains(s, phrase) {
			return phrase
		}
	}
	if m := vagueWord().FindStringSubmatch(s); m != nil {
		return m[2]
	}
	return ""
}

// misplaced says that the line of a smoke test looks for the task's own file where the bundle has none: at its top,
// where each task has a directory.
func misplaced(t *plan.Task, c plan.Criterion) string {
	if c.CheckMethod != plan.RunSmokeTest || t.DeliverableSpec == nil || strings.Contains(c.Run, "cd ") {
		return ""
	}
	words := strings.FieldsFunc(c.Run, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&()<>=", r) })
	for _, name := range append([]string{t.DeliverableSpec.Filename}, t.DeliverableSpec.Files...) {
		if name != "" && slices.ContainsFunc(words,
			func(w string) bool { return strings.TrimPrefix(w, "./") == name }) {
			return fmt.Sprintf("is a run_smoke_test that looks for %s at the top of the bundle, where each task has a "+
				"directory of its own", plain.Line(name))
		}
	}
	return ""
}

func bareWords(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}

func tooShort(s string) bool {
	joined := 0
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			joined++
		}
	}
	if joined > 0 {
		return joined < leastRunes
	}
	return len(strings.Fields(bareWords(s))) < leastWords
}
