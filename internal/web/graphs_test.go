package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

func TestFolded(t *testing.T) {
	g := graph.Graph{
		Nodes: []graph.Node{
			{ID: "G-1", Kind: plan.Goal}, {ID: "G-2", Kind: plan.Goal, Parent: "G-1"},
			{ID: "A-1", Kind: plan.Action, Parent: "G-2"},
			{ID: "B-1", Kind: plan.Action, Parent: "G-2"}, {ID: "C-1", Kind: plan.Action, Parent: "G-1"},
			{ID: "CHECK-A-1", Kind: plan.Check, Parent: "G-2"},
		},
		Edges: []graph.Edge{
			{From: "G-1", To: "G-2", Kind: graph.Decompose}, {From: "G-2", To: "A-1", Kind: graph.Decompose},
			{From: "G-2", To: "B-1", Kind: graph.Decompose},
			{From: "G-1", To: "C-1", Kind: graph.Decompose}, {From: "B-1", To: "A-1", Kind: graph.DependsOn},
			{From: "C-1", To: "A-1", Kind: graph.DependsOn},
			{From: "C-1", To: "B-1", Kind: graph.DependsOn}, {From: "CHECK-A-1", To: "A-1", Kind: graph.Reviews},
		},
	}
	tests := []struct {
		name string
		fold []plan.TaskID
		want string
	}{
		{"nothing", nil, "G-1 G-2 A-1 B-1 C-1 CHECK-A-1; G-1>G-2 G-2>A-1 G-2>B-1 G-1>C-1 B-1>A-1 C-1>A-1 C-1>B-1 CHECK-A-1>A-1"},
		{"a goal", []plan.TaskID{"G-2"}, "G-1 G-2 C-1; G-1>G-2 G-1>C-1 C-1>G-2"},
		{"a goal and the one around it", []plan.TaskID{"G-2", "G-1"}, "G-1; "},
		{"what is no goal", []plan.TaskID{"C-1", "X-1", ""},
			"G-1 G-2 A-1 B-1 C-1 CHECK-A-1; G-1>G-2 G-2>A-1 G-2>B-1 G-1>C-1 B-1>A-1 C-1>A-1 C-1>B-1 CHECK-A-1>A-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			goals := map[plan.TaskID]bool{}
			for _, id := range tt.fold {
				goals[id] = true
			}
			got := folded(g, goals)
			var nodes, edges []string
			for _, n := range got.Nodes {
				nodes = append(nodes, string(n.ID))
			}
			for _, e := range got.Edges {
				edges = append(edges, string(e.From+">"+e.To))
			}
			if text := strings.Join(nodes, " ") + "; " + strings.Join(edges, " "); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}

func TestPicture(t *testing.T) {
	s := newSite(t, nil)
	s.Approved("PAGE-1", "index.html", "x")
	picture := s.page(sitePath + "/picture")
	mustHave(t, picture, `class="action done" data-task="PAGE-1"`, `class="legend"`)
	mustNotHave(t, picture, "<style", "CHECK-PAGE-1", "style=")
	mustHave(t, s.page(sitePath+"/picture?checks=1"), "CHECK-PAGE-1")
	mustNotHave(t, s.page(sitePath+"/picture?fold=G-1"), `data-task="PAGE-1"`)
	mustHave(t, s.page("/static/graph.css"), ".wf .done .box", "prefers-color-scheme:dark")
}

// largePlan is a plan of n tasks in goals of ten. Each task needs the one before it in its goal and one of another
// goal.
func largePlan(n int) string {
	var b strings.Builder
	b.WriteString("title: Large\nroot_acceptance_criteria: [{id: R1, statement: All is there}]\ntasks:\n")
	for i := range n {
		if i%10 == 0 {
			fmt.Fprintf(&b, "  - task_id: G-%d\n    title: Part %d\n    tasks:\n", i/10+1, i/10+1)
		}
		fmt.Fprintf(&b, "      - task_id: IMPL-%d\n        title: Piece %d of the work\n        estimated_person_days: 1\n        covers: [R1]\n        deliverable_spec: {filename: f.txt}\n        acceptance_criteria: [{id: A1, statement: There is a line}]\n", i+1, i+1)
		var needs []string
		if i%10 > 0 {
			needs = append(needs, fmt.Sprintf("IMPL-%d", i))
		}
		if i%10 == 0 && i >= 20 {
			needs = append(needs, fmt.Sprintf("IMPL-%d", i-10))
		}
		if len(needs) > 0 {
			fmt.Fprintf(&b, "        depends_on: [%s]\n", strings.Join(needs, ", "))
		}
	}
	return b.String()
}

func TestLargePlan(t *testing.T) {
	s := newSite(t, nil)
	s.Replan(func(p *plan.Plan) {
		large, err := plandoc.ParseValid("plan.yaml", []byte(largePlan(1000)), policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		p.Tasks, p.RootTaskID = large.Tasks, large.RootTaskID
	})
	var times []time.Duration
	for range 3 {
		began := time.Now()
		text := s.page(sitePath)
		times = append(times, time.Since(began))
		mustHave(t, text, `data-task="IMPL-1000"`, `data-fold="G-1,G-2,`, "many")
	}
	// The limit leaves room for a machine with much other work; the measured time is a fiftieth of it.
	if least := slices.Min(times); least > 10*time.Second {
		t.Errorf("the list takes %s", times)
	}
	t.Logf("the list: %s", times)
	for _, query := range []string{"?fold=G-1,G-2", "", ""} {
		began := time.Now()
		s.page(sitePath + "/picture" + query)
		t.Logf("picture%s: %s", query, time.Since(began))
	}
}
