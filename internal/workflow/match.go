package workflow

import (
	"cmp"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// hole is a place in an id that is not known yet: a number, or anything.
type hole struct {
	text   string // before it
	digits bool
	end    bool // there is no hole: the text ends the id
}

// shape is an id with holes for the references that env can't replace.
func shape(id string, e *env) []hole {
	var out []hole
	text := ""
	for id != "" {
		at := braces.Get().FindStringIndex(id)
		if at == nil {
			break
		}
		text += id[:at[0]]
		ref := id[at[0]+2 : at[1]-2]
		v, known := e.look(ref)
		s, scalar := asText(v)
		if known && scalar {
			text += s
		} else {
			out = append(out, hole{text: text, digits: ref == roundName || ref == prevName ||
				strings.HasSuffix(ref, ".n")})
			text = ""
		}
		id = id[at[1]:]
	}
	return append(out, hole{text: text + id, end: true})
}

// canBe reports whether an id of the shape can be s or, with begins, begin with it. It keeps all places of s that the
// holes so far can end at, so that many holes take no longer than one after another.
func canBe(shape []hole, s string, begins bool) bool {
	if len(s) > maxID {
		return false
	}
	ends := []int{0}
	for _, h := range shape {
		var next []int
		for _, at := range ends {
			rest := s[at:]
			if begins && strings.HasPrefix(h.text, rest) {
				return true
			}
			if strings.HasPrefix(rest, h.text) {
				next = append(next, at+len(h.text))
			}
		}
		if h.end {
			return !begins && slices.Contains(next, len(s))
		}
		var after [maxID + 1]bool
		for _, at := range next {
			for end := at + 1; end <= len(s) && (!h.digits || s[end-1] >= '0' && s[end-1] <= '9'); end++ {
				after[end] = true
			}
		}
		ends = ends[:0]
		for at, ok := range after {
			if ok {
				ends = append(ends, at)
			}
		}
	}
	return false
}

// maxID is more than the length of any task's id.
const maxID = 200

// wanted is what a need, a judge or a delivery names.
type wanted struct {
	ids   []plan.TaskID
	insts []*inst
}

// resolve finds what a list of names stands for where an instance is. A name whose task is under a when that does not
// hold, or of round 0, is left out; what names nothing in the file is a finding.
func (x *expander) resolve(n *node, from *inst, field string) (out wanted) {
	list := n.raw
	for part := range strings.SplitSeq(field, ".") {
		list = list.Child(part)
	}
	for k := range list.Items() {
		raw := &list.Kids[k]
		if prev := from.env.find(prevName); prev != nil && prev.value == int64(0) && uses(raw.Text, prevName) {
			continue
		}
		if x.mode != asFar && from.env.ofItem(raw.Text) {
			if x.mode == utmost { // each item may need those before it
				out.ids = append(out.ids, x.before(from, raw.Text)...)
			}
			continue // what a sample says of other tasks means nothing
		}
		names, ok := from.env.spread(raw.Text)
		if !ok || !x.in.strict() || !from.env.ofItem(raw.Text) {
			filled := x.value(n, raw, from.env)
			if names = []string{filled.Text}; filled.Kind == document.Array { // a reference to a list
				names = nil
			}
			for _, kid := range filled.Kids {
				names = append(names, kid.Text)
			}
		}
		for _, name := range names {
			for _, i := range x.named1(n, from, name, field, from.env.ofItem(raw.Text)) {
				if !slices.Contains(out.insts, i) {
					out.insts, out.ids = append(out.insts, i), append(out.ids, i.id)
				}
			}
		}
	}
	return out
}

// before are the tasks before an instance that a name can mean, whatever an item says.
func (x *expander) before(from *inst, name string) (ids []plan.TaskID) {
	holes := shape(name, nil)
	for _, i := range x.insts[:slices.Index(x.insts, from)] {
		if i.on && !i.group() && canBe(holes, string(i.id), false) {
			ids = append(ids, i.id)
		}
	}
	return ids
}

// spread is a text once for each element of each list that a reference in it brings in. A field that a loop's item
// lacks is an empty list. ok is false where something else is wrong with a reference, or there are too many.
func (e *env) spread(text string) (names []string, ok bool) {
	at := braces.Get().FindStringIndex(text)
	if at == nil {
		return []string{text}, !strings.Contains(text, "{{")
	}
	ref := text[at[0]+2 : at[1]-2]
	v, _ := e.look(ref)
	parts, ok := scalarNode(v)
	switch {
	case v == nil:
		ok = reference.Get().MatchString(ref) && e.ofItem(text[at[0]:at[1]])
	case parts.Kind != document.Array:
		parts.Kids = []document.Node{parts}
	}
	ends, whole := e.spread(text[at[1]:])
	if !ok || !whole || len(parts.Kids)*len(ends) > MaxTasks {
		return nil, false
	}
	for _, part := range parts.Kids {
		for _, end := range ends {
			names = append(names, text[:at[0]]+part.Text+end)
		}
	}
	return names, true
}

// ofItem reports whether a text has a value of a loop's item in it, other than its number.
func (e *env) ofItem(text string) bool {
	return slices.ContainsFunc(refs(text), func(ref string) bool {
		name, field, _ := strings.Cut(ref, ".")
		at := e.find(name)
		return at != nil && at.loop && name != roundName && field != "n"
	})
}

// named1 finds what one name stands for. One that an item brings has to be there: it is data, and may be wrong.
func (x *expander) named1(n *node, from *inst, name, field string, ofItem bool) (found []*inst) {
	prefix, wild := strings.CutSuffix(name, "*")
	if !wild {
		if i := x.ids[plan.TaskID(name)]; i != nil && i.node != nil {
			for g := i.parent; g != nil && x.mode == sample; g = g.parent {
				if g.loop != nil && g.loop.of && (g.container || !g.ownName()) && from.node != nil && !from.inside(g) {
					x.find(n, "unknown-name", field, "names a task that is not there yet", "the group around it: "+
						string(g.id), name, string(g.id))
				}
			}
			return []*inst{i}
		}
	}
	known := false
	for _, i := range x.insts {
		if !wild && string(i.id) != name || wild && !strings.HasPrefix(string(i.id), prefix) {
			continue
		}
		known = true
		if wild && i.on && i != from && !from.inside(i) {
			found = append(found, i)
		}
	}
	for _, l := range x.later {
		if !l.goal.on {
			continue
		}
		walk(l.nodes, func(m *node) {
			if m.id == "" || !canBe(shape(m.id, l.env), prefix, wild) {
				return
			}
			known = true
			switch {
			case !wild:
				x.find(n, "unknown-name", field, "names a task that is not there yet",
					"the group around it: "+string(l.goal.id), name, string(l.goal.id))
			case !from.inside(l.goal) && !slices.Contains(found, l.goal):
				found = append(found, l.goal)
				if other := l.other(prefix); other != nil && field == "judges.tasks" {
					x.widened = append(x.widened, widening{n, name, l.goal, other})
				}
			}
		})
	}
	if !known && !(ofItem && x.in.strict()) {
		known = x.w.hasID(prefix, wild)
	}
	if !known {
		x.find(n, "unknown-name", field, "names nothing in the file", "the id of a task or a group, or X-*",
			plain.Quote(name),
			cmp.Or(x.nearest(name), field+": [DEV-1], and a task with id: DEV-1"))
	}
	// A GOAL stands for what is in it.
	return slices.DeleteFunc(found, func(i *inst) bool {
		return slices.ContainsFunc(found, func(goal *inst) bool { return i.inside(goal) })
	})
}

// widening is a judge of X-* that gets a whole GOAL, in which another task will be, too.
type widening struct {
	judge *node
	name  string
	goal  *inst
	other *node
}

// other is a task that a fill brings and whose id does not begin with a prefix, nil if there is none.
func (l later) other(prefix string) (other *node) {
	walk(l.nodes, func(m *node) {
		if m.id != "" && !m.group() && m.raw.Child("judges") == nil && m.raw.Child("decides") == nil &&
			!canBe(shape(m.id, l.env), prefix, true) {
			other = m
		}
	})
	return other
}

// nearest is the id that a misspelt one most likely means, "" if none is near.
func (x *expander) nearest(name string) string {
	if len(x.ids) > MaxTasks {
		return ""
	}
	known := each.Of(sorted(x.ids), func(id plan.TaskID) string { return string(id) })
	return plandoc.Nearest(name, known)
}

// hasID reports whether some node of the files can have an id.
func (w *Workflow) hasID(name string, begins bool) bool {
	has := false
	walk(w.nodes, func(m *node) { has = has || m.id != "" && canBe(shape(m.id, nil), name, begins) })
	return has
}
