package main

import (
	"context"
	"fmt"
	"slices"

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
			return unreadable(fileWord(word), err, "git wf trace FILE...")
		}
		sources = append(sources, trace.Source{Place: trace.Place{File: word}, Text: string(text)})
	}
	switch {
	case len(sources) == 0:
		return e.onReadable(wholePlan, func(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
			sources, err := approvedMarkdown(c.Context, store, snap)
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
func approvedMarkdown(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) (sources []trace.Source,
	err error) {
	for _, v := range export.Approved(snap, false) {
		a, err := export.ReadArtifact(ctx, store, snap, v.TaskID, v.Number)
		if err != nil {
			return nil, err
		}
		for _, f := range a.Files {
			if !isMarkdown(f.Path) {
				continue
			}
			text, _, err := store.BlobHead(ctx, f.OID, trace.MaxFile+1)
			if err != nil {
				return nil, err
			}
			at := trace.Place{Task: string(v.TaskID), Version: a.ArtifactID, File: f.Path}
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

// showTrace prints the items of texts, or those around some of them, or what is missing.
func (e *env) showTrace(c *cli.Context, sources []trace.Source, ids []string) error {
	g, err := trace.Read(sources)
	if err != nil {
		return err
	}
	if len(g.Items) == 0 {
		return fault.Refused("git wf help trace", "no heading and no item of a list begins with an id such as REQ-001")
	}
	about := g.Items
	for i, id := range ids {
		if g.ByID[id] == nil {
			return fault.Usage("git wf trace lists all", "no item %s", id)
		}
		about = append(about[:i:i], g.ByID[id])
	}
	doc, shown := traceDocument{Items: g.Around(about)}, map[string]bool{}
	for _, it := range doc.Items {
		shown[it.ID] = true
	}
	doc.Gaps = orEmpty(slices.DeleteFunc(g.Gaps(c.Bool("all")), func(g trace.Gap) bool { return !shown[g.ID] }))
	gaps := plain.Count(len(doc.Gaps), "gap")
	switch {
	case e.json:
		err = e.out(doc, nil)
	case c.Bool("gaps"):
		for _, gap := range doc.Gaps {
			e.tell("%v", gap)
		}
	default:
		if err = e.drawTree(traceGraph(doc, shown, ids)); err == nil && len(doc.Gaps) > 0 {
			fmt.Fprintf(e.stderr, "%s: git wf trace --gaps\n", gaps)
		}
	}
	if err == nil && c.Bool("gaps") && len(doc.Gaps) > 0 {
		err = fault.Refused("mend them where they stand", "%s", gaps)
	}
	return err
}

// traceGraph draws items as tasks, those that ids name as critical; one with a gap is to be made again. Each is
// below one that it comes from, of the latest kind, so the nearest.
func traceGraph(doc traceDocument, shown map[string]bool, ids []string) graph.Graph {
	g, status := graph.Graph{PlanID: "git wf trace", Title: "what comes from what"}, map[string]plan.Status{}
	for _, it := range doc.Items {
		status[it.ID] = plan.StatusDone
	}
	for _, gap := range doc.Gaps {
		status[gap.ID] = plan.StatusToBeModified
	}
	for _, it := range doc.Items {
		n := graph.Node{ID: plan.TaskID(it.ID), Title: it.Title + " (" + it.Place.String() + ")", Kind: plan.Action,
			Status: status[it.ID], Class: graph.ClassOf(status[it.ID]), Critical: slices.Contains(ids, it.ID)}
		up := slices.DeleteFunc(slices.Clone(it.Up), func(up *trace.Item) bool { return !shown[up.ID] })
		slices.SortStableFunc(up, func(a, b *trace.Item) int { return b.Rank - a.Rank })
		if i := slices.IndexFunc(up, func(up *trace.Item) bool { return up.Rank < it.Rank }); i >= 0 {
			n.Parent = plan.TaskID(up[i].ID)
			up = slices.Delete(up, i, i+1)
		}
		for _, up := range up {
			g.Edges = append(g.Edges, graph.Edge{From: n.ID, To: plan.TaskID(up.ID), Kind: graph.DependsOn})
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}
