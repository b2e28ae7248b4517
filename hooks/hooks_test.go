package hooks

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
)

func TestMain(m *testing.M) { os.Exit(repotest.InMemory{M: m}.Run()) }

// A repo is a real repository with its own environment.
type repo struct {
	t    testing.TB
	dir  string
	env  []string
	log  string // records the calls of the git-wf stub
	bin  string
	more []string // variables for the next commands
}

// newRepo makes a repository with one commit, and a stub for git-wf on PATH that records its arguments and standard
// input and exits with $WF_EXIT.
func newRepo(t testing.TB) *repo {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for git-wf is a shell script, which Windows does not start by name")
	}
	home := t.TempDir()
	r := &repo{t: t, dir: filepath.Join(home, "repo"), log: filepath.Join(home, "log"), bin: filepath.Join(home, "bin")}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") && name != "HOME" && name != "PATH" {
			r.env = append(r.env, kv)
		}
	}
	r.env = append(r.env, "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(home, "gitconfig"),
		"PATH="+r.bin+":"+pathWithoutProgram(), "LC_ALL=C")
	write(t, filepath.Join(home, "gitconfig"), "[user]\n\tname = T\n\temail = t@example.com\n[init]\n\tdefaultBranch = main\n[core]\n\tfsync = none\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n[protocol \"file\"]\n\tallow = always\n", 0o644)
	write(t, filepath.Join(r.bin, "git-wf"), "#!/bin/sh\n{ echo \"args: $*\"; case $2 in pre-push|pre-receive|reference-transaction) sed 's/^/in: /' ;; esac; } >>'"+r.log+"'\nexit \"${WF_EXIT:-0}\"\n", 0o755)
	must(t, os.MkdirAll(r.dir, 0o755))
	r.git("init", "-q", "--template=")
	must(t, os.MkdirAll(filepath.Join(r.dir, ".git", "hooks"), 0o755))
	r.git("commit", "-q", "--allow-empty", "-m", "first")
	return r
}

// pathWithoutProgram returns PATH without directories that have a git-wf: each test adds its own.
func pathWithoutProgram() string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "git-wf")); err != nil {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string, mode fs.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), mode))
	must(t, os.Chmod(path, mode))
}

func (r *repo) path(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}

func (r *repo) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = r.dir, slices.Concat(r.env, r.more)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.run("git", args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r *repo) options() Options {
	return Options{Git: func(ctx context.Context, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = r.dir, slices.Concat(r.env, r.more)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}}
}

func (r *repo) install() Report {
	r.t.Helper()
	rep, err := Install(r.t.Context(), r.options())
	must(r.t, err)
	return rep
}

func (r *repo) uninstall() {
	r.t.Helper()
	_, err := Uninstall(r.t.Context(), r.options())
	must(r.t, err)
}

func (r *repo) hook(name, content string, mode fs.FileMode) string {
	p := r.path(".git", "hooks", name)
	write(r.t, p, content, mode)
	return p
}

// stage puts a file into the index.
func (r *repo) stage(path, content string) {
	r.t.Helper()
	write(r.t, r.path(path), content, 0o644)
	r.git("add", "--", path)
}

// calls returns the program's recorded calls and clears them.
func (r *repo) calls() string {
	out, err := os.ReadFile(r.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	must(r.t, os.RemoveAll(r.log))
	return string(out)
}

func (r *repo) hideProgram() { must(r.t, os.Remove(filepath.Join(r.bin, "git-wf"))) }

// snapshot returns the path, mode and bytes of everything under .git that Install may touch, and of the worktree.
func (r *repo) snapshot() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	must(r.t, filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.dir, p)
		if d.IsDir() {
			if slices.Contains([]string{".git/objects", ".git/logs", ".git/refs"}, rel) {
				return fs.SkipDir
			}
			out[rel] = "dir"
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(p)
			out[rel] = "link " + to
			return err
		}
		content, err := os.ReadFile(p)
		out[rel] = info.Mode().String() + " " + string(content)
		return err
	}))
	return out
}

func diff(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	for p, w := range want {
		if g, ok := got[p]; !ok {
			t.Errorf("%s: %s is gone", what, p)
		} else if g != w {
			t.Errorf("%s: %s\n--- before\n%s\n--- after\n%s", what, p, w, g)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s: %s is new", what, p)
		}
	}
}

// commits reports whether `git commit` with these arguments succeeded.
func (r *repo) commits(args ...string) (string, bool) {
	out, err := r.run("git", append([]string{"commit", "-m", "x"}, args...)...)
	return out, err == nil
}

func (r *repo) wantCommit(want bool, args ...string) string {
	r.t.Helper()
	out, ok := r.commits(args...)
	if ok != want {
		r.t.Errorf("git commit %v went through: %v, want %v\n%s", args, ok, want, out)
	}
	return out
}

