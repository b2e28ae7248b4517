package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// The keys of a task's meta that an import writes.
const (
	keyImported = "imported" // what it was imported from
	keyAssumed  = "assumed"  // what the source does not say of it
)

// The lengths that plan files allow, in characters.
const (
	maxTitle   = 200
	maxText    = 20_000
	maxTopTask = 100_000
)

// CheckID is the id of the criterion that has the repository's own check as its run line.
const checkID = "check"

// assembler makes the plan of one source.
type assembler struct {
	*graph
	src *source
	o   Options
	ids *namer
	out *Imported
}

// assemble makes the plan of what was read. What other systems do not have is filled in by one rule, marked as assumed
// and counted: a task's deliverable is a change of the paths that it names, or of any; its criteria are its author's
// words, or that it does what it says; its estimate is the rule's.
func (r *reader) assemble(src *source, o Options, out *Imported) {
	a := &assembler{graph: newGraph(r, src.items), src: src, o: o, ids: newNamer(), out: out}
	a.mend()
	a.dropEmpty()
	a.name()
	title := a.title(src.name, string(src.format)+" plan")
	p := &plan.Plan{SchemaVersion: 1, Title: title, TopTask: clipText(printable(src.top), maxTopTask),
		RootTaskID: plan.RootID}
	if id := plan.ID(src.id); id.Valid() {
		p.PlanID = id
	}
	if p.TopTask == "" {
		p.TopTask = title
	}
	imported := map[string]any{"format": string(src.format), "path": src.path}
	if len(src.fields) > 0 {
		imported["fields"] = src.fields
	}
	p.Tasks = append(p.Tasks, &plan.Task{TaskID: plan.RootID, NodeType: plan.Goal, Title: title,
		Meta: map[string]any{keyImported: imported}})
	depth, leaves := 1, 0
	for _, it := range a.items {
		t := a.task(it)
		p.Tasks = append(p.Tasks, t)
		depth = max(depth, a.level(it))
		out.Edges += len(t.DependsOn)
		if t.NodeType == plan.Action {
			leaves++
		}
	}
	limits := plan.DefaultConfig()
	if depth > limits.MaxDecompositionDepth {
		p.Config.MaxDecompositionDepth = depth
	}
	if leaves > limits.MaxLeafTasks {
		p.Config.MaxLeafTasks = leaves
	}
	out.Plan, out.Tasks = p, leaves
	if leaves > 0 {
		out.Assumed.Check = o.Check
	}
	out.Homeless, out.Lines = homeless(src.lines, p)
}

func (a *assembler) level(it *item) int {
	n := 0
	for ; it != nil && n <= maxLevels; it = a.by[it.parent] {
		n++
	}
	return n
}

func (a *assembler) container(it *item) bool { return it.heading || len(a.kids[it]) > 0 }

// dropEmpty takes out headings with nothing below them, whose text goes to the plan's own, and, where only open tasks
// are wanted, what is done there.
func (a *assembler) dropEmpty() {
	live, gone := map[*item]int{}, map[*item]bool{}
	for it, kids := range a.kids {
		live[it] = len(kids)
	}
	for changed := true; changed; {
		changed = false
		for _, it := range slices.Backward(a.items) {
			if gone[it] || live[it] > 0 || !it.heading && !(a.o.OpenOnly && it.isDone()) {
				continue
			}
			if len(a.kids[it]) == 0 && it.heading {
				a.src.top = strings.TrimSpace(a.src.top + "\n\n" + it.title + "\n\n" + it.text)
			}
			gone[it], changed = true, true
			live[a.by[it.parent]]--
		}
	}
	a.items = slices.DeleteFunc(a.items, func(it *item) bool { return gone[it] })
	for it := range gone {
		delete(a.by, it.source)
	}
	for _, it := range a.items {
		it.deps = slices.DeleteFunc(it.deps, func(d string) bool { return a.by[d] == nil })
		a.kids[it] = slices.DeleteFunc(a.kids[it], func(k *item) bool { return gone[k] })
	}
}

// name gives every item its id: first to those that wish for one, so that none is taken from them.
func (a *assembler) name() {
	rest := each.If(a.items, func(it *item) bool { return !a.ids.wanted(it) })
	// Parents come first, whatever their place in the source.
	slices.SortStableFunc(rest, func(x, y *item) int { return a.level(x) - a.level(y) })
	for _, it := range rest {
		a.ids.given(it, a.ids.listed[it.parent])
	}
}

// title is one line that a plan may have as a title.
func (a *assembler) title(s, otherwise string) string {
	for _, s := range []string{s, otherwise, "untitled"} {
		if s = clipText(visible(plain.Line(s)), maxTitle); s != "" {
			return s
		}
	}
	return "untitled"
}

// visible is text without the characters that a title may not have.
func visible(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if plain.Hostile(r) {
			return -1
		}
		return r
	}, s))
}

