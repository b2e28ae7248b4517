package vendor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
)

// readJSON reads an object, in which comments may be.
func readJSON(text string) (*document.Node, error) {
	limits := document.Limits{Depth: 100, Values: 100_000, Fields: 10_000}
	n, err := document.JSON{Limits: limits, Comments: true}.Parse(text)
	if err == nil && n.Kind != document.Object {
		err = fmt.Errorf("line %d: expected an object", n.Line)
	}
	return n, err
}

// A merge brings what is wanted into a JSON text that others keep, and out again.
type merge struct {
	text, want string
	edits      []edit
}

type edit struct {
	from, to int32
	text     string
}

// apply carries the edits out from the end on. None of them is inside of another that comes later.
func (m *merge) apply() string {
	each.Sort(m.edits, func(a, b edit) int { return int(b.from - a.from) })
	for _, e := range m.edits {
		m.text = m.text[:e.from] + e.text + m.text[e.to:]
	}
	return m.text
}

// find is where a wanted value is among those of a node, the last one of several; -1 if it is not there. A hook of ours
// may be another version's.
func (m *merge) find(in *document.Node, want document.Node) int {
	for i, have := range slices.Backward(in.Kids) {
		same := have.Key == want.Key
		if in.Kind == document.Array {
			hook := want.Kind == document.Object && strings.Contains(m.text[have.From:have.End], "git wf agent-hook")
			same = hook || reflect.DeepEqual(have.Value(document.Exact), want.Value(document.Exact))
		}
		if same {
			return i
		}
	}
	return -1
}

// add puts what is wanted at the end of a node: of some rules the last one holds. In one that is empty it begins right
// at the bracket, by which take knows that the brackets were there before. A scalar of another value is the user's.
func (m *merge) add(in *document.Node, want document.Node) error {
	text, end := "", in.Begin+1
	for _, w := range want.Kids {
		raw := m.want[w.From:w.End]
		if i := m.find(in, w); w.Kind == document.Number { // a format's version, which only a new file lacks
			continue
		} else if i < 0 || in.Kind == document.Array {
			text += "," + m.want[strings.LastIndexByte(m.want[:w.From], '\n'):w.From] + raw
		} else if have := in.Kids[i]; len(w.Kids) > 0 && have.Kind != w.Kind {
			return fmt.Errorf("line %d: %q can't take this, so add by hand: %s", have.Line, w.Key, raw)
		} else if err := m.add(&have, w); err != nil {
			return err
		}
	}
	if n := len(in.Kids); n > 0 {
		end = in.Kids[n-1].End
	} else {
		text = strings.TrimLeft(text, ", \n")
	}
	if text != "" {
		m.edits = append(m.edits, edit{end, end, strings.ReplaceAll(text, "\n", lineEnd(m.text))})
	}
	return nil
}

// take takes out what add put into a node; whole says that the node itself was added. Of a list, ours are the
// first one and what follows it.
func (m *merge) take(in *document.Node, want document.Node) (whole bool) {
	drop := make([]bool, len(in.Kids))
	before, first := len(m.edits), 0
	for n, w := range want.Kids {
		i := m.find(in, w)
		raw := m.want[w.From:w.End]
		named := strings.Contains(raw, "git-wf") || strings.Contains(raw, "git wf") ||
			strings.Contains(raw, ".worktrees/")
		alone := in.Kind == document.Array || len(w.Kids) == 0 || w.Key == "git-wf" // nobody else writes in it
		switch {
		case n == 0 && alone && named:
			if first = i; i < 0 {
				return false
			}
			drop[i] = true
		case i >= 0 && alone:
			drop[i] = drop[i] || named && i >= first
		case i >= 0 && in.Kids[i].Kind == w.Kind:
			drop[i] = m.take(&in.Kids[i], w)
		}
	}
	kept := slices.Contains(drop, false)
	if whole = !kept && len(drop) > 0 && strings.ContainsAny(m.text[in.Begin+1:in.Begin+2], " \t\r\n"); whole {
		m.edits = m.edits[:before]
		return true
	}
	kept = false
	for i, kid := range in.Kids {
		e := edit{from: kid.From, to: kid.End}
		switch {
		case !drop[i]:
			kept = true
			continue
		case kept:
			e.from = in.Kids[i-1].End
		case i+1 < len(drop):
			e.to = in.Kids[i+1].From
		}
		m.edits = append(m.edits, e)
	}
	return false
}

// mergeJSON does something with a text and what is wanted in it.
func (p piece) mergeJSON(text string, do func(m *merge, in *document.Node, want document.Node) error) (string, error) {
	in, err := readJSON(text)
	if err != nil {
		return text, err
	}
	want, err := readJSON(p.text)
	if err != nil {
		return text, err
	}
	m := &merge{text: text, want: p.text}
	err = do(m, in, *want)
	return m.apply(), err
}
