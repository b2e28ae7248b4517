package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitwf/internal/repotest/tool"
)

// withTool returns a repository in which the tool runs, or skips the test.
func withTool(t *testing.T, name string) *repo {
	t.Helper()
	r := newRepo(t)
	where := os.Getenv("PATH")
	if dir := os.Getenv("GIT_WF_TEST_TOOLS"); dir != "" {
		where = filepath.Join(dir, "node_modules", ".bin") + string(os.PathListSeparator) + where
	}
	found := ""
	for _, dir := range filepath.SplitList(where) {
		if p := filepath.Join(dir, name); tool.Broken(p) == "" {
			found = p
			break
		}
	}
	if found == "" {
		t.Skipf("skipped: %s works neither on PATH nor in $GIT_WF_TEST_TOOLS/node_modules/.bin; `.ci/tools DIR` installs it",
			name)
	}
	// With CI set lefthook installs nothing, and neither does husky with HUSKY=0.
	r.env = slices.DeleteFunc(r.env, func(kv string) bool {
		return strings.HasPrefix(kv, "CI=") || strings.HasPrefix(kv, "HUSKY=") || strings.HasPrefix(kv, "LEFTHOOK")
	})
	r.env = append(r.env, "PATH="+r.bin+":"+filepath.Dir(found)+":"+os.Getenv("PATH"))
	return r
}

// withoutNode makes r run lefthook's program itself, as who didn't install it by npm does. npm puts a script for node
// before it, whose start takes 20 times as long, and each hook of lefthook starts it twice.
func (r *repo) withoutNode() *repo {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("GIT_WF_TEST_TOOLS"), "node_modules", "lefthook-*", "bin"))
	must(r.t, err)
	for i, kv := range r.env {
		if rest, ok := strings.CutPrefix(kv, "PATH="+r.bin+":"); ok {
			r.env[i] = "PATH=" + strings.Join(append(append([]string{r.bin}, found...), rest), ":")
		}
	}
	return r
}

