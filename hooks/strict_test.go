package hooks

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/repotest/tool"
)

// newStrict makes a repository with one file below the root and one outside, in strict mode.
func newStrict(t testing.TB) *repo {
	t.Helper()
	r := newRepo(t)
	r.stage("deliverables/a", "1")
	r.stage("src", "1")
	r.git("commit", "-qm", "second")
	r.installStrict()
	return r
}

func (r *repo) installStrict() {
	r.t.Helper()
	o := r.options()
	o.Strict = true
	_, err := Install(r.t.Context(), o)
	must(r.t, err)
	must(r.t, probe(r.t.Context(), o))
}

// bypass runs git with all hooks off, as somebody who bypasses the gate would.
func (r *repo) bypass(args ...string) string {
	r.t.Helper()
	return r.git(append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
}

// make returns an unreferenced commit that sets a file's content on top of parents.
func (r *repo) make(path, content string, parents ...string) string {
	r.t.Helper()
	index := "GIT_INDEX_FILE=" + filepath.Join(r.t.TempDir(), "index")
	old := r.more
	defer func() { r.more = old }()
	r.more = append(r.more, index)
	write(r.t, filepath.Join(filepath.Dir(r.dir), "blob"), content, 0o644)
	args := []string{"commit-tree", "-m", "made"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	if len(parents) > 0 {
		r.git("read-tree", parents[0])
	}
	if path != "" {
		r.git("update-index", "--add", "--cacheinfo", "100644,"+r.git("hash-object", "-w", "../blob")+","+path)
	}
	return r.git(append(args, r.git("write-tree"))...)
}

const zero = "0000000000000000000000000000000000000000"

// What strict mode asks the program about. In a want, $old is main before the move and $new the commit it moves to.
func TestStrictAsks(t *testing.T) {
	t.Parallel()
	const asked = "args: hook reference-transaction prepared\nin: "
	const main = asked + "$old $new refs/heads/main\n"
	cases := []struct {
		name string
		do   func(r *repo) (moved string) // returns the commit to which main or another ref moved
		want string
	}{
		{"commit of another file", func(r *repo) string {
			r.stage("src", "2")
			r.git("commit", "-qm", "x")
			return "main"
		}, ""},
		{"--no-verify", func(r *repo) string {
			r.stage("deliverables/a", "2")
			r.git("commit", "-qm", "x", "--no-verify")
			return "main"
		}, main},
		{"another spelling", func(r *repo) string {
			r.stage("DELIVERABLE\u017f/a", "2")
			r.git("commit", "-qm", "x", "--no-verify")
			return "main"
		}, main},
		{"update-ref without an old value", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"update-ref without an old value, of a packed branch", func(r *repo) string {
			r.git("pack-refs", "--all")
			c := r.make("deliverables/a", "2", "main")
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"update-ref of a packed branch to another file", func(r *repo) string {
			r.git("pack-refs", "--all")
			r.git("update-ref", "refs/heads/main", r.make("src", "2", "main"))
			return "main"
		}, ""},
		{"update-ref of HEAD", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("update-ref", "HEAD", c)
			return c
		}, main},
		{"touched and put back", func(r *repo) string {
			c := r.make("deliverables/a", "1", r.make("deliverables/a", "2", "main"))
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"fast-forward to a branch that went past the gate", func(r *repo) string {
			r.bypass("branch", "side", r.make("deliverables/a", "2", "main"))
			r.git("merge", "-q", "side")
			return "main"
		}, main + "args: hook post-merge 0\n"},
		{"checkout -B", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("checkout", "-qB", "main", c)
			return c
		}, main},
		{"reset --hard", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("reset", "-q", "--hard", c)
			return c
		}, main},
		{"branch -f", func(r *repo) string {
			r.git("checkout", "-q", "--detach")
			c := r.make("deliverables/a", "2", "main")
			r.git("branch", "-f", "main", c)
			return c
		}, main},
		{"a merge that differs from all parents", func(r *repo) string {
			side := r.make("src", "3", "main")
			c := r.make("deliverables/a", "2", "main", side)
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"an octopus that differs from all parents", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main", r.make("src", "3", "main"), r.make("src", "4", "main"))
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"a merge of old commits alone that differs from all", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main", "main~1")
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"a side branch merged without its content", func(r *repo) string {
			r.bypass("branch", "side", r.make("deliverables/a", "2", "main"))
			r.git("merge", "-q", "-s", "ours", "-m", "m", "side")
			return "main"
		}, "args: hook pre-merge-commit\n" + main + "args: hook post-merge 0\n"},
		{"replaced commit", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("replace", c, r.make("src", "9", "main"))
			r.git("update-ref", "refs/heads/main", c)
			return c
		}, main},
		{"literal pathspecs in the environment", func(r *repo) string {
			r.stage("deliverables/a", "2")
			r.more = []string{"GIT_LITERAL_PATHSPECS=1"}
			r.git("commit", "-qm", "x", "--no-verify")
			return "main"
		}, main},
		{"new branch of what is there", func(r *repo) string { r.git("branch", "new"); return "main" }, ""},
		{"new branch of a new file elsewhere", func(r *repo) string { r.git("branch", "new", r.make("src", "2", "main")); return "main" }, ""},
		{"new branch with the root", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("branch", "new", c)
			return c
		}, asked + zero + " $new refs/heads/new\n"},
		{"new branch from an unrelated root", func(r *repo) string {
			c := r.make("src", "3", r.make("deliverables/a", "2"))
			r.git("branch", "new", c)
			return c
		}, asked + zero + " $new refs/heads/new\n"},
		{"new branch that a tag of the same full name vouches for", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("update-ref", "refs/tags/refs/heads/new", c)
			r.git("update-ref", "refs/heads/new", c)
			return c
		}, asked + zero + " $new refs/heads/new\n"},
		{"tags and remote branches", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.git("tag", "t", c)
			r.git("update-ref", "refs/remotes/origin/main", c)
			r.git("update-ref", "refs/workflow-claims/WFS-a/IMPL-1", r.git("hash-object", "-w", "src"))
			r.git("update-ref", "refs/workflow-remotes/origin/WFS-a", c)
			r.git("update-ref", "refs/workflow-archive/WFS-a", c)
			return c
		}, ""},
		{"detached HEAD, and then the branch", func(r *repo) string {
			r.git("checkout", "-q", "--detach")
			r.stage("deliverables/a", "2")
			r.git("commit", "-qm", "x", "--no-verify")
			r.wantCalls("")
			r.git("checkout", "-qB", "main")
			return "main"
		}, main},
		{"back to an older commit", func(r *repo) string { r.git("reset", "-q", "--hard", "HEAD^"); return "main" }, ""},
		{"reset to the same commit", func(r *repo) string { r.git("reset", "-q", "--hard", "HEAD"); return "main" }, ""},
		{"new plan", func(r *repo) string {
			c := r.make("plan.json", "{}")
			r.git("update-ref", "refs/workflow/WFS-a", c)
			return c
		}, asked + zero + " $new refs/workflow/WFS-a\n"},
		{"plan moved back", func(r *repo) string {
			first := r.make("plan.json", "{}")
			r.bypass("update-ref", "refs/workflow/WFS-a", r.make("plan.json", "{1}", first))
			old := r.git("rev-parse", "refs/workflow/WFS-a")
			r.git("update-ref", "refs/workflow/WFS-a", first)
			return old + " " + first
		}, asked + "$new refs/workflow/WFS-a\n"},
		{"plan packed, deleted", func(r *repo) string {
			r.bypass("update-ref", "refs/workflow/WFS-a", r.make("plan.json", "{}"))
			r.git("pack-refs", "--all")
			r.git("update-ref", "-d", "refs/workflow/WFS-a")
			return "main"
		}, ""},
		{"one of many", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			list := ""
			for _, n := range strings.Split("abcdefghij", "") {
				list += "create refs/tags/" + n + " " + c + "\ncreate refs/heads/" + n + " " + r.git("rev-parse", "main") + "\n"
			}
			r.batch(list + "update refs/heads/main " + c + "\n")
			return c
		}, main},
		{"many of which none counts", func(r *repo) string {
			c := r.make("src", "2", "main")
			list := "update refs/heads/main " + c + "\n"
			for _, n := range strings.Split("abcdefghij", "") {
				list += "create refs/heads/" + n + " " + c + "\ncreate refs/tags/" + n + " " + c + "\n"
			}
			r.batch(list)
			return "main"
		}, ""},
		{"three", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.batch("create refs/heads/x " + r.make("src", "2", "main") + "\nupdate refs/heads/main " + c + "\ncreate refs/tags/c " + c + "\n")
			return c
		}, main},
		{"the last of four", func(r *repo) string {
			c := r.make("deliverables/a", "2", "main")
			r.batch("create refs/tags/a " + c + "\ncreate refs/tags/b " + c + "\ncreate refs/tags/c " + c + "\nupdate refs/heads/main " + c + "\n")
			return c
		}, main},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newStrict(t)
			old := r.git("rev-parse", "main")
			moved := c.do(r)
			if !strings.Contains(moved, " ") {
				moved = r.git("rev-parse", moved)
			}
			r.wantCalls(strings.NewReplacer("$old", old, "$new", moved).Replace(c.want))
		})
	}
}

