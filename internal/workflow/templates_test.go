package workflow

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/templates"
)

// builtin loads a workflow of the program.
func builtin(t testing.TB, name string) *Workflow {
	t.Helper()
	find := beside("")
	src, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Load(src, find)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func builtins(t testing.TB) []string {
	t.Helper()
	entries, err := templates.FS.ReadDir("workflows")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), ".yaml"); is {
			names = append(names, name)
		}
	}
	return names
}

func inputs(t testing.TB, w *Workflow, set map[string]string) *Inputs {
	t.Helper()
	in, err := w.Inputs("Make the first start faster", nil, set)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// approved is an approved file as an agent would write it: testdata/approved has them by the workflow's name.
func approved(t testing.TB, workflow, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "approved", workflow, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// grown is a plan with all of its fills, as the engine would graft them one after another.
func grown(t testing.TB, w *Workflow, in *Inputs) (p *plan.Plan, asks []string) {
	t.Helper()
	r, err := w.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plandoc.Parse("plan.yaml", r.Text); err != nil {
		t.Fatal(err)
	}
	p.Workflow = w.Origin()
	valid(t, p)
	for fills := r.Fills; len(fills) > 0; fills = fills[1:] {
		f := fills[0]
		if p.Task(f.Target) == nil || p.Task(f.Source) == nil {
			t.Fatalf("%s is filled from %s, and one of them is not there", f.Target, f.Source)
		}
		var stored plan.Fill // as plan.json has it
		text, err := json.Marshal(f.Fill)
		if err == nil {
			err = json.Unmarshal(text, &stored)
		}
		if err != nil {
			t.Fatal(err)
		}
		source, file, err := w.Source(in, stored)
		if err != nil || source != f.Source || file != f.File {
			t.Fatalf("the source of %s is %s %s %v, want %s %s", f.Target, source, file, err, f.Source, f.File)
		}
		part, err := w.RenderFill(in, stored, approved(t, w.Name(), f.File))
		if err != nil {
			t.Fatalf("fill %s: %v", f.Target, err)
		}
		fragment, err := plandoc.Parse("fragment.yaml", part.Text)
		if err != nil {
			t.Fatal(err)
		}
		if fragment.RootTaskID != f.Target {
			t.Fatalf("the fragment of %s has the root %s", f.Target, fragment.RootTaskID)
		}
		for _, task := range fragment.Tasks {
			if task.TaskID != fragment.RootTaskID {
				p.Tasks = append(p.Tasks, task)
			}
		}
		p.SetVersion()
		valid(t, p)
		fills = append(fills, part.Fills...)
		if part.Ask != "" {
			asks = append(asks, part.Ask)
		}
	}
	return p, asks
}

func valid(t testing.TB, p *plan.Plan) {
	t.Helper()
	if fs := plandoc.Validate(p, policy.Floors{}); len(fs) > 0 {
		t.Fatalf("the plan breaks rules:\n%v", fs)
	}
}

// Each workflow of the program has nothing against it, and in each variant the plan review approves what it comes to:
// at first, and when all fills are there.
func TestTemplates(t *testing.T) {
	for _, name := range builtins(t) {
		w := builtin(t, name)
		if fs := w.Lint(); len(fs) > 0 {
			t.Errorf("%s:\n%v", name, fs)
		}
		choices, _ := w.Choices()
		for _, in := range choices {
			t.Run(fmt.Sprint(name, in.Params), func(t *testing.T) {
				r, err := w.Render(in)
				if err != nil {
					t.Fatal(err)
				}
				p, err := plandoc.Parse("plan.yaml", r.Text)
				if err != nil {
					t.Fatal(err)
				}
				if review := plandoc.ReviewPlan(p, plandoc.Stated); review.Score < 90 || review.Verdict != plan.Approved {
					t.Errorf("score %d: %+v", review.Score, review.Suggestions)
				}
				p, asks := grown(t, w, in)
				if review := plandoc.ReviewPlan(p, plandoc.Stated); review.Score < 90 || review.Verdict != plan.Approved {
					t.Errorf("with its fills, score %d: %+v", review.Score, review.Suggestions)
				}
				b, err := w.Bounds(in)
				if err != nil || p.Leaves() > b.Tasks || b.Usual > b.Most {
					t.Errorf("%d tasks, bounds %+v %v", p.Leaves(), b, err)
				}
				if want := in.Params["talk"] == "interview" || strings.HasPrefix(fmt.Sprint(in.Params["pipeline"]), "full") &&
					in.Params["pipeline"] != "fullstack" || in.Params["pipeline"] == "spec-only"; want != (len(asks) == 1) {
					t.Errorf("asks %q", asks)
				}
			})
		}
	}
}

// triage is what branches in branches and in rounds come to with its approved files.
const triage = `LOOK-1
FIX-0
REST-1 needs FIX-0
ROUND-0
ROUND-1 in ROUND-0
TEST-1 in ROUND-1 needs REST-1
MEND-1 in ROUND-1
FIX-ALL-1 in FIX-0
FIX-1 in FIX-ALL-1 needs LOOK-1
FIX-2 in FIX-ALL-1 needs LOOK-1
FIX-3 in FIX-ALL-1 needs LOOK-1, FIX-1, FIX-2
AGAIN-1 in FIX-0 needs FIX-ALL-1
CALL-1 in FIX-0
PATCH-1 in MEND-1 needs TEST-1
ROUND-2 in ROUND-0
TEST-2 in ROUND-2 needs REST-1, ROUND-1
MEND-2 in ROUND-2
HELP-1 in CALL-1 needs AGAIN-1
PATCH-2 in MEND-2 needs TEST-2
`

// A workflow that nobody has tuned to this program has nothing against it, and grows.
func TestSound(t *testing.T) {
	files, err := filepath.Glob("testdata/sound/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w := loaded(t, Source{filepath.Base(file), data})
		if fs := w.Lint(); len(fs) > 0 {
			t.Fatalf("%s:\n%v", file, fs)
		}
		choices, _ := w.Choices()
		for _, in := range choices {
			p, _ := grown(t, w, in)
			if w.Name() == "triage" {
				if diff := cmp.Diff(triage, brief(p)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			if b, err := w.Bounds(in); err != nil || p.Leaves() > b.Tasks {
				t.Errorf("%v: %d tasks, bounds %+v %v", in.Params, p.Leaves(), b, err)
			}
		}
	}
}

// What the design settled of the five workflows.
func TestTemplatesSettled(t *testing.T) {
	task := func(p *plan.Plan, id plan.TaskID) *plan.Task {
		t.Helper()
		found := p.Task(id)
		if found == nil {
			t.Fatalf("no %s", id)
		}
		return found
	}
	w := builtin(t, "iterdev")
	patch, _ := grown(t, w, inputs(t, w, map[string]string{"variant": "patch"}))
	if j := task(patch, "VERIFY-0").Judges; j == nil || !slices.Equal(j.Tasks, []plan.TaskID{"DEV-0"}) {
		t.Error("patch has no VERIFY that judges its change")
	}
	sprints, _ := grown(t, w, inputs(t, w, map[string]string{"variant": "multi-sprint", "sprints": "3"}))
	verify := task(sprints, "VERIFY-3")
	if verify.Judges == nil || !slices.ContainsFunc(verify.AcceptanceCriteria, func(c plan.Criterion) bool { return c.Run != "" }) {
		t.Error("VERIFY reports instead of judging by run lines")
	}
	if dev := task(sprints, "DEV-2.2"); !dev.Changes() || !slices.Equal(dev.DependsOn, []plan.TaskID{"BASE-1", "DESIGN-2", "DEV-2.1"}) ||
		!slices.Equal(dev.DeliverableSpec.Paths, []string{"src/ask.go", "src/show/**"}) {
		t.Errorf("DEV-2.2 is %+v", dev)
	}
	if d := task(sprints, "DESIGN-2").DependsOn; !slices.Equal(d, []plan.TaskID{"BASE-1", "TOOLS-1", "RETRO-1"}) {
		t.Errorf("DESIGN-2 needs %v", d)
	}
	if sprints.Task("SPRINT-4") != nil || len(task(sprints, "DESIGN-1").DependsOn) > 2 {
		t.Error("there is a round too many, or a need of round 0")
	}

	w = builtin(t, "lifecycle")
	full, _ := grown(t, w, inputs(t, w, map[string]string{"pipeline": "full-lifecycle"}))
	if d := task(full, "IMPL-3").DependsOn; !slices.Equal(d, []plan.TaskID{"BASE-1", "SCHEME-1", "ARCH-1", "IMPL-1"}) {
		t.Errorf("IMPL-3 needs %v", d)
	}
	if d := task(full, "SCHEME-1").DependsOn; !slices.Contains(d, "READY-1") || !slices.Contains(d, "EXPLORE-0") {
		t.Errorf("SCHEME-1 needs %v", d)
	}
	if g := task(full, "GATE-1"); len(g.Requires) != 1 || !slices.Equal(task(full, "START-1").DependsOn, []plan.TaskID{"TOOLS-1", "GATE-1"}) {
		t.Errorf("no person says whether what is specified is built: %+v", g)
	}
	if task(full, "TEST-1").Judges == nil || full.Task("QA-FE-1") != nil {
		t.Error("TEST reports, or QA-FE is there without pages")
	}
	alone, _ := grown(t, w, inputs(t, w, map[string]string{"pipeline": "impl-only"}))
	if d := task(alone, "IMPL-1").DependsOn; !slices.Equal(d, []plan.TaskID{"BASE-1", "SCHEME-1"}) || alone.Task("BRIEF-1") != nil {
		t.Errorf("IMPL-1 needs %v", d)
	}

	w = builtin(t, "blackboard")
	board, _ := grown(t, w, inputs(t, w, nil))
	if d := task(board, "TEST-2.1").DependsOn; !slices.Equal(d, []plan.TaskID{"M-1"}) {
		t.Errorf("TEST-2.1 needs %v", d)
	}
	if j := task(board, "REVIEW-1").Judges; !slices.Equal(j.Tasks, []plan.TaskID{"TEST-1.1", "TEST-1.2", "DEV-1.1", "DEV-1.2"}) ||
		j.Partial == nil || j.Partial.Done != 3 {
		t.Errorf("REVIEW-1 judges %+v", j)
	}
	test, dev := task(board, "TEST-1.1").DeliverableSpec, task(board, "DEV-1.1")
	if slices.ContainsFunc(test.Paths, func(p string) bool { return plandoc.Covers(dev.DeliverableSpec.Paths, p) }) {
		t.Error("DEV may touch what TEST made")
	}
	if !dev.AcceptanceCriteria[0].RedFirst() {
		t.Error("DEV's tests need not fail without it")
	}
	if board.Task("CHECK-MAIN-1").Reviewers[0] != plan.ReviewerDecision || board.Task("CHECK-REVIEW-1").Reviewers[0] != plan.ReviewerVerdicts {
		t.Error("the built-in reviews are not first")
	}
	if list := w.schemas["dev_plan"]["properties"].(map[string]any)["milestones"].(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)["tasks"].(map[string]any); list["minItems"] != 2.0 || list["maxItems"] != 7.0 {
		t.Errorf("a milestone has %v to %v tasks", list["minItems"], list["maxItems"])
	}
}
