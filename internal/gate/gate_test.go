package gate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/repotest"
)

func TestMain(m *testing.M) { os.Exit(repotest.InMemory{M: m}.Run()) }

// page is a plan with two deliverables.
const page = `title: Page
root_acceptance_criteria: [{id: R1, statement: The page has a title}]
tasks:
  - task_id: IMPL-1
    title: Page
    estimated_person_days: 1
    deliverable_spec: {format: html, filename: page.html}
    acceptance_criteria: [{id: A1, statement: page.html has a title, covers: [R1]}]
  - task_id: IMPL-2
    title: Style
    estimated_person_days: 1
    deliverable_spec: {format: css, filename: style.css}
    acceptance_criteria: [{id: A1, statement: style.css has 3 rules}]
`

const (
	dir   = "deliverables/WFS-site/bundle"
	one   = dir + "/Page_IMPL-1/page.html"
	two   = dir + "/Style_IMPL-2/style.css"
	attrs = dir + "/.gitattributes"
)

// fixture is a repository whose index holds a bundle; after land, HEAD holds it too.
type fixture struct {
	*repotest.Repo
	t *testing.T
}

// newPage approves IMPL-1 in its second version and IMPL-2 in its first.
func newPage(t *testing.T) fixture {
	t.Helper()
	f := fixture{repotest.New(t), t}
	f.Plan(page)
	f.Version("IMPL-1", "exec", map[string]string{"page.html": "bad"}, nil)
	f.Review("IMPL-1", 1, "ann", plan.Rejected, nil)
	f.Approved("IMPL-1", "page.html", "good")
	f.Approved("IMPL-2", "style.css", "nice")
	return f
}

func (f fixture) export(o export.Options) {
	f.t.Helper()
	ctx := context.Background()
	snap := f.Snapshot(repotest.ID)
	evidence, err := export.Prove(ctx, f.Store, snap, &gitstore.Policy{})
	if err != nil {
		f.t.Fatal(err)
	}
	b, err := export.NewShelf(f.Store).Build(ctx, evidence, o)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := export.Place(ctx, f.Store, "deliverables", b); err != nil {
		f.t.Fatal(err)
	}
}

func (f fixture) land() plan.OID {
	f.t.Helper()
	f.Git("commit", "-q", "--no-verify", "-m", "land")
	return plan.OID(f.Git("rev-parse", "HEAD"))
}

// stage adds content to the index at any path, even one that git add would refuse.
func (f fixture) stage(mode, path, content string) plan.OID {
	f.t.Helper()
	oid := f.GitIn(content, "hash-object", "-w", "--stdin")
	f.GitIn(fmt.Sprintf("%s %s\t%s\n", mode, oid, path), "update-index", "--index-info")
	return plan.OID(oid)
}

func (f fixture) unstage(path string) { f.Git("rm", "-r", "-q", "--cached", "--", path) }

func (f fixture) staged(path string) string { return f.Git("show", ":"+path) + "\n" }

