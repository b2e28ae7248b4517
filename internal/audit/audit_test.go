package audit

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("WF_CHILD"); dir != "" {
		child(dir)
		return
	}
	os.Exit(repotest.InMemory{M: m}.Run())
}

// page is a plan of two deliverables.
const page = `title: Page
root_acceptance_criteria: [{id: R1, statement: The page has a title}]
tasks:
  - task_id: IMPL-1
    title: Page
    estimated_person_days: 1
    deliverable_spec: {format: html, filename: page.html}
    acceptance_criteria: [{id: A1, statement: page.html has a title, run: test -s page.html, covers: [R1]}]
  - task_id: IMPL-2
    title: Style
    estimated_person_days: 1
    deliverable_spec: {format: css, filename: style.css}
    acceptance_criteria: [{id: A1, statement: style.css has 3 rules, run: test -s style.css}]
`

// IMPL-1 has a rejected and an approved version, IMPL-2 one that awaits review.
func newPage(t *testing.T) *repotest.Repo {
	t.Helper()
	r := repotest.New(t)
	r.Plan(page)
	r.Version("IMPL-1", "exec", map[string]string{"page.html": "one"}, nil)
	r.Review("IMPL-1", 1, "ann", plan.Rejected, nil)
	r.Approved("IMPL-1", "page.html", "two")
	r.Version("IMPL-2", "exec", map[string]string{"style.css": "one"}, nil)
	return r
}

