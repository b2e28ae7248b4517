package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
)

// leastKept is the size below which a text is left out rather than shortened.
const leastKept = 256

// A fitter cuts the parts of a skeleton until it fits a budget.
type fitter struct {
	*skeleton
	budget   int
	mostName int // bytes of names in the list of what is missing, for each kind
	gone     []Dropped
	size     int // of the pieces and the parts as currently cut
	missing  ledger
}

// fit cuts the least binding parts first and returns the prompt; gone is what is missing already. need is the smallest
// size it reached: more than the budget if the budget can't be kept.
func fit(k *skeleton, budget, mostName int, gone []Dropped) (p Prompt, need int) {
	f := &fitter{skeleton: k, budget: budget, mostName: mostName, gone: gone}
	for _, d := range gone {
		f.missing = f.missing.with(d, mostName)
	}
	for _, piece := range k.pieces {
		f.size += len(piece)
	}
	used := f.used()
	for _, p := range used {
		p.cut = cut{}
		f.size += p.uses * p.size(p.cut)
		f.change(p, p.limited())
	}
	for _, p := range order(used) {
		if f.size+f.missing.size() <= budget {
			break
		}
		f.shrink(p)
	}
	return f.prompt(used), f.size + f.missing.size()
}

// used lists the parts that the template prints, each once.
func (f *fitter) used() []*part {
	seen := map[*part]bool{}
	var used []*part
	for _, p := range f.parts {
		if !seen[p] {
			seen[p] = true
			used = append(used, p)
		}
	}
	return used
}

// order lists what may be cut, the least binding first: among notes and answers the oldest, among other texts the
// largest, so that as many as possible stay whole.
func order(used []*part) []*part {
	list := slices.DeleteFunc(slices.Clone(used), func(p *part) bool { return p.kind == binding })
	slices.SortStableFunc(list, func(a, b *part) int {
		if a.kind != b.kind || a.kind == aNote || a.kind == anAnswer {
			return cmp.Compare(a.kind, b.kind)
		}
		return cmp.Compare(len(b.text), len(a.text))
	})
	return list
}

// change applies another cut to a part and updates the sums.
func (f *fitter) change(p *part, c cut) {
	if c == p.cut {
		return
	}
	f.size += p.uses * (p.size(c) - p.size(p.cut))
	f.missing = f.missing.replaced(p.dropped(p.cut, ""), p.dropped(c, ""), f.mostName)
	p.cut = c
}

// shrink shortens a part as far as needed, or leaves it out if too little would remain.
func (f *fitter) shrink(p *part) {
	before := p.cut
	if before.state == leftOut {
		return
	}
	keep := len(p.text)
	if before.state == shownShort {
		keep = before.keep
	}
	for over := f.over(); over > 0; over = f.over() {
		if keep -= over/p.uses + 1; keep < leastKept {
			break
		}
		f.change(p, cut{shownShort, keep})
	}
	if f.over() <= 0 {
		return
	}
	f.change(p, before)
	was := f.over()
	f.change(p, cut{state: leftOut})
	if f.over() >= was {
		f.change(p, before) // the line about what is missing is longer than the part
	}
}

func (f *fitter) over() int { return f.size + f.missing.size() - f.budget }

func (f *fitter) prompt(used []*part) Prompt {
	var b strings.Builder
	for i, piece := range f.pieces {
		b.WriteString(piece)
		if i < len(f.parts) {
			text, _ := f.parts[i].block(f.parts[i].cut)
			b.WriteString(text)
		}
	}
	b.WriteString(f.missing.String())
	p := Prompt{Text: b.String(), Dropped: slices.Clone(f.gone)}
	for _, part := range used {
		if d := part.dropped(part.cut, part.why(f.budget)); d.Bytes > 0 {
			p.Dropped = append(p.Dropped, d)
		}
	}
	return p
}

// dropped says what a cut removes from a part.
func (p *part) dropped(c cut, why string) Dropped {
	if c.state == shownWhole {
		return Dropped{}
	}
	_, missing := p.block(c)
	return Dropped{p.name, missing, why, kinds[p.kind].name}
}

func (p *part) why(budget int) string {
	what := "left out"
	if p.cut.state == shownShort {
		what = "shortened"
	}
	if p.cut == p.limited() {
		return fmt.Sprintf("%s: larger than %d bytes", what, kinds[p.kind].limit)
	}
	return fmt.Sprintf("%s to keep within %d bytes", what, budget)
}

// A ledger sums up what is missing, by kind, for the prompt's last section. It is a value: adding makes a new one.
type ledger [len(kinds) + len(lists)]account

type account struct {
	kind         string
	count, bytes int
	names        []string // of some, as many as there is room for
	nameBytes    int      // of the names, each with a comma and a space
}

func (l ledger) with(d Dropped, mostName int) ledger { return l.replaced(Dropped{}, d, mostName) }

// replaced is the ledger with one entry replaced. An entry without bytes is none.
func (l ledger) replaced(old, new Dropped, mostName int) ledger {
	if old.Bytes > 0 {
		a := l.account(old.kind)
		a.count--
		a.bytes -= old.Bytes
		if i := slices.Index(a.names, old.What); i >= 0 {
			a.names = slices.Concat(a.names[:i], a.names[i+1:])
			a.nameBytes -= len(old.What) + len(", ")
		}
	}
	if new.Bytes > 0 {
		a := l.account(new.kind)
		a.count++
		a.bytes += new.Bytes
		if width := len(new.What) + len(", "); a.nameBytes+width <= mostName {
			a.names = slices.Concat(a.names, []string{new.What})
			a.nameBytes += width
		}
	}
	return l
}

// account is the account of a kind; a new kind takes the first free one.
func (l *ledger) account(kind string) *account {
	i := slices.IndexFunc(l[:], func(a account) bool { return a.kind == kind || a.kind == "" })
	l[i].kind = kind
	return &l[i]
}

// frame is what surrounds the names in the account's line.
func (a account) frame() (before, after string) {
	before = fmt.Sprintf("- %s: %s, %s", a.kind, plain.Count(a.count, "text"), plain.Count(a.bytes, "byte"))
	if len(a.names) == 0 {
		return before, "\n"
	}
	if more := a.count - len(a.names); more > 0 {
		after = fmt.Sprintf(" and %d more", more)
	}
	return before + ": ", after + "\n"
}

const leftOutTitle = "\n## Left out\n\nThis prompt has a limit. Left out or shortened is this, and nothing else:\n\n"

// size is the length of String. It is called often, so it joins no names.
func (l ledger) size() int {
	n := 0
	for _, a := range l {
		if a.count > 0 {
			before, after := a.frame()
			n += len(before) + max(a.nameBytes-len(", "), 0) + len(after)
		}
	}
	if n == 0 {
		return 0
	}
	return n + len(leftOutTitle)
}

// String is the section that says what is missing, "" if nothing is.
func (l ledger) String() string {
	var b strings.Builder
	for _, a := range l {
		if a.count > 0 {
			before, after := a.frame()
			b.WriteString(before + strings.Join(a.names, ", ") + after)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return leftOutTitle + b.String()
}