func (f fixture) index(p gitstore.Policy) *Report {
	f.t.Helper()
	r, err := New(f.Store, &p).Index(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// say formats findings as "code path task version", with paths relative to the bundle where possible.
func say(findings []Finding) string {
	var all []string
	for _, f := range findings {
		words := []string{f.Code, strings.TrimPrefix(f.Path, dir+"/")}
		if f.TaskID != "" {
			words = append(words, string(f.TaskID), f.Version)
		}
		all = append(all, strings.Join(words, " "))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func TestTampering(t *testing.T) {
	f := newPage(t)
	foreign := f.Git("rev-parse", "HEAD")
	f.export(export.Options{})
	manifest := func(old, new string) func() {
		return func() {
			text := f.staged(dir + "/manifest.json")
			if !strings.Contains(text, old) {
				f.t.Fatalf("no %q in %s", old, text)
			}
			f.stage("100644", dir+"/manifest.json", strings.Replace(text, old, new, 1))
		}
	}
	tip := f.Git("rev-parse", repotest.Ref)
	tests := []struct {
		name   string
		tamper func()
		want   string
	}{
		{"nothing", func() {}, ""},
		{"another content", func() { f.stage("100644", one, "bettered") }, "changed Page_IMPL-1/page.html IMPL-1 v2"},
		{"the rejected version", func() { f.stage("100644", one, "bad") }, "changed Page_IMPL-1/page.html IMPL-1 v2"},
		{"another task's deliverable", func() { f.stage("100644", two, "good") }, "changed Style_IMPL-2/style.css IMPL-2 v1"},
		{"another mode", func() { f.stage("100755", one, "good") }, "mode Page_IMPL-1/page.html IMPL-1 v2"},
		{"a link", func() { f.stage("120000", one, "good") }, "mode Page_IMPL-1/page.html IMPL-1 v2"},
		{"a file less", func() { f.unstage(two) }, "missing Style_IMPL-2/style.css IMPL-2 v1"},
		{"a file more", func() { f.stage("100644", dir+"/Page_IMPL-1/more.html", "x") }, "added Page_IMPL-1/more.html"},
		{"a file renamed", func() { f.unstage(two); f.stage("100644", dir+"/Style_IMPL-2/Style.css", "nice") },
			"added Style_IMPL-2/Style.css; missing Style_IMPL-2/style.css IMPL-2 v1"},
		{"two things", func() { f.stage("100644", one, "x"); f.stage("100755", two, "nice") },
			"changed Page_IMPL-1/page.html IMPL-1 v2; mode Style_IMPL-2/style.css IMPL-2 v1"},
		{"attributes", func() { f.stage("100644", attrs, "* text=auto\n") }, "changed .gitattributes"},
		{"no attributes", func() { f.unstage(attrs) }, "missing .gitattributes"},

		{"a score edited", manifest(`"score": 100`, `"score": 99`), "manifest-edited manifest.json"},
		// as export --partial writes it
		{"an option that changes nothing else", manifest(`"partial": false`, `"partial": true`), ""},
		{"candidates let in", manifest(`"include_candidates": false`, `"include_candidates": true`),
			"candidates manifest.json"},
		{"white space", manifest("{\n", "{ \n"), "manifest-edited manifest.json"},
		{"more behind the manifest", func() {
			f.stage("100644", dir+"/manifest.json", f.staged(dir+"/manifest.json")+"{}")
		}, "manifest-edited manifest.json"},
		{"an unknown field", manifest(`"plan_id"`, `"x": 1, "plan_id"`), "manifest manifest.json"},
		{"no JSON", func() { f.stage("100644", dir+"/manifest.json", "approved!") }, "manifest manifest.json"},
		{"the manifest a link", func() {
			f.stage("120000", dir+"/manifest.json", f.staged(dir+"/manifest.json"))
		}, "manifest manifest.json"},
		{"another plan's", manifest(`"plan_id": "WFS-site"`, `"plan_id": "WFS-other"`), "manifest manifest.json"},
		{"plan_commit an option of git", manifest(tip, "--output=x"), "manifest manifest.json"},
		{"plan_commit a name", manifest(tip, repotest.Ref), "manifest manifest.json"},
		{"plan_commit elsewhere", manifest(tip, foreign), "foreign-commit manifest.json"},
		{"plan_commit nowhere", manifest(tip, strings.Repeat("1", 40)), "foreign-commit manifest.json"},
		{"plan_commit before the approvals", manifest(tip, f.Git("rev-parse", tip+"~5")), "manifest manifest.json"},
		{"no manifest", func() { f.unstage(dir + "/manifest.json") },
			"no-manifest .gitattributes; no-manifest Page_IMPL-1/page.html; no-manifest Style_IMPL-2/style.css"},

		{"beside the bundles", func() { f.stage("100644", "deliverables/x", "x") }, "not-a-bundle deliverables/x"},
		{"beside a bundle", func() {
			f.stage("100644", "deliverables/WFS-site/notes", "x")
		}, "not-a-bundle deliverables/WFS-site/notes"},
		{"no plan's name", func() {
			f.stage("100644", "deliverables/site/bundle/x", "x")
		}, "not-a-bundle deliverables/site/bundle/x"},
		{"another spelling", func() {
			f.stage("100644", "Deliverables/WFS-site/bundle/x", "x")
		}, "not-a-bundle Deliverables/WFS-site/bundle/x"},
		{"a plan that is not here", func() {
			f.stage("100644", "deliverables/WFS-no/bundle/x", "x")
		}, "no-manifest deliverables/WFS-no/bundle/x"},
		{"a manifest of a plan that is not here", func() {
			f.stage("100644", "deliverables/WFS-no/bundle/manifest.json",
				strings.ReplaceAll(f.staged(dir+"/manifest.json"), "WFS-site", "WFS-no"))
		}, "no-plan deliverables/WFS-no/bundle/manifest.json"},
		{"the root a link", func() {
			f.unstage("deliverables")
			f.stage("120000", "deliverables", "elsewhere")
		}, "not-a-bundle deliverables"},
	}
	good := f.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.Repo, f.t = f.In(t, good), t
			tt.tamper()
			r := f.index(gitstore.Policy{})
			if got := say(r.Findings); got != tt.want || r.OK() != (tt.want == "") {
				t.Errorf("found\n%s\nwant\n%s", got, tt.want)
			}
			for _, x := range r.Findings {
				if x.Message == "" || x.Hint == "" || x.Commit != "" {
					t.Errorf("%+v", x)
				}
			}
			if tt.want == "" && (len(r.Bundles) != 1 || r.Bundles[0].PlanCommit != plan.OID(tip) || r.Bundles[0].Older ||
				!r.Bundles[0].Complete) {
				t.Errorf("bundles %+v", r.Bundles)
			}
			// The same in a commit, and in the range that brings it.
			commit := plan.OID(f.Git("commit-tree", "-m", "sneak it in", "-p", "HEAD", f.Git("write-tree")))
			r, err := New(f.Store, &gitstore.Policy{}).Range(context.Background(), "HEAD.."+string(commit))
			if err != nil || say(r.Findings) != tt.want {
				t.Errorf("in a range: %s, %v", say(r.Findings), err)
			}
			for _, x := range r.Findings {
				if x.Commit != commit {
					t.Errorf("%+v is not of %s", x, commit)
				}
			}
		})
	}
}

func TestCandidatesDoNotLand(t *testing.T) {
	f := newPage(t)
	f.Review("IMPL-2", 1, "ann", plan.Rejected, nil)
	f.Version("IMPL-2", "exec", map[string]string{"style.css": "draft"}, nil)
	f.export(export.Options{IncludeCandidates: true})
	if got := say(f.index(gitstore.Policy{}).Findings); got != "candidates manifest.json" {
		t.Errorf("found %s", got)
	}
}

func TestOverturned(t *testing.T) {
	f := newPage(t)
	f.export(export.Options{})
	f.Review("IMPL-1", 2, "ann", plan.Rejected, nil)
	if got := say(f.index(gitstore.Policy{}).Findings); got != "overturned Page_IMPL-1/page.html IMPL-1 v2" {
		t.Errorf("found %s", got)
	}
	f.Review("IMPL-1", 2, "ann", plan.Approved, nil)
	if got := say(f.index(gitstore.Policy{}).Findings); got != "" {
		t.Errorf("after a second thought: %s", got)
	}
}

// An older bundle is still approved; the report calls it older.
func TestOlder(t *testing.T) {
	f := newPage(t)
	f.Review("IMPL-2", 1, "ann", plan.Rejected, nil)
	f.export(export.Options{Partial: true})
	f.Approved("IMPL-2", "style.css", "nicer")
	r := f.index(gitstore.Policy{})
	if !r.OK() || len(r.Bundles) != 1 || !r.Bundles[0].Older || r.Bundles[0].Complete {
		t.Errorf("%+v", r)
	}
}

func TestPolicyRules(t *testing.T) {
	both := "policy Page_IMPL-1/page.html IMPL-1 v2; policy Style_IMPL-2/style.css IMPL-2 v1"
	first := "policy Page_IMPL-1/page.html IMPL-1 v2"
	root := func(r policy.Root) policy.Policy {
		r.Path = "deliverables"
		return policy.Policy{Roots: []policy.Root{r}}
	}
	again := func(task plan.TaskID, version int, reviewer string, change func(*plan.Review)) func(f fixture) {
		return func(f fixture) { f.Review(task, version, reviewer, plan.Approved, change) }
	}
	score := func(n int) func(*plan.Review) { return func(r *plan.Review) { r.Score = n } }
	tests := []struct {
		name   string
		before func(f fixture)
		policy policy.Policy
		want   string
	}{
		{"no rules", nil, policy.Policy{}, ""},
		{"scores that are enough", nil, root(policy.Root{MinScore: 100}), ""},
		{"a score below the floor", again("IMPL-1", 2, "ann", score(95)), policy.Policy{Floors: policy.Floors{MinScore: 96}},
			first},
		{"a score below the root's", again("IMPL-1", 2, "ann", score(95)), root(policy.Root{MinScore: 96}), first},
		{"a score below another root's", again("IMPL-1", 2, "ann", score(95)),
			policy.Policy{Roots: []policy.Root{{Path: "deliverables"}, {Path: "out", MinScore: 96}}}, ""},
		{"the newest review counts, not the best", again("IMPL-1", 2, "ann", score(91)), root(policy.Root{MinScore: 92}),
			first},
		{"somebody's score is enough", again("IMPL-1", 2, "bob", score(95)), root(policy.Root{MinScore: 96}), ""},
		{"two reviewers wanted", again("IMPL-2", 1, "bob", nil), policy.Policy{Floors: policy.Floors{Quorum: 2}}, first},
		{"two reviewers wanted below the root", nil, root(policy.Root{Quorum: 2}), both},
		{"one reviewer twice is one", again("IMPL-2", 1, "ann", nil), root(policy.Root{Quorum: 2}), both},
		{"a second with too low a score", again("IMPL-2", 1, "bob", score(90)), root(policy.Root{Quorum: 2, MinScore: 95}),
			both},
		{"reviewers of the floor", nil, policy.Policy{Floors: policy.Floors{Reviewers: []string{"bob"}}}, both},
		{"one of the root's reviewers", again("IMPL-2", 1, "bob", nil), root(policy.Root{Reviewers: []string{"bob", "eve"}}),
			first},
		{"an older version's reviewer", func(f fixture) {
			f.Review("IMPL-1", 1, "ann", plan.Approved, nil)
			f.Review("IMPL-1", 1, "bob", plan.Approved, nil)
		}, root(policy.Root{Reviewers: []string{"bob"}}), both},
		{"four eyes", nil, policy.Policy{FourEyes: true}, ""},
		{"four eyes, self-reviewed", again("IMPL-1", 2, "ann", func(r *plan.Review) {
			r.SelfReviewed = true
		}), policy.Policy{FourEyes: true}, first},
		{"four eyes, the maker's name", func(f fixture) {
			f.Review("IMPL-2", 1, "ann", plan.Rejected, nil)
			f.Version("IMPL-2", "bob", map[string]string{"style.css": "nicer"}, nil)
			f.Review("IMPL-2", 2, "bob", plan.Approved, nil)
		}, policy.Policy{FourEyes: true}, "policy Style_IMPL-2/style.css IMPL-2 v2"},
		{"four eyes, and a second pair", func(f fixture) {
			f.Review("IMPL-2", 1, "ann", plan.Approved, func(r *plan.Review) { r.SelfReviewed = true })
			f.Review("IMPL-2", 1, "bob", plan.Approved, nil)
		}, policy.Policy{FourEyes: true}, ""},
	}
	f := newPage(t)
	start := f.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := fixture{f.In(t, start), t}
			if tt.before != nil {
				tt.before(f)
			}
			f.export(export.Options{})
			r := f.index(gitstore.Policy{Policy: tt.policy})
			if got := say(r.Findings); got != tt.want || (len(r.Bundles) == 1) != (tt.want == "") {
				t.Errorf("found %s, want %s; bundles %+v", got, tt.want, r.Bundles)
			}
		})
	}
}