// batch moves several refs in one transaction.
func (r *repo) batch(list string) {
	r.t.Helper()
	cmd := exec.Command("git", "update-ref", "--stdin")
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(list)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
}

// The program's exit code decides. Without the program, strict mode refuses only what it would have asked about.
func TestStrictRefuses(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *repo){
		"refused": func(r *repo) { r.more = []string{"WF_EXIT=1"} },
		"missing": func(r *repo) { r.hideProgram() },
		"broken":  func(r *repo) { write(r.t, filepath.Join(r.bin, "git-wf"), "\x7fELF nonsense\n", 0o755) },
		"gone":    func(r *repo) { write(r.t, filepath.Join(r.bin, "git-wf"), "#!/no/such/interpreter\n", 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newStrict(t)
			c := r.make("deliverables/a", "2", "main")
			p := r.make("plan.json", "{}")
			r.bypass("update-ref", "refs/workflow/WFS-a", p)
			prepare(r)
			before := r.git("for-each-ref")
			for _, args := range [][]string{
				{"update-ref", "refs/heads/main", c}, {"branch", "new", c}, {"merge", "-q", c}, {"update-ref", "refs/workflow/WFS-b", p},
				{"update-ref", "refs/workflow/WFS-a", c},
			} {
				out, err := r.run("git", args...)
				if err == nil {
					t.Errorf("git %v went through", args)
				}
				if name != "refused" && strings.Count(out, "install git-wf") != 1 {
					t.Errorf("git %v: %s", args, out)
				}
				r.git("reset", "-q", "--hard")
			}
			if after := r.git("for-each-ref"); after != before {
				t.Errorf("refs moved:\n%s", after)
			}
			r.stage("src", "2")
			r.wantCommit(true)
			r.git("pack-refs", "--all")
			r.git("gc", "-q")
			r.git("fetch", "-q", ".", "refs/heads/main:refs/heads/copy")
			r.git("update-ref", "-d", "refs/workflow/WFS-a")
		})
	}
}

