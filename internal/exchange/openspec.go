package exchange

import (
	"path"
	"strings"

	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var (
	openSpecLine = pattern.Compile(`(?m)^\s{0,3}[-*+]\s+\[[ xX~-]?\]\s+\**[0-9]+\.[0-9]+`)
	groupLine    = pattern.Compile(`(?m)^##\s+[0-9]+\.\s`)
	groupNo      = pattern.Compile(`^([0-9]+(?:\.[0-9]+)*)[.)]?\s+(.*)$`)
	anyBox       = pattern.Compile(`(?m)^\s*(?:[-*+]|[0-9]+[.)])\s+\[[ xX~/>!?-]?\]\*?\s+\S`)
)

func isOpenSpec(r *reader, file, text string) bool {
	dir := path.Dir(file)
	if path.Base(file) == "tasks.md" && anyBox.Get().MatchString(text) &&
		(strings.Contains(file, "openspec/") || r.has(path.Join(dir, "proposal.md"))) {
		return true
	}
	return openSpecLine.Get().MatchString(text) && groupLine.Get().MatchString(text)
}

// openSpec reads the tasks.md of a change: boxes 1.1 in numbered groups, worked through from top to bottom, beside the
// proposal and the requirements that the change adds or modifies.
func (r *reader) openSpec(f Found) (*source, *plan.Plan) {
	src, whole, ok := r.document(f)
	if !ok {
		return nil, nil
	}
	l := &listing{reader: r, src: src, file: f.Path, flat: 2}
	l.isTask = func(n, above *outline.Node) bool {
		return n.Boxed && (!above.Item || kiroID.Get().MatchString(n.Text))
	}
	l.fill = func(it *item, n *outline.Node) {
		if m := kiroID.Get().FindStringSubmatch(n.Text); m != nil && strings.Contains(m[1], ".") {
			it.source, it.wish, it.title = m[1], m[1], bare(m[2])
		}
	}
	top := l.read(whole, nil)
	dir := path.Dir(f.Path)
	r.beside(src, dir, "proposal.md", "design.md")
	if specs := path.Join(dir, "specs"); isDir(r.fsys, specs) {
		for _, name := range r.list(specs) {
			r.beside(src, dir, path.Join("specs", name, "spec.md"))
		}
	}
	src.top = strings.TrimSpace(top + "\n\n" + src.top)
	sequence(src.below(""), nil)
	for i, g := range l.order {
		if m := groupNo.Get().FindStringSubmatch(g.title); m != nil {
			for _, it := range src.items {
				if it.parent == g.source {
					it.parent = "group " + m[1]
				}
			}
			g.source, g.wish, g.title = "group "+m[1], m[1], m[2]
		}
		sequence(src.below(g.source), nil)
		if i > 0 && l.order[i-1].parent == g.parent {
			g.follow(l.order[i-1])
		}
	}
	return src, nil
}
