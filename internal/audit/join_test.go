package audit

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// merge makes a commit with several parents.
func merge(r *repotest.Repo, tree string, trailers string, parents ...string) plan.OID {
	args := []string{"commit-tree", "-m", "joined: forged", "-m", trailers}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return plan.OID(r.Git(append(args, tree+"^{tree}")...))
}

// What no join comes to is found by the audit of the plan and of a push.
func TestForgedJoin(t *testing.T) {
	page := newPage(t)
	ctx := context.Background()
	base := page.Mark()
	page.Version("IMPL-2", "exec", map[string]string{"style.css": "second's"}, nil)
	if _, err := page.Store.Append(ctx, repotest.ID, plan.AddAttempt{Attempt: plan.Attempt{TaskID: "IMPL-1",
		Kind: plan.AttemptError, Agent: "exec", CreatedAt: repotest.Now}, Author: plan.Actor{Name: "exec",
		Email: "exec@agents.git-wf.invalid"}}, gitstore.AppendOptions{Now: repotest.Now}); err != nil {
		t.Fatal(err)
	}
	second := page.Git("rev-parse", repotest.Ref)
	page = page.In(t, base)
	page.Version("IMPL-2", "exec", map[string]string{"style.css": "first's"}, nil)
	first := page.Git("rev-parse", repotest.Ref)
	page.Git("update-ref", repotest.Ref, second)
	done, err := page.Store.Join(ctx, repotest.ID, plan.OID(first), repotest.Now)
	if err != nil || len(done.Aside) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	joined := string(done.Tip)
	const ours = "Wf-Event: joined\nWf-Join: 1"
	for _, tt := range []struct {
		name     string
		commit   func() plan.OID
		want     string
		refused  string // of the push, from the first history
		fromThat string // the history that the ref has
	}{
		{"the join", func() plan.OID { return done.Tip }, "", "", first},
		{"pushed to the second", func() plan.OID { return done.Tip }, "", "joined-backwards", second},
		{"the first's tree", func() plan.OID { return merge(page, first, ours, first, second) }, "bad-join", "bad-join", first},
		{"the second's tree", func() plan.OID { return merge(page, second, ours, first, second) },
			"bad-join rewritten", "bad-join rewritten", first},
		{"parents swapped", func() plan.OID { return merge(page, joined, ours, second, first) },
			"bad-join joined-backwards rewritten", "bad-join rewritten", first},
		{"parents and tree swapped", func() plan.OID {
			b := page.Store.NewBatch()
			tree, err := page.Store.JoinTree(ctx, b, repotest.ID, plan.OID(second), plan.OID(first))
			if err == nil {
				err = b.Flush(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			return merge(page, string(tree), ours, second, first)
		}, "joined-backwards", "joined-backwards", first},
		{"from the future", func() plan.OID {
			return merge(page, joined, "Wf-Event: joined\nWf-Join: 2", first, second)
		}, "unknown-join", "unknown-join", first},
		{"without a rule", func() plan.OID { return merge(page, joined, "Wf-Event: joined", first, second) }, "unknown-join",
			"unknown-join", first},
		{"two rules", func() plan.OID { return merge(page, joined, "Wf-Event: joined\nWf-Join: 2\nWf-Join: 1", first, second) },
			"bad-join", "bad-join", first},
		{"three parents", func() plan.OID { return merge(page, joined, ours, first, second, first+"^") }, "bad-join", "bad-join", first},
		{"with its own history", func() plan.OID { return merge(page, first, ours, first, first+"^") },
			"bad-join", "bad-join", first},
		{"no join", func() plan.OID { return merge(page, joined, "Wf-Event: note", first, second) }, "bad-merge", "bad-merge", first},
		{"one parent", func() plan.OID { return merge(page, joined, ours, first) }, "not-an-event", "not-an-event", first},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := page.In(t, base)
			commit := tt.commit()
			r.Git("update-ref", repotest.Ref, string(commit))
			r.Git("update-ref", "refs/workflow-remotes/origin/"+string(repotest.ID), first)
			r.Git("config", "remote.origin.url", "nowhere")
			findings, err := Plan(ctx, r.Open(), repotest.ID, Options{})
			if got := onlyCodes(findings); err != nil || got != tt.want {
				t.Errorf("Plan found %q, %v, want %q", got, err, tt.want)
			}
			for _, f := range findings {
				if tt.want == "unknown-join" {
					continue
				}
				r.Git("update-ref", repotest.Ref, string(commit))
				r.GitIn(f.Mend, "-c", "alias.sh=!sh", "sh")
				if again, err := Plan(ctx, r.Open(), repotest.ID, Options{}); err != nil || len(again) > 0 {
					t.Errorf("after %s: %v, %v", f.Mend, again, err)
				}
			}
			pushed, err := pushed(ctx, r.Open(), plan.OID(tt.fromThat), commit)
			if got := onlyCodes(pushed); err != nil || got != tt.refused {
				t.Errorf("the push is refused with %q, %v, want %q", got, err, tt.refused)
			}
			if err := Sound(ctx, r.Open(), repotest.ID, commit); (err != nil) != (tt.want != "" && tt.want != "joined-backwards") {
				t.Errorf("sound: %v", err)
			}
		})
	}
}

// pushed audits a move as a server does.
func pushed(ctx context.Context, store *gitstore.Store, old, next plan.OID) ([]Finding, error) {
	findings, err := Move(ctx, store, repotest.Ref, old, next)
	if err != nil || len(findings) > 0 {
		return findings, err
	}
	return FirstParents(ctx, store, repotest.ID, old, next)
}

func onlyCodes(findings []Finding) string {
	codes := map[string]bool{}
	for _, f := range findings {
		codes[f.Code] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(codes)), " ")
}
