package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/trace"
)

// trace shows the items of files, which needs no repository, or of what a plan delivers.
func (e *env) trace(c *cli.Context) error {
	var ids []string
	var sources []trace.Source
	for _, word := range c.Args().Slice() {
		if trace.IsID(word) {
			ids = append(ids, word)
			continue
		}
		text, err := e.readInput(word, trace.MaxFile+1)
		if err != nil {
			return fault.Usage("git wf trace FILE..., with Markdown", "%s: %w", plain.Line(word), err)
		}
		sources = append(sources, trace.Source{Place: trace.Place{File: word}, Text: string(text)})
	}
	switch {
	case len(sources) == 0:
		return e.onReadable(wholePlan, func(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
			sources, err := approvedMarkdown(c.Context, store, snap.State())
			if err != nil {
				return err
			}
			return e.showTrace(c, sources, ids)
		})(c)
	case c.IsSet("plan"):
		return usage("--plan and files exclude each other")
	}
	return e.showTrace(c, sources, ids)
}

// approvedMarkdown are the Markdown files that a plan delivers, in the versions that are approved.
func approvedMarkdown(ctx context.Context, store *gitstore.Store, s *plan.State) (sources []trace.Source, err error) {
	leaves := s.Leaves(s.Plan.RootTaskID)
	if f := s.Root().FinalDeliverableSpec; f != nil {
		leaves = slices.DeleteFunc(leaves, func(id plan.TaskID) bool {
			return id == f.AssembleTaskID || len(f.IncludeChildren) > 0 &&
				!slices.ContainsFunc(s.Lineage(s.Tasks[id].Task), func(id plan.TaskID) bool {
					return slices.Contains(f.IncludeChildren, id)
				})
		})
	}
	for _, id := range leaves {
		v, ok := s.Records.Of(id).Version(s.Tasks[id].Approved)
		if !ok || s.Tasks[id].Changes() {
			continue
		}
		files, err := store.ListTree(ctx, v.Files, "")
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !isMarkdown(f.Path) || !strings.HasPrefix(f.Mode, "100") {
				continue
			}
			text, _, err := store.BlobHead(ctx, f.OID, trace.MaxFile+1)
			if err != nil {
				return nil, err
			}
			at := trace.Place{Task: string(id), Version: plan.VersionID(v.Version), File: f.Path}
			sources = append(sources, trace.Source{Place: at, Text: string(text)})
		}
	}
	return sources, nil
}

// traceDocument is what trace --json prints.
type traceDocument struct {
	Items []*trace.Item `json:"items"`
	Gaps  []trace.Gap   `json:"gaps"`
}

// showTrace prints the items of texts, or those around some of them, and what is missing.
func (e *env) showTrace(c *cli.Context, sources []trace.Source, ids []string) error {
	g, err := trace.Read(sources)
	if err != nil {
		return err
	}
	about := g.Items
	for i, id := range ids {
		it := g.Item(id)
		if it == nil {
			return fault.Usage("git wf trace lists all", "no item %s", id)
		}
		about = append(about[:i:i], it)
	}
	doc, shown := traceDocument{Items: orEmpty(g.Around(about))}, map[string]bool{"": true}
	for _, it := range doc.Items {
		shown[it.ID] = true
	}
	doc.Gaps = orEmpty(slices.DeleteFunc(g.Gaps(c.Bool("all")), func(g trace.Gap) bool { return !shown[g.ID] }))
	switch format := c.String("format"); {
	case format != "" && format != "mermaid" && format != "svg":
		return usage("--format: expected mermaid or svg, found %q", format)
	case format != "":
		return e.writeGraph(c, traceGraph(doc, shown))
	case !c.Bool("gaps"):
		return e.out(doc, func(w io.Writer) { e.printTrace(w, about, len(ids) > 0, doc.Gaps) })
	}
	err = e.out(doc.Gaps, func(w io.Writer) {
		for _, gap := range doc.Gaps {
			fmt.Fprintln(w, gap)
		}
	})
	if err == nil && len(doc.Gaps) > 0 {
		err = fault.Refused("mend them where they stand", "%s", plain.Count(len(doc.Gaps), "gap"))
	}
	return err
}

// printTrace prints the trees of items: goals and what comes from nothing first. With up it prints what they come from,
// too.
func (e *env) printTrace(w io.Writer, items []*trace.Item, up bool, gaps []trace.Gap) {
	out := bufio.NewWriter(w)
	defer out.Flush()
	seen := map[*trace.Item]bool{}
	var tree func(it *trace.Item, depth int, next func(*trace.Item) []*trace.Item)
	tree = func(it *trace.Item, depth int, next func(*trace.Item) []*trace.Item) {
		const deepest = 20 // or a long chain takes the square of its length
		line := strings.Repeat("  ", min(depth, deepest)) + it.ID
		if seen[it] {
			fmt.Fprintf(out, "%s  (above)\n", line)
			return
		}
		seen[it] = true
		fmt.Fprintf(out, "%s  %s  %s\n", line, plain.Line(it.Title), e.paint("90", it.Place.String()))
		for _, o := range next(it) {
			tree(o, depth+1, next)
		}
	}
	for _, it := range items {
		if up {
			tree(it, 0, trace.LeadsTo)
			clear(seen)
			fmt.Fprintln(out, "comes from")
			for _, o := range it.Up {
				tree(o, 1, trace.ComesFrom)
			}
			clear(seen)
		} else if len(it.Up) == 0 {
			tree(it, 0, trace.LeadsTo)
		}
	}
	for _, it := range items {
		if !up && !seen[it] { // in a circle
			tree(it, 0, trace.LeadsTo)
		}
	}
	if len(gaps) > 0 {
		fmt.Fprintln(out)
	}
	printSome(out, gaps, 5, "%d more gaps: git wf trace --gaps\n", func(g trace.Gap) { fmt.Fprintln(out, g) })
}

// traceGraph draws items as tasks; one with a gap is to be made again.
func traceGraph(doc traceDocument, shown map[string]bool) graph.Graph {
	g, wrong := graph.Graph{PlanID: "git wf trace", Title: "what comes from what"}, map[string]bool{}
	for _, gap := range doc.Gaps {
		wrong[gap.ID] = true
	}
	for _, it := range doc.Items {
		n := graph.Node{ID: plan.TaskID(it.ID), Title: it.Title, Kind: plan.Action, Status: plan.StatusDone}
		if wrong[it.ID] {
			n.Status = plan.StatusToBeModified
		}
		n.Class = graph.ClassOf(n.Status)
		g.Nodes = append(g.Nodes, n)
		for _, up := range it.Up {
			if shown[up.ID] {
				g.Edges = append(g.Edges, graph.Edge{From: n.ID, To: plan.TaskID(up.ID), Kind: graph.DependsOn})
			}
		}
	}
	return g
}
