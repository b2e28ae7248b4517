package audit

import (
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// What was audited is gone on from along first parents alone. Of the second history of a join its records were not
// looked at.
func TestSoundUpTo(t *testing.T) {
	r := repotest.New(t)
	tree := r.GitIn("", "mktree")
	commit := func(name string, parents ...plan.OID) plan.OID {
		args := []string{"commit-tree", strings.TrimSpace(tree), "-m", name}
		for _, p := range parents {
			args = append(args, "-p", string(p))
		}
		return plan.OID(strings.TrimSpace(r.Git(args...)))
	}
	root := commit("root")
	first, second := commit("first", root), commit("second", root)
	join := commit("join", first, second)
	for name, c := range map[string]struct {
		tip, from plan.OID
		whole     bool
		audited   []plan.OID
	}{
		"nothing was":                   {join, "", false, nil},
		"itself":                        {join, "", true, []plan.OID{join}},
		"an older one":                  {join, first, false, []plan.OID{first}},
		"the newest of several":         {commit("later", join), join, false, []plan.OID{join, first}},
		"one below what was":            {commit("beside", first), first, false, []plan.OID{join}},
		"of the second, nothing":        {commit("after", second), "", false, []plan.OID{join}},
		"of the second, if it was, too": {commit("after", second), second, false, []plan.OID{second, join}},
		"another history":               {commit("other"), "", false, []plan.OID{join}},
	} {
		t.Run(name, func(t *testing.T) {
			from, whole, err := soundUpTo(t.Context(), r.Open(), c.tip, c.audited)
			if err != nil || from != c.from || whole != c.whole {
				t.Errorf("from %q, whole %v, %v; expected %q, %v", from, whole, err, c.from, c.whole)
			}
		})
	}
}
