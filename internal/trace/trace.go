package trace

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
)

// MaxFile is the most bytes that a text may have, MaxItems the most items of all texts.
const (
	MaxFile  = 1 << 20
	MaxItems = 10_000
)

// Place is where an item stands.
type Place struct {
	Task    string `json:"task_id,omitempty"` // that delivers the file, in the version
	Version string `json:"artifact_id,omitempty"`
	File    string `json:"file"`
	Line    int    `json:"line"`
}

func (p Place) String() string {
	at := fmt.Sprintf("%s:%d", plain.Line(p.File), p.Line)
	if p.Task == "" {
		return at
	}
	return p.Task + " " + p.Version + " " + at
}

// Source is a text with items. Its place has no line.
type Source struct {
	Place
	Text string
}

// Item is a goal, requirement, decision, epic or story.
type Item struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Place
	Traces []string `json:"traces"` // the ids that it comes from, as they are written

	Up     []*Item `json:"-"` // the items that it comes from
	down   []*Item // those that come from it
	Rank   int     `json:"-"` // of its kind: those of later kinds have more
	linked map[string]bool
}

// kinds are what the ids of items begin with, and how late each comes.
var kinds = map[string]int{"G": goal, "REQ": requirement, "NFR": requirement, "ADR": decision, "EPIC": epic,
	"STORY": story}

const (
	goal = iota
	requirement
	decision
	epic
	story
)

var (
	idForm = pattern.Compile(`^(G|REQ|NFR|ADR|EPIC|STORY)(-[A-Z0-9]{1,20}){0,4}-[0-9]{1,9}$`)
	// what an item begins with, and the rest of its line
	beginning = pattern.Compile("^[*_`]*([A-Z]+(?:-[A-Z0-9]+)+)((?:[^-A-Za-z0-9_]|[*_]).*)?$")
	// a line of links, and one at the end of an item's own line
	linkLine   = pattern.Compile(`(?i)^[\s>*_+-]*traces(?: to)?[\s*_]*[:：](.*)$`)
	linkEnd    = pattern.Compile(`(?i)[\s([*_]+traces(?: to)?[\s*_]*[:：](.*)$`)
	linkWord   = pattern.Compile(`\b[A-Za-z]+(?:-[A-Za-z0-9]+)*-[0-9]+\b`)
	linkTarget = pattern.Compile(`\]\([^)]*\)`)
)

// IsID reports whether a word is the id of an item.
func IsID(word string) bool { return idForm.Get().MatchString(word) }

// Graph is the items of some texts, and the links between them.
type Graph struct {
	Items []*Item // each id once, in the order of the texts
	ByID  map[string]*Item
	twice []Gap
}

// Read reads the items of some texts. An item is a heading, or an item of a list with a title, that begins with an
// id; its links are in lines "Traces: ID, ID" that stand before the next item, outside of code and comments.
func Read(sources []Source) (*Graph, error) {
	g := &Graph{ByID: map[string]*Item{}}
	for _, src := range sources {
		if len(src.Text) > MaxFile {
			return nil, fault.Usage("git wf trace FILE..., with others", "%s has more than %d bytes",
				plain.Line(src.File), MaxFile)
		}
		if err := g.read(src); err != nil {
			return nil, err
		}
	}
	for _, it := range g.Items {
		for _, id := range it.Traces {
			if up := g.ByID[id]; up != nil && up.Rank <= it.Rank {
				it.Up, up.down = append(it.Up, up), append(up.down, it)
			}
		}
	}
	return g, nil
}

func (g *Graph) read(src Source) error {
	_, whole := outline.Cut(src.Text)
	var nodes []*outline.Node // headings, items, and lines of links
	add := func(n, _ *outline.Node) bool {
		nodes = append(nodes, n)
		for _, line := range n.Lines {
			if !line.Raw && linkLine.Get().MatchString(line.Text) {
				nodes = append(nodes, &outline.Node{Line: line.No, Text: line.Text})
			}
		}
		return true
	}
	add(whole, nil)
	whole.Walk(add)
	slices.SortFunc(nodes, func(a, b *outline.Node) int { return a.Line - b.Line })
	var it *Item
	for _, n := range nodes {
		next, m := itemOf(n), linkLine.Get().FindStringSubmatch(n.Text)
		if next == nil {
			if m != nil && it != nil {
				it.link(m[1])
			}
			continue
		}
		if len(g.Items) == MaxItems {
			return fault.Usage("git wf trace FILE..., with fewer", "there are more than %d items", MaxItems)
		}
		it, next.Place = next, src.Place
		it.Line = n.Line
		if first := g.ByID[it.ID]; first != nil {
			g.twice = append(g.twice, it.gap("duplicate", "stands at %v, too; what only mentions it begins with a "+
				"link, [%s](...)", first.Place, it.ID))
			continue
		}
		g.ByID[it.ID], g.Items = it, append(g.Items, it)
	}
	return nil
}

