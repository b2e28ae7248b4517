package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// Lint finds what is wrong with the files: what the form alone can't say, and what only shows in the plans that they
// come to. It renders every combination of choices, as far as it goes and, with samples in the place of approved
// files, whole. A check that could not run is a finding.
func (w *Workflow) Lint() plan.Findings {
	l := &linter{w: w, fs: slices.Clone(w.fs), held: map[*node]bool{}}
	for _, f := range w.files {
		l.file(f)
	}
	l.nodes(w.nodes, nil)
	choices, all := w.Choices()
	if all > MaxChoices {
		l.at(l.w.files[0], "too-many", "params", "there are more combinations of choices than lint renders",
			fmt.Sprintf("at most %d", MaxChoices), fmt.Sprint(all), "fewer options")
	}
	for _, in := range choices {
		l.renderings(in)
	}
	walk(l.w.nodes, func(n *node) {
		if held, asks := l.held[n]; asks && !held {
			l.node(n, "never-holds", "when", "holds in no round that there can be",
				"a round from 1 to the repeat's max", "none", "when: {round: 2}")
		}
	})
	return l.result()
}

type linter struct {
	w    *Workflow
	fs   plan.Findings
	held map[*node]bool // of each when that asks for the round, whether it holds in one
}

// at notes what is wrong in a file outside of its nodes.
func (l *linter) at(f *file, code, path, message, expected, found, example string) {
	l.fs = append(l.fs, plan.Finding{
		Code: code, File: f.Name, Line: plandoc.LineOf(f.root, path), Path: path,
		Message: message, Expected: expected, Found: found, Example: example,
	})
}

func (l *linter) node(n *node, code, field, message, expected, found, example string) {
	l.fs = append(l.fs, n.finding(code, field, message, expected, found, example))
}

// unknown notes a name at a field of a node that is none of those that there are.
func (l *linter) unknown(n *node, field, message, name string, there []string) {
	l.node(n, "unknown-name", field, message, listed("one of ", there), plain.Quote(name),
		plandoc.Nearest(name, there))
}

// result has each finding once: what several renderings, or both the form and a rendering, have against one line.
func (l *linter) result() plan.Findings {
	fs := once(l.fs)
	for i := range fs {
		fs[i].TaskID = ""
		if one, ok := strings.CutPrefix(fs[i].Expected, "one of "); ok && fs[i].Code == "unknown-name" {
			one, _, _ = strings.Cut(one, ", ")
			fs[i].Example = cmp.Or(fs[i].Example, one)
		}
		fs[i].Example = cmp.Or(fs[i].Example, examples[fs[i].Code])
	}
	return l.w.inOrder(fs).Capped()
}

// examples are those of findings that have none of their own.
var examples = map[string]string{
	"unknown-name":        "roles: {writer: {text: Write it.}}, and role: writer",
	"until-not-in-schema": "where: {status: ready}, with status in the schema",
	"too-many":            "max: 8",
	"bad-param":           "default: quick",
	"name-clash":          "as: t",
	"bad-value":           "make: report.md",
}

// Choices are the combinations of what can be chosen, at most MaxChoices: every option, both booleans, the longest
// list, the default and the largest integer, and both values of a fact that a condition speaks of. Lint and Widest go
// through them. n says how many combinations there are in all, up to a million.
func (w *Workflow) Choices() (some []*Inputs, n int) {
	some, n = []*Inputs{{
		SchemaVersion: inputsVersion, Sentence: "A sentence that says what is wanted", Params: map[string]any{},
		Facts: map[string]bool{},
	}}, 1
	vary := func(values []any, set func(*Inputs, any)) {
		n = min(n*len(values), 1_000_000)
		var next []*Inputs
		for _, in := range some {
			for _, v := range values[:min(len(values), MaxChoices-len(next))] {
				copied := *in
				copied.Params, copied.Facts = maps.Clone(in.Params), maps.Clone(in.Facts)
				set(&copied, v)
				next = append(next, &copied)
			}
		}
		some = next
	}
	for _, p := range w.files[0].set {
		vary(p.values(), func(in *Inputs, v any) { in.Params[p.Name] = v })
	}
	for _, f := range w.facts {
		vary(w.factValues(f), func(in *Inputs, v any) { in.Facts[f.Name] = v == true })
	}
	return some, n
}

// factValues are both, where a when speaks of the fact.
func (w *Workflow) factValues(f Fact) []any {
	if asked(w.nodes, f.Name) {
		return []any{true, false}
	}
	return []any{true}
}

// asked reports whether a when of the nodes, or below them, speaks of a name.
func asked(nodes []*node, name string) (asks bool) {
	walk(nodes, func(n *node) {
		asks = asks || slices.ContainsFunc(conditions(n.raw.Child("when")),
			func(c document.Node) bool { return c.Key == name })
	})
	return asks
}

