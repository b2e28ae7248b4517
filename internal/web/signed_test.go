package web

import (
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

func TestUnsigned(t *testing.T) {
	s := newSite(t, nil)
	s.rejectedAndRedone()
	mustHave(t, s.page(sitePath), `<span class="tag">unsigned</span>`)
	mustHave(t, s.page(sitePath+"/history"), "the policy names no keys")
	mustHave(t, s.page(sitePath+"/task/PAGE-1"), `<span class="tag">unsigned</span>`)
}

// Under a policy with keys, each event and each review says whose key proves it, or why none does.
func TestSigned(t *testing.T) {
	tool.Need(t, "ssh-keygen")
	s := newSite(t, nil)
	s.rejectedAndRedone() // by r1, which nobody signed
	s.Review("PAGE-1", 2, "bo", plan.Approved, nil)
	file := filepath.Join(t.TempDir(), "ann")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	key, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.Git("config", "gpg.format", "ssh")
	s.Git("config", "user.signingKey", file+".pub")
	s.Git("config", "commit.gpgSign", "true")
	s.server.Store = s.Open()
	s.Store = s.server.Store
	if _, err := s.Store.AppendPolicy(t.Context(), repotest.Now, func(p *gitstore.Policy) (plan.Change, error) {
		next := p.Policy
		next.Keys = []policy.Key{{Name: "ann", SSH: strings.TrimSpace(string(key))}}
		return plan.Change{Subject: "policy: add a key", Policy: policy.Encode(&next)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s.page(sitePath), "not all signed")
	s.Review("PAGE-1", 2, "ann", plan.Approved, nil)
	mustHave(t, s.page(sitePath+"/task/PAGE-1"), `<span class="tag">signed by ann</span>`, "unsigned: it is not signed",
		"does not count: it is not signed")
	mustHave(t, s.page(sitePath+"/history"), "signed by ann", "unsigned: it is not signed")
	mustHave(t, s.page(sitePath), `<span class="tag">signed</span>`)
}
