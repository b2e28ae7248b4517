package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/export"
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
	for _, id := range export.Delivering(s) {
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
	list := func(most int) {
		printSome(e.stdout, doc.Gaps, most, "%d more: git wf trace --gaps\n",
			func(g trace.Gap) { e.tell("%v", g) })
	}
	switch {
	case !c.Bool("gaps") && e.json:
		return e.out(doc, nil)
	case !c.Bool("gaps"):
		text := slices.Contains([]string{"", "ascii"}, c.String("format"))
		if err = e.writeGraph(c, traceGraph(doc, shown, ids, text)); err == nil && text && len(doc.Gaps) > 0 {
			e.tell("")
			list(5)
		}
		return err
	case e.json:
		err = e.out(doc.Gaps, nil)
	default:
		list(len(doc.Gaps))
	}
	if err == nil && len(doc.Gaps) > 0 {
		err = fault.Refused("mend them where they stand", "%s", plain.Count(len(doc.Gaps), "gap"))
	}
	return err
}

// traceGraph draws items as tasks, those that ids name as critical; one with a gap is to be made again. In a tree each
// is below one that it comes from.
func traceGraph(doc traceDocument, shown map[string]bool, ids []string, tree bool) graph.Graph {
	g, wrong := graph.Graph{PlanID: "git wf trace", Title: "what comes from what"}, map[string]bool{}
	for _, gap := range doc.Gaps {
		wrong[gap.ID] = true
	}
	for _, it := range doc.Items {
		n := graph.Node{ID: plan.TaskID(it.ID), Title: it.Title, Kind: plan.Action, Status: plan.StatusDone,
			Critical: slices.Contains(ids, it.ID)}
		if wrong[it.ID] {
			n.Status = plan.StatusToBeModified
		}
		n.Class = graph.ClassOf(n.Status)
		up := slices.DeleteFunc(slices.Clone(it.Up), func(up *trace.Item) bool { return !shown[up.ID] })
		if tree {
			n.Title += " (" + it.Place.String() + ")"
			slices.SortStableFunc(up, func(a, b *trace.Item) int { return b.Rank - a.Rank })
			if i := slices.IndexFunc(up, func(up *trace.Item) bool { return up.Rank < it.Rank }); i >= 0 {
				n.Parent = plan.TaskID(up[i].ID) // of the latest kind, so nearest
				up = slices.Delete(up, i, i+1)
			}
		}
		for _, up := range up {
			g.Edges = append(g.Edges, graph.Edge{From: n.ID, To: plan.TaskID(up.ID), Kind: graph.DependsOn})
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}