// values are those that lint tries.
func (p Param) values() []any {
	var all []any
	switch p.Type {
	case typeChoice:
		for _, o := range p.Options {
			all = append(all, o)
		}
	case typeBoolean:
		all = []any{true, false}
	case typeInteger:
		if n, ok := p.Default.(int64); ok && n != int64(p.Max) {
			all = []any{n}
		}
		if p.Max > 0 || len(all) == 0 {
			all = append(all, int64(max(p.Max, 1)))
		}
	case typeItems:
		return []any{p.sampleItems()}
	case typeList:
		options := p.Options
		if list, ok := p.Default.([]any); ok && len(list) > 0 && len(options) == 0 {
			return []any{list}
		} else if len(options) == 0 {
			options = []string{"one", "two"}
		}
		longest := []any{}
		for _, o := range options {
			if p.Max == 0 || len(longest) < p.Max {
				longest = append(longest, o)
			}
		}
		all = []any{longest}
	default:
		all = []any{"a text"}
	}
	if len(all) == 0 {
		return []any{""}
	}
	return all
}

// renderings holds what comes of one combination of choices against the rules.
func (l *linter) renderings(in *Inputs) {
	first := l.w.expand(in, asFar, nil)
	l.judge(first, true)
	for _, j := range first.widened {
		l.node(j.judge, "judges-others", "judges.tasks", "judges all of "+string(j.goal.id)+", also what is no "+j.name,
			"what is judged in a group of its own, or the whole group", plain.Quote(j.other.id),
			"tasks: ["+string(j.goal.id)+"]")
	}
	whole := l.w.expand(in, sample, nil)
	l.outcomes(whole)
	p := l.judge(whole, false)
	for n, held := range whole.held {
		l.held[n] = l.held[n] || held
	}
	l.covered(whole, p)
	l.together(whole, p)
	l.circles(whole, p)
	most := l.w.expand(in, utmost, nil)
	p = most.plan()
	for _, f := range most.fs {
		if f.Code == "too-many" || f.Code == "id-clash" {
			l.fs = append(l.fs, f)
		}
	}
	if len(most.fs) > 0 {
		return
	}
	if b := BoundsOf(p, nil); b.MaxDecisions > 0 && b.Decisions > b.MaxDecisions {
		l.orders(b)
	}
}

// orders says that a deciding task may make fewer decisions than the whole needs.
func (l *linter) orders(b Bounds) {
	walk(l.w.nodes, func(n *node) {
		if n.raw.Child("decides") != nil {
			l.node(n, "decides-too-few", "decides.max", "are fewer decisions than the largest plan needs",
				fmt.Sprintf("at least %d: an order for each task that waits for one, and the end", b.Decisions),
				fmt.Sprint(b.MaxDecisions), fmt.Sprintf("max: %d", 2*b.Decisions))
		}
	})
}

// known are findings about a plan that the lint of the file has already, under its own codes and at better places.
var known = []string{"unknown-role", "weights-zero", "agree-unreachable", "bad-schema", "no-bound", "too-many-leaves",
	"duplicate-id", "unknown-file", "no-spec"}

// judge holds a rendering against the rules of plans and, if it keeps them, the plan review.
func (l *linter) judge(x *expander, review bool) *plan.Plan {
	p := x.plan()
	l.accepted(x, p)
	l.fs = append(l.fs, x.fs...)
	text, err := plandoc.Encode(p)
	var parsed *plan.Plan
	if err == nil {
		parsed, err = plandoc.Parse(x.w.files[0].Name, text)
	}
	var fs plan.Findings
	if err == nil {
		p = parsed
		p.Workflow = x.w.Origin()
		fs = append(plandoc.Validate(p, policy.Floors{}), plandoc.ObsoleteFindings(p)...)
	} else if !errors.As(err, &fs) {
		fs = plan.Findings{{Code: "bad-plan", Message: plain.Line(err.Error())}}
	}
	if len(fs) > 0 {
		errors.As(x.placed(fs), &fs)
		for _, f := range fs {
			if !slices.Contains(known, f.Code) &&
				(len(x.fs) == 0 || f.Code != "unknown-dependency" && f.Code != "wrong-type") {
				l.fs = append(l.fs, f)
			}
		}
		return p
	}
	if r := plandoc.ReviewPlan(p, plandoc.Stated); review && r.Verdict != plan.Approved {
		why := each.Pick(r.Criteria, func(c plan.CriterionResult) (string, bool) {
			return c.ID + ": " + c.Evidence, c.Result == plan.ResultFail
		})
		example := ""
		if len(r.Suggestions) > 0 {
			example = r.Suggestions[0].Text
		}
		l.at(l.w.files[0], "plan-review", "tasks", "the plan review would reject what the workflow comes to",
			fmt.Sprintf("a score of at least %d", r.MinScore),
			fmt.Sprintf("%d; %s", r.Score, strings.Join(why, "; ")), example)
	}
	return p
}

