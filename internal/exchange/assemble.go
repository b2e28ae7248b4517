package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// keyImported is where a task's meta holds what it was imported from.
const keyImported = "imported"

// The lengths that plan files allow, in characters.
const (
	maxTitle     = 200
	maxText      = 20_000
	maxTopTask   = 100_000
	maxRootItems = 200 // criteria of the root that are made one for each task at the top
)

// source is what a reader found: the whole, and the tasks.
type source struct {
	format system
	name   string // of the plan: the topic of a session, the title of a document
	id     plan.ID
	top    string // what was asked for, verbatim
	path   string
	items  []*item
	fields map[string]any // of the whole
	files  map[string]any // documents that are kept, by their path there
	asked  []string       // requirements of the whole
}

// assembler makes the plan of one source.
type assembler struct {
	*graph
	src   source
	ids   *namer
	exist func(string) bool
	out   *Imported
	roots []plan.RootCriterion
	cover map[*item][]string
}

// assemble makes a plan of what was read. exist says which files the repository has.
func (r *reader) assemble(src source, o Options) *Imported {
	a := &assembler{
		graph: newGraph(r, src.items), src: src, ids: newNamer(), exist: o.Exists, cover: map[*item][]string{},
		out: &Imported{Found: Found{Format: src.format, Path: src.path, Name: src.name}},
	}
	if a.exist == nil {
		a.exist = func(string) bool { return false }
	}
	a.mend()
	a.name()
	a.rootCriteria()
	title := a.title(src.name, string(src.format)+" plan")
	p := &plan.Plan{SchemaVersion: 1, PlanID: src.id, Title: title,
		TopTask: clipText(printable(src.top), maxTopTask), RootTaskID: plan.RootID}
	root := &plan.Task{TaskID: plan.RootID, NodeType: plan.Goal, Title: title, RootAcceptanceCriteria: a.roots}
	imported := map[string]any{"format": string(src.format), "path": src.path}
	if len(src.fields) > 0 {
		imported["fields"] = src.fields
	}
	if len(src.files) > 0 {
		imported["files"] = src.files
	}
	root.Meta = map[string]any{keyImported: imported}
	p.Tasks = append(p.Tasks, root)
	depth, leaves := 1, 0
	for _, it := range a.items {
		t := a.task(it, o)
		p.Tasks = append(p.Tasks, t)
		depth = max(depth, a.level(it))
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
	a.out.Plan, a.out.Tasks = p, leaves
	return a.out
}

func (a *assembler) level(it *item) int {
	n := 0
	for ; it != nil && n <= maxLevels; it = a.by[it.parent] {
		n++
	}
	return n
}

// name gives every item its id: first to those that wish for one, so that none is taken from them.
func (a *assembler) name() {
	var rest []*item
	for _, it := range a.items {
		if !a.ids.wanted(it) {
			rest = append(rest, it)
		}
	}
	// Parents come first, whatever their place in the source.
	slices.SortStableFunc(rest, func(x, y *item) int { return a.level(x) - a.level(y) })
	for _, it := range rest {
		a.ids.given(it, a.ids.listed[it.parent])
	}
}

// rootCriteria makes the top task's checklist: the requirements that the source has, and for each task at the top that
// none of them speaks of, that it is done.
func (a *assembler) rootCriteria() {
	var leaves []*item
	for _, it := range a.items {
		if !a.container(it) {
			leaves = append(leaves, it)
		}
	}
	for i, text := range a.src.asked {
		if len(leaves) == 0 || i == maxRootItems {
			break
		}
		id := fmt.Sprintf("R%d", len(a.roots)+1)
		a.roots = append(a.roots, plan.RootCriterion{ID: id, Statement: clipText(plain.Line(text), maxText)})
		best := nearest(text, leaves)
		a.cover[best] = append(a.cover[best], id)
	}
	tops := map[*item]string{}
	top := func(it *item) *item {
		for above := a.by[it.parent]; above != nil; above = a.by[it.parent] {
			it = above
		}
		return it
	}
	count := 0
	for _, it := range a.items {
		if it.parent == "" {
			count++
		}
	}
	one := ""
	if count > maxRootItems {
		one = fmt.Sprintf("R%d", len(a.roots)+1)
		a.roots = append(a.roots, plan.RootCriterion{ID: one, Statement: "Everything that " + a.src.name +
			" asks for is done"})
	}
	for _, it := range leaves {
		t := top(it)
		id := tops[t]
		switch {
		case one != "":
			id = one
		case id == "":
			id = fmt.Sprintf("R%d", len(a.roots)+1)
			tops[t] = id
			a.roots = append(a.roots, plan.RootCriterion{ID: id, Statement: clipText(fmt.Sprintf("%s: %s",
				a.ids.listed[t.source], a.title(t.title, t.source)), maxText)})
		}
		a.cover[it] = append(a.cover[it], id)
	}
	for i, c := range a.roots {
		if strings.TrimSpace(c.Statement) == "" {
			a.roots[i].Statement = "Everything that was imported is done"
		}
	}
}

// nearest is the item with most words of the text; the first one if none has any.
func nearest(text string, items []*item) *item {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), notLetter) {
		if len(w) > 3 {
			words[w] = true
		}
	}
	best, most := items[0], 0
	for _, it := range items {
		n := 0
		for _, w := range strings.FieldsFunc(strings.ToLower(it.title), notLetter) {
			if words[w] {
				n++
			}
		}
		if n > most {
			best, most = it, n
		}
	}
	return best
}

