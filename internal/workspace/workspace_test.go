package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// made makes a checkout of HEAD.
func made(t *testing.T, r *repotest.Repo) *Workspace {
	t.Helper()
	w, err := Make(t.Context(), r.Open(), filepath.Join(t.TempDir(), "checkout"), plan.OID(r.Git("rev-parse", "HEAD")))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sh runs a script in the checkout, as somebody who works there would.
func sh(t *testing.T, w *Workspace, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// changes lists what became of the checkout, as git diff-tree does.
func changes(t *testing.T, r *repotest.Repo, w *Workspace) (string, *Candidate) {
	t.Helper()
	c, err := w.Candidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(r.Git("diff-tree", "-r", string(c.Base), string(c.Tree))) {
		f := strings.Fields(line)
		lines = append(lines, f[4]+" "+f[1]+" "+f[5])
	}
	return strings.Join(lines, "\n"), c
}

func commit(r *repotest.Repo, files ...string) {
	for i := 0; i < len(files); i += 2 {
		r.Write(files[i], files[i+1])
	}
	r.Git("add", ".")
	r.Git("commit", "-q", "-m", "more")
}

// Only the files count: how they got there, and what the checkout's own git says of them, does not.
func TestCandidate(t *testing.T) {
	r := repotest.New(t)
	commit(r, "src/a.py", "1\n", "src/b.py", "2\n", "gone", "3\n", "kept", "4\n", ".gitignore", "*.log\n", "was.log", "5\n")
	r.Git("add", "-f", "was.log")
	r.Git("commit", "-q", "-m", "an ignored file")
	if err := os.Symlink("kept", filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.Git("add", "link")
	r.Git("commit", "-q", "-m", "a link")
	for _, test := range []struct{ name, script, want string }{
		{"nothing", "git status >s; rm s", ""},
		{"changed, new and deleted", "echo x >>src/a.py; echo n >new; rm gone", "D 000000 gone\nA 100644 new\nM 100644 src/a.py"},
		{"committed", "echo x >>src/a.py; rm gone; git add -A; git commit -qm x", "D 000000 gone\nM 100644 src/a.py"},
		{"committed and reset", "echo x >>src/a.py; git commit -qam x; git reset -q --hard HEAD~", ""},
		{"the same size, at once", "echo 9 >src/a.py", "M 100644 src/a.py"},
		{"on another branch, amended", "git switch -qc other; echo n >new; git add -A; git commit -q --amend -m x", "A 100644 new"},
		{"an index that lies", "echo x >>src/a.py; git update-index --assume-unchanged src/a.py; git rm -q --cached kept",
			"M 100644 src/a.py"},
		{"no git directory", "rm -rf .git; echo x >>src/a.py", "M 100644 src/a.py"},
		{"another git directory", "rm -rf .git; git init -q; echo x >>src/a.py; git add .; git commit -qm all", "M 100644 src/a.py"},
		{"ignored", "echo x >new.log; echo x >>was.log", "M 100644 was.log"},
		{"ignored by what is new", "echo '*.tmp' >>.gitignore; echo x >a.tmp", "M 100644 .gitignore"},
		{"executable", "chmod +x src/a.py", "M 100755 src/a.py"},
		{"a link", "rm kept; ln -s src/a.py kept; ln -sfn gone link", "T 120000 kept\nM 120000 link"},
		{"a file becomes a directory", "rm kept; mkdir kept; echo x >kept/x", "D 000000 kept\nA 100644 kept/x"},
		{"a directory becomes a file", "rm -r src; echo x >src", "A 100644 src\nD 000000 src/a.py\nD 000000 src/b.py"},
		{"moved", "git mv src/a.py src/c.py", "D 000000 src/a.py\nA 100644 src/c.py"},
		{"touched", "touch src/a.py; sleep 0.01; touch kept", ""},
		{"files that git reads", "echo '* text' >.gitattributes; mkdir .github; echo x >.github/x",
			"A 100644 .gitattributes\nA 100644 .github/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := made(t, r)
			sh(t, w, test.script)
			if got, c := changes(t, r, w); got != test.want || len(c.Nested)+len(c.Vanished) > 0 {
				t.Errorf("got\n%s\n%+v; want\n%s", got, c, test.want)
			}
		})
	}
	if out := r.Git("status", "--porcelain", "--branch"); out != "## main" {
		t.Errorf("the user's repository: %s", out)
	}
	if out := r.Git("for-each-ref", "--format=%(refname)"); out != "refs/heads/main" {
		t.Errorf("the user's refs: %s", out)
	}
}

// A file is not changed because git add would normalise it, but is if somebody changes it.
func TestLineEnds(t *testing.T) {
	r := repotest.New(t)
	r.Git("config", "core.autocrlf", "false")
	commit(r, "crlf.txt", "a\r\nb\r\n", "other.txt", "a\r\nb\r\n", "lf.txt", "a\nb\n")
	commit(r, ".gitattributes", "*.txt text\n")
	r.Git("reset", "-q", "--hard")
	w := made(t, r)
	sh(t, w, "touch crlf.txt; printf 'a\\r\\nc\\r\\n' >other.txt; printf 'a\\r\\nb\\r\\n' >lf.txt")
	if got, _ := changes(t, r, w); got != "M 100644 other.txt" {
		t.Errorf("got %s", got)
	}
	r.Git("config", "core.autocrlf", "true")
	w = made(t, r)
	if data, err := os.ReadFile(filepath.Join(w.Dir, "lf.txt")); err != nil || string(data) != "a\r\nb\r\n" {
		t.Errorf("got %q, %v: not what a checkout writes", data, err)
	}
	sh(t, w, "test -z \"$(git status --porcelain lf.txt)\"; printf 'a\\r\\nb\\r\\nc\\r\\n' >lf.txt")
	if got, _ := changes(t, r, w); got != "M 100644 lf.txt" {
		t.Errorf("got %s", got)
	}
}

// Repositories inside are named and not recorded; a submodule whose directory is gone stays.
func TestNested(t *testing.T) {
	r := repotest.New(t)
	sub := filepath.Join(t.TempDir(), "sub")
	for _, args := range [][]string{{"init", "-q", sub}, {"-C", sub, "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	r.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "lib")
	r.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "other")
	r.Git("commit", "-q", "-m", "submodules")
	w := made(t, r)
	sh(t, w, "rmdir lib; mkdir -p deep/in; cd deep/in; git init -q; echo x >x; git add .; git commit -qm x; cd ..; echo y >y")
	got, c := changes(t, r, w)
	if got != "A 100644 deep/y" || !slices.Equal(c.Nested, []string{"deep/in"}) || !slices.Equal(c.Vanished, []string{"lib"}) {
		t.Errorf("got %q, %+v", got, c)
	}
}

// What the checkout's own index says of submodules counts: nothing initialises them, so no file shows it.
func TestSubmodules(t *testing.T) {
	const moved = "1234567890123456789012345678901234567890"
	for _, c := range []struct{ name, script, want string }{
		{"moved", "git update-index --cacheinfo 160000," + moved + ",lib; git commit -q -m move", "M 160000 lib"},
		{"moved, not committed", "git update-index --cacheinfo 160000," + moved + ",lib", "M 160000 lib"},
		{"taken away", "git rm -q --cached lib; rmdir lib", "D 000000 lib"},
		{"new", "git init -q new; git update-index --add --cacheinfo 160000," + moved + ",new", "A 160000 new"},
		{"no index", "rm .git/index", ""},
		{"a broken index", "echo x >.git/index", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, sub := repotest.New(t), repotest.New(t)
			commit(sub, "README.md", "of the submodule\n")
			r.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.Dir, "lib")
			r.Git("commit", "-q", "-m", "a submodule")
			w := made(t, r)
			sh(t, w, "git config user.name a; git config user.email a@b; "+c.script)
			if got, _ := changes(t, r, w); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Nothing that the checkout's content or git directory says runs a command when it is read.
func TestNothingRuns(t *testing.T) {
	r := repotest.New(t)
	hook := filepath.Join(r.Dir, ".git", "hooks", "post-index-change")
	if err := os.MkdirAll(filepath.Dir(hook), 0o777); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "core.fsmonitor", "touch "+ran+"; false")
	w := made(t, r)
	sh(t, w, `git config core.fsmonitor "touch `+ran+`"
		git config filter.evil.clean "touch `+ran+`; cat"
		git config core.hooksPath .; printf '#!/bin/sh\ntouch `+ran+`\n' >post-index-change; chmod +x post-index-change
		echo '* filter=evil' >.gitattributes; echo x >>README`)
	if err := os.Remove(ran); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if _, err := w.Candidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command ran")
	}
	if got, _ := changes(t, r, w); got != "A 100644 .gitattributes\nM 100644 README\nA 100755 post-index-change" {
		t.Errorf("got %s", got)
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
	w := made(t, r)
	sh(t, w, "test \"$(cat x.rot)\" = abc; test -z \"$(git status --porcelain)\"; echo bcd >x.rot")
	_, c := changes(t, r, w)
	if got := r.Git("cat-file", "blob", string(c.Tree)+":x.rot"); got != "opq" {
		t.Errorf("got %s", got)
	}
}

// A sparse checkout stays sparse, and what it leaves out is not deleted.
func TestSparse(t *testing.T) {
	r := repotest.New(t)
	commit(r, "in/a", "1\n", "out/b", "2\n")
	r.Git("sparse-checkout", "set", "in")
	w := made(t, r)
	sh(t, w, "test ! -e out; echo x >>in/a; mkdir out; echo c >out/c")
	if got, _ := changes(t, r, w); got != "M 100644 in/a\nA 100644 out/c" {
		t.Errorf("got %s", got)
	}
}

// A cancelled checkout says so.
func TestCancelled(t *testing.T) {
	r := repotest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(ctx, r.Open(), filepath.Join(t.TempDir(), "checkout"), plan.OID(r.Git("rev-parse", "HEAD"))); err == nil {
		t.Error("no error")
	}
}
