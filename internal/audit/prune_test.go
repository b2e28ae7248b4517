package audit

import (
	"context"
	"strings"
	"testing"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/repotest"
)

// pruned is a plan of which IMPL-1 has a version that was rejected, whose files a prune took, and an approved one.
type pruned struct {
	*repotest.Repo
	t                *testing.T
	old, root, later plan.OID // the newest commit before the prune, the prune, and one after it
}

func newPruned(t *testing.T) pruned {
	t.Helper()
	p := pruned{Repo: newPage(t), t: t}
	p.old = p.tip()
	if _, _, err := p.Store.Prune(context.Background(), repotest.ID, 1, repotest.Now); err != nil {
		t.Fatal(err)
	}
	p.root = p.tip()
	p.Version("IMPL-2", "exec", map[string]string{"style.css": "two"}, nil)
	p.later = p.tip()
	return p
}

func (p pruned) tip() plan.OID { return plan.OID(p.Git("rev-parse", repotest.Ref)) }

// forge makes a commit with the tree of another, changed by update-index, and parents.
func (p pruned) forge(of plan.OID, change [][]string, parents ...plan.OID) plan.OID {
	p.t.Helper()
	p.Git("read-tree", string(of))
	defer p.Git("read-tree", "main")
	for _, args := range change {
		p.Git(append([]string{"update-index"}, args...)...)
	}
	args := []string{"commit-tree", "-m", "forged"}
	for _, parent := range parents {
		args = append(args, "-p", string(parent))
	}
	return plan.OID(p.Git(append(args, p.Git("write-tree"))...))
}

func add(path, blob string) []string {
	return []string{"--add", "--cacheinfo", "100644," + blob + "," + path}
}

func remove(paths ...string) []string { return append([]string{"--force-remove"}, paths...) }