func (r *repo) wantCalls(want string) {
	r.t.Helper()
	if got := r.calls(); got != want {
		r.t.Errorf("calls of git-wf: got %q, want %q", got, want)
	}
}

// probe is Probe for the hooks as they are now.
func probe(ctx context.Context, o Options) error {
	all, err := Status(ctx, o)
	if err == nil {
		err = Probe(ctx, o.Git, all)
	}
	return err
}

func (r *repo) wantReached() {
	r.t.Helper()
	if err := probe(r.t.Context(), r.options()); err != nil {
		r.t.Error(err)
	}
}

func TestFreshRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	before := r.snapshot()
	if rep := r.install(); rep.Mode != ModeSection || len(rep.Actions) != len(clientSpecs(false)) {
		t.Errorf("report: %+v", rep)
	}
	r.wantReached()
	after := r.snapshot()
	if rep := r.install(); len(rep.Actions) != 0 {
		t.Errorf("second run reports %+v", rep)
	}
	diff(t, "second install", after, r.snapshot())

	r.stage("a.txt", "a")
	r.wantCommit(true)
	r.wantCalls("")
	r.stage("deliverables/x", "x")
	r.wantCommit(true)
	r.wantCalls("args: hook pre-commit\n")
	r.more = []string{"WF_EXIT=1"}
	r.stage("Deliverables/y", "y")
	r.wantCommit(false)
	r.wantCalls("args: hook pre-commit\n")
	r.wantCommit(true, "--no-verify")

	r.more = nil
	r.uninstall()
	got := r.snapshot()
	for _, p := range []string{".git/config", ".git/hooks", ".git/hooks/pre-commit"} {
		if got[p] != before[p] {
			t.Errorf("%s: %q, want %q", p, got[p], before[p])
		}
	}
}

// What counts as touched and what does not.
func TestIndexProbe(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(r *repo)
		args   []string
		want   string
	}{
		{"other file", func(r *repo) { r.stage("src/a", "1") }, nil, ""},
		{"a name that only begins alike", func(r *repo) { r.stage("deliverables-old/a", "1") }, nil, ""},
		{"added", func(r *repo) { r.stage("deliverables/new", "1") }, nil, "args: hook pre-commit\n"},
		{"changed by commit -a", func(r *repo) { write(r.t, r.path("deliverables/a"), "2", 0o644) }, []string{"-a"}, "args: hook pre-commit\n"},
		{"changed by commit PATH", func(r *repo) { write(r.t, r.path("deliverables/a"), "2", 0o644) }, []string{"deliverables/a"}, "args: hook pre-commit\n"},
		{"staged but not in commit PATH", func(r *repo) { r.stage("deliverables/a", "2"); write(r.t, r.path("b"), "2", 0o644) }, []string{"b"}, ""},
		{"deleted", func(r *repo) { r.git("rm", "-q", "deliverables/a") }, nil, "args: hook pre-commit\n"},
		{"renamed out", func(r *repo) { r.git("mv", "deliverables/a", "c") }, nil, "args: hook pre-commit\n"},
		{"made executable", func(r *repo) { r.git("update-index", "--chmod=+x", "deliverables/a") }, nil, "args: hook pre-commit\n"},
		{"root becomes a link", func(r *repo) {
			r.git("rm", "-rq", "deliverables")
			must(r.t, os.Symlink("b", r.path("deliverables")))
			r.git("add", "deliverables")
		}, nil, "args: hook pre-commit\n"},
		{"submodule that is ignored", func(r *repo) {
			r.git("config", "diff.ignoreSubmodules", "all")
			r.stage(".gitmodules", "[submodule \"sub\"]\n\tpath = deliverables/sub\n\turl = ./x\n\tignore = all\n")
			r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",deliverables/sub")
		}, nil, "args: hook pre-commit\n"},
		{"literal pathspecs in the environment", func(r *repo) {
			r.stage("deliverables/new", "1")
			r.more = []string{"GIT_LITERAL_PATHSPECS=1"}
		}, nil, "args: hook pre-commit\n"},
		{"HEAD replaced", func(r *repo) {
			head := r.git("rev-parse", "HEAD")
			r.stage("deliverables/new", "1")
			lie := r.git("commit-tree", "-m", "lie", r.git("write-tree"))
			r.git("replace", head, lie)
			r.stage("c", "1")
		}, nil, "args: hook pre-commit\n"},
		{"index in GIT_INDEX_FILE", func(r *repo) {
			r.more = []string{"GIT_INDEX_FILE=" + r.path(".git", "other-index")}
			r.git("read-tree", "HEAD")
			r.stage("deliverables/new", "1")
		}, nil, "args: hook pre-commit\n"},
		{"amend of the message", func(r *repo) {}, []string{"--amend"}, ""},
		{"amend that takes a file away", func(r *repo) { r.git("rm", "-q", "deliverables/a") }, []string{"--amend"}, "args: hook pre-commit\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.stage("deliverables/a", "1")
			r.stage("b", "1")
			r.git("commit", "-qm", "second")
			r.install()
			c.change(r)
			r.wantCommit(true, c.args...)
			r.wantCalls(c.want)
		})
	}
}

