package outline

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/relpath"
)

// defaultDays is the estimate of a task that has none, in person-days.
const defaultDays = 1

// Plan makes the authoring document of the outline's plan, in YAML. It obeys every rule of a plan; findings, with the
// lines of the outline, say what keeps it from that, and then there is no document.
func (o *Outline) Plan() ([]byte, plan.Findings) {
	whole := o.closed()
	w := &planner{o: whole, covers: map[*Task][]string{}}
	w.rootCriteria()
	data, err := w.write()
	if err == nil {
		_, err = plandoc.ParseValid(o.File, data, policy.Floors{})
	}
	if err != nil {
		return nil, whole.translate(err)
	}
	return data, nil
}

// closed is the outline with one more task for each goal that has commands of its own, and one for those of the root
// checklist: only tasks have criteria that are run. Such a task waits for all others that it closes.
func (o *Outline) closed() *Outline {
	taken := map[plan.TaskID]bool{}
	o.Walk(func(t *Task) { taken[t.ID] = true })
	whole := *o
	whole.Tasks = closeGoals(o.Tasks, taken)
	var criteria []Criterion
	var covers []string
	for _, q := range o.Requirements {
		if q.Command != "" {
			criteria = append(criteria, q.Criterion)
			covers = append(covers, cmp.Or(q.Ref, q.ID))
		}
	}
	if len(criteria) > 0 {
		t := closingTask("ACCEPT-1", "Acceptance: "+o.Title, criteria, whole.Tasks, taken)
		t.Covers = covers
		whole.Tasks = append(slices.Clone(whole.Tasks), t)
	}
	return &whole
}

func closeGoals(tasks []*Task, taken map[plan.TaskID]bool) []*Task {
	out := make([]*Task, len(tasks))
	for i, t := range tasks {
		out[i] = t
		if len(t.Tasks) == 0 {
			continue
		}
		goal := *t
		goal.Tasks = closeGoals(t.Tasks, taken)
		var criteria []Criterion
		for _, c := range t.Acceptance {
			if c.Command != "" {
				criteria = t.Acceptance
			}
		}
		if len(criteria) > 0 {
			goal.Tasks = append(goal.Tasks, closingTask("ACCEPT-"+t.ID, "Acceptance: "+t.Title, criteria, goal.Tasks, taken))
		}
		out[i] = &goal
	}
	return out
}

func closingTask(id plan.TaskID, title string, criteria []Criterion, after []*Task, taken map[plan.TaskID]bool) *Task {
	free := id
	for k := 2; taken[free] || !free.Valid(); k++ {
		free = plan.TaskID(fmt.Sprintf("ACCEPT-%d", k))
	}
	taken[free] = true
	t := &Task{ID: free, Title: short(title, 200), Status: Status{State: Todo}, Acceptance: criteria,
		Line: criteria[0].Line}
	for _, d := range after {
		t.DependsOn = append(t.DependsOn, d.ID)
	}
	return t
}

// translate gives findings about the document the lines of the outline that they come from.
func (o *Outline) translate(err error) plan.Findings {
	var fs plan.Findings
	if !errors.As(err, &fs) {
		return plan.Findings{{Code: "bad-plan", File: o.File, Line: 1, Message: plain.Line(err.Error())}}
	}
	lines := map[plan.TaskID]int{}
	o.Walk(func(t *Task) { lines[t.ID] = t.Line })
	fs = slices.Clone(fs)
	for i := range fs {
		fs[i].File, fs[i].Line = o.File, max(lines[fs[i].TaskID], 1)
	}
	return fs
}

// planner writes one plan.
type planner struct {
	o      *Outline
	leaves []*Task
	top    map[*Task]*Task           // the outermost goal of each leaf, or the leaf itself
	refs   map[*Task][]string        // what each leaf, or a goal around it, says that it covers
	words  map[*Task]map[string]bool // of each leaf, to find the nearest requirement
	roots  []plan.RootCriterion
	covers map[*Task][]string
	depth  int
}

