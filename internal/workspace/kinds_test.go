package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
)

// Every kind of repository has checkouts whose changes are found, and a pool of them.
func TestKindsOfRepository(t *testing.T) {
	for _, test := range []struct{ name, setup string }{
		{"usual", `cp -r "$R" at`},
		{"bare", `git clone -q --bare "$R" at`},
		{"linked worktree", `git clone -q "$R" main; git -C main worktree add -q ../at`},
		{"shallow", `git clone -q --depth 1 "file://$R" at`},
		{"partial", `git -C "$R" config uploadpack.allowFilter true; git clone -q --no-checkout --filter=blob:none "file://$R" at`},
		{"submodule", `git init -q main; cd main; git -c protocol.file.allow=always submodule add -q "$R" at; mv ../main ../super; ln -s super/at ../at`},
		{"core.worktree", `git clone -q "$R" elsewhere; mkdir at; git clone -q --bare "$R" at/.git; git -C at config core.bare false; git -C at config core.worktree "$PWD/elsewhere"`},
		{"sparse", `git clone -q --no-checkout "$R" at; git -C at sparse-checkout set src; git -C at checkout -q`},
		{"odd path", `git clone -q "$R" 'a "b" #c'; ln -s 'a "b" #c' at`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := repotest.New(t)
			commit(r, "src/a", "1\n", "src/b", "2\n", "out/c", "3\n", ".gitignore", "*.o\n")
			dir := t.TempDir()
			cmd := exec.Command("sh", "-ec", test.setup)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "R="+r.Dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			store, err := gitstore.Open(t.Context(), filepath.Join(dir, "at"))
			if err != nil {
				t.Fatal(err)
			}
			refs, err := store.Git(t.Context(), "for-each-ref")
			if err != nil {
				t.Fatal(err)
			}
			head := plan.OID(r.Git("rev-parse", "HEAD"))
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			p, err := OpenPool(store)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				w, err := p.Take("")
				if err != nil {
					t.Fatal(err)
				}
				if err := w.CheckOut(t.Context(), head, false); err != nil {
					t.Fatal(err)
				}
				sh(t, w, `test ! -e left.o; echo x >left.o; git log --format=%s -1; git status --porcelain; git checkout -q -b mine
					echo 9 >>src/a; rm src/b; echo n >src/n; git add -A; git -c user.name=x -c user.email=x@x commit -qm mine; git gc -q`)
				c, err := w.Candidate(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				out, err := store.Git(t.Context(), "diff-tree", "-r", "--name-status", string(c.Base), string(c.Tree))
				if got := strings.Join(strings.Fields(out), " "); err != nil || got != "M src/a D src/b A src/n" {
					t.Errorf("got %s, %v", got, err)
				}
				w.Close()
			}
			if now, err := store.Git(t.Context(), "for-each-ref"); err != nil || now != refs {
				t.Errorf("refs were\n%s\nare\n%s %v", refs, now, err)
			}
		})
	}
}

