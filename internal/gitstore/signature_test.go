package gitstore

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/repotest/tool"
)

// newKey makes an SSH key and returns the file of its public half and that half.
func newKey(t *testing.T, name string) (file, key string) {
	t.Helper()
	tool.Need(t, "ssh-keygen")
	file = filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
		file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	data, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return file + ".pub", strings.TrimSpace(string(data))
}

func TestSignatures(t *testing.T) {
	dir := newRepo(t)
	annFile, ann := newKey(t, "ann")
	eveFile, eve := newKey(t, "eve")
	_, bob := newKey(t, "bob")
	git(t, dir, "config", "gpg.format", "ssh")
	sign := func(file string) plan.OID {
		return plan.OID(git(t, dir, "-c", "user.signingKey="+file, "commit-tree", "-S", "-m", "hello", "HEAD^{tree}"))
	}
	hash := func(text string) plan.OID {
		write(t, dir, "commit", text)
		return plan.OID(git(t, dir, "hash-object", "-t", "commit", "-w", "commit"))
	}
	byAnn, byEve := sign(annFile), sign(eveFile)
	text := git(t, dir, "cat-file", "commit", string(byAnn)) + "\n"
	tampered := hash(strings.Replace(text, "hello", "hullo", 1))
	head := plan.OID(git(t, dir, "rev-parse", "HEAD"))
	tests := []struct {
		name   string
		keys   []policy.Key
		commit plan.OID
		want   string
	}{
		{"by a key", []policy.Key{{Name: "bob", SSH: bob}, {Name: "ann", SSH: ann}}, byAnn, "ann"},
		{"by one of two", []policy.Key{{Name: "ann", SSH: bob}, {Name: "ann", SSH: ann}}, byAnn, "ann"},
		{"by another key", []policy.Key{{Name: "ann", SSH: ann}}, byEve, "is not in the policy"},
		{"not signed", []policy.Key{{Name: "ann", SSH: ann}}, head, "it is not signed"},
		{"of another commit", []policy.Key{{Name: "ann", SSH: ann}}, tampered, "not of this commit"},
		{"too late", []policy.Key{{Name: "ann", SSH: `x valid-before="20200101" ` + ann}}, byAnn,
			"the key of ann was not valid"},
		{"a commit that is not here", []policy.Key{{Name: "ann", SSH: ann}}, plan.OID(strings.Repeat("1", 40)),
			"it is not here"},
		{"no object id", []policy.Key{{Name: "ann", SSH: ann}}, "--all", "is no object id"},
		{"GPG keys alone", []policy.Key{{Name: "ann", GPG: strings.Repeat("A", 40)}}, byAnn, "is not in the policy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, dir)
			for _, when := range []string{"asked", "remembered"} {
				found, err := s.Signatures(context.Background(), tt.keys, []plan.OID{tt.commit, head})
				sig := found[tt.commit]
				got := sig.Signer + sig.Problem
				if err != nil {
					got = err.Error()
				}
				if !strings.Contains(got, tt.want) || sig.Signer != "" && sig.Signer != tt.want {
					t.Errorf("%s: %q, want %q", when, got, tt.want)
				}
			}
		})
	}

	// What the user's own configuration trusts does not count, and a replace ref substitutes no commit.
	allowed := filepath.Join(t.TempDir(), "allowed")
	write(t, filepath.Dir(allowed), "allowed", "ann "+eve+"\n")
	git(t, dir, "config", "gpg.ssh.allowedSignersFile", allowed)
	git(t, dir, "replace", string(byEve), string(byAnn))
	found, err := open(t, dir).Signatures(context.Background(), []policy.Key{{Name: "ann", SSH: ann}}, []plan.OID{byEve})
	if err != nil || found[byEve].Signer != "" {
		t.Errorf("a key that only the user trusts: %v %v", found, err)
	}
}

// TestSignaturesAtOnce checks more commits than one process gets.
func TestSignaturesAtOnce(t *testing.T) {
	dir := newRepo(t)
	file, key := newKey(t, "ann")
	git(t, dir, "config", "gpg.format", "ssh")
	git(t, dir, "config", "user.signingKey", file)
	var commits []plan.OID
	for i := range 20 {
		commits = append(commits, plan.OID(git(t, dir, "commit-tree", "-S", "-m", strings.Repeat("x", i+1), "HEAD^{tree}")))
	}
	found, err := open(t, dir).Signatures(context.Background(), []policy.Key{{Name: "ann", SSH: key}}, commits)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commits {
		if found[c].Signer != "ann" {
			t.Errorf("%s: %+v", c, found[c])
		}
	}
}