// A waiver covers exactly these bytes, at this path, with this mode.
func TestWaivers(t *testing.T) {
	f := newPage(t)
	f.export(export.Options{})
	good := f.Mark()
	w := policy.Waiver{Path: one, Mode: "100644", OID: f.stage("100644", one, "urgent"), By: "ann",
		Reason: "the shop is down"}
	with := func(change func(w *policy.Waiver)) gitstore.Policy {
		c := w
		if change != nil {
			change(&c)
		}
		return gitstore.Policy{Waivers: []policy.Waiver{{Path: "other"}, c}}
	}
	none := with(nil)
	none.NoWaivers = true
	changed := "changed Page_IMPL-1/page.html IMPL-1 v2"
	tests := []struct {
		name         string
		tamper       func()
		policy       gitstore.Policy
		want, waived string
	}{
		{"these bytes", func() { f.stage("100644", one, "urgent") }, with(nil), "", changed},
		{"other bytes", func() { f.stage("100644", one, "urgent!") }, with(nil), changed, ""},
		{"another path", func() {
			f.stage("100644", two, "urgent")
		}, with(nil), "changed Style_IMPL-2/style.css IMPL-2 v1", ""},
		{"another mode", func() { f.stage("100755", one, "urgent") }, with(nil), changed, ""},
		{"one of two", func() {
			f.stage("100644", one, "urgent")
			f.stage("100644", two, "x")
		}, with(nil), "changed Style_IMPL-2/style.css IMPL-2 v1", changed},
		{"no waivers here", func() { f.stage("100644", one, "urgent") }, none, changed, ""},
		{"gone instead", func() { f.unstage(one) }, with(nil), "missing Page_IMPL-1/page.html IMPL-1 v2", ""},
		{"a deletion", func() {
			f.unstage(one)
		}, with(func(w *policy.Waiver) { w.Mode, w.OID = "", "" }), "", "missing Page_IMPL-1/page.html IMPL-1 v2"},
		{"beside the bundles", func() {
			f.stage("100644", "deliverables/x", "urgent")
		}, with(func(w *policy.Waiver) { w.Path = "deliverables/x" }), "", "not-a-bundle deliverables/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.Repo, f.t = f.In(t, good), t
			tt.tamper()
			r := f.index(tt.policy)
			if say(r.Findings) != tt.want || say(r.Waived) != tt.waived {
				t.Errorf("found %q, waived %q", say(r.Findings), say(r.Waived))
			}
			for _, x := range r.Waived {
				if !strings.Contains(x.Message, "waived by ann: the shop is down") {
					t.Errorf("%+v", x)
				}
			}
		})
	}
}

