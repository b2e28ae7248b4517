package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
)

// reference is {{name}} or {{name.field}}; braces finds everything that looks like one.
var (
	reference = pattern.Compile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)
	braces    = pattern.Compile(`\{\{([^{}]*)\}\}`)
)

// env is what the references of a node can name, the innermost name first.
type env struct {
	up    *env
	name  string
	value any
	n     int  // of a loop's item, its number from 1; of a round, the round
	loop  bool // a fill records it
	wall  bool // what is further out is out of sight
}

func (e *env) with(name string, value any) *env { return &env{up: e, name: name, value: value} }

func (e *env) item(name string, value any, n int) *env {
	if name == "" {
		return e // a branch has none
	}
	return &env{up: e, name: name, value: value, n: n, loop: true}
}

const (
	roundName = "round"
	prevName  = "prev"
)

func (e *env) round(r int) *env {
	in := e.with(prevName, int64(r-1))
	return &env{up: in, name: roundName, value: int64(r), n: r, loop: true}
}

func (e *env) find(name string) *env {
	for ; e != nil && !e.wall; e = e.up {
		if e.name == name {
			return e
		}
	}
	return nil
}

// names lists what is in scope, sorted.
func (e *env) names() []string {
	var names []string
	for ; e != nil && !e.wall; e = e.up {
		names = append(names, e.name)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// look follows a path of names, the first of which is in scope.
func (e *env) look(path string) (any, bool) {
	name, rest, inner := strings.Cut(path, ".")
	at := e.find(name)
	switch {
	case at == nil:
		return nil, false
	case !inner:
		return at.value, true
	case rest == "n" && at.loop && name != roundName:
		return int64(at.n), true
	}
	return inward(at.value, rest)
}

// inward follows a path of field names into a value.
func inward(v any, path string) (any, bool) {
	for field := range strings.SplitSeq(path, ".") {
		if _, all := v.(wild); all {
			return v, true
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[field]; !ok {
			return nil, false
		}
	}
	return v, true
}

// refs lists what the braces of a text hold, in order, well-formed or not.
func refs(text string) []string {
	if !strings.Contains(text, "{{") {
		return nil
	}
	names := each.Of(braces.Get().FindAllStringSubmatch(text, -1), func(m []string) string { return m[1] })
	if strings.Contains(braces.Get().ReplaceAllString(text, ""), "{{") {
		names = append(names, "") // braces that nothing closes
	}
	return names
}

// uses reports whether a reference of the text begins with the name.
func uses(text string, names ...string) bool {
	return slices.ContainsFunc(refs(text), func(ref string) bool {
		name, _, _ := strings.Cut(ref, ".")
		return name != "" && slices.Contains(names, name)
	})
}

// verbatim are the fields whose content holds no references: a run line is what the user trusted, byte for byte.
func verbatim(key string) bool { return key == "run" || key == "schema" }

// refFault is a reference that can't be replaced.
type refFault struct {
	line int
	ref  string
	why  string
}

// fill is the node with values in the place of its references. A scalar that is one reference takes the value's type;
// inside a text, values become text. The tree alone is changed, so a value never becomes structure: neither a field nor
// an object can come from one.
func (e *env) fill(n *document.Node, faults *[]refFault) document.Node {
	out := *n
	switch {
	case verbatim(n.Key):
	case n.Kind == document.String && strings.Contains(n.Text, "{{"):
		out = e.text(n, faults)
	case len(n.Kids) > 0:
		out.Kids = make([]document.Node, 0, len(n.Kids))
		for i := range n.Kids {
			kid := e.fill(&n.Kids[i], faults)
			if n.Kind == document.Array && n.Kids[i].Kind == document.String && kid.Kind == document.Array {
				out.Kids = append(out.Kids, kid.Kids...) // a list in a list of texts: its items
			} else {
				out.Kids = append(out.Kids, kid)
			}
		}
	}
	return out
}

func (e *env) text(n *document.Node, faults *[]refFault) document.Node {
	out := *n
	fail := func(ref, why string) { *faults = append(*faults, refFault{int(n.Line), ref, why}) }
	if all := refs(n.Text); len(all) > 0 && all[len(all)-1] == "" {
		fail("{{", "has no end")
	}
	value := func(ref string) (any, bool) {
		v, ok := e.look(ref)
		if !reference.Get().MatchString(ref) {
			fail(ref, "is none: there are no operators, calls or spaces")
			ok = false
		} else if !ok {
			fail(ref, "names nothing here")
		} else if v == nil {
			fail(ref, "has no value")
			ok = false
		}
		return v, ok
	}
	if whole := braces.Get().FindString(n.Text); whole == n.Text {
		v, ok := value(whole[2 : len(whole)-2])
		if !ok {
			return out
		}
		node, ok := scalarNode(v)
		if !ok {
			fail(whole[2:len(whole)-2], "is an object, which a reference can't bring in")
			return out
		}
		node.Line, node.Key = n.Line, n.Key
		return node
	}
	out.Text = braces.Get().ReplaceAllStringFunc(n.Text, func(m string) string {
		ref := m[2 : len(m)-2]
		v, ok := value(ref)
		if !ok {
			return m
		}
		s, ok := asText(v)
		if !ok {
			fail(ref, "is an object, which a reference can't bring in")
		}
		return s
	})
	return out
}

// scalarNode is a value as a node: a scalar, or a list of scalars.
func scalarNode(v any) (document.Node, bool) {
	if list, ok := v.([]any); ok {
		n := document.Node{Kind: document.Array}
		for _, item := range list {
			kid, ok := scalarNode(item)
			if !ok || kid.Kind == document.Array {
				return n, false
			}
			n.Kids = append(n.Kids, kid)
		}
		return n, true
	}
	s, ok := asText(v)
	kind := document.Number
	switch v.(type) {
	case string, wild:
		kind = document.String
	case bool:
		kind = document.Bool
	}
	return document.Node{Kind: kind, Text: s}, ok
}

// asText is a value inside a text: a list is joined by ", ".
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			s, ok := asText(item)
			if _, list := item.([]any); !ok || list {
				return "", false
			}
			parts[i] = s
		}
		return strings.Join(parts, ", "), true
	case wild:
		return "sample", true
	case nil, map[string]any:
		return "", false
	}
	return fmt.Sprint(v), true
}

