package prompt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
)

// leastKept is the size below which a text is left out rather than shortened.
const leastKept = 256

// A fitter cuts the parts of a skeleton until it fits a budget.
type fitter struct {
	*skeleton
	budget  int
	size    int // of the pieces and the parts as currently cut
	missing ledger
}

// fit cuts the least binding parts first and returns the prompt; gone is what is missing already. need is the smallest
// size it reached: more than the budget if the budget can't be kept.
func fit(k *skeleton, budget int, gone []Dropped) (p Prompt, need int) {
	f := &fitter{skeleton: k, budget: budget, missing: ledger{}}
	for _, d := range gone {
		f.missing.add(d, 1)
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
	for _, p := range leastBindingFirst(used) {
		if f.excess() <= 0 {
			break
		}
		f.shrink(p)
	}
	return f.prompt(used, gone), budget + f.excess()
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

// leastBindingFirst lists what may be cut: among notes and answers the oldest first, among other texts of a kind the
// largest, so that as many as possible stay whole.
func leastBindingFirst(used []*part) []*part {
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
	f.missing.add(p.dropped(p.cut, ""), -1)
	f.missing.add(p.dropped(c, ""), 1)
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
	for over := f.excess(); over > 0; over = f.excess() {
		if keep -= over/p.uses + 1; keep < leastKept {
			break
		}
		f.change(p, cut{shownShort, keep})
	}
	if f.excess() <= 0 {
		return
	}
	f.change(p, before)
	was := f.excess()
	f.change(p, cut{state: leftOut})
	if f.excess() >= was {
		f.change(p, before) // the line about what is missing is longer than the part
	}
}

// excess is by how many bytes the prompt is over its budget.
func (f *fitter) excess() int { return f.size + len(f.missing.String()) - f.budget }

func (f *fitter) prompt(used []*part, gone []Dropped) Prompt {
	var b strings.Builder
	for i, piece := range f.pieces {
		b.WriteString(piece)
		if i < len(f.parts) {
			text, _ := f.parts[i].block(f.parts[i].cut)
			b.WriteString(text)
		}
	}
	b.WriteString(f.missing.String())
	p := Prompt{Text: b.String(), Dropped: slices.Clone(gone)}
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

// A ledger sums up what is missing, by kind, for the prompt's last section.
type ledger map[string]struct{ texts, bytes int }

// add takes something missing into account n times; -1 takes it back.
func (l ledger) add(d Dropped, n int) {
	if d.Bytes > 0 {
		sum := l[d.kind]
		sum.texts += n
		sum.bytes += n * d.Bytes
		l[d.kind] = sum
	}
}

// String is the section that says what is missing, "" if nothing is.
func (l ledger) String() string {
	text := "\n## Left out\n\nThis prompt has a limit. Left out or shortened is this, and nothing else:\n\n"
	empty := len(text)
	for _, kind := range slices.Sorted(maps.Keys(l)) {
		if sum := l[kind]; sum.texts > 0 {
			text += "- " + kind + ": " + plain.Count(sum.texts, "text") + ", " + plain.Count(sum.bytes, "byte") + "\n"
		}
	}
	if len(text) == empty {
		return ""
	}
	return text
}

// If even the lines that name what was left out are too many, lists are left out, in this order.
var lists = [...]struct {
	name string
	drop func(d *Data) (gone []lost) // leaves the list empty
}{
	{"notes, with what they are about", func(d *Data) []lost {
		return dropAll(&d.Notes, func(x Note) lost {
			return lost{fmt.Sprintf("note %d (%s)", x.Number, x.Category), x.Text}
		})
	}},
	{"earlier answers, with their questions", func(d *Data) []lost {
		return dropAll(&d.Answers, func(x Answer) lost { return lost{"answer to " + x.ID, x.Text} })
	}},
	{"files of inputs, with their names", func(d *Data) (gone []lost) {
		d.Inputs = slices.Clone(d.Inputs)
		for i := range d.Inputs {
			gone = append(gone, dropFiles(&d.Inputs[i].Files, d.Inputs[i].what())...)
		}
		return gone
	}},
	{"requirement files, with their names", func(d *Data) []lost { return dropFiles(&d.Requirements, "requirement") }},
	{"files under review, with their names", func(d *Data) []lost {
		if d.Candidate == nil {
			return nil
		}
		c := *d.Candidate
		d.Candidate = &c
		return dropFiles(&c.Files, fmt.Sprintf("candidate v%d", c.Version))
	}},
	{"leaves that are not asked about", func(d *Data) []lost {
		return dropAll(&d.Leaves, func(x Leaf) lost { return lost{"leaf " + string(x.ID), x.Description} })
	}},
}

// lost is a removed list entry.
type lost struct {
	what string
	text Text
}

// dropAll empties a list, and says what its entries were.
func dropAll[T any](list *[]T, say func(T) lost) (gone []lost) {
	gone = each.Of(*list, say)
	*list = nil
	return gone
}

func dropFiles(files *[]File, what string) []lost {
	return dropAll(files, func(f File) lost { return lost{what + ": " + f.Path, f.Text} })
}
