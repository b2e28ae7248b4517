package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// poolOf opens the pool of a repository in a cache of the test's own.
func poolOf(t *testing.T, r *repotest.Repo) *Pool {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	p, err := OpenPool(r.Open())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// take takes a checkout of HEAD.
func take(t *testing.T, p *Pool, r *repotest.Repo, task string) *Workspace {
	t.Helper()
	w, err := p.Take(task)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.CheckOut(t.Context(), plan.OID(r.Git("rev-parse", "HEAD")), task != ""); err != nil {
		t.Fatal(err)
	}
	return w
}

// files lists what is in a checkout beside its git directory.
func files(t *testing.T, w *Workspace) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "cd \"$0\" && find . -path ./.git -prune -o ! -name . -print | sort", w.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// Whatever somebody leaves in a checkout, the next check finds one as if it were new.
func TestPoolClean(t *testing.T) {
	r := repotest.New(t)
	commit(r, "src/a", "1\n", "src/b", "2\n", "gone", "3\n", ".gitignore", "*.log\nbuild\n")
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+r.Git("rev-parse", "HEAD")+",lib")
	r.Git("commit", "-q", "-m", "a submodule")
	if err := os.Mkdir(filepath.Join(r.Dir, "lib"), 0o777); err != nil {
		t.Fatal(err)
	}
	p := poolOf(t, r)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "a"), []byte("mine\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const want = "./.gitignore ./README ./gone ./lib ./src ./src/a ./src/b"
	for _, test := range []struct{ name, script string }{
		{"nothing", "true"},
		{"ignored files", "echo x >a.log; mkdir build src/build; echo x >build/x; echo x >src/build/x"},
		{"ignored by the candidate", "echo '*' >.gitignore; echo x >y; echo z >src/.gitignore; mkdir -p .git/info; echo '*' >.git/info/exclude"},
		{"changed and deleted", "echo x >src/a; rm gone; chmod +x src/b"},
		{"the same size and time", "touch -r src/a ref; echo 9 >src/a; touch -r ref src/a; rm ref"},
		{"staged and committed", "echo x >new; git add -A; git rm -q gone; git -c user.name=x -c user.email=x@x commit -qm x; echo y >y"},
		{"a lock left", "echo x >.git/index.lock; echo x >.git/HEAD.lock"},
		{"no git directory", "rm -rf .git; echo x >y"},
		{"a git file", "rm -rf .git; echo gitdir: " + r.Dir + "/.git >.git; echo x >y"},
		{"a link for a git directory", "rm -rf .git; ln -s " + r.Dir + "/.git .git"},
		{"settings", "git config core.worktree /; git config core.excludesFile /dev/null; git config core.fsmonitor false; echo x >y"},
		{"a link out for a directory", "rm -rf src; ln -s " + outside + " src"},
		{"a directory for a file", "rm gone; mkdir gone; echo x >gone/x"},
		{"a file for a directory", "rm -r src; echo x >src"},
		{"a repository", "git init -q deep/in; echo x >deep/in/x; git init -q src/in"},
		{"in a submodule", "echo x >lib/x; git init -q lib"},
		{"a submodule gone", "rmdir lib"},
		{"no right", "mkdir -p no/right; echo x >no/right/x; chmod 0 no/right no; chmod 0 src"},
		{"the checkout gone", "rm -rf ../files"},
		{"a link for the checkout", "rm -rf ../files; ln -s " + outside + " ../files"},
		{"a lock beside", "echo x >../index.lock"},
		{"an index that is none", "echo x >../index"},
		{"odd names", `echo x >'a "b"'; echo x >"$(printf 'a\nb')"; echo x >"$(printf 'a\377')" || :; echo x >ä; echo x >-x`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := take(t, p, r, "")
			sh(t, w, test.script)
			w.Close()
			w = take(t, p, r, "")
			defer w.Close()
			if got := files(t, w); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			if got, c := changes(t, r, w); got != "" || len(c.Nested)+len(c.Vanished) > 0 {
				t.Errorf("changed: %s %+v", got, c)
			}
			sh(t, w, `test "$(git rev-parse HEAD)" = `+r.Git("rev-parse", "HEAD")+` && test -z "$(git status --porcelain)"`)
		})
	}
	if data, err := os.ReadFile(filepath.Join(outside, "a")); err != nil || string(data) != "mine\n" {
		t.Errorf("outside: %q, %v", data, err)
	}
	if out := r.Git("status", "--porcelain", "--branch"); out != "## main" {
		t.Errorf("the user's repository: %s", out)
	}
}

