package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// How an expansion takes the loops whose items only an approved file has.
const (
	asFar  = iota // leaves them open: a GOAL and a fill
	sample        // as if the files had two items, and there were two rounds
	utmost        // as if every loop went to its bound
)

// inst is a node as it stands in a plan.
type inst struct {
	*node
	env       *env
	id        plan.TaskID
	parent    *inst // the GOAL around it; nil: the root
	on        bool  // no when on the way here says otherwise
	fresh     bool  // this rendering makes it; others stand in the plan already
	container bool  // the GOAL around the instances of a group
	open      bool  // a GOAL with a fill
	after     []*inst
	loose     bool // those of after may be dropped, and take nothing along that is behind them
}

// later is a list of nodes that a fill will bring, below a GOAL that is here.
type later struct {
	nodes []*node
	env   *env
	goal  *inst
}

// expander finds what stands in a plan: the whole of the first rendering, or what a fill adds and what is around that.
type expander struct {
	w     *Workflow
	in    *Inputs
	mode  int
	fill  *target
	insts []*inst
	ids   map[plan.TaskID]*inst
	used  map[*file]bool // whose tasks are taken in
	reads []read         // lists in approved files that loops read
	later []later
	fills []Fill

	widened []widening           // for lint
	held    map[*node]bool       // as the linter's
	asked   []plan.RootCriterion // of a fill: what the first rendering gave the root
	ask     string
	tasks   int
	fs      plan.Findings
}

// read is a loop that reads a list of a task's approved file.
type read struct {
	*node
	source   plan.TaskID
	file, at string
	goal     *inst
}

// same reports whether two loops read one list, or two branches one file.
func (r read) same(o read) bool { return r.source == o.source && r.file == o.file && r.at == o.at }

// target is the section that a fill renders.
type target struct {
	plan.Fill
	content any // of the source's approved file; nil: only the place of the fill is wanted
	goal    *inst
	source  plan.TaskID
	file    string
	most    int // rounds of a repeat
}

// expand gives all that stands in the plan, as far as the mode goes.
func (w *Workflow) expand(in *Inputs, mode int, fill *target) *expander {
	x := &expander{
		w: w, in: in, mode: mode, fill: fill, ids: map[plan.TaskID]*inst{plan.RootID: {}},
		used: map[*file]bool{w.files[0]: true}, held: map[*node]bool{},
	}
	x.nodes(w.nodes, w.files[0].scope(in, nil), nil, true, fill == nil)
	return x
}

// scope is what a file's nodes can name: the sentence, the facts, and its params. Of a file that another one uses, the
// params are what the other sets, or the defaults; what is around the use is out of sight.
func (f *file) scope(in *Inputs, around *env) *env {
	e := &env{up: around, wall: true}
	e = e.with("sentence", in.Sentence)
	for _, name := range sorted(in.Facts) {
		e = e.with(name, in.Facts[name])
	}
	for _, p := range f.set {
		if around == nil {
			e = e.with(p.Name, in.Params[p.Name])
		} else {
			e = e.with(p.Name, p.Default)
		}
	}
	return e
}

// find notes what is wrong at a field of a node.
func (x *expander) find(n *node, code, field, message, expected, found, example string) {
	x.fs = append(x.fs, n.finding(code, field, message, expected, found, example))
}

func (n *node) finding(code, field, message, expected, found, example string) plan.Finding {
	path := n.path
	if field != "" {
		path += "." + field
	}
	return plan.Finding{
		Code: code, File: n.file.Name, Line: plandoc.LineOf(n.file.root, path), Path: path,
		Message: message, Expected: expected, Found: found, Example: example,
	}
}

// value is a part of the node with its references replaced; what can't be replaced is a finding.
func (x *expander) value(n *node, part *document.Node, e *env) document.Node {
	if part == nil {
		return document.Node{}
	}
	var faults []refFault
	out := e.fill(part, &faults)
	for _, f := range faults {
		x.fs = append(x.fs, plan.Finding{
			Code: "unknown-reference", File: n.file.Name, Line: f.line, Path: n.path,
			Message:  plain.Quote("{{"+f.ref+"}}") + " " + f.why,
			Expected: "{{NAME}} or {{NAME.FIELD}}, " + listed("NAME one of ", e.names()), Found: plain.Quote(f.ref),
			Example: "{{" + cmp.Or(plandoc.Nearest(f.ref, e.names()), "sentence") + "}}",
		})
	}
	return out
}

