package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// made makes a checkout of HEAD.
func made(t *testing.T, r *repotest.Repo) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	if err := Make(t.Context(), r.Open(), dir, plan.OID(r.Git("rev-parse", "HEAD"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sh runs a script in the checkout, as somebody who works there would.
func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func commit(r *repotest.Repo, files ...string) {
	for i := 0; i < len(files); i += 2 {
		r.Write(files[i], files[i+1])
	}
	r.Git("add", ".")
	r.Git("commit", "-q", "-m", "more")
}

// The checkout is at the commit, clean, on no branch, and has no refs or remotes.
func TestMake(t *testing.T) {
	r := repotest.New(t)
	r.Git("remote", "add", "origin", "https://example.org/x")
	commit(r, "src/a.py", "1\n", "gone", "3\n")
	sh(t, made(t, r), `test "$(cat src/a.py)" = 1; test -z "$(git status --porcelain)"
		test -z "$(git for-each-ref; git remote)"
		test "$(git log -1 --format=%s)" = more; test "$(git symbolic-ref -q HEAD || echo none)" = none`)
}

// Line ends are those of the user's own checkouts.
func TestLineEnds(t *testing.T) {
	r := repotest.New(t)
	r.Git("config", "core.autocrlf", "false")
	commit(r, "lf.txt", "a\nb\n", ".gitattributes", "*.txt text\n")
	r.Git("config", "core.autocrlf", "true")
	dir := made(t, r)
	if data, err := os.ReadFile(filepath.Join(dir, "lf.txt")); err != nil || string(data) != "a\r\nb\r\n" {
		t.Errorf("got %q, %v: not what a checkout writes", data, err)
	}
	sh(t, dir, `test -z "$(git status --porcelain)"`)
}

// No hook and no file system monitor of the user's runs.
func TestNothingRuns(t *testing.T) {
	r := repotest.New(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"post-index-change", "post-checkout", "reference-transaction"} {
		hook := filepath.Join(r.Dir, ".git", "hooks", name)
		if err := os.MkdirAll(filepath.Dir(hook), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("config", "core.fsmonitor", "touch "+ran+"; false")
	made(t, r)
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command ran")
	}
}

// The filters of the user's configuration apply, as in any checkout.
func TestFilter(t *testing.T) {
	r := repotest.New(t)
	r.Git("config", "filter.rot.smudge", "tr a-z n-za-m")
	r.Git("config", "filter.rot.clean", "tr a-z n-za-m")
	commit(r, ".gitattributes", "*.rot filter=rot\n", "x.rot", "abc\n")
	if got := r.Git("show", "HEAD:x.rot"); got != "nop" {
		t.Fatalf("the filter does not run: %s", got)
	}
	sh(t, made(t, r), `test "$(cat x.rot)" = abc; touch x.rot; test -z "$(git status --porcelain)"`)
}

// A sparse checkout stays sparse, and what it leaves out is not deleted.
func TestSparse(t *testing.T) {
	r := repotest.New(t)
	commit(r, "in/a", "1\n", "out/b", "2\n")
	r.Git("sparse-checkout", "set", "in")
	sh(t, made(t, r), `test -e in/a; test ! -e out; test -z "$(git status --porcelain)"`)
}

// A cancelled checkout says so.
func TestCancelled(t *testing.T) {
	r := repotest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	head := plan.OID(r.Git("rev-parse", "HEAD"))
	if err := Make(ctx, r.Open(), filepath.Join(t.TempDir(), "checkout"), head); err == nil {
		t.Error("no error")
	}
}