// Everyday commands work as they do without the hook.
func TestStrictEverydayCommands(t *testing.T) {
	t.Parallel()
	r := newStrict(t)
	r.more = []string{"WF_EXIT=1"}
	r.origin()
	r.git("push", "-q", "origin", "main", "--no-verify")
	up := filepath.Join(t.TempDir(), "up")
	r.git("clone", "-q", r.path(".git", "origin.git"), up)
	other := *r
	other.dir = up
	for _, name := range []string{"f1", "f2"} {
		other.stage(name, "1")
		other.git("commit", "-qm", name)
		other.git("tag", name)
	}
	other.git("push", "-q", "origin", "main", "--tags")
	script := [][]string{
		{"fetch", "-q", "origin"},
		{"fetch", "-q", "--atomic", "--tags", "origin"},
		{"pull", "-q", "--ff-only", "origin", "main"},
		{"worktree", "add", "-q", "../linked"},
		{"-C", "../linked", "commit", "-q", "--allow-empty", "-m", "linked"},
		{"worktree", "remove", "../linked"},
		{"branch", "-m", "linked", "moved"},
		{"branch", "-c", "moved", "copied"},
		{"branch", "-D", "copied"},
		{"branch", "merged"},
		{"branch", "-d", "merged"},
		{"branch", "-D", "moved"},
		{"checkout", "-q", "-b", "topic", "HEAD~2"},
		{"commit", "-q", "--allow-empty", "-m", "t1"},
		{"commit", "-q", "--allow-empty", "-m", "t2"},
		{"rebase", "-q", "main"},
		{"commit", "-q", "--amend", "--allow-empty", "-m", "t2 amended"},
		{"cherry-pick", "--keep-redundant-commits", "main"},
		{"revert", "--no-edit", "main"},
		{"checkout", "-q", "main"},
		{"merge", "-q", "--no-ff", "-m", "m", "topic"},
		{"bisect", "start", "main", "f1"},
		{"bisect", "good"},
		{"bisect", "reset"},
		{"tag", "-a", "-m", "t", "t"},
		{"tag", "-d", "t"},
		{"notes", "add", "-m", "n"},
		{"branch", "orphaned"},
		{"pack-refs", "--all", "--prune"},
		{"branch", "-D", "orphaned"},
		{"gc", "-q", "--prune=now"},
		{"update-ref", "-d", "refs/heads/topic"},
		{"symbolic-ref", "refs/heads/alias", "refs/heads/main"},
		{"update-ref", "refs/heads/alias", "main~1"},
		{"update-ref", "refs/heads/alias", "f2"},
		{"fsck", "--strict"},
	}
	for _, args := range script {
		r.git(args...)
	}
	write(t, r.path("src"), "stashed", 0o644)
	r.git("stash", "-q")
	r.git("stash", "pop", "-q")
	if got := r.calls(); strings.Contains(got, strictName) {
		t.Errorf("calls of git-wf: %s", got)
	}
	if got := r.git("rev-parse", "main", "alias"); strings.Count(got, "\n") != 1 || got[:40] != got[41:] {
		t.Errorf("main and alias: %s", got)
	}

	// A colleague bypassed the gate: the hook asks the program when the branch moves.
	other.stage("deliverables/a", "9")
	other.bypass("commit", "-qm", "sneak")
	other.git("push", "-q", "-f", "origin", "main")
	r.git("reset", "-q", "--hard", "origin/main")
	r.calls()
	if out, err := r.run("git", "pull", "-q", "--ff-only", "origin", "main"); err == nil {
		t.Errorf("pull went through: %s", out)
	}
	if got := r.calls(); !strings.Contains(got, " refs/heads/main\n") {
		t.Errorf("calls: %q", got)
	}
}

