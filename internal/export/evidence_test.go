package export

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
)

const signedPage = `title: Page
root_acceptance_criteria: [{id: R1, statement: The page has a title}]
tasks:
  - task_id: IMPL-1
    title: Page
    estimated_person_days: 1
    deliverable_spec: {format: html, filename: page.html}
    acceptance_criteria: [{id: A1, statement: page.html has a title, covers: [R1]}]
`

// signing makes a repository whose user, Ada, signs her work, and a policy with her key.
func signing(t *testing.T) (*repotest.Repo, *gitstore.Policy) {
	t.Helper()
	tool.Need(t, "ssh-keygen")
	r := repotest.New(t)
	file := filepath.Join(t.TempDir(), "ada")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	key, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	r.Git("config", "gpg.format", "ssh")
	r.Git("config", "user.signingKey", file+".pub")
	r.Git("config", "commit.gpgSign", "true")
	r.Store = r.Open()
	keys := []policy.Key{{Name: "Ada", SSH: strings.TrimSpace(string(key))}}
	return r, &gitstore.Policy{Policy: policy.Policy{Keys: keys}, Commit: "p", KeysSince: "p"}
}

// with returns the tree of a commit with some of its paths copied to other names.
func with(r *repotest.Repo, commit string, paths map[string]string) string {
	var in strings.Builder
	for from, to := range paths {
		fmt.Fprintf(&in, "100644 blob %s\t%s\n", r.Git("rev-parse", from), to)
	}
	r.Git("read-tree", commit)
	r.GitIn(in.String(), "update-index", "--index-info")
	return r.Git("write-tree")
}

func TestProveAcrossMerges(t *testing.T) {
	r, policy := signing(t)
	r.Begin(signedPage)
	r.Version("IMPL-1", "exec", map[string]string{"page.html": "good"}, nil)
	r.Version("IMPL-1", "exec", map[string]string{"page.html": "better"}, nil)
	base := r.Git("rev-parse", repotest.Ref)
	r.Review("IMPL-1", 1, "Ada", plan.Approved, nil)
	ours := r.Git("rev-parse", repotest.Ref)
	r.Git("update-ref", repotest.Ref, base)
	r.Store = r.Open()
	r.Git("config", "commit.gpgSign", "false")
	r.Store = r.Open()
	r.Review("IMPL-1", 1, "bob", plan.Approved, nil)
	theirs := r.Git("rev-parse", repotest.Ref)

	dir := plan.TaskID("IMPL-1").Dir() + "/reviews/"
	moved := func(name string) map[string]string {
		return map[string]string{
			ours + ":" + dir + "r1-v1-100-Ada/review.json": dir + name + "/review.json",
			ours + ":" + dir + "r1-v1-100-Ada/APPROVED.md": dir + name + "/APPROVED.md",
		}
	}
	renamed := func(number int) map[string]string { return moved(fmt.Sprintf("r%d-v1-100-Ada", number)) }
	merge := func(tree string) string {
		return r.Git("-c", "commit.gpgSign=false", "commit-tree", "-p", theirs, "-p", ours, "-m", "join", tree)
	}
	tests := []struct {
		name, commit string
		want         string // the approvals that count
	}{
		{"as it was recorded", ours, "r1 Ada"},
		{"unsigned", theirs, ""},
		{"changed in place", r.Git("commit-tree", "-p", ours, "-m", "x", with(r, ours, map[string]string{
			theirs + ":" + dir + "r1-v1-100-bob/review.json": dir + "r1-v1-100-Ada/review.json",
		})), ""},
		{"joined", merge(with(r, theirs, renamed(1))), "r1 Ada"},
		{"joined under another number", merge(with(r, theirs, renamed(2))), ""},
		{"joined as an approval of another version", merge(with(r, theirs, moved("r2-v2-100-Ada"))), ""},
		{"joined as the engine's", merge(with(r, theirs, moved("r2-v1-100-checks"))), ""},
		{"joined by what calls itself an event", r.Git("commit-tree", "-p", theirs, "-p", ours, "-m",
			"x\n\nWf-Task: IMPL-1\nWf-Review: r2", with(r, theirs, renamed(2))), ""},
		{"joined, and copied", merge(with(r, merge(with(r, theirs, renamed(1))), renamed(2))), "r1 Ada"},
		{"copied by an event", r.Git("commit-tree", "-p", ours, "-m", "x\n\nWf-Task: IMPL-1\nWf-Review: r3",
			with(r, ours, renamed(3))), "r1 Ada"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r.Git("update-ref", repotest.Ref, tt.commit)
			e, err := Prove(context.Background(), r.Open(), r.Snapshot(repotest.ID), policy)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range append(e.ApprovalsOf("IMPL-1", "v1"), e.ApprovalsOf("IMPL-1", "v2")...) {
				got = append(got, a.ReviewID+" "+a.SignedBy)
				if string(a.Commit) != ours {
					t.Errorf("%s is said to be proven by %s", a.ReviewID, a.Commit)
				}
			}
			if say := strings.Join(got, "; "); say != tt.want {
				t.Errorf("counted %q, want %q; not counted %v", say, tt.want, e.Missing("IMPL-1", "v1"))
			}
		})
	}
}

// What was signed in one plan counts in no other, even for the same task and deliverable.
func TestProveOtherPlan(t *testing.T) {
	r, policy := signing(t)
	r.Begin(signedPage)
	r.Version("IMPL-1", "exec", map[string]string{"page.html": "good"}, nil)
	r.Review("IMPL-1", 1, "Ada", plan.Approved, nil)
	tip := r.Git("rev-parse", repotest.Ref)
	text := strings.ReplaceAll(r.Git("show", tip+":plan.json")+"\n", string(repotest.ID), "WFS-other")
	r.Git("read-tree", tip)
	blob := r.GitIn(text, "hash-object", "-w", "--stdin")
	r.GitIn("100644 "+blob+"\tplan.json\n", "update-index", "--index-info")
	other := r.Git("commit-tree", "-p", tip, "-m", "another plan", r.Git("write-tree"))
	r.Git("update-ref", "refs/workflow/WFS-other", other)
	e, err := Prove(context.Background(), r.Open(), r.Snapshot("WFS-other"), policy)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.ApprovalsOf("IMPL-1", "v1")) > 0 || len(e.Missing("IMPL-1", "v1")) != 1 {
		t.Errorf("counted %v, not counted %v", e.ApprovalsOf("IMPL-1", "v1"), e.Missing("IMPL-1", "v1"))
	}
}

// TestNoEvidence holds the zero value to saying nothing: a plan whose approvals nobody can prove has no other.
func TestNoEvidence(t *testing.T) {
	e := &Evidence{}
	if got := e.ApprovalsOf("IMPL-1", "v1"); got != nil {
		t.Errorf("approvals: %v", got)
	}
	if got, lost := e.Missing("IMPL-1", "v1"), e.Lost([]plan.TaskID{"IMPL-1"}); got != nil || lost != nil {
		t.Errorf("missing: %v, lost: %v", got, lost)
	}
}