// holds decides a condition: a mapping of which all entries hold, or a list of mappings one of which does.
func holds(cond *document.Node, look func(path string) (any, bool)) bool {
	if cond == nil {
		return true
	}
	if cond.Kind == document.Array {
		return slices.ContainsFunc(cond.Kids, func(k document.Node) bool { return holds(&k, look) })
	}
	for i := range cond.Kids {
		if v, there := look(cond.Kids[i].Key); !fits(&cond.Kids[i], v, there) {
			return false
		}
	}
	return true
}

// meets decides a condition on the fields of a value.
func meets(v any, cond *document.Node) bool {
	return holds(cond, func(path string) (any, bool) { return inward(v, path) })
}

// fits holds a value against one entry of a condition.
func fits(want *document.Node, v any, there bool) bool {
	if _, all := v.(wild); all {
		return true
	}
	switch want.Kind {
	case document.Array: // one of several values, or every one of several counts
		every := len(want.Kids) > 0 && counts(&want.Kids[0]) != nil
		ends := func(k document.Node) bool { return fits(&k, v, there) != every }
		return slices.ContainsFunc(want.Kids, ends) != every
	case document.Object:
		inner := counts(want)
		if inner != nil {
			list, ok := v.([]any)
			if !ok {
				return false
			}
			v = int64(len(slices.DeleteFunc(slices.Clone(list), func(item any) bool { return !meets(item, inner) })))
		}
		for i := range want.Kids {
			if bound := &want.Kids[i]; (inner == nil || bound.Key != countKey) && !bounded(bound, v, there) {
				return false
			}
		}
		return true
	}
	return there && equal(want.Value(document.Exact), v)
}

// countKey is the field of a bound on the number of a list's items for which a condition holds.
const countKey = "count"

// counts is the condition on the items that an entry counts, nil if it counts none.
func counts(want *document.Node) *document.Node {
	inner := want.Child(countKey)
	if inner == nil || inner.Kind != document.Object && inner.Kind != document.Array {
		return nil
	}
	return inner
}

func bounded(bound *document.Node, v any, there bool) bool {
	limit := bound.Value(document.Exact)
	if bound.Key == "set" {
		return limit == (there && v != nil)
	}
	x, ok := number(v)
	y, _ := number(limit)
	return ok && (bound.Key == "at_least" && x >= y || bound.Key == "at_most" && x <= y)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// equal compares scalars; numbers by their value.
func equal(a, b any) bool {
	x, xIs := number(a)
	y, yIs := number(b)
	if xIs || yIs {
		return xIs && yIs && x == y
	}
	switch a.(type) {
	case string, bool, nil:
		return a == b
	}
	return false
}