// itemOf is the item that a heading or an item of a list begins; nil if that is none.
func itemOf(n *outline.Node) *Item {
	text, links := n.Text, ""
	if at := linkEnd.Get().FindStringSubmatchIndex(text); at != nil {
		text, links = text[:at[0]], n.Text[at[2]:]
	}
	m := beginning.Get().FindStringSubmatch(text)
	if m == nil || !IsID(m[1]) {
		return nil
	}
	const around = " \t*_`:：.,;()–—-"
	it := &Item{ID: m[1], Title: strings.Trim(m[2], around), Traces: []string{}, linked: map[string]bool{}}
	if n.Item && (it.Title == "" || strings.HasPrefix(m[2], ",")) {
		return nil // a list of ids
	}
	kind, rest, _ := strings.Cut(it.ID, "-")
	it.Rank = kinds[kind]
	it.link(links)
	if at := strings.LastIndexByte(rest, '-'); at > 0 && IsID(rest[:at]) {
		it.link(rest[:at]) // STORY-EPIC-001-001
	}
	return it
}

// link adds the ids that a text names, each once.
func (it *Item) link(text string) {
	for _, id := range linkWord.Get().FindAllString(linkTarget.Get().ReplaceAllString(text, "]"), -1) {
		if !it.linked[id] {
			it.linked[id], it.Traces = true, append(it.Traces, id)
		}
	}
}

// Gap is what is wrong with an item.
type Gap struct {
	Code string `json:"code"` // duplicate, unknown, unlinked, cycle or uncovered
	ID   string `json:"id"`
	Place
	Text string `json:"text"`
}

func (g Gap) String() string {
	return fmt.Sprintf("%v: %s %s [%s]", g.Place, g.ID, plain.Line(g.Text), g.Code)
}

func (it *Item) gap(code, format string, args ...any) Gap {
	return Gap{code, it.ID, it.Place, fmt.Sprintf(format, args...)}
}

// demands say what each kind has to lead to.
var demands = map[int]struct {
	rank int
	what string
}{goal: {requirement, "REQ or NFR"}, requirement: {epic, "EPIC"}, decision: {epic, "EPIC"}, epic: {story, "STORY"}}

// Gaps returns what is missing, in the order of the texts. Each goal is to have a requirement, each requirement and
// decision an epic, by links, over decisions or stories, too, and each epic a story; a kind is missed once it, or one
// that comes later, is there, or if all are demanded.
func (g *Graph) Gaps(all bool) []Gap {
	last, from := goal, map[int][]*Item{}
	for _, it := range g.Items {
		last = max(last, it.Rank)
		from[it.Rank] = append(from[it.Rank], it)
		if it.Rank == story && slices.ContainsFunc(it.Up, func(o *Item) bool { return o.Rank == epic }) {
			from[epic] = append(from[epic], it)
		}
	}
	leads := map[int]map[*Item]bool{} // to a kind
	for rank, items := range from {
		leads[rank] = spread(items, func(it *Item) []*Item { return it.Up })
	}
	gaps := slices.Clone(g.twice)
	for _, it := range g.Items {
		for _, id := range it.Traces {
			if up := g.ByID[id]; up == nil || up.Rank > it.Rank {
				gaps = append(gaps, it.gap("unknown", "traces %s, which no item of its kind or an earlier one has", id))
			}
		}
		if it.Rank != goal && len(it.Traces) == 0 {
			gaps = append(gaps, it.gap("unlinked", "comes from nothing: below it, write Traces: and ids"))
		}
		to, is := demands[it.Rank]
		if is && (last >= to.rank || all) && !leads[to.rank][it] {
			gaps = append(gaps, it.gap("uncovered", "leads to no %s: there, write Traces: %s", to.what, it.ID))
		}
	}
	return append(gaps, g.cycles()...)
}

// spread returns some items and what next leads to from them.
func spread(from []*Item, next func(*Item) []*Item) map[*Item]bool {
	seen, todo := map[*Item]bool{}, slices.Clone(from)
	for len(todo) > 0 {
		it := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[it] {
			seen[it], todo = true, append(todo, next(it)...)
		}
	}
	return seen
}

// Around returns what some items come from, these, and what they lead to, in the order of the texts.
func (g *Graph) Around(items []*Item) []*Item {
	up := spread(items, func(it *Item) []*Item { return it.Up })
	down := spread(items, func(it *Item) []*Item { return it.down })
	return slices.DeleteFunc(slices.Clone(g.Items), func(it *Item) bool { return !up[it] && !down[it] })
}

// cycles are the links that close a circle.
func (g *Graph) cycles() (gaps []Gap) {
	begun, done := map[*Item]bool{}, map[*Item]bool{}
	var visit func(it *Item)
	visit = func(it *Item) {
		begun[it] = true
		for _, up := range it.Up {
			if !begun[up] {
				visit(up)
			} else if !done[up] {
				gaps = append(gaps, it.gap("cycle", "comes from %s, which comes from it", up.ID))
			}
		}
		done[it] = true
	}
	for _, it := range g.Items {
		if !begun[it] {
			visit(it)
		}
	}
	return gaps
}
