package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withNewGit returns a repository whose git runs hooks of the config, or skips the test. The other tests run such a
// hook the way that git does; these let git run it.
func withNewGit(t *testing.T) *repo {
	t.Helper()
	if dir := os.Getenv("GIT_WF_TEST_GIT"); dir != "" {
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	r := newRepo(t)
	l, err := inspect(t.Context(), r.options().Git)
	must(t, err)
	if !l.git.atLeast(2, 54) {
		t.Skipf("skipped: git %d.%d runs no hooks of the config; set GIT_WF_TEST_GIT to the directory of a git 2.54 or later",
			l.git.major, l.git.minor)
	}
	return r
}

// asks returns the hooks that asked the program since the last call, in order.
func (r *repo) asks() string {
	var names []string
	for line := range strings.Lines(r.calls()) {
		if words := strings.Fields(line); words[0] == "args:" {
			names = append(names, words[2])
		}
	}
	return strings.Join(names, " ")
}

func (r *repo) wantAsked(what, want string) {
	r.t.Helper()
	if got := r.asks(); got != want {
		r.t.Errorf("%s: asked by %q, want %q", what, got, want)
	}
}

func TestNewGit(t *testing.T) {
	r := withNewGit(t)
	r.origin()
	ran := filepath.Join(filepath.Dir(r.dir), "ran")
	for _, name := range []string{"pre-commit", "commit-msg", "pre-merge-commit", "pre-push", strictName} {
		r.hook(name, "#!/bin/sh\necho "+name+" >>'"+ran+"'\nif [ \"${OWN_FAILS-}\" = "+name+" ]; then exit 1; fi\n", 0o755)
	}
	before := r.snapshot()
	o := r.options()
	o.Strict = true
	rep, err := Install(t.Context(), o)
	must(t, err)
	if rep.Mode != ModeConfig {
		t.Fatalf("mode %s", rep.Mode)
	}
	must(t, Probe(t.Context(), o))
	all, err := Status(t.Context(), o)
	must(t, err)
	for _, st := range all {
		if !st.Active || st.Reason != "" {
			t.Errorf("status %+v", st)
		}
	}
	own := func(want string) {
		t.Helper()
		out, err := os.ReadFile(ran)
		if must(t, os.RemoveAll(ran)); err != nil || !strings.Contains(string(out), want+"\n") {
			t.Errorf("the team's %s did not run: %q", want, out)
		}
	}

	// Changes outside the roots don't start the program; the team's hooks run, and their exit codes count.
	r.stage("src", "1")
	r.wantCommit(true)
	r.wantAsked("a commit", "")
	own("pre-commit")
	r.stage("src", "2")
	r.more = []string{"OWN_FAILS=pre-commit"}
	r.wantCommit(false)
	r.more = nil
	r.wantCommit(true)

	// A protected change starts it: early, again after the team's hooks, and when the branch moves.
	r.stage("deliverables/a", "1")
	r.wantCommit(true)
	r.wantAsked("a protected commit", "pre-commit pre-commit reference-transaction")
	r.stage("deliverables/a", "2")
	r.more = []string{"WF_EXIT=1"}
	r.wantCommit(false)
	r.wantAsked("a refused commit", "pre-commit")
	r.wantCommit(false, "--no-verify")
	r.wantAsked("a commit past the early hooks", "reference-transaction")
	if out, err := r.run("git", "-c", "core.hooksPath=/dev/null", "commit", "-qm", "x"); err == nil {
		t.Errorf("core.hooksPath switched the hooks of the config off: %s", out)
	}
	r.more = nil
	r.git("reset", "-q", "--hard")
	r.calls()

	// A formatter in the hooks directory runs last; what it stages is judged by commit-msg.
	formatter := r.hook("pre-commit", "#!/bin/sh\necho formatted >deliverables/a\ngit add deliverables\n", 0o755)
	r.stage("src", "3")
	r.more = []string{"WF_EXIT=1"}
	r.wantCommit(false)
	r.wantAsked("what a formatter staged", "pre-commit")
	r.more = nil
	r.git("reset", "-q", "--hard")
	write(t, formatter, strings.TrimPrefix(before[".git/hooks/pre-commit"], "-rwxr-xr-x "), 0o755)

	// A merge, a push, and a linked worktree.
	r.git("checkout", "-q", "-b", "side", "HEAD~1")
	r.stage("deliverables/b", "1")
	r.git("commit", "-qm", "side")
	r.git("checkout", "-q", "main")
	r.calls()
	r.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	r.wantAsked("a merge", "pre-merge-commit pre-commit reference-transaction post-merge")
	own("pre-merge-commit")
	r.git("push", "-q", "origin", "main")
	if got := r.calls(); strings.Count(got, "args: hook pre-push origin ") != 1 ||
		!strings.Contains(got, "\nin: refs/heads/main ") {
		t.Errorf("a push: %q", got)
	}
	own("pre-push")
	tree := *r
	tree.dir = filepath.Join(filepath.Dir(r.dir), "tree")
	r.git("worktree", "add", "-q", tree.dir, "-b", "linked")
	r.calls()
	tree.stage("deliverables/c", "1")
	tree.wantCommit(true)
	r.wantAsked("a commit in a linked worktree", "pre-commit pre-commit reference-transaction")

	// Many refs, and refs that are not ours.
	head := r.git("rev-parse", "HEAD")
	var list strings.Builder
	for _, name := range []string{"tags/a", "tags/b", "tags/c", "tags/d", "tags/e", "heads/f"} {
		list.WriteString("create refs/" + name + " " + head + "\n")
	}
	r.batch(list.String())
	r.wantAsked("many refs", "")

	// Status reports a disabled hook, and Uninstall restores the config.
	r.git("config", "hook.git-wf-pre-push.enabled", "false")
	if err := Probe(t.Context(), o); err == nil || !strings.Contains(err.Error(), "pre-push") {
		t.Errorf("probe of a hook that is off: %v", err)
	}
	r.git("push", "-q", "origin", "main:off")
	r.wantAsked("a hook that is off", "")
	r.git("worktree", "remove", tree.dir)
	r.uninstall()
	if got := r.snapshot(); got[".git/config"] != before[".git/config"] {
		t.Errorf("config %q, want %q", got[".git/config"], before[".git/config"])
	}
}

// A server refuses from its config, and a clone's sections give way to the config after a git update.
func TestNewGitServer(t *testing.T) {
	r := withNewGit(t)
	bare := r.server(func(bare *repo) {
		write(t, bare.path("hooks", "pre-receive"), "#!/bin/sh\ncat >/dev/null\n", 0o755)
	})
	r.stage("src", "1")
	r.git("commit", "-qm", "one")
	r.git("push", "-q", "origin", "main")
	r.wantAsked("a push", "")
	r.stage("deliverables/a", "1")
	r.git("commit", "-qm", "two")
	bare.more = []string{"WF_EXIT=1"}
	r.more = bare.more
	if out, err := r.run("git", "push", "-q", "origin", "main"); err == nil {
		t.Errorf("went through: %s", out)
	}
	r.more = nil
	r.wantAsked("a protected push", "pre-receive")
	r.git("push", "-q", "origin", "main")
	r.wantAsked("a protected push", "pre-receive")

	old := r.pretend("git version 2.53.0")
	_, err := Install(t.Context(), old)
	must(t, err)
	if !strings.Contains(r.snapshot()[".git/hooks/pre-commit"], beginMark) {
		t.Fatal("no section")
	}
	rep, err := Install(t.Context(), r.options())
	must(t, err)
	if _, left := r.snapshot()[".git/hooks/pre-commit"]; left || rep.Mode != ModeConfig {
		t.Errorf("mode %s, section left: %v", rep.Mode, left)
	}
	r.stage("deliverables/b", "1")
	r.wantCommit(true)
	r.wantAsked("a commit after the update", "pre-commit")
}
