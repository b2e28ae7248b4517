package exchange

import (
	"strings"

	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

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