// accepted finds what is delivered although it may have been accepted only because its rounds were used up.
func (l *linter) accepted(x *expander, p *plan.Plan) {
	if x.w.DeliverAccepted() || len(p.Tasks) == 0 {
		return
	}
	final := p.Tasks[0].FinalDeliverableSpec
	for _, t := range p.Tasks {
		i := x.ids[t.ReviewTargetTaskID]
		if t.OnExhausted != "accept" || i == nil { // nil has an id that is none
			continue
		}
		delivered := final == nil || len(final.IncludeChildren) == 0 && final.AssembleTaskID == ""
		for at := i; at != nil && final != nil; at = at.parent {
			delivered = delivered || slices.Contains(final.IncludeChildren, at.id) || at.id == final.AssembleTaskID
		}
		if delivered {
			l.node(i.node, "delivers-what-may-be-accepted", "review.on_exhausted",
				"what was never approved would be delivered", "ask, or deliver_accepted: true at the top of the file",
				"accept", "on_exhausted: ask")
		}
	}
}

// covered finds root criteria that nothing covers, whatever comes into the plan.
func (l *linter) covered(x *expander, p *plan.Plan) {
	for _, c := range x.w.criteria {
		id := c.raw.Child("id").Text
		covers := func(t *plan.Task) bool { return t.CoversRoot(id) }
		if f := c.files[0]; x.used[f] && !slices.ContainsFunc(p.Tasks, covers) {
			l.fs = append(l.fs, plan.Finding{
				Code: "uncovered-root-criterion", File: f.Name, Line: int(c.raw.Line), Path: "criteria",
				Message:  "no task covers it: " + plain.Quote(c.raw.Child("statement").Text),
				Expected: "a task or a criterion with covers", Found: "none", Example: "covers: [" + id + "]",
			})
		}
	}
}

// together finds a judge that waits for another judge of the same tasks: their verdicts take effect together, so both
// would wait for ever.
func (l *linter) together(x *expander, p *plan.Plan) {
	g := newGraph(p)
	judged := func(k int) (all []int) {
		if j := g.tasks[k].Judges; j != nil {
			for _, id := range j.Tasks {
				all = append(all, g.leafs[id]...)
			}
		}
		return all
	}
	for k, t := range g.tasks {
		i, mine := x.ids[t.TaskID], judged(k)
		for j := range g.tasks {
			if i != nil && g.above[k].Bit(j) == 1 &&
				slices.ContainsFunc(judged(j), func(leaf int) bool { return slices.Contains(mine, leaf) }) {
				l.node(i.node, "cycle", "needs", "waits for another judge of the same tasks, and both take "+
					"effect together",
					"no need of "+i.node.id+" that leads to it",
					fmt.Sprintf("%s -> %s -> %s", t.TaskID, g.tasks[j].TaskID, t.TaskID),
					"needs: only what both judge")
			}
		}
	}
}

// circles finds a list, or what decides a branch, that comes from a task which waits for what is made of it.
func (l *linter) circles(x *expander, p *plan.Plan) {
	g := newGraph(p)
	for _, r := range x.reads {
		made := g.leafs[r.goal.id]
		for _, source := range g.leafs[r.source] {
			if slices.ContainsFunc(made, func(k int) bool { return k == source || g.above[source].Bit(k) == 1 }) {
				l.node(r.node, "cycle", r.node.loopField()+".of", "reads a task that waits for what is made of it",
					"no need of "+string(r.source)+" that leads to "+string(r.goal.id),
					fmt.Sprintf("%s -> %s -> %s", r.goal.id, r.source, r.goal.id),
					"needs: only what is there before "+string(r.goal.id))
			}
		}
	}
}

// outcomes finds items of a list, or files, that nothing takes: each loop or branch that reads them has a where, none
// lets them through, and none says that they are to be dropped.
func (l *linter) outcomes(x *expander) {
	for _, r := range x.reads {
		s := l.w.loopSchema(r.node)
		where := r.loop.raw.Child("where")
		first := slices.IndexFunc(x.reads, r.same)
		dropped := slices.ContainsFunc(x.reads, func(o read) bool {
			return o.same(r) && o.loop.raw.Child("others") != nil
		})
		if where == nil || s == nil || x.reads[first].node != r.node || dropped {
			continue
		}
		for _, field := range conditions(where) {
			part := s.At(strings.Split(field.Key, "."))
			if part == nil {
				continue
			}
			for _, v := range part.Enum {
				if !x.taken(r, field.Key, plainNumbers(v)) {
					l.node(r.node, "outcome-without-way", r.node.loopField()+".where", "no group is for this outcome",
						"a group for each value of "+field.Key+", or others: drop",
						fmt.Sprintf("none for %v", v), fmt.Sprintf("where: {%s: %v}", field.Key, v))
				}
			}
		}
	}
}

// taken reports whether some loop over the same list takes items with a value.
func (x *expander) taken(of read, field string, v any) bool {
	return slices.ContainsFunc(x.reads, func(r read) bool {
		return r.same(of) && holds(r.loop.raw.Child("where"), func(path string) (any, bool) {
			if path == field {
				return v, true
			}
			return wild{}, true
		})
	})
}
