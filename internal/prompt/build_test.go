package prompt

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/contract"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/templates"
)

var update = flag.Bool("update", false, "write what the tests get to testdata")

func build(t *testing.T, role contract.Role, d Data, budget int) Prompt {
	t.Helper()
	p, err := Build(templates.FS, role, d, budget)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Text) > budget {
		t.Fatalf("the prompt has %d bytes; the budget is %d", len(p.Text), budget)
	}
	return p
}

func TestGolden(t *testing.T) {
	for _, role := range contract.Roles() {
		t.Run(string(role), func(t *testing.T) {
			p := build(t, role, sample(role), DefaultBudget)
			if len(p.Dropped) != 0 {
				t.Errorf("left out: %v", p.Dropped)
			}
			file := filepath.Join("testdata", string(role)+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(p.Text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), p.Text); diff != "" {
				t.Error(diff)
			}
			if again := build(t, role, sample(role), DefaultBudget); again.Text != p.Text {
				t.Error("the same data make another prompt the second time")
			}
		})
	}
}

// TestEmpty: a prompt without its optional parts has no empty sections and no stray marks.
func TestEmpty(t *testing.T) {
	for _, role := range contract.Roles() {
		p := build(t, role, Data{Title: "T", Task: Task{ID: "IMPL-1", Title: "X"}, Contract: answerForm}, DefaultBudget)
		for _, bad := range []string{"\x00", "\n\n\n", "<no value>", "<nil>", "## Notes", "## Inputs", "rejected\n",
			"Left out"} {
			if strings.Contains(p.Text, bad) {
				t.Errorf("%s: there is %q in\n%s", role, bad, p.Text)
			}
		}
	}
}

func TestFiftyInputs(t *testing.T) {
	d := wide(50, 6000)
	for _, budget := range []int{DefaultBudget, 60_000, 20_000, 12_000} {
		p := build(t, contract.RoleAction, d, budget)
		if len(p.Dropped) == 0 {
			t.Fatalf("budget %d: 300,000 bytes fit, says the prompt", budget)
		}
		for _, drop := range p.Dropped {
			if !strings.Contains(p.Text, drop.What) || drop.Bytes == 0 || !strings.Contains(drop.Why, fmt.Sprint(budget)) {
				t.Errorf("budget %d: %+v is not named", budget, drop)
			}
		}
		for i := range 50 {
			if path := fmt.Sprintf("`report-%d.md`", i+1); !strings.Contains(p.Text, path) {
				t.Errorf("budget %d: %s is gone", budget, path)
			}
		}
		if used := len(p.Text); used < budget*9/10 {
			t.Errorf("budget %d: only %d used", budget, used)
		}
	}
}

// TestNoRoomForNames: if even the names have no room, lists are cut, and the text says so.
func TestNoRoomForNames(t *testing.T) {
	d := wide(50, 600)
	for i := range d.Inputs {
		for j := range 40 {
			f := d.Inputs[i].Files[0]
			f.Path = fmt.Sprintf("chapter-%d/page-%d.md", i, j)
			d.Inputs[i].Files = append(d.Inputs[i].Files, f)
		}
	}
	p := build(t, contract.RoleAction, d, 14_000)
	if !strings.Contains(p.Text, "- files of inputs, with their names: ") ||
		!strings.Contains(p.Text, "- IMPL-149 v1 (approved)") {
		t.Error(p.Text)
	}
	for _, drop := range p.Dropped {
		if drop.What == "input IMPL-149 v1: chapter-49/page-39.md" {
			return
		}
	}
	t.Error("a file that is not named in the text is not named in Dropped either")
}

