package audit

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// What plan.json is after an event follows from the plan before it and from what is recorded. Whatever kind of event a
// commit says to be: Plan, which doctor asks, and Move, which the gate asks, both find what does not follow.
func TestRewrite(t *testing.T) {
	edit := func(old, new string) func(string) string {
		return func(s string) string {
			t.Helper()
			if !strings.Contains(s, old) {
				t.Fatalf("plan.json has no %q", old)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	looser := edit(`"config": {}`, `"config": {
    "min_score": 1
  }`)
	tests := []struct {
		name     string
		trailers string
		edit     func(string) string
		want     string // in the message of wrong-event
	}{
		{"by a graft that is there already", "Wf-Event: graft;Wf-Task: PLAN-1;Wf-Artifact: v1", looser,
			"PLAN-1: is already part of the plan"},
		{"by a graft of nothing", "Wf-Event: graft", looser, `has no version ""`},
		{"by a graft of a version that is none", "Wf-Event: graft;Wf-Task: PLAN-1;Wf-Artifact: v7", looser,
			`PLAN-1 has no version "v7"`},
		{"by a graft of a deliverable", "Wf-Event: graft;Wf-Task: IMPL-1;Wf-Artifact: v2", looser, "IMPL-1"},
		{"by a re-plan that begins nothing", "Wf-Event: replan;Wf-Task: PLAN-2", looser, "no task that makes the plan"},
		{"by a re-plan that is there already", "Wf-Event: replan;Wf-Task: PLAN-1", looser, "PLAN-1: was there before"},
		{"criteria, by a review", "Wf-Event: review;Wf-Task: IMPL-2", edit("style.css has 3 rules", "style.css exists"),
			"only a graft or a re-plan changes it"},
		{"by an attempt", "Wf-Event: attempt;Wf-Task: IMPL-2", looser, "only a graft or a re-plan changes it"},
		{"the order of its fields", "Wf-Event: graft;Wf-Task: PLAN-1;Wf-Artifact: v1", func(s string) string {
			return s + "\n"
		}, "PLAN-1: is already part of the plan"},
		{"by a plan that begins again", "Wf-Event: plan;Wf-Task: PLAN-1", looser, ""},
	}
	page := newPage(t)
	sound := page.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, sound)
			old := plan.OID(r.Git("rev-parse", repotest.Ref))
			next := r.ForgeEvent(repotest.Ref, strings.Split(tt.trailers, ";"),
				map[string]string{"plan.json": tt.edit(r.Git("show", repotest.Ref+":plan.json") + "\n")})
			found := bothFind(t, r, old, next)
			if !slices.ContainsFunc(found, func(f Finding) bool {
				return (f.Code == "wrong-event" || f.Code == "second-beginning") && strings.Contains(f.Message, tt.want)
			}) {
				t.Errorf("found %v, want %q", found, tt.want)
			}
		})
	}
}

// bothFind returns what Move finds, and fails the test if Plan does not find as much.
func bothFind(t *testing.T, r *repotest.Repo, old, next plan.OID) []Finding {
	t.Helper()
	moved, err := Move(context.Background(), r.Open(), repotest.Ref, old, next)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Plan(context.Background(), r.Open(), repotest.ID, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if codes(whole, r) != codes(moved, r) {
		t.Errorf("Plan found %s, Move %s", codes(whole, r), codes(moved, r))
	}
	return moved
}

// A tree that has a name twice says one thing to one program and another to the next. git's own listing shows both, and
// Move and Plan refuse it.
func TestTwice(t *testing.T) {
	for _, name := range []string{"plan.json", "notes"} {
		t.Run(name, func(t *testing.T) {
			r := newPage(t)
			old := plan.OID(r.Git("rev-parse", repotest.Ref))
			var tree strings.Builder
			for line := range strings.Lines(r.Git("ls-tree", repotest.Ref) + "\n") {
				f := strings.Fields(line) // mode, type, id, name
				if f[3] == "tasks" {
					notes := r.GitIn("100644 blob "+r.GitIn("x\n", "hash-object", "-w", "--stdin")+"\t0001-issues.md\n", "mktree")
					addRaw(t, &tree, "40000", "notes", notes)
					if name == "notes" {
						addRaw(t, &tree, "40000", "notes", notes)
					}
				}
				if f[3] == name {
					addRaw(t, &tree, "100644", name, r.GitIn("{}\n", "hash-object", "-w", "--stdin"))
				}
				addRaw(t, &tree, strings.TrimLeft(f[0], "0"), f[3], f[2])
			}
			oid := r.GitIn(tree.String(), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
			next := r.Git("commit-tree", "-p", string(old), "-m", "forged", "-m", "Wf-Event: doctor", oid)
			r.Git("update-ref", repotest.Ref, next)
			moved, err := Move(context.Background(), r.Open(), repotest.Ref, old, plan.OID(next))
			if err != nil || len(moved) == 0 {
				t.Errorf("Move found %v, %v", moved, err)
			}
			whole, err := Plan(context.Background(), r.Open(), repotest.ID, Options{})
			if err != nil || len(whole) == 0 {
				t.Errorf("Plan found %v, %v", whole, err)
			}
		})
	}
}

func addRaw(t *testing.T, tree *strings.Builder, mode, name, oid string) {
	t.Helper()
	id, err := hex.DecodeString(oid)
	if err != nil {
		t.Fatal(err)
	}
	tree.WriteString(mode + " " + name + "\x00")
	tree.Write(id)
}

// A graft is what it makes of the approved version, no more; and the plan's beginning has nothing but what was asked
// for.
func TestRewriteByTheRightEvent(t *testing.T) {
	page := newPage(t)
	ctx := context.Background()
	for _, tt := range []struct {
		name, at string // the event, by its subject
		edit     [2]string
	}{
		{"a graft", "graft v1", [2]string{"style.css has 3 rules", "style.css exists"}},
		{"a graft with a task less", "graft v1", [2]string{`"covers": [`, `"covers_not": [`}},
		{"the first commit", "plan \"Page\"", [2]string{`"quorum": 1`, `"quorum": 0`}},
		{"the first commit, judged by others", "plan \"Page\"", [2]string{`"plan-review"`, `"boss"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, page.Mark())
			commit := r.Git("log", "--format=%H", "--fixed-strings", "--grep="+tt.at, repotest.Ref)
			was := r.Git("show", commit+":plan.json") + "\n"
			text := strings.Replace(was, tt.edit[0], tt.edit[1], 1)
			if text == was {
				t.Fatalf("plan.json has no %q:\n%s", tt.edit[0], was)
			}
			r.Git("read-tree", commit)
			r.Git("update-index", "--cacheinfo", "100644,"+r.GitIn(text, "hash-object", "-w", "--stdin")+",plan.json")
			tree := r.Git("write-tree")
			args := []string{"commit-tree", "-F", "-", tree}
			old := ""
			if parents := strings.Fields(r.Git("log", "-1", "--format=%P", commit)); len(parents) > 0 {
				old = parents[0]
				args = append(args, "-p", old)
			}
			next := r.GitIn(r.Git("log", "-1", "--format=%B", commit)+"\n", args...)
			findings, err := Move(ctx, r.Open(), repotest.Ref, plan.OID(old), plan.OID(next))
			if err != nil || !slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == "wrong-event" }) {
				t.Errorf("found %v, %v", findings, err)
			}
			same, err := Move(ctx, r.Open(), repotest.Ref, plan.OID(old), plan.OID(commit))
			if err != nil || len(same) > 0 {
				t.Errorf("the event as it was: %v, %v", same, err)
			}
		})
	}
}
