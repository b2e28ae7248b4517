package hooks

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"gitwf/internal/shell"
)

// Probe proves that git reaches the gate: it makes git run each hook with a nonce in the environment, and the script
// prints that nonce before it does anything else. The repository's own hooks don't run and nothing changes. The error
// names each hook that git does not reach, and why.
func Probe(ctx context.Context, o Options) error {
	in, err := newInstaller(ctx, o)
	if err != nil {
		return fmt.Errorf("probe hooks: %w", err)
	}
	all, err := in.status()
	if err != nil {
		return err
	}
	var bad []string
	for _, st := range all {
		if why := probe(ctx, in.git, in.at, st); why != "" {
			bad = append(bad, st.Name+": "+why)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("git does not reach the gate: %s", strings.Join(bad, "; "))
	}
	return nil
}

// probe says why git does not reach a hook; it is empty if git does. It does not run a hook that is not ours.
func probe(ctx context.Context, git Git, l layout, st HookStatus) string {
	if !st.Active {
		return st.Reason
	}
	nonce := rand.Text()
	run := "git hook run --ignore-missing " + st.Name
	if !l.git.atLeast(2, 36) {
		run = shell.Quote(st.Path)
	}
	// Git runs an alias in its own shell where hooks run, on every system, and an alias can set the environment.
	alias := "alias.wf-probe=!GIT_WF_PROBE=" + nonce + " " + run + " </dev/null 2>&1 || :"
	out, err := git(ctx, "-c", alias, "wf-probe")
	if err != nil {
		return err.Error()
	}
	if want := "git-wf " + st.Name + " " + nonce; strings.TrimSpace(out) != want {
		return fmt.Sprintf("git did not run %s: expected %q, found %q", st.Path, want, out)
	}
	return ""
}