func TestUnbornBranch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.install()
	r.git("checkout", "-q", "--orphan", "new")
	r.stage("a", "1")
	r.wantCommit(true)
	r.wantCalls("")
	r.git("checkout", "-q", "--orphan", "newer")
	r.stage("deliverables/a", "1")
	r.more = []string{"WF_EXIT=1"}
	r.wantCommit(false)
	r.wantCalls("args: hook pre-commit\n")
}

func TestMerge(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("checkout", "-qb", "side")
	r.stage("deliverables/a", "1")
	r.git("commit", "-qm", "side")
	r.git("checkout", "-q", "main")
	r.stage("b", "1")
	r.git("commit", "-qm", "b")
	r.install()
	r.more = []string{"WF_EXIT=1"}
	if out, err := r.run("git", "merge", "-m", "m", "side"); err == nil {
		t.Errorf("merge went through: %s", out)
	}
	r.wantCalls("args: hook pre-merge-commit\n")
	r.git("merge", "--abort")
	r.git("reset", "-q", "--hard", "HEAD^")
	r.git("merge", "-q", "side")
	r.wantCalls("args: hook post-merge 0\n")
}

// An existing hook runs first, its exit code counts, and Uninstall restores its bytes.
func TestExistingHook(t *testing.T) {
	t.Parallel()
	const mark = "echo ran >>ran\n"
	cases := []struct {
		name    string
		content string
		mode    fs.FileMode
		want    Mode
		commits bool
		runs    bool
	}{
		{"sh that passes", "#!/bin/sh\n" + mark, 0o755, ModeSection, true, true},
		{"sh that fails", "#!/bin/sh\n" + mark + "exit 3\n", 0o755, ModeSection, false, true},
		{"exit 0 in the middle", "#!/bin/sh\nset -e\n" + mark + "exit 0\nfalse\n", 0o755, ModeSection, true, true},
		{"set -e and a failure", "#!/bin/sh -e\n" + mark + "false\ntrue\n", 0o700, ModeSection, false, true},
		{"sh -eu", "#!/bin/sh -eu\n" + mark, 0o755, ModeSection, true, true},
		{"bash by env", "#!/usr/bin/env bash\nset -euo pipefail\nx=(a b); [[ ${x[1]} == b ]]\n" + mark, 0o755, ModeSection, true, true},
		{"exec in the middle", "#!/bin/sh\nif true; then exec sh -c 'echo ran >>ran'; fi\nexit 1\n", 0o755, ModeSection, true, true},
		{"no newline at the end", "#!/bin/sh\necho ran >>ran", 0o755, ModeSection, true, true},
		{"lines end in CR LF after the first", "#!/bin/sh\n" + "echo ran >>ran #\r\n", 0o755, ModeSection, true, true},
		{"uses its own name", "#!/bin/sh\n[ \"$(basename \"$0\")\" = pre-commit ] && [ -f \"$(dirname \"$0\")/pre-commit\" ] || exit 1\n" + mark, 0o755, ModeSection, true, true},
		{"only a shebang", "#!/bin/sh", 0o755, ModeDispatcher, true, false},
		{"CR LF", "#!/bin/sh\r\necho ran >>ran\r\n", 0o755, ModeDispatcher, false, false},
		{"ends in exec", "#!/bin/sh\nexec sh -c 'echo ran >>ran'\n", 0o755, ModeDispatcher, true, true},
		{"ends in exec that fails", "#!/bin/sh\n[ -n x ] && exec sh -c \\\n  'echo ran >>ran; exit 4'\n", 0o755, ModeDispatcher, false, true},
		{"perl", "#!/usr/bin/env perl\nopen(F, '>>', 'ran'); print F 'ran'; close F;\n", 0o755, ModeDispatcher, true, true},
		{"perl that fails", "#!/usr/bin/perl\nopen(F, '>>', 'ran'); print F 'ran'; close F; exit 5;\n", 0o755, ModeDispatcher, false, true},
		{"no shebang", mark, 0o755, ModeDispatcher, true, true},
		{"not executable", "#!/bin/sh\n" + mark + "exit 1\n", 0o644, ModeDispatcher, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if language, _, _ := strings.Cut(c.name, " "); language == "bash" || language == "perl" {
				tool.Need(t, language)
			}
			r := newRepo(t)
			p := r.hook("pre-commit", c.content, c.mode)
			before := r.snapshot()
			if rep := r.install(); rep.Mode != c.want {
				t.Fatalf("mode %s, want %s: %+v", rep.Mode, c.want, rep)
			}
			if c.want == ModeDispatcher {
				if got, _ := os.ReadFile(p); string(got) != c.content {
					t.Errorf("the hook was edited:\n%s", got)
				}
			}
			r.wantReached()
			after := r.snapshot()
			r.install()
			diff(t, "second install", after, r.snapshot())
			r.uninstall()
			diff(t, "uninstall", before, r.snapshot())

			r.install()
			r.stage("deliverables/a", "1")
			r.wantCommit(c.commits)
			ran, _ := os.ReadFile(r.path("ran"))
			if got := strings.Count(string(ran), "ran"); (got == 1) != c.runs || got > 1 {
				t.Errorf("the hook ran %d times, want it to run: %v", got, c.runs)
			}
			want := ""
			if c.commits {
				want = "args: hook pre-commit\n"
			}
			r.wantCalls(want)
		})
	}
}

