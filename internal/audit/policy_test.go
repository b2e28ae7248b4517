package audit

import (
	"context"
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

// policies makes commits of a policy's history, signed by one of the people.
type policies struct {
	*repotest.Repo
	t     *testing.T
	files map[string]string // of keys
	keys  []policy.Key
}

func newPolicies(t *testing.T, people ...string) policies {
	t.Helper()
	tool.Need(t, "ssh-keygen")
	p := policies{repotest.New(t), t, map[string]string{}, nil}
	p.Git("config", "gpg.format", "ssh")
	for _, name := range people {
		file := filepath.Join(t.TempDir(), name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
		key, err := os.ReadFile(file + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		p.files[name] = file + ".pub"
		p.keys = append(p.keys, policy.Key{Name: name, SSH: strings.TrimSpace(string(key))})
	}
	return p
}

// commit makes a policy with these maintainers, on top of the parents; without a signer it is not signed.
func (p policies) commit(signer string, maintainers []string, parents ...plan.OID) plan.OID {
	p.t.Helper()
	blob := p.GitIn(string(policy.Encode(&policy.Policy{Maintainers: maintainers, Keys: p.keys})), "hash-object", "-w",
		"--stdin")
	tree := p.GitIn("100644 blob "+blob+"\tpolicy.json\n", "mktree")
	args := []string{"commit-tree", "-m", "policy", "-m", "Wf-Event: policy", tree}
	if signer != "" {
		args = []string{"-c", "user.signingKey=" + p.files[signer], "commit-tree", "-S", "-m", "policy", "-m",
			"Wf-Event: policy", tree}
	}
	for _, parent := range parents {
		args = append(args, "-p", string(parent))
	}
	return plan.OID(p.Git(args...))
}

func TestPolicyMove(t *testing.T) {
	p := newPolicies(t, "ann", "bob", "mal")
	mal, ann, both := []string{"mal"}, []string{"ann"}, []string{"ann", "bob"}
	oldest := p.commit("", mal)
	tip := p.commit("mal", ann, oldest) // mal was a maintainer, and is none any more
	named := p.commit("ann", both, tip)
	side := p.commit("mal", mal, oldest)
	early := p.commit("bob", both, tip) // beside the commit that makes bob a maintainer, not after it
	tests := []struct {
		name      string
		old, next plan.OID
		want      int // commits that are no maintainer's
	}{
		{"the first policy", "", oldest, 0},
		{"a whole history", "", named, 0},
		{"by a maintainer", tip, named, 0},
		{"unsigned", tip, p.commit("", both, tip), 1},
		{"by somebody else", tip, p.commit("bob", both, tip), 1},
		{"by a maintainer of before", tip, p.commit("mal", mal, tip), 1},
		{"by whom a maintainer named", tip, p.commit("bob", both, named), 0},
		{"by whom a stranger named", tip, p.commit("mal", mal, p.commit("mal", mal, tip)), 2},
		{"through an older policy", tip, p.commit("mal", mal, side, tip), 2},
		{"a maintainer's merge of what came too early", tip, p.commit("ann", both, named, early), 1},
		{"the same the other way round", tip, p.commit("ann", both, early, named), 1},
		{"a maintainer's merge of an older policy", tip, p.commit("ann", ann, tip, side), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := PolicyMove(context.Background(), p.Open(), tt.old, tt.next)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				if f.Code != "not-a-maintainer" {
					t.Errorf("%+v", f)
				}
			}
			if len(findings) != tt.want {
				t.Errorf("%d findings, want %d: %v", len(findings), tt.want, findings)
			}
		})
	}
}

func TestFourEyes(t *testing.T) {
	r := newPage(t)
	before := plan.OID(r.Git("rev-parse", repotest.Ref))
	r.Version("IMPL-2", "ann", map[string]string{"style.css": "two"}, nil)
	r.Review("IMPL-2", 2, "ann", plan.Approved, nil)
	after := plan.OID(r.Git("rev-parse", repotest.Ref))
	r.Review("IMPL-2", 2, "bob", plan.Approved, nil)
	last := plan.OID(r.Git("rev-parse", repotest.Ref))
	for _, tt := range []struct {
		name      string
		old, next plan.OID
		want      string
	}{
		{"reviews by others", "", before, ""},
		{"their own", before, last, "own-review " + dir2 + "/reviews/r1-v2-100-ann"},
		{"their own, which was there", after, last, ""},
		{"all", "", last, "own-review " + dir2 + "/reviews/r1-v2-100-ann"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := FourEyes(context.Background(), r.Open(), repotest.ID, tt.old, tt.next)
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(findings, r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPolicyAudit(t *testing.T) {
	p := newPolicies(t, "ann")
	p.Git("update-ref", gitstore.PolicyRef, string(p.commit("", []string{"ann"}, p.commit("", []string{"ann"}))))
	findings, err := History(context.Background(), p.Open(), Options{})
	if err != nil || len(findings) != 1 || findings[0].Code != "not-a-maintainer" {
		t.Errorf("%v %v", findings, err)
	}
}