// tool runs another tool, which must succeed. env looks it up on the PATH of the repository's environment, not the
// test's.
func (r *repo) tool(name string, args ...string) string {
	r.t.Helper()
	out, err := r.run("env", append([]string{name}, args...)...)
	if err != nil {
		r.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// hookFiles returns the part of a snapshot that contains hooks.
func (r *repo) hookFiles() map[string]string {
	out := map[string]string{}
	for p, content := range r.snapshot() {
		if p == ".git/config" || strings.HasPrefix(p, ".git/hooks") || strings.HasPrefix(p, ".git/wf") ||
			strings.HasPrefix(p, ".husky/_") {
			out[p] = content
		}
	}
	return out
}

// wantBoth commits a protected file and expects that the team's check runs and both hooks ask the gate.
func (r *repo) wantBoth(say string) {
	r.t.Helper()
	write(r.t, r.path("deliverables", "a"), say+r.git("rev-parse", "HEAD"), 0o644)
	r.git("add", "deliverables")
	if out := r.wantCommit(true); !strings.Contains(out, say) {
		r.t.Errorf("the team's check did not run, or did not say %q: %s", say, out)
	}
	got := r.calls()
	if strings.Count(got, "args: hook pre-commit\n") != 1 || strings.Count(got,
		"args: hook reference-transaction prepared\n") != 1 {
		r.t.Errorf("calls of git-wf: %q", got)
	}
	r.more = []string{"WF_EXIT=1"}
	write(r.t, r.path("deliverables", "a"), "refused", 0o644)
	r.git("add", "deliverables")
	r.wantCommit(false)
	r.more = nil
	r.git("reset", "-q", "--hard")
	r.calls()
}

func (r *repo) uninstallTo(before map[string]string) {
	r.t.Helper()
	r.uninstall()
	diff(r.t.(*testing.T), "uninstall", before, r.hookFiles())
}

// A framework is a tool that runs a team's checks.
type framework struct {
	tool    string
	setup   func(r *repo, say string, code string) // makes the team's check print say and exit with code
	install func(r *repo)
	after   string // Status of pre-commit if the tool was installed after us
	syncs   bool   // the tool rewrites its hooks without our section when its configuration changes
}

// edits counts changes of configurations. lefthook notices one only if it is of another second.
var edits atomic.Int64

func frameworks() []framework {
	return []framework{
		{
			tool: "lefthook",
			setup: func(r *repo, say, code string) {
				file := r.path("lefthook.yml")
				write(r.t, file, "pre-commit:\n  jobs:\n    - run: echo "+say+" && exit "+code+"\n", 0o644)
				at := time.Now().Add(time.Duration(edits.Add(1)) * time.Second)
				must(r.t, os.Chtimes(file, at, at))
			},
			install: func(r *repo) { r.tool("lefthook", "install") },
			syncs:   true,
			after:   "another tool has written it anew",
		},
		{
			tool: "husky",
			setup: func(r *repo, say, code string) {
				write(r.t, r.path(".husky", "pre-commit"), "echo "+say+" && exit "+code+"\n", 0o644)
			},
			install: func(r *repo) { r.tool("husky") },
			after:   "core.hooksPath makes git look in",
		},
		{
			tool: "pre-commit",
			setup: func(r *repo, say, code string) {
				write(r.t, r.path(".pre-commit-config.yaml"),
					"repos:\n- repo: local\n  hooks:\n  - id: x\n    name: x\n    entry: sh -c 'echo "+say+
						" && exit "+code+"'\n    language: system\n    always_run: true\n    verbose: true\n", 0o644)
				r.git("add", ".pre-commit-config.yaml")
			},
			install: func(r *repo) { r.tool("pre-commit", "install") },
			after:   "another tool has written it anew",
		},
	}
}

func TestFrameworkFirst(t *testing.T) {
	t.Parallel()
	for _, f := range frameworks() {
		t.Run(f.tool, func(t *testing.T) {
			t.Parallel()
			r := withTool(t, f.tool).withoutNode()
			f.setup(r, "team-one", "0")
			f.install(r)
			r.git("add", ".")
			r.git("commit", "-qm", "checks")
			before := r.hookFiles()
			r.installStrict()
			r.wantBoth("team-one")
			f.setup(r, "team-two", "0")
			r.git("add", ".")
			r.git("commit", "-qm", "checks")
			if f.syncs {
				if err := probe(t.Context(), r.options()); err == nil ||
					!strings.Contains(err.Error(), "another tool has written it anew") {
					t.Errorf("the probe after a change of the configuration: %v", err)
				}
				r.installStrict()
			}
			r.wantBoth("team-two")
			f.setup(r, "team-three", "1")
			r.wantCommit(false, "-a", "--allow-empty")
			r.git("reset", "-q", "--hard")
			r.uninstallTo(before)
			f.setup(r, "team-four", "1")
			r.wantCommit(false, "-a", "--allow-empty")
		})
	}
}

func TestFrameworkLater(t *testing.T) {
	t.Parallel()
	for _, f := range frameworks() {
		t.Run(f.tool, func(t *testing.T) {
			t.Parallel()
			alone := withTool(t, f.tool).withoutNode()
			f.setup(alone, "team-one", "0")
			f.install(alone)

			r := withTool(t, f.tool).withoutNode()
			r.installStrict()
			f.setup(r, "team-one", "0")
			f.install(r)
			r.git("add", ".")
			r.git("commit", "-qm", "checks")
			r.calls()
			o := r.options()
			o.Strict = true
			all, err := Status(t.Context(), o)
			must(t, err)
			if got := all[0]; got.Active || !strings.Contains(got.Reason, f.after) ||
				!strings.Contains(got.Reason, "git wf hooks install") {
				t.Errorf("status after %s: %+v", f.tool, got)
			}
			if err := probe(t.Context(), o); err == nil {
				t.Errorf("the probe sees nothing")
			}
			r.installStrict()
			r.wantBoth("team-one")
			r.uninstall()
			got, want := r.hookFiles(), alone.hookFiles()
			for p := range want {
				want[p] = strings.ReplaceAll(want[p], alone.dir, r.dir)
			}
			diff(t, "uninstall", want, got)
		})
	}
}

// Until the user follows Status and installs again, strict mode still works, unless the tool made git look elsewhere;
// and the pre-commit framework runs our hook before its own.
func TestFrameworkLaterLeavesStrict(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		"lefthook":   "args: hook reference-transaction prepared\n",
		"pre-commit": "args: hook pre-commit\nargs: hook reference-transaction prepared\n",
		"husky":      "",
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			r := withTool(t, tool) // as npm installs it
			r.installStrict()
			for _, f := range frameworks() {
				if f.tool == tool {
					f.setup(r, "team", "0")
					f.install(r)
				}
			}
			r.stage("deliverables/a", "1")
			if out := r.wantCommit(true); !strings.Contains(out, "team") {
				t.Errorf("the team's check did not run: %s", out)
			}
			var got strings.Builder
			for line := range strings.Lines(r.calls()) {
				if !strings.HasPrefix(line, "in: ") {
					got.WriteString(line)
				}
			}
			if got.String() != want {
				t.Errorf("calls %q, want %q", got.String(), want)
			}
		})
	}
}

