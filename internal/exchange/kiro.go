package exchange

import (
	"path"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var (
	kiroLine    = pattern.Compile(`(?m)^\s*[-*+]\s+\[[ xX~-]?\]\*?\s+[0-9]+(?:\.[0-9]+)*\.?\s`)
	kiroID      = pattern.Compile(`^[*_]*([0-9]+(?:\.[0-9]+)*)[.)]?[*_]*[:.]?\s+(.*)$`)
	kiroRefs    = pattern.Compile(`(?i)requirements?\s*:?\s+([0-9][^_*\n]*)`)
	reference   = pattern.Compile(`[0-9]+(?:\.[0-9]+)*`)
	requirement = pattern.Compile(`(?i)^(?:requirement|req)[\s#-]*([0-9]+(?:\.[0-9]+)*)\s*[:.—–-]?\s*(.*)$`)
)

func isKiro(r *reader, file, text string) bool {
	if !kiroLine.Get().MatchString(text) {
		return false
	}
	dir := path.Dir(file)
	return strings.Contains(file, ".kiro/") || strings.Contains(text, "_Requirements:") ||
		r.has(path.Join(dir, "requirements.md")) && r.has(path.Join(dir, "design.md"))
}

// kiro reads the tasks.md of a spec: numbered boxes, worked through from top to bottom, that name the requirements they
// help to meet. Those are their criteria.
func (r *reader) kiro(f Found) (*source, *plan.Plan) {
	src, whole, ok := r.document(f)
	if !ok {
		return nil, nil
	}
	together := map[*item]bool{}
	l := &listing{reader: r, src: src, file: f.Path, loose: true}
	l.isTask = func(n, above *outline.Node) bool {
		return n.Boxed && (kiroID.Get().MatchString(n.Text) || !above.Item)
	}
	l.fill = func(it *item, n *outline.Node) {
		if m := kiroID.Get().FindStringSubmatch(n.Text); m != nil {
			it.source, it.wish, it.title = m[1], m[1], bare(m[2])
		}
		together[it] = strings.HasPrefix(it.title, "(P) ") || strings.HasSuffix(it.title, " (P)")
	}
	top := l.read(whole, nil)
	if h := whole.Heading(); h != nil && h.Level == 1 {
		if title := listTitle.Get().ReplaceAllString(bare(h.Text), ""); title != "" {
			src.name = title
		}
	}
	texts := r.beside(src, path.Dir(f.Path), "requirements.md", "design.md")
	src.top = strings.TrimSpace(top + "\n\n" + src.top)
	known := requirementsOf(texts["requirements.md"])
	src.nestByNumber()
	kids := map[string][]*item{}
	for _, it := range src.items {
		kids[it.parent] = append(kids[it.parent], it)
		if it.heading {
			continue
		}
		for _, m := range kiroRefs.Get().FindAllStringSubmatch(it.text, -1) {
			for _, no := range reference.Get().FindAllString(m[1], -1) {
				if text := known[no]; text != "" {
					it.criteria = each.Add(it.criteria, "Requirement "+no+": "+text)
				}
			}
		}
	}
	for _, list := range kids {
		sequence(list, together)
	}
	return src, nil
}

// nestByNumber puts an item whose id counts below another one's (1.1, IMPL-1.2, bd-a3f8.1) below that one, unless it
// stands elsewhere.
func (s *source) nestByNumber() {
	by := each.By(s.items, func(it *item) string { return strings.ToLower(it.source) })
	for _, it := range s.items {
		dot := strings.LastIndexByte(it.source, '.')
		if dot < 0 {
			continue
		}
		above := by[strings.ToLower(it.source[:dot])]
		if above != nil && (it.parent == "" || it.parent == above.parent) {
			it.parent = above.source
		}
	}
}

// requirementsOf are the acceptance criteria of a requirements.md, by their numbers: "1.2" is the second one of the
// first requirement, "1" what that is called.
func requirementsOf(whole *outline.Node) map[string]string {
	known := map[string]string{}
	if whole == nil {
		return known
	}
	whole.Walk(func(n, _ *outline.Node) bool {
		m := requirement.Get().FindStringSubmatch(bare(n.Text))
		if n.Item || m == nil {
			return true
		}
		known[m[1]] = bare(m[2])
		count := 0
		n.Walk(func(below, above *outline.Node) bool {
			if !below.Item || above.Item || !strings.Contains(strings.ToLower(above.Text), "criteria") {
				return !below.Item
			}
			count++
			no, text := m[1]+"."+reference.Get().FindString(below.Source), below.Text
			if marked := kiroID.Get().FindStringSubmatch(text); marked != nil &&
				strings.HasPrefix(marked[1], m[1]+".") {
				no, text = marked[1], marked[2]
			} else if !strings.HasPrefix(strings.TrimSpace(below.Source), reference.Get().FindString(below.Source)) ||
				strings.HasSuffix(no, ".") {
				no = m[1] + "." + textOf(int64(count))
			}
			if rest := below.Below(func(*outline.Node) bool { return false }); rest != "" {
				text += "\n" + rest
			}
			known[no] = bare(text)
			return false
		})
		return false
	})
	return known
}