func TestSymbolicLink(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	write(t, r.path(".git", "team-hook"), "#!/bin/sh\nexit 7\n", 0o755)
	must(t, os.Symlink("../team-hook", r.path(".git", "hooks", "pre-commit")))
	before := r.snapshot()
	if rep := r.install(); rep.Mode != ModeDispatcher {
		t.Errorf("mode %s", rep.Mode)
	}
	r.wantReached()
	r.wantCommit(false, "--allow-empty")
	write(t, r.path(".git", "team-hook"), "#!/bin/sh\nexit 0\n", 0o755)
	r.wantCommit(true, "--allow-empty")
	write(t, r.path(".git", "team-hook"), "#!/bin/sh\nexit 7\n", 0o755)
	r.uninstall()
	got := r.snapshot()
	for _, p := range []string{".git/COMMIT_EDITMSG", ".git/index"} {
		delete(got, p)
		delete(before, p)
	}
	diff(t, "uninstall", before, got)
}

// The gate judges what the team's own hook left in the index.
func TestJudgesWhatTheHookLeft(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"#!/bin/sh\nmkdir -p deliverables; echo 2 >deliverables/a; git add deliverables; exit 0\n",
		"#!/bin/sh\nmkdir -p deliverables; echo 2 >deliverables/a\nexec git add deliverables\n",
	} {
		r := newRepo(t)
		r.hook("pre-commit", content, 0o755)
		r.install()
		r.stage("src", "1")
		r.more = []string{"WF_EXIT=1"}
		r.wantCommit(false)
		r.wantCalls("args: hook pre-commit\n")
	}
}

// Edits that the team makes after Install take effect, and Uninstall keeps them.
func TestLaterEdits(t *testing.T) {
	t.Parallel()
	appendTo := func(t *testing.T, path, more string) {
		old, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, append(old, more...), 0o755))
	}
	t.Run("in the file that Install made", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t)
		r.install()
		p := r.path(".git", "hooks", "pre-commit")
		appendTo(t, p, "\n# a comment\nexit 9\n")
		r.wantCommit(false, "--allow-empty")
		r.wantReached()
		r.uninstall()
		if got, _ := os.ReadFile(p); string(got) != "#!/bin/sh\n\n# a comment\nexit 9\n" {
			t.Errorf("left %q", got)
		}
	})
	t.Run("in a hook that was there", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t)
		p := r.hook("pre-commit", "#!/bin/sh\ntrue\n", 0o755)
		r.install()
		appendTo(t, p, "exit 9")
		r.wantCommit(false, "--allow-empty")
		r.uninstall()
		if got, _ := os.ReadFile(p); string(got) != "#!/bin/sh\ntrue\nexit 9" {
			t.Errorf("left %q", got)
		}
	})
	t.Run("behind the dispatcher", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t)
		r.hook("pre-commit", "#!/usr/bin/perl\n", 0o755)
		r.install()
		r.wantCommit(true, "--allow-empty")
		r.hook("pre-commit", "#!/usr/bin/perl\nexit 9;\n", 0o755)
		r.wantCommit(false, "--allow-empty")
		r.hook("pre-commit", "#!/usr/bin/perl\n", 0o755)
		r.hook("commit-msg", "#!/bin/sh\ngrep -q good \"$1\" && [ \"${0##*hooks/}\" = commit-msg ]\n", 0o755)
		r.wantCommit(false, "--allow-empty")
		r.git("commit", "--allow-empty", "-m", "good")
		seen := r.path("seen")
		r.hook("reference-transaction", "#!/bin/sh\necho \"$1\" >>'"+seen+"'\n", 0o755)
		r.git("update-ref", "refs/tags/x", "HEAD")
		if got, _ := os.ReadFile(seen); string(got) != "prepared\ncommitted\n" {
			t.Errorf("reference-transaction saw %q", got)
		}
	})
}