func TestMoveOverAPrune(t *testing.T) {
	p := newPruned(t)
	empty := p.GitIn("", "hash-object", "-w", "--stdin")
	other := p.GitIn("{}\n", "hash-object", "-w", "--stdin")
	dir := plan.PruneDocument{Archive: p.old}.Dir(1)
	rejection := dir1 + "/reviews/r1-v1-0-ann/"
	approved := p.Git("rev-parse", string(p.old)+":"+dir1+"/artifacts/v2/files")
	ahead := p.forge(p.old, [][]string{add("notes/0001-decisions.md", other)}, p.old)
	before := plan.OID(p.Git("rev-parse", string(p.old)+"~2"))
	begins := func(change ...[]string) plan.OID { return p.forge(p.root, change) }
	tests := []struct {
		name      string
		old, next plan.OID
		want      string
	}{
		{"the prune", p.old, p.root, ""},
		{"with what came after it", p.old, p.later, ""},
		{"from before the newest event", before, p.later, ""},
		{"of a plan that is new here", "", p.later, ""},
		{"back", p.later, p.old, "moved-back"},
		{"from an event that was not pruned", ahead, p.later, "moved-back"},
		{"a rejection left out", p.old, begins(remove(rejection+"REJECTED.md", rejection+"review.json")), "bad-prune"},
		{"a rejection turned into an approval", p.old, begins(remove(rejection+"REJECTED.md"),
			add(rejection+"APPROVED.md", other)), "bad-prune"},
		{"an approval added", p.old, begins(add(dir2+"/reviews/r1-v1-100-ann/APPROVED.md", other),
			add(dir2+"/reviews/r1-v1-100-ann/review.json", other)), "bad-prune"},
		{"approved files left out", p.old, begins(remove(dir1+"/artifacts/v2/files/page.html"),
			add(dir1+"/artifacts/v2/"+plan.StubName(plan.OID(approved)), empty)), "bad-prune"},
		{"other files", p.old, begins([]string{"--cacheinfo", "100644," + other + "," + dir1 +
			"/artifacts/v2/files/page.html"}), "bad-prune"},
		{"no prune.json", p.old, begins(remove(dir + "/prune.json")), "moved-back"},
		{"no word of a prune", p.old, p.forge(p.old, nil), "moved-back"},
		{"a stub without a prune", "", p.forge(p.old, [][]string{remove(dir1 + "/artifacts/v2/files/page.html"),
			add(dir1+"/artifacts/v2/"+plan.StubName(plan.OID(approved)), empty)}), "bad-prune"},
		{"a stub by an event", p.later, p.forge(p.later, [][]string{add(dir1+"/artifacts/v2/"+plan.StubName(p.old), empty)},
			p.later), "bad-prune"},
		{"a second stub by an event", p.later, p.forge(p.later, [][]string{add(dir1+"/artifacts/v1/"+plan.StubName(p.old),
			empty)}, p.later), "bad-prune"},
		{"a prune by an event", p.later, p.forge(p.later, [][]string{
			add(plan.PruneDocument{Archive: p.old}.Dir(2)+"/prune.json", other)},
			p.later), "bad-prune"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := Move(context.Background(), p.Open(), repotest.Ref, tt.old, tt.next)
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(findings, p.Repo); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// Where the history before is not here, a plan may begin with the prune, and no ref moves over it: nothing shows that
// the old state was in it.
func TestMoveOverAPruneWithoutTheArchive(t *testing.T) {
	p := newPruned(t)
	ctx := context.Background()
	// The clone's own newest commit has the old tree, and is not the one that was pruned.
	own := p.forge(p.old, nil)
	p.Git("update-ref", "refs/keep/own", string(own))
	p.Git("update-ref", "-d", gitstore.ArchiveRefName(repotest.ID))
	p.Git("reflog", "expire", "--all", "--expire=now", "--expire-unreachable=now")
	p.Git("gc", "-q", "--prune=now")
	for _, tt := range []struct {
		name      string
		old, next plan.OID
		want      string
	}{
		{"of a plan that is new here", "", p.later, ""},
		{"what came after the prune", p.root, p.later, ""},
		{"over the prune", own, p.root, "no-archive"},
		{"over the prune and what came after it", own, p.later, "no-archive"},
		{"back", p.later, own, "moved-back"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := p.Open()
			if here, err := store.HasWhole(ctx, p.old); here || err != nil {
				t.Fatalf("the archive is still here: %v", err)
			}
			findings, err := Move(ctx, store, repotest.Ref, tt.old, tt.next)
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(findings, p.Repo); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// An archive is proven as the plan is: the history that a first prune archived, and what a second one goes on from.
func TestMoveOverTwoPrunes(t *testing.T) {
	p := newPruned(t)
	ctx := context.Background()
	forged := p.forge(p.root, [][]string{remove(dir1+"/reviews/r1-v1-0-ann/REJECTED.md",
		dir1+"/reviews/r1-v1-0-ann/review.json")})
	for _, tt := range []struct {
		name string
		from plan.OID
		want string
	}{
		{"sound", p.later, ""},
		{"the first is forged", p.forge(forged, [][]string{add("notes/0001-decisions.md",
			p.GitIn("{}\n", "hash-object", "-w", "--stdin"))}, forged), "bad-prune"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.Git("update-ref", repotest.Ref, string(tt.from))
			if _, _, err := p.Open().Prune(ctx, repotest.ID, 1, repotest.Now); err != nil {
				t.Fatal(err)
			}
			findings, err := Move(ctx, p.Open(), repotest.Ref, p.old, p.tip())
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(findings, p.Repo); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// The policy has no archive, and no way to begin anew.
func TestPolicyIsNotPruned(t *testing.T) {
	p := newPruned(t)
	policy := func(parents ...plan.OID) plan.OID {
		blob := p.GitIn(string(policy.Encode(&policy.Policy{})), "hash-object", "-w", "--stdin")
		return p.forge(p.root, [][]string{add("policy.json", blob)}, parents...)
	}
	old := policy()
	next := p.forge(old, [][]string{add(plan.PruneDocument{Archive: old}.Dir(1)+"/prune.json",
		p.Git("rev-parse", string(old)+":policy.json"))})
	findings, err := Move(context.Background(), p.Open(), gitstore.PolicyRef, old, next)
	if err != nil || len(findings) != 1 || findings[0].Code != "moved-back" {
		t.Errorf("%v %v", findings, err)
	}
}

func TestPruneMove(t *testing.T) {
	p := newPruned(t)
	ctx := context.Background()
	rules := func(by ...string) *gitstore.Policy {
		return &gitstore.Policy{Policy: policy.Policy{Prune: policy.PruneRules{By: by}}}
	}
	for _, tt := range []struct {
		name      string
		policy    *gitstore.Policy
		old, next plan.OID
		want      int
	}{
		{"anybody prunes", rules(), p.old, p.later, 0},
		{"who is named prunes", rules("Ada"), p.old, p.later, 0},
		{"somebody else prunes", rules("Bob"), p.old, p.later, 1},
		{"somebody else, in a plan that is new here", rules("Bob"), "", p.later, 1},
		{"what was before is not looked at", rules("Bob"), p.root, p.later, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := PruneMove(ctx, p.Open(), tt.policy, repotest.ID, tt.old, tt.next)
			if err != nil || len(findings) != tt.want {
				t.Errorf("found %v, %v, want %d", findings, err, tt.want)
			}
		})
	}
}