func printable(s string) string { return strings.TrimSpace(plain.Text(s)) }

func (a *assembler) task(it *item) *plan.Task {
	t := &plan.Task{TaskID: a.ids.listed[it.source], NodeType: plan.Action, Title: a.title(it.title, it.source),
		Context: it.context}
	if p := a.by[it.parent]; p != nil {
		t.ParentTaskID = a.ids.listed[p.source]
	}
	t.DependsOn = each.Of(it.deps, func(d string) plan.TaskID { return a.ids.listed[d] })
	imported := map[string]any{"id": it.source, "file": it.file}
	if it.line > 0 {
		imported["line"] = int64(it.line)
	}
	if it.word != "" {
		imported["status"] = it.word
	}
	if len(it.fields) > 0 {
		imported["fields"] = it.fields
	}
	t.Meta = map[string]any{keyImported: imported}
	maps.Copy(t.Meta, it.meta)
	text := it.text
	if utf8.RuneCountInString(plain.Line(it.title)) > maxTitle {
		text = it.title + "\n\n" + text
	}
	if a.container(it) {
		t.NodeType = plan.Goal
		for i, c := range it.criteria {
			if i == 0 {
				text += "\n\nTo be accepted:"
			}
			text += "\n- " + c
		}
		t.Description = clipText(printable(text), maxText)
		return t
	}
	if stateOf(it.word) == unknown {
		a.note("unknown-status", it.file, it.line, fmt.Sprintf("%s has the status %q, which nobody here knows; "+
			"taken as open", it.source, it.word))
	}
	t.EstimatedPersonDays = it.days
	a.complete(it, t, text)
	if it.isDone() {
		t.DoneElsewhere = clipText(visible(plain.Line(it.word)), 100)
		a.out.Done = append(a.out.Done, Done{t.TaskID, it.word})
	}
	return t
}

// complete gives a task its deliverable and criteria: those of the source, and the default for what it does not say.
func (a *assembler) complete(it *item, t *plan.Task, text string) {
	var assumed []any
	t.DeliverableSpec = &plan.DeliverableSpec{Format: "change", Paths: slices.Clone(it.files)}
	if len(it.files) == 0 {
		t.DeliverableSpec.Paths = []string{"**"}
		assumed = append(assumed, "paths")
		a.out.Assumed.Deliverables++
	}
	if t.Description = clipText(printable(text), maxText); t.Description == "" {
		t.Description = t.Title
	}
	for _, c := range it.criteria[:min(len(it.criteria), 500)] {
		if c = clipText(printable(c), maxText); c != "" {
			t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{ID: fmt.Sprintf("A%d",
				len(t.AcceptanceCriteria)+1), Statement: c, CheckMethod: plan.ManualReview, Severity: plan.Must})
		}
	}
	if len(t.AcceptanceCriteria) == 0 {
		t.AcceptanceCriteria = []plan.Criterion{{ID: "A1", CheckMethod: plan.ManualReview, Severity: plan.Must,
			Statement: "The change does what the task's text says, and nothing else."}}
		assumed = append(assumed, "criteria")
		a.out.Assumed.Criteria++
	}
	if a.o.Check != "" {
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{ID: checkID, Run: a.o.Check,
			CheckMethod: plan.StaticCheck, Severity: plan.Must, Statement: "The repository's own check passes."})
		assumed = append(assumed, "check")
	}
	if len(it.deps) > 0 && len(it.deps) == len(it.soft) {
		assumed = append(assumed, "order")
	}
	if it.days == 0 {
		assumed = append(assumed, "estimate")
		a.out.Assumed.Estimates++
	}
	if len(assumed) > 0 {
		t.Meta[keyAssumed] = assumed
	}
}

// homeless lists the lines of a source that are in no title, text or criterion of the plan; n counts all lines that say
// something.
func homeless(lines []Line, p *plan.Plan) (without []Line, n int) {
	var b strings.Builder
	add := func(s string) {
		b.WriteString(letters(s))
		b.WriteByte('\n')
	}
	add(p.TopTask)
	add(p.Title)
	for _, t := range p.Tasks {
		add(t.Title + t.Description)
		add(string(t.TaskID) + t.Title)
		if m := imported(t); m != nil {
			add(textOf(m["id"]) + t.Title)
			add(textOf(m["id"]) + t.Description) // a title that is too long begins it
		}
		for _, c := range t.AcceptanceCriteria {
			add(c.Statement)
		}
	}
	all := b.String()
	for _, line := range lines {
		s := letters(line.Text)
		if s == "" {
			continue
		}
		if n++; !strings.Contains(all, s) && !strings.Contains(all, strings.TrimLeft(s, "0123456789")) {
			without = append(without, line)
		}
	}
	return without, n
}

// letters is a text without all that only marks it up.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