// The gate judges branches of a submodule and of a linked worktree, too, and another repository's hook does not get in
// the way.
func TestStrictElsewhere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sub := newRepo(t)
	r.git("submodule", "add", "-q", sub.dir, "sub")
	r.git("commit", "-qm", "sub")
	top := r.dir
	r.dir = r.path("sub")
	r.installStrict()
	r.stage("deliverables/a", "1")
	r.more = []string{"WF_EXIT=1"}
	r.wantCommit(false, "--no-verify")
	r.dir = top
	r.calls()
	r.stage("deliverables/a", "1")
	r.wantCommit(true)

	r.installStrict()
	r.git("worktree", "add", "-q", "../linked")
	r.dir = filepath.Join(filepath.Dir(top), "linked")
	for range 2 { // with a loose and with a packed branch
		r.stage("deliverables/b", "1")
		r.wantCommit(false, "--no-verify")
		r.git("reset", "-q", "--hard")
		write(t, r.path("src"), r.git("rev-parse", "HEAD"), 0o644)
		r.git("add", "src")
		r.wantCommit(true)
		r.git("update-ref", "refs/heads/linked", r.make("src", "3", "HEAD"))
		r.git("reset", "-q", "--hard")
		r.git("pack-refs", "--all")
	}
}

// The boundary of a shallow history does not make old commits look new.
func TestStrictShallow(t *testing.T) {
	t.Parallel()
	r := newStrict(t)
	r.stage("src", "2")
	r.git("commit", "-qm", "third")
	clone := filepath.Join(t.TempDir(), "clone")
	r.git("clone", "-q", "--depth=1", "file://"+r.dir, clone)
	other := *r
	other.dir = clone
	other.installStrict()
	other.more = []string{"WF_EXIT=1"}
	other.stage("src", "3")
	other.wantCommit(true)
	other.git("fetch", "-q", "--unshallow")
	other.stage("src", "4")
	other.wantCommit(true)
	other.wantCalls("")
}