func notLetter(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127) }

func (a *assembler) container(it *item) bool { return len(a.kids[it]) > 0 }

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
	const nonJoiner, joiner = '\u200c', '\u200d'
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != nonJoiner && r != joiner {
			return -1
		}
		return r
	}, s))
}

func printable(s string) string { return strings.TrimSpace(plain.Text(s)) }

func (a *assembler) task(it *item, o Options) *plan.Task {
	id := a.ids.listed[it.source]
	t := &plan.Task{TaskID: id, NodeType: plan.Action, Title: a.title(it.title, it.source), Context: it.context,
		FlowControl: it.flow}
	if p := a.by[it.parent]; p != nil {
		t.ParentTaskID = a.ids.listed[p.source]
	}
	for _, d := range it.deps {
		t.DependsOn = append(t.DependsOn, a.ids.listed[d])
	}
	imported := map[string]any{"id": it.source, "file": it.file}
	if it.line > 0 {
		imported["line"] = int64(it.line)
	}
	for key, text := range map[string]string{"status": it.word, "summary": clipText(printable(it.summary), maxTopTask)} {
		if text != "" {
			imported[key] = text
		}
	}
	if len(it.fields) > 0 {
		imported["fields"] = it.fields
	}
	t.Meta = map[string]any{keyImported: imported}
	maps.Copy(t.Meta, it.meta)
	if a.container(it) {
		t.NodeType = plan.Goal
		t.Description = clipText(printable(it.description), maxText)
		if len(it.criteria) > 0 {
			var lines []string
			for _, c := range it.criteria {
				lines = append(lines, "- "+printable(c.text))
			}
			t.Description = clipText(strings.TrimSpace(t.Description+"\n\nTo be accepted:\n"+strings.Join(lines, "\n")), maxText)
		}
		return t
	}
	t.Agent = it.agent
	t.EstimatedPersonDays = it.days
	if t.EstimatedPersonDays == 0 {
		t.EstimatedPersonDays = o.EstimateDays
	}
	t.DeliverableSpec = specOf(it)
	for i, c := range it.criteria {
		if i == 1000 {
			break
		}
		severity := plan.Must
		if c.should {
			severity = plan.Should
		}
		if text := clipText(printable(c.text), maxText); text != "" {
			t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{
				ID: fmt.Sprintf("A%d", len(t.AcceptanceCriteria)+1), Statement: text, CheckMethod: plan.ManualReview,
				Severity: severity,
			})
		}
	}
	t.Covers = a.cover[it]
	t.Description = a.describe(it, t, imported)
	return t
}

// describe is the description, with what became of a status that says that nothing is left to do.
func (a *assembler) describe(it *item, t *plan.Task, imported map[string]any) string {
	text := printable(it.description)
	note := ""
	switch it.state {
	case done:
		d := Done{Task: t.TaskID, Word: it.word, Summary: it.summary != ""}
		for _, f := range it.files {
			if a.exist(f) {
				d.Files = append(d.Files, f)
			} else {
				d.Missing = append(d.Missing, f)
			}
		}
		note = fmt.Sprintf("Marked %q in %s, which nobody here has reviewed. ", it.word, a.src.format)
		switch {
		case len(d.Files) > 0 && len(d.Missing) == 0:
			imported["candidate"] = anyList(d.Files)
			note += "Its files are there: they are handed in as a candidate that awaits review."
		case len(it.files) == 0 && d.Summary && t.DeliverableSpec != nil:
			imported["candidate"] = anyList([]string{t.DeliverableSpec.Filename})
			note += "There is a summary of it: that is handed in as a candidate that awaits review."
		case len(d.Missing) > 0:
			note += "It is open again: " + clipText(strings.Join(d.Missing, ", "), 300) + " not found here."
		default:
			note += "It is open again: it names no file that could be reviewed."
		}
		a.out.Done = append(a.out.Done, d)
	case cancelled:
		note = fmt.Sprintf("Marked %q in %s. Leave it out if that still holds.", it.word, a.src.format)
		a.note("cancelled", it.file, it.line,
			fmt.Sprintf("%s is marked %q there; it is a task of the plan until somebody leaves it out", it.source, it.word))
	}
	if note == "" {
		return clipText(text, maxText)
	}
	return strings.TrimSpace(clipText(text, maxText-utf8.RuneCountInString(note)-2) + "\n\n" + note)
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// specOf returns the deliverable that the source names, nil if it names none. A task that is done and names no file
// delivers its summary.
func specOf(it *item) *plan.DeliverableSpec {
	switch {
	case len(it.files) == 1 && !relpath.IsPattern(it.files[0]):
		s := &plan.DeliverableSpec{Filename: it.files[0], SingleFile: true, Format: formatOf(it.files[0])}
		return s
	case len(it.files) > 0:
		return &plan.DeliverableSpec{Format: "files", Files: it.files, BundleMode: plan.BundleManifest}
	case it.state == done && it.summary != "":
		return &plan.DeliverableSpec{Format: "md", Filename: summaryFile, SingleFile: true,
			Description: "What was done, in words."}
	}
	return nil
}

func formatOf(name string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	ext := base[strings.LastIndexByte(base, '.')+1:]
	if ext == base || ext == "" || ext == plan.FormatPlan || len(ext) > 20 {
		return "text"
	}
	return strings.ToLower(ext)
}