// If a hook commits in another repository, that repository's gate judges it.
func TestHookThatCommitsElsewhere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	other := newRepo(t)
	other.install()
	other.stage("deliverables/a", "1")
	r.hook("pre-commit", "#!/bin/sh\nunset $(git rev-parse --local-env-vars)\ncd '"+other.dir+"' && git commit -qm inner\n", 0o755)
	r.install()
	other.env = r.env
	r.wantCommit(true, "--allow-empty")
	r.wantCalls("args: hook pre-commit\n")
}

// origin makes a bare repository to push to.
func (r *repo) origin() {
	r.git("init", "-q", "--bare", r.path(".git", "origin.git"))
	r.git("remote", "add", "origin", r.path(".git", "origin.git"))
}

func TestPushFeedsBoth(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{
		"section":    "#!/bin/sh\ncat >'%'\necho \"$@\" >>'%'\n",
		"dispatcher": "#!/bin/sh\necho \"$@\" >'%'\nexec cat >>'%'\n",
		"none":       "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.origin()
			seen := r.path(".git", "seen")
			if own != "" {
				r.hook("pre-push", strings.ReplaceAll(own, "%", seen), 0o755)
			}
			r.install()
			r.git("tag", "t")
			r.git("push", "-q", "origin", "main", "t")
			head, zero := r.git("rev-parse", "HEAD"), strings.Repeat("0", 40)
			lines := []string{
				"refs/heads/main " + head + " refs/heads/main " + zero,
				"refs/tags/t " + head + " refs/tags/t " + zero,
			}
			r.wantCalls("args: hook pre-push origin " + r.path(".git", "origin.git") + "\nin: " + lines[0] + "\nin: " + lines[1] + "\n")
			if own != "" {
				got, _ := os.ReadFile(seen)
				for _, want := range append(lines, "origin "+r.path(".git", "origin.git")) {
					if !strings.Contains(string(got), want+"\n") {
						t.Errorf("the own hook saw %q, want %q in it", got, want)
					}
				}
			}
			r.more = []string{"WF_EXIT=1"}
			r.git("commit", "-q", "--allow-empty", "-m", "next")
			if _, err := r.run("git", "push", "-q", "origin", "main"); err == nil {
				t.Error("push went through")
			}
		})
	}
}

// A large push must not block on a hook that ignores its input.
func TestPushToHookThatReadsNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.origin()
	r.hook("pre-push", "#!/bin/sh\nexit 0\n", 0o755)
	r.install()
	var refs strings.Builder
	head := r.git("rev-parse", "HEAD")
	for i := range 2000 {
		refs.WriteString("create refs/tags/some-rather-long-name-" + strings.Repeat("x", 40) + string(rune('a'+i%26)) + "-" + strings.Repeat("y", i/26) + " " + head + "\n")
	}
	cmd := exec.Command("git", "update-ref", "--stdin")
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(refs.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out := r.git("push", "-q", "origin", "--tags"); out != "" {
		t.Errorf("output: %s", out)
	}
	if got := strings.Count(r.calls(), "in: "); got != 2000 {
		t.Errorf("the program saw %d lines", got)
	}
}

func TestProgramMissing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.origin()
	r.install()
	r.hideProgram()
	r.stage("a", "1")
	r.wantCommit(true)
	r.git("push", "-q", "origin", "main")
	r.git("tag", "-a", "-m", "t", "t")
	r.git("tag", "blob", r.git("rev-parse", "HEAD:a"))
	r.git("push", "-q", "origin", "t", "blob")
	r.git("push", "-q", "--delete", "origin", "t")

	r.stage("deliverables/a", "1")
	out := r.wantCommit(false)
	if strings.Count(out, "\n") != 0 || !strings.Contains(out, "install git-wf") {
		t.Errorf("message: %q", out)
	}
	r.wantCommit(true, "--no-verify")
	r.git("tag", "sneak")
	r.git("rm", "-rq", "deliverables")
	r.wantCommit(true, "--no-verify")
	for _, refs := range [][]string{{"main"}, {"sneak"}, {"main:new"}, {"--force", "main"}} {
		out, err := r.run("git", append([]string{"push", "-q", "origin"}, refs...)...)
		if err == nil || !strings.Contains(out, "install git-wf") {
			t.Errorf("push %v: %v, %q", refs, err, out)
		}
	}
	// Once a remote has the commit, it no longer blocks what builds on it.
	r.git("push", "-q", "--no-verify", "origin", "main")
	r.git("commit", "-q", "--allow-empty", "-m", "on top")
	r.git("push", "-q", "origin", "main", "main:other")

	// Merging a branch without its content still brings its commits.
	r.git("checkout", "-qb", "side")
	r.stage("deliverables/b", "1")
	r.wantCommit(true, "--no-verify")
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "-s", "ours", "-m", "m", "side")
	if out, err := r.run("git", "push", "-q", "origin", "main"); err == nil {
		t.Errorf("push of a merge went through: %s", out)
	}
}

