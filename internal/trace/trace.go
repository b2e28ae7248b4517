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
