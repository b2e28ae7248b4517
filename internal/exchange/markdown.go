package exchange

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// listing makes items of a text in Markdown: of the nodes that are tasks, and of the headings that gather them. All
// other lines are the text of what they stand in, verbatim and in order.
type listing struct {
	*reader
	src  *source
	file string
	line int    // of the value that the text is in; 0 for a file of its own
	name string // begins the ids of what has none

	isTask func(n, above *outline.Node) bool
	gather func(n *outline.Node) bool // whether an item without a task of its own gathers those below it
	flat   int                        // headings below this level gather nothing; 0 for no such level
	loose  bool                       // a heading that all tasks stand below gathers nothing
	fill   func(it *item, n *outline.Node)

	tasked map[*outline.Node]bool
	made   map[*outline.Node]*item
	ids    map[string]bool
	order  []*item // the goals, in order
}

// document reads and cuts a file that is a whole plan; its head says something of the plan.
func (r *reader) document(f Found) (src *source, whole *outline.Node, ok bool) {
	src = &source{name: f.Name}
	front, whole, ok := r.cutFile(src, f.Path)
	if len(front) > 0 {
		src.fields = without(r.front(front))
	}
	return src, whole, ok
}

// cutFile reads and cuts a file.
func (r *reader) cutFile(src *source, file string) (front []outline.Line, whole *outline.Node, ok bool) {
	text, ok := r.read(file)
	if !ok {
		return nil, nil, false
	}
	front, whole = outline.Cut(text)
	src.keepLines(file, whole)
	return front, whole, true
}

func (s *source) keepLines(file string, whole *outline.Node) {
	for _, l := range whole.Lines {
		s.lines = append(s.lines, Line{file, l.No, l.Text})
	}
	whole.Walk(func(n, _ *outline.Node) bool {
		s.lines = append(s.lines, Line{file, n.Line, n.Text})
		for _, l := range n.Lines {
			s.lines = append(s.lines, Line{file, l.No, l.Text})
		}
		return true
	})
}

// read makes the items of a text. What is below none of them is returned, for the plan's own text.
func (l *listing) read(whole *outline.Node, above *item) (rest string) {
	l.tasked, l.made = map[*outline.Node]bool{}, map[*outline.Node]*item{}
	var mark func(n, above *outline.Node) bool
	mark = func(n, above *outline.Node) bool {
		has := l.isTask(n, above)
		for _, kid := range n.Kids {
			has = mark(kid, n) || has
		}
		l.tasked[n] = has
		return has
	}
	mark(whole, whole)
	l.below(whole, above)
	return whole.Below(l.isMade)
}

func (l *listing) isMade(n *outline.Node) bool { return l.made[n] != nil }

func (l *listing) below(n *outline.Node, above *item) {
	tasked := 0
	for _, kid := range n.Kids {
		if l.tasked[kid] {
			tasked++
		}
	}
	for _, kid := range n.Kids {
		if !l.tasked[kid] {
			continue
		}
		to := above
		switch {
		case l.isTask(kid, n):
			to = l.add(kid, above, "line")
			l.fill(to, kid)
			l.tellApart(to)
		case !kid.Item && (tasked > 1 || kid.Level > 1 && !(l.loose && above == nil)) &&
			(l.flat == 0 || kid.Level <= l.flat),
			kid.Item && l.gather != nil && l.gather(kid):
			to = l.add(kid, above, "section")
			to.heading = true
			l.order = append(l.order, to)
			if kid.Item {
				l.fill(to, kid)
			}
		}
		l.below(kid, to)
		if to != above {
			to.text = kid.Below(l.isMade)
			if to.files == nil && !to.heading {
				to.files = pathsIn(kid.Text + "\n" + to.text)
			}
		}
	}
}

// tellApart gives an item whose id another one has an id of its own.
func (l *listing) tellApart(it *item) {
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	if key := strings.ToLower(it.source); l.ids[key] {
		l.twice(it)
	}
	l.ids[strings.ToLower(it.source)] = true
}

func (l *listing) add(n *outline.Node, above *item, kind string) *item {
	it := &item{source: fmt.Sprintf("%s%s %d", l.name, kind, n.Line), title: bare(n.Text), file: l.file, line: n.Line}
	if l.line > 0 {
		it.line = l.line
	}
	if above != nil {
		it.parent = above.source
	}
	if n.Boxed {
		it.word = strings.TrimSpace(n.Box)
	}
	l.made[n] = it
	l.src.items = append(l.src.items, it)
	return it
}

// below are the tasks that stand in another one, in order.
func (s *source) below(above string) (list []*item) {
	for _, it := range s.items {
		if it.parent == above && !it.heading {
			list = append(list, it)
		}
	}
	return list
}

var marks = strings.NewReplacer("**", "", "__", "", "~~", "")

// bare is text without the marks of Markdown around words; names such as __init__.py are words.
func bare(s string) string {
	var out []string
	for _, word := range strings.Split(strings.TrimSpace(s), " ") {
		if !dunder.Get().MatchString(word) {
			word = marks.Replace(word)
		}
		out = append(out, word)
	}
	return strings.TrimSpace(strings.Join(out, " "))
}

var dunder = pattern.Compile(`__\w+__(?:\.\w+|\()`)

// follow makes a dependency that only the order of the source says: where it leads in a circle it goes without a word.
func (it *item) follow(before *item) {
	it.deps = each.Add(it.deps, before.source)
	it.soft = each.Add(it.soft, before.source)
}