func TestRemoval(t *testing.T) {
	f := newPage(t)
	f.stage("100644", "deliverables/stray", "x")
	f.export(export.Options{})
	f.land()
	good := f.Mark()
	retired := func(id plan.ID) gitstore.Policy {
		return gitstore.Policy{Retired: map[plan.ID]policy.Retirement{id: {PlanID: id}}}
	}
	tests := []struct {
		name   string
		tamper func()
		policy gitstore.Policy
		want   string
	}{
		{"the whole bundle", func() { f.unstage(dir) }, gitstore.Policy{}, "bundle-removed " + dir},
		{"a retired bundle", func() { f.unstage(dir) }, retired(repotest.ID), ""},
		{"the bundle of a plan that is not retired", func() {
			f.unstage(dir)
		}, retired("WFS-other"), "bundle-removed " + dir},
		{"a part of a retired bundle", func() {
			f.unstage(two)
		}, retired(repotest.ID), "missing Style_IMPL-2/style.css IMPL-2 v1"},
		{"all but a part of a retired bundle", func() {
			f.unstage(dir)
			f.stage("100644", two, "mine")
		}, retired(repotest.ID),
			"no-manifest .gitattributes; no-manifest Page_IMPL-1/page.html; no-manifest Style_IMPL-2/style.css; no-manifest manifest.json"},
		{"a stray file", func() { f.unstage("deliverables/stray") }, gitstore.Policy{}, ""},
		{"moved away", func() {
			f.unstage(dir)
			f.stage("100644", "attic/page.html", "good")
		}, gitstore.Policy{}, "bundle-removed " + dir},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.Repo, f.t = f.In(t, good), t
			tt.tamper()
			if got := say(f.index(tt.policy).Findings); got != tt.want {
				t.Errorf("found %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRange(t *testing.T) {
	f := newPage(t)
	start := f.Git("rev-parse", "HEAD")
	f.stage("100644", one, "smuggled")
	bad := f.land()
	f.Git("commit", "-q", "--allow-empty", "-m", "elsewhere")
	f.export(export.Options{})
	f.land()
	judge := func(p gitstore.Policy, revs ...string) *Report {
		t.Helper()
		r, err := New(f.Store, &p).Range(context.Background(), revs...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// The end is sound, but anybody can check out the commits in between.
	r := judge(gitstore.Policy{}, start+"..HEAD")
	if say(r.Findings) != "no-manifest Page_IMPL-1/page.html" || r.Findings[0].Commit != bad || r.Commits != 2 ||
		len(r.Bundles) != 1 {
		t.Errorf("%+v", r)
	}
	for name, baseline := range map[string][]plan.OID{"the bad one": {bad},
		"a later one": {plan.OID(f.Git("rev-parse", "HEAD~1"))}} {
		rules := gitstore.Policy{Policy: policy.Policy{Baseline: baseline}}
		if r := judge(rules, start+"..HEAD"); !r.OK() || r.Commits != 1 {
			t.Errorf("baseline %s: %+v", name, r)
		}
	}
	for name, baseline := range map[string]plan.OID{"an earlier one": plan.OID(start),
		"one that is not here": plan.OID(strings.Repeat("1", 40))} {
		if r := judge(gitstore.Policy{Policy: policy.Policy{Baseline: []plan.OID{baseline}}}, start+"..HEAD"); r.OK() {
			t.Errorf("baseline %s exempts the bad commit", name)
		}
	}
}

// If the plan is not here, the last fetched one may prove a bundle. If it is here, a remote's plan can only revoke an
// approval.
func TestPlanFromRemote(t *testing.T) {
	f := newPage(t)
	f.export(export.Options{})
	tip := f.Git("rev-parse", repotest.Ref)
	f.Git("update-ref", "refs/workflow-remotes/origin/WFS-site", tip)
	f.Git("update-ref", "-d", repotest.Ref)
	if r := f.index(gitstore.Policy{}); !r.OK() || len(r.Bundles) != 1 {
		t.Errorf("known from the remote alone: %+v", r)
	}
	// The plan here does not have the approval yet.
	f.Git("update-ref", repotest.Ref, tip+"~5")
	r := f.index(gitstore.Policy{})
	if say(r.Findings) != "foreign-commit manifest.json" ||
		r.Findings[0].Hint != "git wf sync" {
		t.Errorf("younger here: %+v", r)
	}
	// The remote's plan revoked the approval.
	f.Git("update-ref", repotest.Ref, tip)
	f.Review("IMPL-1", 2, "ann", plan.Rejected, nil)
	f.Git("update-ref", "refs/workflow-remotes/origin/WFS-site", repotest.Ref)
	f.Git("update-ref", repotest.Ref, tip)
	if got := say(f.index(gitstore.Policy{}).Findings); got != "overturned Page_IMPL-1/page.html IMPL-1 v2" {
		t.Errorf("found %s", got)
	}
	// No ref has the plan.
	f.Git("update-ref", "-d", repotest.Ref)
	f.Git("update-ref", "-d", "refs/workflow-remotes/origin/WFS-site")
	if got := say(f.index(gitstore.Policy{}).Findings); got != "no-plan manifest.json" {
		t.Errorf("found %s", got)
	}
}
