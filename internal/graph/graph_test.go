package graph_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
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
		"txt":     func(w io.Writer, g graph.Graph) error { return graph.ASCII(w, g, nil) },
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

// asPlanned is a day for a task whose plan does not say.
func asPlanned(t *plan.Task) (days float64, assumed bool) {
	if t.EstimatedPersonDays == 0 {
		return 1, true
	}
	return t.EstimatedPersonDays, false
}

func TestGolden(t *testing.T) {
	g := graph.FromState(state(t), graph.Options{Checks: true, CriticalPath: asPlanned})
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
	for _, e := range graph.FromState(s, graph.Options{CriticalPath: asPlanned}).Edges {
		if want := e.From == "IMPL-4" && e.To == "GOAL-2"; e.Critical != want {
			t.Errorf("%s %s %s: critical %v", e.From, e.Kind, e.To, e.Critical)
		}
	}
	withChecks := graph.FromState(s, graph.Options{Checks: true})
	if n := len(withChecks.Nodes) - len(g.Nodes); n != 4 {
		t.Errorf("%d CHECKs, want 4", n)
	}
	if n := len(withChecks.Edges) - len(g.Edges); n != 4 {
		t.Errorf("%d edges of CHECKs, want 4", n)
	}
}

func TestCriticalPath(t *testing.T) {
	task := func(id plan.TaskID, days float64, deps ...plan.TaskID) *plan.Task {
		return &plan.Task{TaskID: id, NodeType: plan.Action, ParentTaskID: "GOAL-1", EstimatedPersonDays: days,
			DependsOn: deps}
	}
	goal := &plan.Task{TaskID: "GOAL-2", NodeType: plan.Goal, ParentTaskID: "GOAL-1"}
	below := task("B-1", 4)
	below.ParentTaskID = "GOAL-2"
	tests := []struct {
		name    string
		tasks   []*plan.Task
		done    plan.TaskID
		want    []plan.TaskID
		days    float64
		assumed bool
	}{
		{"nothing", nil, "", nil, 0, false},
		{"one", []*plan.Task{task("A-1", 1)}, "", []plan.TaskID{"A-1"}, 1, false},
		{"the heavier of two", []*plan.Task{task("A-1", 1), task("A-2", 3), task("A-3", 1, "A-1", "A-2")}, "",
			[]plan.TaskID{"A-2", "A-3"}, 4, false},
		{"weight before length", []*plan.Task{task("A-1", 1), task("A-2", 1, "A-1"), task("A-3", 5)}, "",
			[]plan.TaskID{"A-3"}, 5, false},
		{"length among equals", []*plan.Task{task("A-3", 2), task("A-1", 1), task("A-2", 1, "A-1")}, "",
			[]plan.TaskID{"A-1", "A-2"}, 2, false},
		{"plan order among equals", []*plan.Task{task("A-2", 1), task("A-1", 1)}, "", []plan.TaskID{"A-2"}, 1, false},
		{"what is done does not count", []*plan.Task{task("A-1", 9), task("A-2", 1, "A-1"), task("A-3", 3)}, "A-1",
			[]plan.TaskID{"A-3"}, 3, false},
		{"all done", []*plan.Task{task("A-1", 9)}, "A-1", nil, 0, false},
		{"through a goal", []*plan.Task{goal, below, task("A-1", 1, "GOAL-2")}, "", []plan.TaskID{"B-1", "A-1"}, 5, false},
		{"a cycle of a foreign plan", []*plan.Task{task("A-1", 1, "A-2"), task("A-2", 1, "A-1")}, "",
			[]plan.TaskID{"A-2", "A-1"}, 2, false},
		{"no estimate that counts", []*plan.Task{task("A-1", math.NaN()), task("A-2", -5, "A-1"), task("A-3", 0.1)}, "",
			[]plan.TaskID{"A-3"}, 0.1, false},
		{"without an estimate", []*plan.Task{task("A-1", 0), task("A-2", 0.5, "A-1"), task("A-3", 1.2)}, "",
			[]plan.TaskID{"A-1", "A-2"}, 1.5, true},
		{"without one beside the path", []*plan.Task{task("A-1", 0), task("A-2", 2)}, "", []plan.TaskID{"A-2"}, 2, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan.Plan{PlanID: "WFS-x", RootTaskID: "GOAL-1", Tasks: append([]*plan.Task{{TaskID: "GOAL-1",
				NodeType: plan.Goal}}, tt.tasks...)}
			records := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{}}
			if tt.done != "" {
				records.Tasks[tt.done] = &plan.TaskRecords{
					Artifacts: []plan.ArtifactRecord{{Version: 1}}, Reviews: []plan.ReviewRecord{{N: 1, Version: 1, Score: 100,
						Reviewer: "ann", Verdict: plan.Approved}},
				}
			}
			got, days, assumed := graph.CriticalPath(plan.Derive(p, records, nil, time.Unix(0, 0)), asPlanned)
			if !slices.Equal(got, tt.want) || days != tt.days || assumed != tt.assumed {
				t.Errorf("got %v, %g, %v, want %v, %g, %v", got, days, assumed, tt.want, tt.days, tt.assumed)
			}
		})
	}
}

// What a node needs stands behind it, with its status.
func TestASCIIPaintsMarks(t *testing.T) {
	g := graph.FromState(state(t), graph.Options{Checks: true, CriticalPath: asPlanned})
	var out strings.Builder
	if err := graph.ASCII(&out, g, func(c graph.Class, s string) string {
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