// The repository's own hook sees every state with its lines, in any form, and its exit code counts.
func TestStrictOwnHook(t *testing.T) {
	t.Parallel()
	const record = "echo \"$# $1\" >>'%'\nsed 's/^/own: /' >>'%'\n[ \"$1\" != prepared ] || [ ! -e '%.refuse' ] || exit 3\n"
	for name, own := range map[string]string{
		"section":    "#!/bin/sh\n" + record + "exit 0\n",
		"-eu":        "#!/bin/sh -eu\n" + record,
		"bash":       "#!/usr/bin/env bash\nset -euo pipefail\n" + record,
		"zsh":        "#!/usr/bin/env zsh\n" + record,
		"dispatcher": "#!/bin/sh\n" + record + "exec true\n",
		"perl":       "#!/usr/bin/perl\nopen F,'>>','%'; print F scalar(@ARGV).\" $ARGV[0]\\n\"; print F \"own: $_\" while <STDIN>; exit 3 if $ARGV[0] eq 'prepared' && -e '%.refuse';\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if needs := map[string]string{"bash": "bash", "zsh": "zsh", "perl": "/usr/bin/perl"}[name]; needs != "" {
				tool.Need(t, needs)
			}
			r := newRepo(t)
			log := r.path(".git", "own")
			r.hook(strictName, strings.ReplaceAll(own, "%", log), 0o755)
			before := r.snapshot()
			r.installStrict()
			r.uninstall()
			diff(t, "uninstall", before, r.snapshot())
			r.installStrict()
			want := func(lines ...string) {
				t.Helper()
				got, _ := os.ReadFile(log)
				must(t, os.Remove(log))
				all := strings.Join(lines, "")
				if string(got) != "1 prepared\n"+all+"1 committed\n"+all {
					t.Errorf("the own hook saw %q, want twice %q", got, all)
				}
			}
			head := r.git("rev-parse", "HEAD")
			r.git("update-ref", "refs/tags/t", head)
			want("own: " + zero + " " + head + " refs/tags/t\n")
			r.bypass("branch", "side")
			c := r.make("deliverables/a", "2", "main")
			r.git("update-ref", "refs/heads/side", c, head)
			want("own: " + head + " " + c + " refs/heads/side\n")
			r.wantCalls("args: hook reference-transaction prepared\nin: " + head + " " + c + " refs/heads/side\n")
			for _, n := range []int{3, 4, 5, 300} {
				var list strings.Builder
				var lines []string
				for i := range n {
					ref := fmt.Sprintf("refs/tags/%d-%03d", n, i)
					list.WriteString("create " + ref + " " + c + "\n")
					lines = append(lines, "own: "+zero+" "+c+" "+ref+"\n")
				}
				r.batch(list.String())
				want(lines...)
			}
			write(t, log+".refuse", "", 0o644)
			if _, err := r.run("git", "update-ref", "refs/tags/u", head); err == nil {
				t.Error("the own hook's refusal was lost")
			}
		})
	}
}

// Turning strict mode off leaves nothing of it, in any mode of installation.
func TestStrictOff(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *repo){
		"section":    func(r *repo) {},
		"own hook":   func(r *repo) { r.hook(strictName, "#!/bin/sh\nexit 0\n", 0o755) },
		"dispatcher": func(r *repo) { r.hook("pre-commit", "#!/usr/bin/perl\n", 0o755) },
		"dispatcher with an own hook": func(r *repo) {
			r.hook("pre-commit", "#!/usr/bin/perl\n", 0o755)
			r.hook(strictName, "#!/bin/sh\nexit 0\n", 0o755)
		},
		"relative hooks path": func(r *repo) { r.git("config", "core.hooksPath", "my-hooks") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			prepare(r)
			before := r.snapshot()
			r.install()
			loose := r.snapshot()
			r.installStrict()
			all, err := Status(t.Context(), r.options())
			if must(t, err); len(all) != 4 {
				t.Errorf("not strict: %d hooks", len(all))
			}
			o := r.options()
			o.Strict = true
			if all, err = Status(t.Context(), o); err != nil || len(all) != 5 || all[4].Name != strictName || !all[4].Active {
				t.Errorf("strict: %+v, %v", all, err)
			}
			r.install()
			diff(t, "strict off", loose, r.snapshot())
			if err := probe(t.Context(), o); err == nil || !strings.Contains(err.Error(), strictName) {
				t.Errorf("probe: %v", err)
			}
			r.installStrict()
			r.uninstall()
			got := r.snapshot()
			if name == "relative hooks path" { // git leaves an empty section behind
				delete(before, ".git/config")
				delete(got, ".git/config")
			}
			diff(t, "uninstall", before, got)
		})
	}
}

// server turns r's origin into a server that judges pushes.
func (r *repo) server(prepare func(bare *repo)) *repo {
	r.t.Helper()
	r.origin()
	bare := *r
	bare.dir = r.path(".git", "origin.git")
	must(r.t, os.MkdirAll(bare.path("hooks"), 0o755))
	prepare(&bare)
	_, err := Install(r.t.Context(), onServer(bare.options()))
	must(r.t, err)
	must(r.t, probe(r.t.Context(), onServer(bare.options())))
	return &bare
}