// It is clean for the next check of the same user, too, also where it was new.
func TestPoolCleanAgain(t *testing.T) {
	r := repotest.New(t)
	p := poolOf(t, r)
	w := take(t, p, r, "")
	defer w.Close()
	for range 2 {
		sh(t, w, "echo x >left; rm README")
		if err := w.CheckOut(t.Context(), plan.OID(r.Git("rev-parse", "HEAD")), false); err != nil {
			t.Fatal(err)
		}
		if got := files(t, w); got != "./README" {
			t.Errorf("got %s", got)
		}
	}
}

// A task's next attempt keeps what is ignored, and nothing else; another task gets none of it.
func TestPoolKeeps(t *testing.T) {
	r := repotest.New(t)
	commit(r, "a", "1\n", ".gitignore", "*.o\n")
	p := poolOf(t, r)
	w := take(t, p, r, "WFS-x/A-1")
	sh(t, w, "echo x >a.o; echo x >new; echo '*' >.gitignore; echo y >hidden")
	w.Close()
	commit(r, "a", "2\n")
	w = take(t, p, r, "WFS-x/A-1")
	if got := files(t, w); got != "./.gitignore ./README ./a ./a.o" {
		t.Errorf("the same task got %s", got)
	}
	busy := take(t, p, r, "WFS-x/B-1")
	if got := files(t, busy); got != "./.gitignore ./README ./a" || busy.Dir == w.Dir {
		t.Errorf("another task at the same time got %s in %s", got, busy.Dir)
	}
	busy.Close()
	w.Close()
	check := take(t, p, r, "")
	if check.Dir == w.Dir || check.Dir == busy.Dir {
		t.Error("a check got an attempt's checkout")
	}
	check.Close()
	other := take(t, p, r, "WFS-x/C-1")
	defer other.Close()
	if got := files(t, other); got != "./.gitignore ./README ./a" || other.Dir != busy.Dir && other.Dir != w.Dir {
		t.Errorf("another task later got %s in %s", got, other.Dir)
	}
}

// A sparse checkout is made anew each time: git does not see what takes the place of a file that is left out.
func TestPoolSparse(t *testing.T) {
	r := repotest.New(t)
	commit(r, "in/a", "1\n", "out/b", "2\n")
	r.Git("sparse-checkout", "set", "in")
	p := poolOf(t, r)
	for range 2 {
		w := take(t, p, r, "")
		if got := files(t, w); got != "./README ./in ./in/a" {
			t.Errorf("got %s", got)
		}
		sh(t, w, "mkdir out; echo x >out/b")
		w.Close()
	}
}

// The checkouts of a repository that is gone are removed, and so are those that nobody used for long.
func TestPoolRemoves(t *testing.T) {
	r := repotest.New(t)
	p := poolOf(t, r)
	take(t, p, r, "").Close()
	w := take(t, p, r, "T-1")
	old := filepath.Join(filepath.Dir(w.Dir), taskFile)
	w.Close()
	if err := os.Chtimes(old, w.used.Add(-2*unused), w.used.Add(-2*unused)); err != nil {
		t.Fatal(err)
	}
	take(t, p, r, "").Close()
	if _, err := os.Stat(w.Dir); !os.IsNotExist(err) {
		t.Errorf("unused, and still there: %v", err)
	}
	if err := os.Rename(filepath.Join(r.Dir, ".git"), filepath.Join(r.Dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(r.Dir, "moved"), filepath.Join(t.TempDir(), "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPool(repotest.New(t).Open()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("the pool of a repository that is gone: %v", err)
	}
}

// An interrupted checkout is no reason to throw it away.
func TestPoolCancelled(t *testing.T) {
	r := repotest.New(t)
	p := poolOf(t, r)
	take(t, p, r, "").Close()
	w, err := p.Take("")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.CheckOut(ctx, plan.OID(r.Git("rev-parse", "HEAD")), false); err == nil {
		t.Error("no error")
	}
}

// However many work at once, few checkouts stay, and what they take is counted in blocks.
func TestPoolFew(t *testing.T) {
	r := repotest.New(t)
	commit(r, "a", "1\n")
	p := poolOf(t, r)
	var all []*Workspace
	for range mostIdle + 3 {
		all = append(all, take(t, p, r, ""))
	}
	for _, w := range all {
		w.Close()
	}
	left, _ := filepath.Glob(filepath.Join(p.dir, "*", filesDir))
	if len(left) != mostIdle {
		t.Errorf("%d stay", len(left))
	}
	if dir, bytes := Held(p.store); dir != p.dir || bytes < mostIdle*3*4096 || bytes > mostIdle*100*4096 {
		t.Errorf("%d bytes in %s", bytes, dir)
	}
}