func TestProgramMissingWithOwnPushHook(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.origin()
	r.hook("pre-push", "#!/bin/sh\ncat >/dev/null\n", 0o755)
	r.install()
	r.hideProgram()
	r.git("push", "-q", "origin", "main")
	r.stage("deliverables/a", "1")
	r.wantCommit(true, "--no-verify")
	if out, err := r.run("git", "push", "-q", "origin", "main"); err == nil || !strings.Contains(out, "install git-wf") {
		t.Errorf("push: %v, %q", err, out)
	}
}

func TestRecordedProgram(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	moved := filepath.Join(t.TempDir(), "it's here", "git-wf")
	must(t, os.MkdirAll(filepath.Dir(moved), 0o755))
	must(t, os.Rename(filepath.Join(r.bin, "git-wf"), moved))
	o := r.options()
	o.Program, o.Roots = moved, []string{"it's $(touch bad)", "b/*"}
	_, err := Install(t.Context(), o)
	must(t, err)
	r.stage("b/plain", "1")
	r.wantCommit(true)
	r.wantCalls("")
	r.stage("IT'S $(touch bad)/x", "1")
	r.wantCommit(true)
	r.wantCalls("args: hook pre-commit\n")
	if _, err := os.Stat(r.path("bad")); err == nil {
		t.Error("a root was run as a command")
	}
}

func TestNoHooksDirectory(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	must(t, os.Remove(r.path(".git", "hooks")))
	before := r.snapshot()
	r.install()
	r.wantReached()
	r.uninstall()
	diff(t, "uninstall", before, r.snapshot())
}

func TestBadRoots(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	before := r.snapshot()
	for _, root := range []string{"", "./", "/abs", "../up", "a/../..", "a\nb"} {
		o := r.options()
		o.Roots = []string{root}
		if _, err := Install(t.Context(), o); err == nil {
			t.Errorf("root %q was taken", root)
		}
	}
	diff(t, "refused", before, r.snapshot())
}

func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{"section": "#!/bin/sh\necho ran\n", "dispatcher": "#!/bin/sh\nexec echo ran\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.hook("pre-commit", own, 0o755)
			r.git("worktree", "add", "-q", r.path("..", "linked"))
			main := r.dir
			r.dir = filepath.Join(filepath.Dir(main), "linked")
			r.install()
			r.wantReached()
			for _, dir := range []string{r.dir, main} {
				r.dir = dir
				r.stage("deliverables/"+filepath.Base(dir), "1")
				if out := r.wantCommit(true); !strings.Contains(out, "ran") {
					t.Errorf("the own hook did not run: %s", out)
				}
				r.wantCalls("args: hook pre-commit\n")
			}
		})
	}
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sub := newRepo(t)
	r.git("submodule", "add", "-q", sub.dir, "sub")
	r.git("commit", "-qm", "sub")
	super := r.dir
	r.dir = r.path("sub")
	r.install()
	r.wantReached()
	r.stage("deliverables/a", "1")
	r.wantCommit(true)
	r.wantCalls("args: hook pre-commit\n")
	if _, err := os.Stat(filepath.Join(super, ".git", "hooks", "pre-commit")); err == nil {
		t.Error("the superproject got a hook")
	}
}

func TestBare(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.origin()
	r.dir = r.path(".git", "origin.git")
	if _, err := Install(t.Context(), r.options()); !errors.Is(err, ErrBare) {
		t.Errorf("error %v", err)
	}
}

func TestRelativeHooksPath(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("config", "core.hooksPath", "my-hooks")
	write(t, r.path("my-hooks", "pre-commit"), "#!/bin/sh\n. \"$(dirname \"$0\")/lib\"\n", 0o755)
	write(t, r.path("my-hooks", "lib"), "echo $0\n", 0o644)
	before := r.snapshot()
	if rep := r.install(); rep.Mode != ModeDispatcher {
		t.Errorf("mode %s", rep.Mode)
	}
	r.wantReached()
	r.stage("deliverables/a", "1")
	if out := r.wantCommit(true); !strings.Contains(out, "my-hooks/pre-commit") {
		t.Errorf("the own hook did not run: %s", out)
	}
	r.wantCalls("args: hook pre-commit\n")
	after := r.snapshot()
	r.install()
	diff(t, "second install", after, r.snapshot())

	// In another worktree the path names another directory; the gate still works there.
	r.git("worktree", "add", "-q", r.path("..", "linked"))
	main := r.dir
	r.dir = filepath.Join(filepath.Dir(main), "linked")
	r.stage("deliverables/b", "1")
	r.wantCommit(true)
	r.wantCalls("args: hook pre-commit\n")
	r.dir = main
	r.git("worktree", "remove", "-f", filepath.Join(filepath.Dir(main), "linked"))

	r.uninstall()
	got := r.snapshot()
	for p := range got {
		if before[p] != got[p] && (p == ".git/config" || strings.HasPrefix(p, "my-hooks") || strings.Contains(p, "wf")) {
			t.Errorf("%s: %q, want %q", p, got[p], before[p])
		}
	}
}