// sequence lets each task wait for the one before it; those that may go together wait for the last one that may not,
// and what comes behind them for all of them.
func sequence(tasks []*item, together map[*item]bool) {
	var last []*item // what the next task by itself waits for
	var ground *item // what tasks that go together wait for
	for _, it := range tasks {
		if together[it] {
			if ground != nil {
				it.follow(ground)
			}
			if len(last) == 1 && last[0] == ground {
				last = nil
			}
			last = append(last, it)
			continue
		}
		for _, before := range last {
			it.follow(before)
		}
		last, ground = []*item{it}, it
	}
}

// beside reads files next to a plan's tasks into the plan's own text, each below its name.
func (r *reader) beside(src *source, dir string, names ...string) map[string]*outline.Node {
	texts := map[string]*outline.Node{}
	for _, name := range names {
		file := path.Join(dir, name)
		if !r.has(file) {
			continue
		}
		found := len(r.findings)
		text, ok := r.read(file)
		// The tasks are all there: nothing is lost but what stands beside them, and that stays where it is.
		r.notes, r.findings = append(r.notes, r.findings[found:]...), r.findings[:found]
		if !ok {
			src.top = strings.TrimSpace(src.top + "\n\nMore is in " + file + ".")
			continue
		}
		_, whole := outline.Cut(text)
		texts[name] = whole
		text = strings.TrimSpace(text)
		if len(src.top)+len(text) > maxTopTask {
			r.note("long-document", file, 0, "is too long for the plan's own text; it stays where it is, for who "+
				"does a task")
			src.top = strings.TrimSpace(src.top + "\n\nMore is in " + file + ".")
			continue
		}
		src.keepLines(file, whole)
		src.top = strings.TrimSpace(src.top + "\n\n" + text)
	}
	return texts
}

// front is what stands in the head of a text; where that is no YAML, each line with a colon counts.
func (r *reader) front(lines []outline.Line) *document.Node {
	var b strings.Builder
	o := &document.Node{Kind: document.Object, Line: 1}
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
		if key, value, ok := strings.Cut(l.Text, ":"); ok && !strings.HasPrefix(key, " ") &&
			!strings.HasPrefix(key, "#") && o.Child(strings.TrimSpace(key)) == nil {
			o.Kids = append(o.Kids, textNode(strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `'"`)))
		}
	}
	if root, err := document.ParseYAML([]byte(b.String()), jsonLimits); err == nil && root.Kind == document.Object {
		return root
	}
	return o
}

func textNode(key, text string) document.Node {
	return document.Node{Kind: document.String, Key: key, Text: text}
}

func isTask(o *document.Node) bool { return o.Child("task_id") != nil }

func isOwnPlan(o *document.Node) bool {
	first := firstOf(o.Child("tasks"))
	return o.Child("schema_version") != nil || o.Child("root_task_id") != nil || isTask(first) ||
		o.Child("plan").Child("schema_version") != nil ||
		o.Child("tasks") != nil && first.Child("id") == nil && (o.Child("title") != nil ||
			o.Child("top_task") != nil || o.Child("root_acceptance_criteria") != nil)
}

func isOwnText(_ *reader, file, text string) bool {
	ext := strings.ToLower(path.Ext(file))
	return ext == ".yaml" || ext == ".yml" || plandoc.IsMarkdown([]byte(text))
}

// ownPlan reads a plan of this program: a plan file, or what JSON wrote.
func (r *reader) ownPlan(f Found) (*source, *plan.Plan) {
	text, ok := r.read(f.Path)
	if !ok {
		return nil, nil
	}
	p, err := plandoc.Parse(f.Path, Inner([]byte(text)))
	if err != nil {
		if fs, ok := errors.AsType[plan.Findings](err); ok {
			r.findings = append(r.findings, fs...)
		} else {
			r.find("bad-plan", f.Path, 1, plain.Line(err.Error()), "", "")
		}
		return nil, nil
	}
	p.Grafts = nil
	return nil, p
}

// named is an id that a line begins with.
var named = pattern.Compile(`^([A-Z][A-Z0-9]*-?[0-9]+(?:[.-][A-Z]?[0-9]+)*)(?:\s*[:.)—–-]\s*|\s+)`)

func isBoxes(_ *reader, _, text string) bool {
	_, whole := outline.Cut(text)
	found := false
	whole.Walk(func(n, _ *outline.Node) bool {
		found = found || n.Boxed && n.Text != ""
		return !found
	})
	return found
}

// boxes reads any Markdown with boxes: each is a task, nested as written. Nothing says in which order they are done.
func (r *reader) boxes(f Found) (*source, *plan.Plan) {
	src, whole, ok := r.document(f)
	if !ok {
		return nil, nil
	}
	src.top = r.boxTasks(src, f.Path, 0, whole, nil)
	if h := whole.Heading(); h != nil && h.Level == 1 && bare(h.Text) != "" {
		src.name = bare(h.Text)
	}
	return src, nil
}

// boxTasks makes items of the boxes of a text, which is one value of a document on the given line, or a file. above is
// what they are a part of.
func (r *reader) boxTasks(src *source, file string, line int, whole *outline.Node, above *item) (rest string) {
	l := &listing{reader: r, src: src, file: file, line: line, loose: true,
		isTask: func(n, _ *outline.Node) bool { return n.Boxed },
		gather: func(n *outline.Node) bool { return n.Text != "" },
		fill: func(it *item, n *outline.Node) {
			it.title = bare(n.Text)
			if m := named.Get().FindStringSubmatch(it.title); m != nil {
				it.wish = strings.TrimSpace(m[1])
			}
		},
	}
	if above != nil {
		l.name = above.source + " "
	}
	return l.read(whole, above)
}
