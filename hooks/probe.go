package hooks

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"gitwf/internal/shell"
)

// Probe proves that git reaches the gate: it makes git run each hook with a nonce in the environment, which the script prints
// before it does anything else. The repository's own hooks don't run and nothing changes. The error names the hooks that are
// not reached, and why.
//
// Hooks of the config share their events with those of others, which a run would start, too; there git is asked which
// hooks it would run.
func Probe(ctx context.Context, o Options) error {
	in, err := newInstaller(ctx, o, clientSpecs(o.Strict))
	if err != nil {
		return fmt.Errorf("probe hooks: %w", err)
	}
	return in.probe(ctx)
}

func (in *installer) probe(ctx context.Context) error {
	all, err := in.status(ctx)
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

// probe says why git does not reach one hook; it is empty if git does. A hook that is not ours is not run.
func probe(ctx context.Context, git Git, l layout, st HookStatus) string {
	if !st.Active {
		return st.Reason
	}
	if st.Mode == ModeConfig {
		out, err := git(ctx, "hook", "list", st.Name)
		if err != nil || !strings.Contains("\n"+out+"\n", "\n"+configPrefix+st.Name+"\n") {
			return "`git hook list` does not name it"
		}
		return ""
	}
	nonce := rand.Text()
	run := "git hook run --ignore-missing " + st.Name
	if !l.git.atLeast(2, 36) {
		run = shell.Quote(st.Path)
	}
	// An alias is run by git's own shell in the directory where hooks run, on every system, and lets the environment be set.
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
