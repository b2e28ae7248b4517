package graph_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// formats are the ways to draw, as the command calls them.
func formats() map[string]func(w io.Writer, g graph.Graph) error {
	return map[string]func(w io.Writer, g graph.Graph) error{
		"txt":     func(w io.Writer, g graph.Graph) error { return graph.ASCII(w, g, 64, nil) },
		"mermaid": graph.Mermaid,
		"svg":     func(w io.Writer, g graph.Graph) error { return graph.SVG(context.Background(), w, g) },
	}
}

// state is the plan of testdata with IMPL-1 approved, IMPL-3 rejected and IMPL-2 being worked on.
func state(t testing.TB) *plan.State {
	t.Helper()
	data, err := os.ReadFile("testdata/plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plandoc.ParseValid("plan.yaml", data, policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	p.PlanID = "WFS-发布页-release"
	version := []plan.ArtifactRecord{{Version: 1}}
	records := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{
		"IMPL-1": {Artifacts: version, Reviews: []plan.ReviewRecord{{N: 1, Version: 1, Score: 100, Reviewer: "ann",
			Verdict: plan.Approved}}},
		"IMPL-3": {Artifacts: version, Reviews: []plan.ReviewRecord{{N: 1, Version: 1, Score: 40, Reviewer: "ann",
			Verdict: plan.Rejected}}},
	}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return plan.Derive(p, records, plan.Claims{"IMPL-2": {Task: "IMPL-2", Expires: now.Add(time.Hour)}}, now)
}

func TestGolden(t *testing.T) {
	g := graph.FromState(state(t), graph.Options{Checks: true})
	for name, draw := range formats() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := draw(&got, g); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "plan."+name)
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s is not what is drawn:\n%s", file, got.String())
			}
		})
	}
}

func TestFromState(t *testing.T) {
	s := state(t)
	g := graph.FromState(s, graph.Options{})
	var nodes, edges []string
	for _, n := range g.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s %s %s", n.ID, n.Kind, n.Class))
	}
	for _, e := range g.Edges {
		edges = append(edges, fmt.Sprintf("%s %s %s", e.From, e.Kind, e.To))
	}
	wantNodes := []string{
		"GOAL-1 GOAL running", "GOAL-2 GOAL running", "IMPL-1 ACTION done", "IMPL-2 ACTION running", "IMPL-3 ACTION rejected",
		"IMPL-4 ACTION pending",
	}
	wantEdges := []string{
		"GOAL-1 DECOMPOSE GOAL-2", "GOAL-2 DECOMPOSE IMPL-1", "GOAL-2 DECOMPOSE IMPL-2", "IMPL-2 DEPENDS_ON IMPL-1",
		"GOAL-1 DECOMPOSE IMPL-3", "GOAL-1 DECOMPOSE IMPL-4", "IMPL-4 DEPENDS_ON GOAL-2", "IMPL-4 DEPENDS_ON IMPL-3",
	}
	if !slices.Equal(nodes, wantNodes) {
		t.Errorf("nodes %q, want %q", nodes, wantNodes)
	}
	if !slices.Equal(edges, wantEdges) {
		t.Errorf("edges %q, want %q", edges, wantEdges)
	}
	withChecks := graph.FromState(s, graph.Options{Checks: true})
	if n := len(withChecks.Nodes) - len(g.Nodes); n != 4 {
		t.Errorf("%d CHECKs, want 4", n)
	}
	if n := len(withChecks.Edges) - len(g.Edges); n != 4 {
		t.Errorf("%d edges of CHECKs, want 4", n)
	}
}

// A terminal's columns, not its characters, decide what fits.
func TestASCIIKeepsItsWidth(t *testing.T) {
	g := graph.FromState(state(t), graph.Options{Checks: true})
	wide := func(s string) int {
		n := 0
		for _, r := range s {
			n++
			if r > 0x2e80 {
				n++
			}
		}
		return n
	}
	for _, width := range []int{60, 72, 100} {
		var out strings.Builder
		if err := graph.ASCII(&out, g, width, nil); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := wide(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns, want at most %d: %s", n, width, line)
			}
		}
	}
	var out strings.Builder
	if err := graph.ASCII(&out, g, 0, func(c graph.Class, s string) string {
		return "<" + string(c) + s + ">"
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<done[x]> IMPL-1", "把所有的变更翻译成中文，并检查每一条是否完整  in progress",
		"<- GOAL-2 [>], IMPL-3 [~]"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