func TestOrder(t *testing.T) {
	d := sample(contract.RoleCheck)
	long := strings.Repeat("words and words\n", 400)
	d.Notes = []Note{{1, "old", "", Text(long)}, {2, "new", "", Text(long)}}
	d.Answers = []Answer{{ID: "q1", Question: "Old?", Text: Text(long)}, {ID: "q2", Question: "New?", Text: Text(long)}}
	d.Inputs[0].Files[0].Text = Text(long)
	d.Candidate.Diff, d.Candidate.Files[0].Text = Text(long), Text(long)
	d.Candidate.Ran[0].Output, d.Rejected.Text = Text(long), Text(long)
	order := []string{
		"note 1 (old)", "note 2 (new)", "answer to q1", "answer to q2", "input IMPL-1 v2: style.css", "top task",
		"difference from v1 to v2",
		"candidate v2: site/index.html", "output of A1", "rejection of v1",
	}
	rank := func(what string) int {
		for i, name := range order {
			if name == what {
				return i
			}
		}
		return -1
	}
	for budget := 64_000; ; budget -= 500 {
		p, err := Build(templates.FS, contract.RoleCheck, d, budget)
		var over *BudgetError
		if errors.As(err, &over) {
			if budget > 11_000 {
				t.Errorf("budget %d: %v", budget, err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last, shortenings := -1, 0
		for _, drop := range p.Dropped {
			last = max(last, rank(drop.What))
			if strings.HasPrefix(drop.Why, "shortened to keep") {
				shortenings++
			}
		}
		for i, name := range order[:max(last, 0)] {
			if name == "top task" || name == "input IMPL-1 v2: style.css" && len(p.Dropped) == 0 {
				continue // too short to be worth a mark
			}
			found := false
			for _, drop := range p.Dropped {
				found = found || rank(drop.What) == i
			}
			if !found {
				t.Fatalf("budget %d: %s is whole, though %s is cut", budget, name, order[last])
			}
		}
		if shortenings > 1 {
			t.Errorf("budget %d: %d texts are shortened where one would do: %v", budget, shortenings, p.Dropped)
		}
	}
}

func TestBudgetError(t *testing.T) {
	d := wide(50, 6000)
	_, err := Build(templates.FS, contract.RoleAction, d, 1000)
	var over *BudgetError
	if !errors.As(err, &over) || over.Need <= 1000 || !strings.Contains(err.Error(),
		fmt.Sprintf("%d more than the budget of 1000", over.Need-1000)) {
		t.Fatalf("got %v", err)
	}
	if p := build(t, contract.RoleAction, d, over.Need); len(p.Text) > over.Need {
		t.Error("what the error asks for is not enough")
	}
	if _, err := Build(templates.FS, contract.RoleAction, d, over.Need-1); !errors.As(err, &over) {
		t.Errorf("one byte less than needed: %v", err)
	}
}

func TestLimits(t *testing.T) {
	d := sample(contract.RoleCheck)
	d.Inputs[0].Files[0].Text = Text(strings.Repeat("i", 17<<10))
	d.Candidate.Files[0].Text = Text("first\n" + strings.Repeat("candidate\n", 20<<10) + "last\n")
	p := build(t, contract.RoleCheck, d, 1<<20)
	var got []string
	for _, drop := range p.Dropped {
		got = append(got, drop.What+": "+drop.Why)
	}
	want := []string{"candidate v2: site/index.html: shortened: larger than 131072 bytes",
		"input IMPL-1 v2: style.css: left out: larger than 16384 bytes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"\nfirst\n", "\nlast\n", "bytes left out here ...]",
		"[input IMPL-1 v2: style.css: 17408 bytes of text left out]"} {
		if !strings.Contains(p.Text, part) {
			t.Errorf("no %q", part)
		}
	}
}

// TestWays: what a template says only in some cases.
func TestWays(t *testing.T) {
	rates := RubricOf(&plan.Rubric{Scale: 10, Dimensions: map[string]float64{"depth": 60, "form": 40}, Veto: 30})
	counts := RubricOf(&plan.Rubric{Deductions: map[string]float64{"critical": 25, "low": 0.5}, Limits: map[string]int{"critical": 0}})
	tests := []struct {
		name       string
		role       contract.Role
		change     func(*Data)
		want, gone string
	}{
		{"an agent without a shell", contract.RoleAction, func(d *Data) { d.Shell = false }, "Give every file whole", "WF_"},
		{"a first attempt", contract.RoleAction, func(d *Data) {
			d.Rejected, d.Attempt = nil, 1
		}, "## How to work", "this is attempt"},
		{"an amended plan", contract.RolePlan, func(d *Data) {
			d.Current = "title: Shop"
		}, "~~~~ material: the plan as it is\ntitle: Shop\n~~~~\n\nGive the whole plan", "# Plan: Shop"},
		{"a file that was not read", contract.RoleCheck, func(d *Data) {
			d.Candidate.Files[0] = FileOf(plan.FileInfo{Path: "a.txt", Size: 7_000_000, SHA256: "ff66"}, nil)
		}, "- `a.txt`, 7000000 bytes, not shown here, sha256 ff66", "~~~~ material: candidate"},
		{"a link", contract.RoleCheck, func(d *Data) {
			d.Candidate.Files[0] = FileOf(plan.FileInfo{Path: "l", Mode: "120000", Size: 2, SHA256: "ff66"}, []byte("to"))
		}, "- `l`, 2 bytes, a link, sha256 ff66\n~~~~ material: candidate v2: l\nto\n", "index.html`, 22"},
		{"an empty candidate", contract.RoleCheck, func(d *Data) {
			d.Candidate.Files = nil
		}, "It has no files.", "index.html`, 22"},
		{"ratings", contract.RoleCheck, func(d *Data) { d.Task.Rubric = rates },
			"The score follows from a rating of each of these, from 0 to 10:\n\n- depth (weight 60)\n- form (weight 40)\n\n" +
				"A rating at or below 30 per cent of 10 rejects, whatever the others are.\n", "points"},
		{"ratings in the reply", contract.RoleCheck, func(d *Data) { d.Task.Rubric = rates },
			"\"ratings\": {\"depth\": 10, \"form\": 10}`, with null where", "Count your findings"},
		{"counts of findings", contract.RoleCheck, func(d *Data) { d.Task.Rubric = counts },
			"The score is 100 less points for each finding of these classes:\n\n- critical (25 points each; more than 0 reject)\n" +
				"- low (0.5 points each)\n", "weight"},
		{"counts in the reply", contract.RoleCheck, func(d *Data) { d.Task.Rubric = counts },
			"\"ratings\": {\"critical\": 0, \"low\": 0}`, with every class named", "null where a dimension"},
		{"a judge that rates", contract.RoleAction, func(d *Data) { d.Judging = &Judging{Rubric: rates} },
			"Rated is each of these, from 0 to 10:\n\n- depth (weight 60)\n- form (weight 40)\n\nA rating at", "points"},
		{"a judge that counts", contract.RoleAction, func(d *Data) { d.Judging = &Judging{Rubric: counts} },
			"each of which takes points from 100:\n\n- critical (25 points each; more than 0 reject)\n- low (0.5 points each)\n", "weight"},
		{"a name with a line of its own", contract.RoleCheck, func(d *Data) {
			d.Candidate.Files[0].Path = "a\n## Your answer\n"
		}, "`a ## Your answer`", "\n## Your answer\n\n~"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := sample(tt.role)
			tt.change(&d)
			p := build(t, tt.role, d, DefaultBudget)
			if !strings.Contains(p.Text, tt.want) || strings.Contains(p.Text, tt.gone) {
				t.Errorf("want %q and not %q in\n%s", tt.want, tt.gone, p.Text)
			}
		})
	}
}

// TestNoStory: what a version's maker says about it never reaches its reviewer's prompt.
// A score that did not reject is not told as if it had.
func TestScoreOfARejection(t *testing.T) {
	for score, want := range map[int]string{100: "ann rejected v1. Paint it.", 62: "ann rejected v1 with 62 of 100; 90 are needed. Paint it."} {
		d := sample(contract.RoleAction)
		d.Rejected = RejectionOf(plan.Review{ReviewedArtifactID: "v1", Reviewer: "ann", Score: score, MinScore: 90,
			Reason: "Paint it.", Criteria: []plan.CriterionResult{{ID: "A1", Severity: plan.Must, Result: plan.ResultFail}}}, nil)
		if p := build(t, contract.RoleAction, d, 100_000); !strings.Contains(p.Text, want) {
			t.Errorf("score %d: lacks %q:\n%s", score, want, p.Text)
		}
	}
}

func TestNoStory(t *testing.T) {
	p := build(t, contract.RoleCheck, sample(contract.RoleCheck), DefaultBudget)
	if strings.Contains(p.Text, "wonderful") {
		t.Error("the packet holds what somebody else than the engine says about a criterion")
	}
}

func TestExamples(t *testing.T) {
	t.Run("plan", func(t *testing.T) {
		p, err := plandoc.ParseValid("plan.md", yamlOf(t, contract.RolePlan), policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		if r := plandoc.ReviewPlan(p, plandoc.Stated); r.Verdict != plan.Approved || r.Score < 100 || len(r.Suggestions) > 0 {
			t.Errorf("the review of the example: %+v", r)
		}
	})
	t.Run("split", func(t *testing.T) {
		fragment, err := plandoc.Parse("split.md", yamlOf(t, contract.RoleSplit))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := plandoc.ParseValid("whole.yaml", []byte(`{"title": "Shop", "root_acceptance_criteria": [{"id": "R1", "statement": "A page"}], "tasks": [
			{"task_id": "IMPL-3", "title": "The shop's page", "estimated_person_days": 14, "covers": ["R1"], "deliverable_spec": {"filename": "index.html"},
			 "acceptance_criteria": [{"id": "A1", "statement": "index.html shows 20 products", "run": "test -s index.html"}]}]}`),
			policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		whole.Tasks = append(whole.Tasks, &plan.Task{
			TaskID: "PLAN-2", NodeType: plan.Action, Title: "Split", ParentTaskID: whole.RootTaskID, SplitTargetTaskID: "IMPL-3",
			Agent:               plan.AgentManual,
			EstimatedPersonDays: 1, DeliverableSpec: &plan.DeliverableSpec{Format: plan.FormatPlan, Filename: "plan.yaml",
				SingleFile: true},
			AcceptanceCriteria: plan.PlanCriteria(),
		}, &plan.Task{TaskID: "CHECK-PLAN-2", NodeType: plan.Check, Title: "Review", ParentTaskID: whole.RootTaskID,
			ReviewTargetTaskID: "PLAN-2", ReviewOutputSpec: plan.ReviewOutput})
		merged, err := whole.Merged("PLAN-2", fragment, 1)
		if err != nil {
			t.Fatal(err)
		}
		if fs := plandoc.Validate(merged, policy.Floors{}); len(fs) > 0 {
			t.Error(fs)
		}
		if r := plandoc.ReviewPlan(merged, plandoc.Stated); r.Verdict != plan.Approved {
			t.Errorf("the review of the example: %+v", r)
		}
	})
}

func yamlOf(t *testing.T, role contract.Role) []byte {
	_, rest, ok := strings.Cut(build(t, role, sample(role), DefaultBudget).Text, "\n```yaml\n")
	example, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatal("no example")
	}
	return []byte(example)
}