func TestHooksPathThatIsNotOurs(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		set  func(r *repo)
		want HooksPathError
	}{
		{"tracked", func(r *repo) {
			write(r.t, r.path(".githooks", "pre-commit"), "#!/bin/sh\necho team\n", 0o755)
			r.git("add", ".githooks")
			r.git("commit", "-qm", "hooks")
			r.git("config", "core.hooksPath", ".githooks")
		}, HooksPathError{Scope: "local", Tracked: true}},
		{"tracked, by a link", func(r *repo) {
			write(r.t, r.path("githooks", "pre-commit"), "#!/bin/sh\necho team\n", 0o755)
			r.git("add", "githooks")
			r.git("commit", "-qm", "hooks")
			must(r.t, os.Remove(r.path(".git", "hooks")))
			must(r.t, os.Symlink("../githooks", r.path(".git", "hooks")))
		}, HooksPathError{Tracked: true}},
		{"global", func(r *repo) {
			write(r.t, r.path("..", "all-hooks", "pre-commit"), "#!/bin/sh\necho team\n", 0o755)
			r.git("config", "--global", "core.hooksPath", "~/all-hooks")
		}, HooksPathError{Scope: "global"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			c.set(r)
			before := r.snapshot()
			_, err := Install(t.Context(), r.options())
			var got *HooksPathError
			if !errors.As(err, &got) || got.Scope != c.want.Scope || got.Tracked != c.want.Tracked || !strings.Contains(err.Error(), "--force") {
				t.Fatalf("error %v", err)
			}
			diff(t, "refused", before, r.snapshot())
			o := r.options()
			o.Force = true
			rep, err := Install(t.Context(), o)
			must(t, err)
			if rep.Mode != ModeDispatcher {
				t.Errorf("mode %s", rep.Mode)
			}
			r.wantReached()
			r.install() // force is no longer needed
			r.stage("deliverables/a", "1")
			if out := r.wantCommit(true); !strings.Contains(out, "team") {
				t.Errorf("the own hook did not run: %s", out)
			}
			r.wantCalls("args: hook pre-commit\n")
			r.uninstall()
			if got := r.snapshot(); got[".git/config"] != before[".git/config"] {
				t.Errorf("config: %q, want %q", got[".git/config"], before[".git/config"])
			}
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		break_ func(r *repo)
		active bool
		reason string
	}{
		{"fine", func(r *repo) {}, true, ""},
		{"missing", func(r *repo) { must(r.t, os.Remove(r.path(".git", "hooks", "pre-commit"))) }, false, "not installed"},
		{"not executable", func(r *repo) { must(r.t, os.Chmod(r.path(".git", "hooks", "pre-commit"), 0o644)) }, false, "not executable"},
		{"written anew", func(r *repo) { r.hook("pre-commit", "#!/bin/sh\necho other tool\n", 0o755) }, false, "another tool"},
		{"elsewhere", func(r *repo) { r.git("config", "core.hooksPath", "else") }, false, "core.hooksPath makes git look in"},
		{"older", func(r *repo) {
			p := r.path(".git", "hooks", "pre-commit")
			old, _ := os.ReadFile(p)
			write(r.t, p, strings.ReplaceAll(string(old), "deliverables", "other"), 0o755)
		}, true, "run `git wf hooks install`"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			ran := r.path("ran")
			r.install()
			c.break_(r)
			all, err := Status(t.Context(), r.options())
			must(t, err)
			st := all[0]
			if st.Name != "pre-commit" || st.Active != c.active || (c.reason == "") != (st.Reason == "") || !strings.Contains(st.Reason, c.reason) {
				t.Errorf("status %+v", st)
			}
			if err := probe(t.Context(), r.options()); (err == nil) != c.active {
				t.Errorf("probe: %v", err)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("a hook ran")
			}
			if c.name == "not executable" {
				return
			}
			r.install()
			r.wantReached()
		})
	}
}

func TestProbeLeavesOwnHooksAlone(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"#!/bin/sh\ntouch ran\n", "#!/bin/sh\nexec touch ran\n"} {
		r := newRepo(t)
		for _, s := range clientSpecs(true) {
			r.hook(s.name, own, 0o755)
		}
		if err := probe(t.Context(), r.options()); err == nil || !strings.Contains(err.Error(), "pre-push") {
			t.Errorf("before install: %v", err)
		}
		r.install()
		before := r.snapshot()
		r.wantReached()
		diff(t, "probe", before, r.snapshot())
		// Setting the probe's variable does not bypass the gate.
		r.more = []string{"GIT_WF_PROBE=x"}
		r.wantCommit(false, "--allow-empty")
	}
}

