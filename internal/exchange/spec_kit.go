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
	specKitLine = pattern.Compile(`(?m)^(?:\s*[-*+]\s+\[[ xX~-]?\]|#{2,5})\s+[*_~\[\x60]*T-?[0-9]{3,}`)
	specKitID   = pattern.Compile(`^[*_~\[\x60]*(T-?[0-9]{3,}[a-zA-Z]?(?:\.[0-9]+)*)[*_~\]\x60]*` +
		`\s*[:.)—–-]?\s*(.*)$`)
	taskTag  = pattern.Compile(`^[\s*]*\[([^\]]{1,40})\][\s*]*`)
	phaseNo  = pattern.Compile(`(?i)^phase\s+([0-9]+(?:\.[0-9]+)?)\b`)
	waitsFor = pattern.Compile(`(?i)\b(?:depends on|requires|after|blocked by)\b[:\s]*((?:T[0-9]{3,}(?:\s*(?:,` +
		`|and|&)\s*)?)+)`)
	taskRef   = pattern.Compile(`T[0-9]{3,}`)
	listTitle = pattern.Compile(`(?i)^(?:(?:implementation )?tasks?(?: list)?|implementation plan)\s*` +
		`(?:[:：—–-]\s*|$)`)
	wanted     = pattern.Compile(`(?im)^\s*(?:[-*+]\s+)?\**(?:independent test|checkpoint)\**\s*[:：]\**\s*(.+)$`)
	storyHead  = pattern.Compile(`(?i)user stor|\bUS[0-9]+\b`)
	groundHead = pattern.Compile(`(?i)setup|foundation|prerequisite|blocking|infrastructure`)
	lastHead   = pattern.Compile(`(?i)polish|final|cross-cutting|cleanup|release`)
)

func isSpecKit(_ *reader, _, text string) bool { return specKitLine.Get().MatchString(text) }

// specKit reads a tasks.md with items T001 [P] [US1], in phases. It is worked through from top to bottom: a task waits
// for the one before it in its phase, but for those marked [P].
func (r *reader) specKit(f Found) (*source, *plan.Plan) {
	src, whole, ok := r.document(f)
	if !ok {
		return nil, nil
	}
	together := map[*item]bool{}
	l := &listing{reader: r, src: src, file: f.Path, flat: 2}
	l.isTask = func(n, above *outline.Node) bool {
		return (n.Boxed || !n.Item && above != nil) && specKitID.Get().MatchString(n.Text)
	}
	l.fill = func(it *item, n *outline.Node) {
		m := specKitID.Get().FindStringSubmatch(n.Text)
		it.source, it.wish = m[1], strings.Replace(m[1], "T-", "T", 1)
		it.title = bare(m[2])
		for text := m[2]; ; {
			tag := taskTag.Get().FindStringSubmatch(text)
			if tag == nil {
				break
			}
			together[it] = together[it] || tag[1] == "P"
			text = text[len(tag[0]):]
		}
		for _, m := range waitsFor.Get().FindAllStringSubmatch(n.Text, -1) {
			for _, d := range taskRef.Get().FindAllString(m[1], -1) {
				if d != it.source {
					it.deps = each.Add(it.deps, d)
				}
			}
		}
	}
	src.top = l.read(whole, nil)
	if h := whole.Heading(); h != nil && h.Level == 1 && !l.isMade(h) {
		if title := listTitle.Get().ReplaceAllString(bare(h.Text), ""); title != "" {
			src.name = title
		}
	}
	sequence(src.below(""), together)
	for i, phase := range l.order {
		if m := phaseNo.Get().FindStringSubmatch(phase.title); m != nil {
			phase.wish = "PHASE-" + m[1]
		}
		tasks := src.below(phase.source)
		sequence(tasks, together)
		for _, m := range wanted.Get().FindAllStringSubmatch(phase.text, -1) {
			if len(tasks) > 0 { // the phase is whole with its last task
				last := tasks[len(tasks)-1]
				last.criteria = append(last.criteria, bare(m[1]))
			}
		}
		story := storyHead.Get().MatchString(phase.title) && !lastHead.Get().MatchString(phase.title)
		for j, before := range l.order[:i] {
			switch {
			case before.parent != phase.parent:
			case story && storyHead.Get().MatchString(before.title): // stories stand by themselves
			case j == i-1, groundHead.Get().MatchString(before.title), lastHead.Get().MatchString(phase.title):
				phase.follow(before)
			}
		}
	}
	r.beside(src, path.Dir(f.Path), "spec.md", "plan.md")
	return src, nil
}
