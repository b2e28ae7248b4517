package workflow

import (
	"fmt"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// How each kind of loop is expanded, and where a fill has its place.

// number is the reference to the number of an instance.
func (l *loop) number() string {
	if l.repeat {
		return roundName
	}
	return l.name + ".n"
}

// ownName reports whether the node's id contains its own loop's name, so that each instance has an id.
func (n *node) ownName() bool {
	return uses(n.id, n.loop.name) || n.loop.repeat && uses(n.id, prevName)
}

// goal is the GOAL that the instances of a group stand in: the group itself or, where each instance is a GOAL, one
// around them, which has 0 in the place of the loop's name.
func (x *expander) goal(n *node, e *env, parent *inst, on, fresh bool) *inst {
	if !n.ownName() {
		return x.add(n, e, parent, on, fresh)
	}
	i := &inst{node: n, env: e, parent: parent, on: on, fresh: fresh, container: true}
	zero := *n.raw.Child("group")
	zero.Text = braces.Get().ReplaceAllStringFunc(n.id, func(m string) string {
		if uses(m, n.loop.name) || n.loop.repeat && uses(m, prevName) {
			return "0"
		}
		return m
	})
	id := x.value(n, &zero, e)
	x.named(i, plan.TaskID(id.Text), "group")
	return i
}

// items expands an instance of the node for each item. Those of a serial loop each wait for the one before.
func (x *expander) items(n *node, items []item, e *env, goal *inst, on, fresh bool) []*inst {
	serial := n.loop.raw.Child("serial")
	var all, before []*inst
	for _, it := range items {
		from := len(x.insts)
		tops := x.instance(n, e.item(n.loop.name, it.value, it.n), goal, on, fresh)
		if serial != nil && serial.Text == "true" {
			for _, i := range x.insts[from:] {
				i.after, i.loose = append(i.after, before...), i.loose || n.drops()
			}
		}
		if all, before = append(all, tops...), tops; x.tasks > MaxTasks {
			break
		}
	}
	return all
}

// stretched is a list of a sample, as long as the mode wants it.
func (x *expander) stretched(n *node, v any, e *env) ([]any, bool) {
	list, ok := v.([]any)
	if _, all := v.(wild); all {
		list, ok = []any{wild{}}, true
	}
	if !ok || len(list) == 0 {
		return list, ok
	}
	want := x.bound(n, e)
	if x.mode == sample {
		want = min(want, 2)
	}
	out := make([]any, want)
	for i := range out {
		out[i] = list[i%len(list)]
	}
	return out, true
}

type item struct {
	value any
	n     int
}

// instance expands one instance of a node with a loop.
func (x *expander) instance(n *node, e *env, goal *inst, on, fresh bool) []*inst {
	if n.group() && !n.ownName() {
		return x.nodes(n.kids, e, goal, on, fresh)
	}
	return x.node(n, e, goal, on, fresh)
}

// each expands a loop over a list that is known: a param, or a list in an item around.
func (x *expander) each(n *node, e *env, parent *inst, on, fresh bool) []*inst {
	source, field := n.loop.raw.Child("param"), "each.param"
	if source == nil {
		source, field = n.loop.raw.Child("item"), "each.item"
	}
	if source == nil {
		return nil // lint says that it names no list
	}
	v, _ := e.look(source.Text)
	list, ok := v.([]any)
	if x.mode != asFar && field == "each.item" {
		list, ok = x.stretched(n, v, e)
	}
	if !ok && on {
		x.find(n, "unknown-name", field, "names no list", "a list", plain.Quote(source.Text), "param: angles")
	}
	items := x.those(n, list, e)
	if most := x.bound(n, e); most > 0 && len(items) > most {
		x.find(n, "too-many", field, "the list is too long", fmt.Sprintf("at most %d", most), fmt.Sprint(len(items)),
			"")
		return nil
	}
	if !n.group() {
		return x.items(n, items, e, parent, on, fresh)
	}
	goal := x.goal(n, e, parent, on && x.when(n, e), fresh)
	x.items(n, items, e, goal, on, fresh)
	return []*inst{goal}
}

// those are the items that where lets through, numbered before.
func (x *expander) those(n *node, list []any, e *env) []item {
	var items []item
	where := n.loop.raw.Child("where")
	var cond *document.Node
	if where != nil {
		filled := x.value(n, where, e)
		cond = &filled
	}
	for i, v := range list {
		if meets(v, cond) {
			items = append(items, item{v, i + 1})
		}
	}
	return items
}

// bound is the loop's max as a number: a literal, or the value of a param. Zero: it has none.
func (x *expander) bound(n *node, e *env) int {
	most := n.loop.raw.Child("max")
	if n.loop.branch {
		return 1
	}
	if most == nil {
		if p := n.loop.raw.Child("param"); p != nil {
			return n.file.param(p.Text).Max
		}
		return 0
	}
	return x.number(n, most, e, n.loopField()+".max")
}

// number is a limit as a number: a literal, or the value of a param.
func (x *expander) number(n *node, raw *document.Node, e *env, field string) int {
	filled := x.value(n, raw, e)
	v, _ := filled.Value(document.Exact).(int64)
	if v < 1 {
		x.find(n, "no-bound", field, "is no limit", "a whole number from 1", plain.Quote(filled.Text), raw.Key+": 5")
	}
	return int(min(max(v, 1), MaxTasks+1))
}

func (n *node) loopField() string {
	switch {
	case n.loop.repeat:
		return "repeat"
	case n.loop.branch:
		return "when"
	}
	return "each"
}

func (f *file) param(name string) Param {
	for _, p := range f.set {
		if p.Name == name {
			return p
		}
	}
	return Param{}
}

// eachOf expands a loop over a list in an approved file, or a branch. Until there is one it is a GOAL with a fill.
func (x *expander) eachOf(n *node, e *env, parent *inst, on, fresh bool) []*inst {
	goal := x.goal(n, e, parent, on, fresh)
	most := x.bound(n, e)
	at, here := x.onWay(n, e)
	known := false
	if on {
		source, file := x.source(n, e)
		list := x.value(n, n.loop.raw.Child("at"), e)
		x.reads = append(x.reads, read{n, source, file, list.Text, goal})
		known = fresh && x.knows(n, source, file)
	}
	if here {
		x.fill.goal = goal
		x.fill.source, x.fill.file = x.source(n, e)
	}
	var items []item
	if here || known {
		if list, ok := x.list(n, e); ok {
			items = x.those(n, list, e)
		}
		if len(items) > most {
			x.find(n, "too-many", "each.max", "the list in the file is too long", fmt.Sprintf("at most %d", most),
				fmt.Sprintf("%d in %s of %s", len(items), x.fill.file, x.fill.source), "")
			return []*inst{goal}
		}
	}
	switch {
	case here, len(items) > 0:
		x.items(n, items, e, goal, on, true)
	case at != nil:
		x.items(n, []item{*at}, e, goal, on, false)
		x.later = append(x.later, later{n.kids, e, goal})
	case x.mode != asFar && on:
		count := 2
		if x.mode == utmost {
			count = most
		}
		x.items(n, x.samples(n, min(count, most)), e, goal, on, fresh)
	default:
		x.later = append(x.later, later{n.kids, e, goal})
		if n.ownName() {
			x.later = append(x.later, later{[]*node{n}, e, goal})
		}
		x.open(goal, n, e, 0)
	}
	return []*inst{goal}
}

// knows reports whether a loop below the fill reads the file that the fill is made from, so that it needs no fill of
// its own, unless it has no items: an empty GOAL is done by its fill. This holds for branches and what is in them: what
// is wrong with the file shows when it is made.
func (x *expander) knows(n *node, source plan.TaskID, file string) bool {
	f := x.fill
	return f != nil && f.goal != nil && (n.loop.branch || f.goal.loop.branch) && f.source == source && f.file == file
}

// repeat expands the rounds that are known, and leaves a fill for the next one.
func (x *expander) repeat(n *node, e *env, parent *inst, on, fresh bool) []*inst {
	goal := x.goal(n, e, parent, on, fresh)
	most := x.bound(n, e)
	at, here := x.onWay(n, e)
	known, next := 1, fresh
	switch {
	case here && x.fill.Round > most+1:
	case here:
		known, x.fill.most = x.fill.Round, most
		x.fill.goal = goal
		x.fill.source, x.fill.file = x.source(n, e.round(known-1))
		until := x.value(n, n.loop.raw.Child("until").Child("where"), e.round(known-1))
		done := x.fill.content != nil && meets(x.fill.content, &until)
		if next = !done && x.fill.content != nil; done || known > most {
			known--
		}
		if known = min(known, most); !done && x.fill.Round > most && x.fill.content != nil {
			x.ask = fmt.Sprintf("%s had its %d rounds, and %s of %s does not say that it is enough. Go on as it is?",
				goal.id, most, x.fill.file, x.fill.source)
			next = false
		}
	case at != nil:
		known, next = at.n, false
	case x.mode == sample:
		if known = min(2, most); asked([]*node{n}, roundName) {
			known = most
		}
	case x.mode == utmost:
		known = most
	}
	for r := 1; r <= known && x.tasks <= MaxTasks; r++ {
		x.instance(n, e.round(r), goal, on, fresh || here && next && r == x.fill.Round)
	}
	if x.mode != asFar {
		return []*inst{goal}
	}
	x.later = append(x.later, later{n.kids, e, goal}, later{[]*node{n}, e, goal})
	asks := n.loop.raw.Child("on_exhausted") == nil || n.loop.raw.Child("on_exhausted").Text == "ask"
	if next && (known < most || asks) {
		x.open(goal, n, e.round(known), known+1)
	}
	return []*inst{goal}
}

// onWay says whether the fill's section is this loop, here, or below one instance of it.
func (x *expander) onWay(n *node, e *env) (at *item, here bool) {
	if x.fill == nil || !strings.HasPrefix(x.fill.Section+"/", n.pointer+"/") {
		return nil, false
	}
	for name, have := range e.loops() {
		if x.fill.at(name).n != have.n {
			return nil, false
		}
	}
	if x.fill.Section == n.pointer {
		return nil, true
	}
	it := x.fill.at(n.loop.name)
	if it.n < 1 && !n.loop.branch {
		return nil, false
	}
	return &it, false
}

// at is what a fill's env says of a loop around it.
func (t *target) at(name string) item {
	v, ok := t.Env[name]
	if object, is := v.(map[string]any); is {
		v = object["n"]
		n, _ := number(plainNumbers(v))
		return item{plainNumbers(object["item"]), int(n)}
	}
	if n, is := number(plainNumbers(v)); ok && is {
		return item{plainNumbers(v), int(n)}
	}
	return item{}
}

// loops are the loops around a node, by name.
func (e *env) loops() map[string]item {
	all := map[string]item{}
	for ; e != nil; e = e.up {
		if _, have := all[e.name]; e.loop && !have {
			all[e.name] = item{e.value, e.n}
		}
	}
	return all
}

// recorded is env as a fill has it.
func (e *env) recorded() map[string]any {
	all := map[string]any{}
	for name, it := range e.loops() {
		if name == roundName {
			all[name] = int64(it.n)
		} else {
			all[name] = map[string]any{"n": int64(it.n), "item": it.value}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// source is the task whose approved file a loop reads, and the file.
func (x *expander) source(n *node, e *env) (plan.TaskID, string) {
	source, file := x.value(n, n.from().Child("of"), e), x.value(n, n.from().Child("file"), e)
	return plan.TaskID(source.Text), file.Text
}

// open leaves a GOAL to be filled from a file of a task.
func (x *expander) open(goal *inst, n *node, e *env, round int) {
	if !goal.fresh && !(x.fill != nil && round > 0 && x.fill.Section == n.pointer) || !goal.on {
		return
	}
	goal.open = true
	source, file := x.source(n, e)
	if round > 0 {
		e = e.up.up // the round itself is the fill's
	}
	x.fills = append(x.fills, Fill{
		Target: goal.id, Source: source, File: file,
		Fill: plan.Fill{Section: n.pointer, Env: e.recorded(), Round: round},
	})
}

// list is the list of a loop in the source's file.
func (x *expander) list(n *node, e *env) ([]any, bool) {
	if x.fill.content == nil {
		return nil, false
	}
	if n.loop.branch {
		return []any{x.fill.content}, true
	}
	pointer := ""
	if at := n.loop.raw.Child("at"); at != nil {
		filled := x.value(n, at, e)
		pointer = filled.Text
	}
	v, ok := pointed(x.fill.content, pointer)
	list, is := v.([]any)
	if !ok || !is {
		x.find(n, "no-list", "each.at", "the file has no list there", "a list at "+plain.Quote(pointer),
			fmt.Sprintf("none in %s of %s", x.fill.file, x.fill.source), "")
	}
	return list, is
}

// pointed follows a JSON Pointer.
func pointed(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[part]; !ok {
			return nil, false
		}
	}
	return v, true
}
