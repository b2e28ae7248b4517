package hooks

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// BenchmarkWithOwnHook shows what a commit costs in a repository with its own hook and 100,000 files, with nothing
// protected staged: its hook alone, with the section in it, and called by the dispatcher. bench/ measures the gate
// without such a hook.
func BenchmarkWithOwnHook(b *testing.B) {
	r := newRepo(b)
	r.fill(100_000)
	run := func(name string, args ...string) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(name, args...)
				cmd.Dir, cmd.Env = r.dir, r.env
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		}
	}
	r.hook("pre-commit", "#!/bin/sh\nexit 0\n", 0o755)
	b.Run("own", run(r.path(".git", "hooks", "pre-commit")))
	r.install()
	b.Run("hook+own", run(r.path(".git", "hooks", "pre-commit")))
	r.uninstall()
	r.hook("pre-commit", "#!/bin/sh\nexec true\n", 0o755)
	r.install()
	b.Run("dispatcher+own", run(r.path(".git", "wf", "hooks", "pre-commit")))
}

// fill commits n files outside every root, and stages a change to one.
func (r *repo) fill(n int) {
	r.t.Helper()
	write(r.t, r.path("a"), "1", 0o644)
	blob := r.git("hash-object", "-w", "a")
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "100644 %s\tsrc/d%03d/e%02d/f%d\n", blob, i%200, i/200%20, i)
	}
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(list.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	r.git("commit", "-qm", "many files")
	r.git("update-index", "--cacheinfo", "100644,"+r.git("hash-object", "-w", "--stdin")+",src/d000/e00/f0")
}