// Somebody may do anything to the checkout's own git directory, and to its files; what counts are the files.
func TestCandidateHostile(t *testing.T) {
	r := repotest.New(t)
	commit(r, "src/a", "1\n", "src/b", "2\n", ".gitignore", "*.log\n")
	const changed = "M 100644 src/a"
	for _, test := range []struct{ name, script, want string }{
		{"a lock left", "echo 9 >>src/a; echo x >.git/index.lock; echo x >.git/HEAD.lock", changed},
		{"stashed", "echo 8 >src/b; git stash -q; echo 9 >>src/a", changed},
		{"a git file that points to the user's", "echo 9 >>src/a; rm -rf .git; echo 'gitdir: " + r.Dir + "/.git' >.git", changed},
		{"a git file that points nowhere", "echo 9 >>src/a; rm -rf .git; echo 'gitdir: /nowhere' >.git", changed},
		{"settings", "echo 9 >>src/a; git config core.bare true; git config core.worktree /; git config core.excludesFile /dev/full", changed},
		{"settings that hide", "git config core.ignoreStat true; git config core.trustctime false; git config core.checkStat minimal; touch -r src/a ../r; echo 9 >src/a; touch -r ../r src/a", changed},
		{"an exclude file", "echo 9 >>src/a; echo x >new; mkdir -p .git/info; echo '*' >.git/info/exclude", "A 100644 new\n" + changed},
		{"ignored by itself", "echo '*' >src/.gitignore; echo x >src/x", ""},
		{"no longer ignored", "rm .gitignore; echo x >x.log", "D 000000 .gitignore\nA 100644 x.log"},
		{"sparse", "git sparse-checkout set --no-cone nothing 2>/dev/null; git sparse-checkout disable; echo 9 >>src/a", changed},
		{"a link out for a directory", "rm -r src; ln -s / src", "A 120000 src\nD 000000 src/a\nD 000000 src/b"},
		{"a link into the git directory", "ln -s .git/config c; ln -s /etc d; ln -s nowhere e", "A 120000 c\nA 120000 d\nA 120000 e"},
		{"a pipe for a file", "rm src/a; mkfifo src/a", "D 000000 src/a"},
		{"a file without rights", "echo 9 >>src/a; echo x >new; chmod 0 src/a new", "A 100644 new\n" + changed},
		{"directories without rights", "echo 9 >>src/a; mkdir -p d/e; echo x >d/e/x; chmod 0 src d/e d", "A 100644 d/e/x\n" + changed},
		{"pipes are no files", "mkfifo p; echo 9 >>src/a", changed},
		{"a filter of its own", "echo '*.x filter=own' >.gitattributes; git config filter.own.clean 'touch /nowhere/x; cat'; echo x >a.x",
			"A 100644 .gitattributes\nA 100644 a.x"},
		{"a required filter that nobody has", "echo '*.x filter=none' >.gitattributes; echo x >a.x", "A 100644 .gitattributes\nA 100644 a.x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := made(t, r)
			sh(t, w, test.script)
			if got, _ := changes(t, r, w); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	if out := r.Git("status", "--porcelain", "--branch"); out != "## main" {
		t.Errorf("the user's repository: %s", out)
	}
}

// Names are bytes to git.
func TestCandidateNames(t *testing.T) {
	r := repotest.New(t)
	commit(r, "with space", "1\n")
	w := made(t, r)
	names := []string{"a \"b\"", "a\nb", "a\tb", "ä", "a\u0308", "-x", ":(top)x", "*", "\\", "tab\\le"}
	if err := os.WriteFile(filepath.Join(w.Dir, "in\xffvalid"), nil, 0o666); err == nil {
		names = append(names, "in\xffvalid")
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(w.Dir, name), []byte("x\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(w.Dir, "with space")); err != nil {
		t.Fatal(err)
	}
	c, err := w.Candidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, name := range strings.Split(strings.TrimSuffix(r.Git("ls-tree", "-r", "-z", "--name-only", string(c.Tree)), "\x00"), "\x00") {
		there[name] = true
	}
	for _, name := range names {
		if !there[name] {
			t.Errorf("%q is not there", name)
		}
	}
	if deleted := !there["with space"]; !deleted || len(there) != len(names)+1 {
		t.Errorf("got %v", there)
	}
}

// Files of git-lfs are checked out and recorded as everywhere.
func TestLFS(t *testing.T) {
	tool.Need(t, "git-lfs")
	r := repotest.New(t)
	r.Git("lfs", "install", "--local", "--skip-repo")
	commit(r, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin", "first\n", "b.bin", "other\n")
	if got := r.Git("show", "HEAD:a.bin"); !strings.HasPrefix(got, "version https://git-lfs") {
		t.Fatalf("no pointer: %s", got)
	}
	p := poolOf(t, r)
	for range 2 {
		w := take(t, p, r, "")
		sh(t, w, `test "$(cat a.bin)" = first; touch b.bin; echo second >a.bin; echo new >c.bin`)
		got, c := changes(t, r, w)
		if got != "M 100644 a.bin\nA 100644 c.bin" {
			t.Errorf("got %s", got)
		}
		if got := r.Git("cat-file", "blob", string(c.Tree)+":c.bin"); !strings.HasPrefix(got, "version https://git-lfs") {
			t.Errorf("recorded %s", got)
		}
		w.Close()
	}
}