// codes are the findings as "code place", the commit's id left out. That a forged commit has no trailers is left out,
// too.
func codes(findings []Finding, r *repotest.Repo) string {
	head := fmt.Sprintf("%.12s: ", r.Git("rev-parse", repotest.Ref))
	var all []string
	for _, f := range findings {
		switch f.Code {
		case "not-an-event":
		case "bad-merge":
			all = append(all, f.Code)
		default:
			all = append(all, f.Code+" "+strings.TrimPrefix(f.Place, head))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

var (
	dir1 = plan.TaskID("IMPL-1").Dir()
	dir2 = plan.TaskID("IMPL-2").Dir()
)

// TestForged adds one forged commit to a sound history; Plan and the move of the ref must find the same.
func TestForged(t *testing.T) {
	approval := dir1 + "/reviews/r2-v2-100-ann"
	tests := []struct {
		name  string
		files func(show func(path string) string) map[string]string
		want  string
	}{
		{"sound", func(func(string) string) map[string]string {
			return map[string]string{"notes/0001-decisions.md": "go\n"}
		}, ""},
		{"an artifact changed in place", func(func(string) string) map[string]string {
			return map[string]string{dir1 + "/artifacts/v2/files/page.html": "three"}
			// the approval is of another tree now, and artifact.json lies
		}, fmt.Sprintf("bad-artifact %s; bad-review %s; rewritten %s/artifacts/v2/files/page.html", dir1, approval, dir1)},
		{"artifact.json changed", func(show func(string) string) map[string]string {
			name := dir1 + "/artifacts/v2/artifact.json"
			return map[string]string{name: strings.Replace(show(name), `"v2"`, `"v1"`, 1)}
		}, fmt.Sprintf("bad-artifact %s; rewritten %s/artifacts/v2/artifact.json", dir1, dir1)},
		{"a rejection removed", func(func(string) string) map[string]string {
			d := dir1 + "/reviews/r1-v1-0-ann/"
			return map[string]string{d + "REJECTED.md": "", d + "review.json": ""}
		}, fmt.Sprintf("rewritten %[1]s/reviews/r1-v1-0-ann/REJECTED.md; rewritten %[1]s/reviews/r1-v1-0-ann/review.json",
			dir1)},
		{"a rejection renamed to an approval", func(show func(string) string) map[string]string {
			d := dir1 + "/reviews/r1-v1-0-ann/"
			return map[string]string{d + "REJECTED.md": "", d + "APPROVED.md": "fine"}
		}, fmt.Sprintf("bad-review %[1]s/reviews/r1-v1-0-ann; rewritten %[1]s/reviews/r1-v1-0-ann/REJECTED.md", dir1)},
		{"a verdict alone", func(func(string) string) map[string]string {
			return map[string]string{dir2 + "/reviews/r1-v1-100-eve/APPROVED.md": "fine"}
		}, "foreign " + dir2 + "/reviews/r1-v1-100-eve/APPROVED.md"},
		{"a verdict on a version without artifact", func(show func(string) string) map[string]string {
			d := dir2 + "/reviews/r1-v2-100-ann/"
			return map[string]string{d + "APPROVED.md": "fine", d + "review.json": show(approval + "/review.json")}
		}, "review-of-nothing " + dir2 + "/reviews/r1-v2-100-ann"},
		{"somebody else's review copied", func(show func(string) string) map[string]string {
			d := dir2 + "/reviews/r1-v1-100-ann/"
			return map[string]string{d + "APPROVED.md": "fine", d + "review.json": show(approval + "/review.json")}
		}, "bad-review " + dir2 + "/reviews/r1-v1-100-ann"},
		{"a review that is no JSON", func(func(string) string) map[string]string {
			d := dir2 + "/reviews/r1-v1-100-ann/"
			return map[string]string{d + "APPROVED.md": "fine", d + "review.json": "fine"}
		}, "bad-review " + dir2 + "/reviews/r1-v1-100-ann"},
		{"another score in the name", func(show func(string) string) map[string]string {
			d := dir1 + "/reviews/r3-v2-90-ann/"
			return map[string]string{d + "APPROVED.md": "fine", d + "review.json": show(approval + "/review.json")}
		}, "bad-review " + dir1 + "/reviews/r3-v2-90-ann"},
		{"files without artifact.json", func(func(string) string) map[string]string {
			return map[string]string{dir2 + "/artifacts/v2/files/style.css": "two"}
		}, "foreign " + dir2 + "/artifacts/v2/files"},
		{"a version left out", func(show func(string) string) map[string]string {
			return map[string]string{
				dir2 + "/artifacts/v3/files/style.css": "two",
				dir2 + "/artifacts/v3/artifact.json":   show(dir2 + "/artifacts/v1/artifact.json"),
			}
		}, fmt.Sprintf("bad-artifact %[1]s; version-gap %[1]s/artifacts", dir2)},
		{"records of an unknown task", func(func(string) string) map[string]string {
			return map[string]string{plan.TaskID("IMPL-9").Dir() + "/marks/0001-abandoned.json": `{"by":"Ada","created_at":"2026-03-04T05:06:07Z","reason":"x"}`}
		}, "unknown-task " + plan.TaskID("IMPL-9").Dir()},
		{"a task in the wrong fan", func(func(string) string) map[string]string {
			return map[string]string{"tasks/zz/IMPL-1/marks/0001-abandoned.json": "{}"}
		}, "foreign tasks/zz/IMPL-1"},
		{"foreign names", func(func(string) string) map[string]string {
			return map[string]string{"hello.txt": "x", "tasks/x": "x", dir2 + "/marks/1-abandoned.json": "{}", dir2 +
				"/approved": "yes", "session/a/b": "x", "session/0001-nonsense.json": "{}"}
		}, fmt.Sprintf("foreign hello.txt; foreign session/0001-nonsense.json; foreign session/a/b; foreign %[1]s/approved; foreign %[1]s/marks/1-abandoned.json; foreign tasks/x", dir2)},
		{"plan.json gone", func(func(string) string) map[string]string {
			return map[string]string{"plan.json": ""}
		}, "unreadable plan.json"},
		{"plan.json that is none", func(func(string) string) map[string]string {
			return map[string]string{"plan.json": "{}"}
		}, "unreadable plan.json"},
		{"a plan that breaks rules", func(show func(string) string) map[string]string {
			return map[string]string{"plan.json": strings.Replace(show("plan.json"), `"parent_task_id": "GOAL-1"`,
				`"parent_task_id": "GOAL-7"`, 1)}
		}, "bad-plan plan.json"},
	}
	page := newPage(t)
	sound := page.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, sound)
			old := plan.OID(r.Git("rev-parse", repotest.Ref))
			next := r.Forge(repotest.Ref, tt.files(func(path string) string {
				return r.Git("show", repotest.Ref+":"+path) + "\n"
			}))
			findings, err := Plan(context.Background(), r.Open(), repotest.ID, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := codes(findings, r)
			if tt.want == "bad-plan plan.json" && strings.HasPrefix(got, tt.want) {
				got = tt.want // once for each rule
			}
			if got != tt.want {
				t.Errorf("Plan found\n%s\nwant\n%s", got, tt.want)
			}
			moved, err := Move(context.Background(), r.Open(), repotest.Ref, old, next)
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(moved, r); (got == "") != (tt.want == "") {
				t.Errorf("Move found %s", got)
			}
			if !slices.ContainsFunc(moved, func(f Finding) bool { return f.Code == "not-an-event" }) {
				t.Error("Move took a commit that is no event")
			}
			for _, f := range findings {
				if f.PlanID != repotest.ID || f.Message == "" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestMove(t *testing.T) {
	r := newPage(t)
	ctx, store := context.Background(), r.Open()
	tip := plan.OID(r.Git("rev-parse", repotest.Ref))
	before := plan.OID(r.Git("rev-parse", repotest.Ref+"~2"))
	unrelated := plan.OID(r.Git("rev-parse", "main"))
	tests := []struct {
		name, ref string
		old, next plan.OID
		want      string
	}{
		{"grows", repotest.Ref, before, tip, ""},
		{"is new", repotest.Ref, "", tip, ""},
		{"stays", repotest.Ref, tip, tip, ""},
		{"goes back", repotest.Ref, tip, before, "moved-back"},
		{"leaves its history", repotest.Ref, tip, unrelated, "moved-back"},
		{"is no plan", repotest.Ref, "", unrelated, "unreadable"},
		{"has no plan's name", "refs/workflow/nonsense", "", tip, "bad-id"},
		{"is no policy", "refs/workflow/policy", "", tip, "bad-policy"},
		{"is another plan", "refs/workflow/WFS-other", "", tip, "wrong-plan"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := Move(ctx, store, tt.ref, tt.old, tt.next)
			if err != nil {
				t.Fatal(err)
			}
			got := codes(findings, r)
			if first, _, _ := strings.Cut(got, " "); first != tt.want {
				t.Errorf("found %s, want %s", got, tt.want)
			}
		})
	}
	// What was recorded before the move is not its fault.
	bad := r.Forge(repotest.Ref, map[string]string{dir2 + "/artifacts/v1/files/more.css": "x"})
	worse := r.Forge(repotest.Ref, map[string]string{"notes/0001-issues.md": "x"})
	findings, err := Move(ctx, r.Open(), repotest.Ref, bad, worse)
	if err != nil || slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == "rewritten" }) {
		t.Errorf("%+v, %v", findings, err)
	}
}

// A merge is no event, whatever it calls itself, also one of two that both grew, with all that both recorded. One that
// leaves out what one of its parents recorded loses it, whichever parent that is, and though it only adds to the
// others.
func TestMerge(t *testing.T) {
	page := newPage(t)
	tip := page.Git("rev-parse", repotest.Ref)
	// What each side recorded, and what the merge has.
	const left, right = "notes/0001-decisions.md", "notes/0002-issues.md"
	rejected := []string{dir1 + "/reviews/r1-v1-0-ann/REJECTED.md", dir1 + "/reviews/r1-v1-0-ann/review.json"}
	tests := []struct {
		name    string
		parents func(left, right, root string) []string
		without []string
	}{
		{"of both", func(l, r, _ string) []string { return []string{l, r} }, nil},
		{"of both, the other way round", func(l, r, _ string) []string { return []string{r, l} }, nil},
		{"without what the second recorded", func(l, r, _ string) []string { return []string{l, r} }, []string{right}},
		{"with another root", func(l, r, root string) []string {
			return []string{root, l, r}
		}, append([]string{right}, rejected...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, page.Mark())
			r.Git("update-ref", "refs/heads/left", tip)
			r.Git("update-ref", "refs/heads/right", tip)
			l := r.Forge("refs/heads/left", map[string]string{left: "left\n"})
			rt := r.Forge("refs/heads/right", map[string]string{right: "right\n"})
			files := map[string]string{right: "right\n"}
			for _, path := range tt.without {
				files[path] = ""
			}
			r.Git("update-ref", "refs/heads/both", string(l))
			tree := r.Git("rev-parse", string(r.Forge("refs/heads/both", files))+"^{tree}")
			root := r.Git("commit-tree", "-m", "begin", tree)
			args := []string{"commit-tree", "-m", "join", "-m", "Wf-Event: sync"}
			for _, p := range tt.parents(string(l), string(rt), root) {
				args = append(args, "-p", p)
			}
			merge := r.Git(append(args, tree)...)
			r.Git("update-ref", repotest.Ref, merge)
			findings, err := Plan(context.Background(), r.Open(), repotest.ID, Options{})
			if got := codes(findings, r); err != nil || got != "bad-merge" {
				t.Errorf("Plan found %s, %v", got, err)
			}
			moved, err := Move(context.Background(), r.Open(), repotest.Ref, plan.OID(tip), plan.OID(merge))
			if got := codes(moved, r); err != nil || got != "bad-merge" {
				t.Errorf("Move found %s, %v", got, err)
			}
		})
	}
}