// rootCriteria makes the root checklist: the requirements of the source, and one criterion for each outermost goal or
// task that none of them speaks of.
func (w *planner) rootCriteria() {
	w.top, w.refs, w.words = map[*Task]*Task{}, map[*Task][]string{}, map[*Task]map[string]bool{}
	var walk func(tasks []*Task, top *Task, refs []string, depth int)
	walk = func(tasks []*Task, top *Task, refs []string, depth int) {
		w.depth = max(w.depth, depth)
		for _, t := range tasks {
			under := top
			if under == nil {
				under = t
			}
			here := append(slices.Clone(refs), t.Covers...)
			if len(t.Tasks) == 0 {
				w.leaves = append(w.leaves, t)
				w.top[t], w.refs[t] = under, here
				if len(w.o.Requirements) > 0 {
					w.words[t] = grams(t.allText() + " " + under.Title)
				}
			}
			walk(t.Tasks, under, here, depth+1)
		}
	}
	walk(w.o.Tasks, nil, nil, 1)
	for _, q := range w.o.Requirements {
		w.roots = append(w.roots, plan.RootCriterion{ID: q.ID, Statement: q.Text})
		for _, t := range w.meeting(q) {
			w.cover(t, q.ID)
		}
	}
	var order []*Task
	open := map[*Task][]*Task{}
	for _, t := range w.leaves {
		if len(w.covers[t]) > 0 {
			continue
		}
		top := w.top[t]
		if open[top] == nil {
			order = append(order, top)
		}
		open[top] = append(open[top], t)
	}
	for i, top := range order {
		id := fmt.Sprintf("R%d", len(w.o.Requirements)+i+1)
		w.roots = append(w.roots, plan.RootCriterion{ID: id, Statement: goalStatement(top)})
		for _, t := range open[top] {
			w.cover(t, id)
		}
	}
}

func (w *planner) cover(t *Task, id string) {
	if !slices.Contains(w.covers[t], id) {
		w.covers[t] = append(w.covers[t], id)
	}
}

// goalStatement is what the whole has to fulfil for the sake of one milestone: what the milestone itself demands, or
// that it is met.
func goalStatement(t *Task) string {
	var parts []string
	for _, c := range t.Acceptance {
		if t.Goal {
			parts = append(parts, c.Text)
		}
	}
	s := string(t.ID) + ": " + t.Title
	if len(parts) > 0 {
		s += " - " + strings.Join(parts, "; ")
	}
	return short(s, 2000)
}