// wantLFS pushes and expects that both git-lfs and the gate are asked.
func (r *repo) wantLFS(what string) {
	r.t.Helper()
	r.git("commit", "-q", "--allow-empty", "-m", what)
	r.more = []string{"GIT_TRACE=1"}
	out, err := r.run("git", "push", "origin", "main")
	r.more = nil
	if err != nil || !strings.Contains(out, "pre-push") || !strings.Contains(out, "git-lfs") {
		r.t.Errorf("%s: git-lfs did not run: %v, %s", what, err, out)
	}
	if got := r.calls(); !strings.Contains(got, "args: hook pre-push origin ") ||
		!strings.Contains(got, "in: refs/heads/main ") {
		r.t.Errorf("%s: calls of git-wf: %q", what, got)
	}
}

func TestGitLFS(t *testing.T) {
	t.Parallel()
	t.Run("first", func(t *testing.T) {
		t.Parallel()
		r := withTool(t, "git-lfs")
		r.origin()
		r.git("lfs", "install", "--local")
		before := r.hookFiles()
		r.installStrict()
		r.wantLFS("installed")
		r.git("lfs", "track", "*.bin")
		r.stage("x.bin", "large")
		r.git("add", ".")
		r.wantCommit(true)
		r.git("push", "-q", "origin", "main")
		r.uninstallTo(before)
	})
	t.Run("later, after our hooks were taken out", func(t *testing.T) {
		t.Parallel()
		r := withTool(t, "git-lfs")
		r.origin()
		r.installStrict()
		if out, err := r.run("git", "lfs", "install", "--local"); err == nil ||
			!strings.Contains(out, "Hook already exists: pre-push") {
			t.Fatalf("git lfs install: %v, %s", err, out)
		}
		r.uninstall()
		r.git("lfs", "install", "--local")
		before := r.hookFiles()
		r.installStrict()
		r.wantLFS("again")
		r.uninstallTo(before)
	})
	t.Run("later, by hand as git lfs update --manual says", func(t *testing.T) {
		t.Parallel()
		r := withTool(t, "git-lfs")
		r.origin()
		r.installStrict()
		name := ""
		for line := range strings.Lines(r.git("lfs", "update", "--manual")) {
			if _, after, ok := strings.Cut(line, "Add the following to '.git/hooks/"); ok {
				name, _, _ = strings.Cut(after, "'")
			} else if line = strings.TrimSpace(line); line != "" && name != "" {
				p := r.path(".git", "hooks", name)
				old, err := os.ReadFile(p)
				if err != nil {
					old = []byte("#!/bin/sh\n")
				}
				if !strings.HasPrefix(line, "#!") {
					write(t, p, string(old)+line+"\n", 0o755)
				}
			}
		}
		r.wantLFS("by hand")
		r.installStrict()
		r.wantLFS("installed again")
		r.uninstall()
		if got, _ := os.ReadFile(r.path(".git", "hooks", "pre-push")); !strings.HasPrefix(string(got),
			"#!/bin/sh\ncommand -v git-lfs") {
			t.Errorf("left %q", got)
		}
	})
}

// `lefthook install -f` and `git lfs install --force` overwrite our hooks. The next install restores them and keeps the
// tools' own hooks, whichever came first, and also together with husky. Until then strict mode still works.
func TestForcedTools(t *testing.T) {
	t.Parallel()
	for _, husky := range []bool{false, true} {
		for name, hooks := range map[string]struct {
			tool  string
			force []string
		}{
			"lefthook": {"lefthook", []string{"lefthook", "install", "-f"}},
			"git-lfs":  {"git-lfs", []string{"git", "lfs", "install", "--local", "--force"}},
		} {
			t.Run(fmt.Sprintf("%s husky=%v", name, husky), func(t *testing.T) {
				t.Parallel()
				r := withTool(t, hooks.tool)
				if husky {
					r = withTool(t, "husky") // lefthook is in the same repository
				}
				r.withoutNode()
				r.origin()
				write(t, r.path("lefthook.yml"), "pre-commit:\n  jobs:\n    - run: echo team\n", 0o644)
				if husky {
					write(t, r.path("package.json"), `{"devDependencies": {"husky": "^9"}}`, 0o644)
					write(t, r.path(".husky", "commit-msg"), "echo said by husky\n", 0o644)
					r.tool("husky")
				}
				r.git("add", ".")
				r.git("commit", "-qm", "checks")
				force := func() { r.tool(hooks.force[0], hooks.force[1:]...) }
				both := func() {
					t.Helper()
					if name == "git-lfs" {
						r.wantLFS("forced")
					} else {
						r.wantBoth("team")
					}
					o := r.options()
					o.Strict = true
					must(t, probe(t.Context(), o))
					if out := r.wantCommit(true, "--allow-empty"); husky && !strings.Contains(out, "said by husky") {
						t.Errorf("husky did not run: %s", out)
					}
				}
				force()
				r.installStrict()
				both()
				force()
				r.stage("deliverables/b", r.git("rev-parse", "HEAD"))
				r.more = []string{"WF_EXIT=1"}
				r.wantCommit(false, "--no-verify")
				r.more = nil
				r.git("reset", "-q", "--hard")
				r.calls()
				r.installStrict()
				both()
				if husky {
					r.tool("husky")
					o := r.options()
					o.Strict = true
					must(t, probe(t.Context(), o))
				}
			})
		}
	}
}

