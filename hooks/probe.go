package hooks

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"gitwf/internal/shell"
)

// Probe proves that git reaches the hooks whose state is given: it makes git run each with a nonce in the environment,
// and the script prints that nonce before it does anything else. The repository's own hooks don't run and nothing
// changes. The error names each hook that git does not reach, and why.
func Probe(ctx context.Context, git Git, all []HookStatus) error {
	var major, minor int
	printed, err := git(ctx, "version")
	if err == nil {
		_, err = fmt.Sscanf(printed, "git version %d.%d", &major, &minor)
	}
	if err != nil {
		return fmt.Errorf("ask git for its version: %w", err)
	}
	// Git runs an alias in its own shell where hooks run, on every system, and an alias can set the environment.
	nonce := rand.Text()
	alias := "alias.wf-probe=!GIT_WF_PROBE=" + nonce + "; export GIT_WF_PROBE"
	for _, st := range all {
		run := "git hook run --ignore-missing " + st.Name
		if major == 2 && minor < 36 {
			run = shell.Quote(st.Path)
		}
		if st.Active { // otherwise it is not ours to run
			alias += "; " + run + " </dev/null 2>&1"
		}
		alias += "; echo; echo . " + nonce
	}
	rest, err := git(ctx, "-c", alias, "wf-probe")
	if err != nil {
		return fmt.Errorf("probe hooks: %w", err)
	}
	var bad []string
	for _, st := range all {
		var out string
		out, rest, _ = strings.Cut(rest, ". "+nonce)
		if want := "git-wf " + st.Name + " " + nonce; !st.Active {
			bad = append(bad, st.Name+": "+st.Reason)
		} else if out = strings.TrimSpace(out); out != want {
			bad = append(bad, fmt.Sprintf("%s: git did not run %s: expected %q, found %q", st.Name, st.Path, want, out))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("git does not reach the gate: %s", strings.Join(bad, "; "))
	}
	return nil
}