// meeting are the tasks that meet a requirement: those that refer to it, else those whose words are nearest to it, else
// all.
func (w *planner) meeting(q Item) []*Task {
	var out []*Task
	for _, t := range w.leaves {
		if slices.ContainsFunc(w.refs[t], func(c string) bool { return refersTo(c, q) }) {
			out = append(out, t)
		}
	}
	if len(out) > 0 {
		return out
	}
	best := 0.0
	wanted := grams(q.Text)
	for _, t := range w.leaves {
		score := overlap(wanted, w.words[t])
		switch {
		case score == 0 || score < best:
		case score > best:
			best, out = score, []*Task{t}
		default:
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return w.leaves
	}
	return out
}

func (t *Task) allText() string {
	var b strings.Builder
	b.WriteString(t.Title + " " + t.Description)
	for _, c := range t.Acceptance {
		b.WriteString(" " + c.Text)
	}
	return b.String()
}

func refersTo(ref string, q Item) bool {
	ref = norm(ref)
	own := norm(q.Ref)
	return ref != "" && (ref == norm(q.ID) && own == "" || own != "" && (ref == own || strings.HasPrefix(ref, own+".")) ||
		own == "" && norm("R"+ref) == norm(q.ID) || own == "" && strings.HasPrefix("R"+ref, norm(q.ID)+"."))
}

// grams are the words of a text, and of a script without spaces each pair of neighbours.
func grams(s string) map[string]bool {
	out := map[string]bool{}
	var word strings.Builder
	flush := func() {
		if w := word.String(); len(w) > 2 && !listed("common word", w) {
			out[strings.TrimSuffix(w, "s")] = true
		}
		word.Reset()
	}
	var before rune
	for _, r := range strings.ToLower(s) {
		han := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
		switch {
		case han:
			flush()
			if before != 0 {
				out[string([]rune{before, r})] = true
			}
		case isWord(r):
			word.WriteRune(r)
		default:
			flush()
		}
		before = 0
		if han {
			before = r
		}
	}
	flush()
	return out
}

func overlap(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for g := range a {
		if b[g] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// spec says what a task delivers: the files it declares or names, else a report under its own name.
func (t *Task) spec() (files []string, declared bool) {
	taken := map[string]bool{}
	for _, p := range t.Deliverables {
		key := relpath.Fold(p)
		clash := taken[key]
		for other := range taken {
			clash = clash || strings.HasPrefix(other, key+"/") || strings.HasPrefix(key, other+"/")
		}
		if !clash && len(files) < 50 && !relpath.IsPattern(p) {
			taken[key] = true
			files = append(files, p)
		}
	}
	if len(files) == 0 {
		for _, s := range spans(t.Title + "\n" + t.Description) {
			if p := pathsIn("`" + s.text + "`"); s.code && len(p) == 1 && !relpath.IsPattern(p[0]) {
				return p, true
			}
		}
		return []string{string(t.ID) + ".md"}, false
	}
	return files, true
}

// criteria are the plan's criteria for a task.
func (t *Task) criteria(files []string, declared bool) []writtenCriterion {
	var out []writtenCriterion
	add := func(statement, run string, optional bool) {
		c := writtenCriterion{ID: fmt.Sprintf("A%d", len(out)+1), Statement: short(statement, 4000), Run: run}
		if run != "" {
			c.CheckMethod = plan.StaticCheck
		}
		if optional {
			c.Severity = plan.Should
		}
		if len(out) < 900 {
			out = append(out, c)
		}
	}
	inRepo, inCandidate, manual := 0, 0, 0
	for _, c := range t.Acceptance {
		text := c.Text
		if c.Command == "" {
			manual++
			add(text, "", c.Optional)
			continue
		}
		run, decided := shellLine(c.Command, c.Expect)
		if !decided {
			manual++
			add(c.judged(), "", c.Optional)
			continue
		}
		if c.Before != "" {
			run = c.Before + "\n" + run
		}
		if declared && names(c.Command, files) {
			inCandidate++
		} else {
			inRepo++
			run = `cd "$WF_REPO" && ` + group(run)
		}
		add(text, run, c.Optional)
	}
	if manual == 0 && (inRepo > 0 || inCandidate == 0) {
		what := "shows the result that the task asks for: " + t.Title
		if !declared {
			what = "says what was done and shows the outcome of every criterion: " + t.Title
		}
		add("`"+files[0]+"` "+what, "", false)
	}
	if len(out) > 0 && !slices.ContainsFunc(out, func(c writtenCriterion) bool { return c.Severity == "" }) {
		out[0].Severity = ""
	}
	return out
}

// judged is the statement of a criterion whose expectation only a person, or a reviewing agent, can judge: it says what
// to run and what has to come of it.
func (c Criterion) judged() string {
	s := fmt.Sprintf("Run `%s` and judge: %s", plain.Line(strings.TrimPrefix(c.Before+"\n"+c.Command, "\n")), c.Expect)
	if strings.Contains(c.Text, c.Command) && strings.Contains(c.Text, c.Expect) {
		return s
	}
	return s + " (" + c.Text + ")"
}

// names reports that a command speaks of one of the files.
func names(command string, files []string) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		const end = `[^\w/.-]`
		name := regexp.QuoteMeta(f) + "|" + regexp.QuoteMeta(f[strings.LastIndexByte(f, '/')+1:])
		return regexp.MustCompile(`(?:^|` + end + `)(?:` + name + `)(?:$|` + end + `)`).MatchString(command)
	})
}