// nodes expands a list of nodes and returns what stands at its top.
func (x *expander) nodes(nodes []*node, e *env, parent *inst, on, fresh bool) []*inst {
	var tops []*inst
	for _, n := range nodes {
		if x.tasks > MaxTasks {
			return tops
		}
		switch {
		case n.loop == nil:
			tops = append(tops, x.node(n, e, parent, on, fresh)...)
		case n.loop.repeat:
			tops = append(tops, x.repeat(n, e, parent, on && x.when(n, e), fresh)...)
		case n.loop.of:
			tops = append(tops, x.eachOf(n, e, parent, on && (n.loop.branch || x.when(n, e)), fresh)...)
		default:
			tops = append(tops, x.each(n, e, parent, on, fresh)...)
		}
	}
	return tops
}

func (x *expander) when(n *node, e *env) bool {
	cond := n.raw.Child("when")
	if cond == nil {
		return true
	}
	filled := x.value(n, cond, e)
	if asked([]*node{{raw: n.raw}}, roundName) {
		x.held[n] = x.held[n] || holds(&filled, func(path string) (any, bool) {
			if path == roundName {
				return e.look(path)
			}
			return wild{}, true
		})
	}
	return holds(&filled, e.look)
}

// node expands one task, group or use, or one instance of it.
func (x *expander) node(n *node, e *env, parent *inst, on, fresh bool) []*inst {
	on = on && x.when(n, e)
	if n.used() {
		return x.nodes(n.kids, x.inside(n, e, on), parent, on, fresh)
	}
	i := x.add(n, e, parent, on, fresh)
	if n.group() {
		x.nodes(n.kids, e, i, on, fresh)
	}
	return []*inst{i}
}

// inside is the scope of a used workflow.
func (x *expander) inside(n *node, e *env, on bool) *env {
	f := n.kids[0].file
	x.used[f] = x.used[f] || on
	in := f.scope(x.in, e)
	if set := n.raw.Child("set"); set != nil {
		filled := x.value(n, set, e)
		for i := range filled.Kids {
			in = in.with(filled.Kids[i].Key, filled.Kids[i].Value(document.Exact))
		}
	}
	return in
}

// add notes an instance. Its id must be one, and free.
func (x *expander) add(n *node, e *env, parent *inst, on, fresh bool) *inst {
	i := &inst{node: n, env: e, parent: parent, on: on, fresh: fresh}
	field := "id"
	if n.group() {
		field = "group"
	} else if on {
		x.tasks++
	}
	id := x.value(n, n.raw.Child(field), e)
	x.named(i, plan.TaskID(id.Text), field)
	return i
}

func (x *expander) named(i *inst, id plan.TaskID, field string) {
	i.id = id
	x.insts = append(x.insts, i)
	if x.tasks > MaxTasks {
		x.find(i.node, "too-many", "", "more tasks can come of the workflow than a plan holds",
			fmt.Sprintf("at most %d in all rounds and instances", MaxTasks), "more", "max: 8")
		return
	}
	if !i.on {
		return
	}
	spare := plan.TaskID(fmt.Sprintf("SAMPLE-%d", len(x.insts)))
	if x.mode != asFar && !id.Valid() && free(i.node.id) {
		id, i.id = spare, spare // values of samples need not be ids
	}
	if id.Reserved() && x.in.strict() {
		x.find(i.node, "bad-id", field, "is an id of git wf's own tasks", "another word before the number",
			plain.Quote(string(id)), field+": DEV-1")
		i.id = spare
	} else if !id.Valid() {
		x.find(i.node, "bad-id", field, "is not a task's id", "upper-case words with hyphens, then numbers with dots",
			plain.Quote(string(id)), field+": DEV-1")
		i.id = spare // so that one wrong id does not hide what is wrong elsewhere
	} else if have, taken := x.ids[id]; taken {
		where := "the root"
		if have.node != nil {
			where = fmt.Sprintf("%s:%d", have.file.Name, have.raw.Line)
		}
		example := field + ": " + i.node.id + ".2"
		if i.loop != nil && !i.container {
			example = field + ": DEV-{{" + i.loop.number() + "}}"
		}
		x.find(i.node, "id-clash", field, "two tasks have the same id", "an id of its own in every instance",
			fmt.Sprintf("%s, also at %s", id, where), example)
		i.id = spare
	} else {
		x.ids[id] = i
	}
}

// free reports whether an id has values of items in it, and not just numbers.
func free(id string) bool {
	return slices.ContainsFunc(shape(id, nil), func(h hole) bool { return !h.digits && !h.end })
}

// inside reports whether one instance stands in another.
func (i *inst) inside(goal *inst) bool {
	for i = i.parent; i != nil; i = i.parent {
		if i == goal {
			return true
		}
	}
	return false
}

func sorted[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// listed is a list for people after some words, "" if it is empty.
func listed(words string, names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return words + strings.Join(names, ", ")
}