// Git before 2.36 has no `git hook run`; Probe then runs the file itself.
func TestProbeOldGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	o := r.options()
	real := o.Git
	o.Git = func(ctx context.Context, args ...string) (string, error) {
		if args[0] == "version" {
			return "git version 2.34.1", nil
		}
		return real(ctx, args...)
	}
	_, err := Install(t.Context(), o)
	must(t, err)
	must(t, probe(t.Context(), o))
}

// Every shell that may read the section accepts it, also with -e and -u.
func TestShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "dash", "bash", "bash --posix", "ksh", "mksh", "zsh", "busybox sh"} {
		name, arg, _ := strings.Cut(shell, " ")
		if why := tool.Broken(name); why != "" {
			t.Logf("skipped: %s", why)
			continue
		}
		path := tool.Need(t, name)
		for _, opt := range []string{"", "-eu"} {
			r := newRepo(t)
			wrapper := filepath.Join(r.bin, "bash") // a name that Install takes for a shell
			write(t, wrapper, "#!/bin/sh\nexec "+path+" "+arg+" \"$@\"\n", 0o755)
			shebang := strings.TrimSpace("#!"+wrapper+" "+opt) + "\n"
			r.hook("pre-commit", shebang+"echo own $0\n", 0o755)
			r.hook("pre-push", shebang+"cat >/dev/null\n", 0o755)
			r.origin()
			if rep := r.install(); rep.Mode != ModeSection {
				t.Fatalf("mode %s", rep.Mode)
			}
			r.wantReached()
			r.stage("deliverables/a", "1")
			if out := r.wantCommit(true); strings.Count(out, "own .git/hooks/pre-commit") != 1 {
				t.Errorf("%s %s: %s", shell, opt, out)
			}
			r.wantCalls("args: hook pre-commit\n")
			r.git("push", "-q", "origin", "main")
			if got := r.calls(); strings.Count(got, "in: ") != 1 {
				t.Errorf("%s %s: %s", shell, opt, got)
			}
			r.hideProgram()
			r.stage("deliverables/a", "2")
			r.wantCommit(false)
			r.wantCommit(true, "--no-verify")
			if _, err := r.run("git", "push", "-q", "origin", "main"); err == nil {
				t.Errorf("%s %s: push went through", shell, opt)
			}
		}
	}
}

func TestUneditable(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"#!/bin/sh\ntrue\n":                         "",
		"#! /bin/bash -eu\ntrue\n":                  "",
		"#!/usr/bin/env -S bash\ntrue\n":            "language",
		"#!/usr/bin/env zsh\nexec a\nb\n":           "",
		"#!/bin/sh\nexecute\n":                      "",
		"#!/bin/sh\nexec lefthook \\\n  run x\n# x": "exec",
		"#!/bin/sh\ntest x || exec a\n":             "exec",
		"#!/bin/sh -x -c\ntrue\n":                   "options",
		"#!/usr/bin/python3\nexec\n":                "language",
		"#!/bin/sh\n\x00":                           "not a script",
		"echo\n":                                    "no line",
	} {
		if got := uneditable([]byte(script)); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}

func TestDamagedSection(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.install()
	p := r.path(".git", "hooks", "pre-commit")
	old, _ := os.ReadFile(p)
	cut := bytes.ReplaceAll(old, []byte("\n"+endMark), nil)
	write(t, p, string(cut), 0o755)
	for name, run := range map[string]func(context.Context, Options) (Report, error){"install": Install, "uninstall": Uninstall} {
		if _, err := run(t.Context(), r.options()); err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(p); !bytes.Equal(got, cut) {
			t.Errorf("%s changed the file", name)
		}
	}
}

func TestForeignHookInDispatcher(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.hook("pre-commit", "#!/usr/bin/perl\n", 0o755)
	r.install()
	p := r.path(".git", "wf", "hooks", "pre-commit")
	write(t, p, "#!/bin/sh\necho other tool\n", 0o755)
	if _, err := Install(t.Context(), r.options()); err == nil || !strings.Contains(err.Error(), "another tool") {
		t.Errorf("error %v", err)
	}
	r.uninstall()
	if got, _ := os.ReadFile(p); string(got) != "#!/bin/sh\necho other tool\n" {
		t.Errorf("left %q", got)
	}
}

// onServer are options for a repository that others push to.
func onServer(o Options) Options {
	o.Server = true
	return o
}

// What is set for one working tree overrides the repository, so nothing there reaches the gate: Install says how to go on.
func TestHooksPathOfOneWorktree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("config", "extensions.worktreeConfig", "true")
	r.git("config", "--worktree", hooksPath, "my-hooks")
	_, err := Install(t.Context(), r.options())
	var path *HooksPathError
	if !errors.As(err, &path) || !strings.Contains(err.Error(), "git config --worktree --unset core.hooksPath") {
		t.Fatalf("got %v", err)
	}
	r.git("config", "--worktree", "--unset", hooksPath)
	_, err = Install(t.Context(), r.options())
	must(t, err)
}