func TestServer(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]string{
		"none":       "",
		"section":    "#!/bin/sh\nsed 's/^/own: /' >>'%'\n",
		"no input":   "#!/bin/sh\nexit 0\n",
		"dispatcher": "#!/bin/sh\nexec sed -n 'w %'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			seen := filepath.Join(t.TempDir(), "seen")
			var before map[string]string
			bare := r.server(func(b *repo) {
				if own != "" {
					write(t, b.path("hooks", "pre-receive"), strings.ReplaceAll(own, "%", seen), 0o755)
				}
				before = b.snapshot()
			})
			head := r.git("rev-parse", "HEAD")
			r.git("push", "-q", "origin", "main")
			r.wantCalls("")
			if own != "" && name != "no input" {
				if got, _ := os.ReadFile(seen); !strings.Contains(string(got), zero+" "+head+" refs/heads/main\n") {
					t.Errorf("the own hook saw %q", got)
				}
			}
			r.git("push", "-q", "origin", "main:other")
			r.git("push", "-q", "origin", "--delete", "other")
			r.wantCalls("")

			c := r.make("deliverables/a", "1", head)
			plan := r.make("plan.json", "{}")
			lines := "args: hook pre-receive\nin: " + head + " " + c + " refs/heads/main\nin: " + zero + " " + head + " refs/tags/t\n"
			r.git("push", "-q", "origin", c+":refs/heads/main", head+":refs/tags/t")
			r.wantCalls(lines)
			r.git("push", "-q", "origin", r.make("src", "1", c)+":refs/heads/main")
			r.wantCalls("")
			r.git("push", "-q", "origin", plan+":refs/workflow/WFS-a")
			r.git("push", "-q", "origin", ":refs/workflow/WFS-a")
			r.wantCalls("args: hook pre-receive\nin: " + zero + " " + plan + " refs/workflow/WFS-a\n" +
				"args: hook pre-receive\nin: " + plan + " " + zero + " refs/workflow/WFS-a\n")

			bad := [][]string{
				{r.make("deliverables/b", "1") + ":refs/heads/unrelated"}, {r.make("deliverables/b", "1", c) + ":refs/tags/sneak"},
				{plan + ":refs/workflow/WFS-b"}, {head + ":refs/tags/fine", r.make("deliverables/b", "2", c) + ":refs/heads/main"},
				{"--force", r.make("deliverables/b", "2", head) + ":refs/heads/main"},
			}
			for _, prepare := range []func(){func() { bare.more = nil; r.more = []string{"WF_EXIT=1"} }, func() { r.more = nil; r.hideProgram() }} {
				prepare()
				for _, refs := range bad {
					if out, err := r.run("git", append([]string{"push", "-q", "origin"}, refs...)...); err == nil {
						t.Errorf("push %v went through: %s", refs, out)
					}
				}
				r.git("push", "-q", "origin", head+":refs/heads/free")
				r.git("push", "-q", "origin", ":refs/heads/free")
			}
			if own != "" {
				write(t, bare.path("hooks", "pre-receive"), "#!/bin/sh\nexit 1\n", 0o755)
				if name != "dispatcher" {
					_, err := Install(t.Context(), onServer(bare.options()))
					must(t, err)
				}
				if _, err := r.run("git", "push", "-q", "origin", head+":refs/heads/free"); err == nil {
					t.Error("the own hook's refusal was lost")
				}
				write(t, bare.path("hooks", "pre-receive"), strings.ReplaceAll(own, "%", seen), 0o755)
				if name != "dispatcher" {
					_, err := Install(t.Context(), onServer(bare.options()))
					must(t, err)
				}
			}
			all, err := Status(t.Context(), onServer(bare.options()))
			if must(t, err); len(all) != 1 || !all[0].Active || all[0].Reason != "" {
				t.Errorf("status %+v", all)
			}
			_, err = Uninstall(t.Context(), bare.options())
			must(t, err)
			got := bare.snapshot()
			for p := range got {
				if strings.HasPrefix(p, "hooks") || strings.HasPrefix(p, "wf") || p == "config" {
					if got[p] != before[p] {
						t.Errorf("uninstall: %s: %q, want %q", p, got[p], before[p])
					}
				}
			}
		})
	}
}

func TestServerNeedsBare(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	if _, err := Install(t.Context(), onServer(r.options())); !errors.Is(err, ErrNotBare) {
		t.Errorf("error %v", err)
	}
}