// The example files that we ship for teams who start the gate from their own list of checks.
func TestShippedPreCommitHook(t *testing.T) {
	t.Parallel()
	r := withTool(t, "pre-commit")
	shipped, err := os.ReadFile("../.pre-commit-hooks.yaml")
	must(t, err)
	source := newRepo(t)
	source.stage(".pre-commit-hooks.yaml", string(shipped))
	source.git("commit", "-qm", "hooks")
	r.stage(".pre-commit-config.yaml", "repos:\n- repo: file://"+source.dir+"\n  rev: "+source.git("rev-parse",
		"HEAD")+"\n  hooks:\n  - id: git-wf\n")
	r.tool("pre-commit", "install")
	r.wantCommit(true)
	r.wantCalls("args: hook pre-commit\n")
	r.more = []string{"WF_EXIT=1"}
	r.wantCommit(false, "--allow-empty")
}

func TestShippedLefthook(t *testing.T) {
	t.Parallel()
	r := withTool(t, "lefthook").withoutNode()
	r.origin()
	shipped, err := os.ReadFile("../examples/lefthook.yml")
	must(t, err)
	r.stage("lefthook.yml", string(shipped))
	r.stage("gone", "1")
	r.tool("lefthook", "validate")
	r.tool("lefthook", "install")
	r.wantCommit(true)
	r.wantCalls("args: hook pre-commit\n")
	r.git("push", "-q", "origin", "main")
	r.wantCalls("args: hook pre-push origin " + r.path(".git", "origin.git") + "\nin: refs/heads/main " +
		r.git("rev-parse", "main") + " refs/heads/main " + zero + "\n")
	r.more = []string{"WF_EXIT=1"}
	r.git("rm", "-q", "gone") // lefthook starts no job if nothing is staged, but a deletion counts
	r.wantCommit(false)
	r.wantCommit(true, "--no-verify")
	if out, err := r.run("git", "push", "-q", "origin", "main"); err == nil {
		t.Errorf("push went through: %s", out)
	}
}

// husky's prepare runs at every npm install. In either order, git still reaches the gate and the team's checks
// afterwards.
func TestHuskyKeepsTheGate(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) *repo {
		r := withTool(t, "husky")
		write(t, r.path("package.json"), `{"scripts": {"prepare": "husky"}, "devDependencies": {"husky": "^9"}}`, 0o644)
		write(t, r.path(".husky", "pre-commit"), "echo team-one\n", 0o644)
		r.git("add", ".")
		r.git("commit", "-qm", "checks")
		r.origin()
		return r
	}
	reached := func(r *repo) {
		r.t.Helper()
		r.wantBoth("team-one")
		r.git("push", "-q", "origin", "main")
		if got := r.calls(); strings.Count(got, "args: hook pre-push origin ") != 1 ||
			!strings.Contains(got, "in: refs/heads/main ") {
			r.t.Errorf("calls of git-wf: %q", got)
		}
		o := r.options()
		o.Strict = true
		must(r.t, probe(r.t.Context(), o))
		all, err := Status(r.t.Context(), o)
		must(r.t, err)
		for _, st := range all {
			if !st.Active || st.Reason != "" {
				r.t.Errorf("status: %+v", st)
			}
		}
		write(r.t, r.path(".husky", "pre-commit"), "echo team-one\nexit 1\n", 0o644)
		r.wantCommit(false, "--allow-empty")
		r.git("reset", "-q", "--hard")
	}
	t.Run("after us", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		r.installStrict()
		for range 2 {
			r.tool("husky")
			reached(r)
		}
		r.installStrict()
		reached(r)
		alone := prepare(t)
		alone.tool("husky")
		want := alone.hookFiles()
		for p := range want {
			want[p] = strings.ReplaceAll(want[p], alone.dir, r.dir)
		}
		r.uninstallTo(want)
	})
	t.Run("before us", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		r.tool("husky")
		before := r.hookFiles()
		r.installStrict()
		reached(r)
		r.tool("husky")
		r.git("config", "some.setting", "later")
		r.git("config", "--unset", "some.setting")
		reached(r)
		r.uninstallTo(before)
	})
	t.Run("in a linked working tree", func(t *testing.T) {
		t.Parallel()
		r := prepare(t)
		r.tool("husky")
		r.installStrict()
		r.git("worktree", "add", "-q", "../linked")
		linked := *r
		linked.dir = filepath.Join(filepath.Dir(r.dir), "linked")
		r.calls()
		linked.more = []string{"WF_EXIT=1"}
		linked.stage("deliverables/a", "1")
		linked.wantCommit(false)
	})
}
