package gate

import (
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// A path's protection began with the first of the eras that protect it in a row.
func TestBegan(t *testing.T) {
	era := func(paths ...string) policy.Era { return policy.Era{Paths: paths, Commits: []plan.OID{"x"}} }
	c := policy.Changes{
		Paths: []string{"src/**", "lib/**", "app/*/x"},
		Since: policy.Since{
			era("src/**", "!src/gen/**", "doc/**"), era("src/**", "!src/gen/**", "doc/**", "lib/**"),
			era("src/**", "lib/**"), era("src/**"), era("src/**", "lib/**"),
		},
	}
	const byHand = 5 // what a file adds is an era without commits
	for path, want := range map[string]int{
		"src/a": 0, "src/gen/a": 2, "lib/a": 4, "app/a/x": byHand, "doc/a": -1, "app/a": -1,
		".gitattributes": 0, "lib/.gitattributes": 4, "app/.gitattributes": byHand, "app/a/y/.gitattributes": -1,
		".gitmodules": 0,
	} {
		if got, protected := newGuard(c).began(path, false); protected != (want >= 0) || protected && got != want {
			t.Errorf("began(%q) = %d, %v, want %d", path, got, protected, want)
		}
	}
	if got, protected := newGuard(c).began("app/a", true); !protected || got != byHand {
		t.Errorf("a link at app/a began %d, %v", got, protected)
	}
	if n := len(c.Eras()); n != byHand+1 || len(c.Eras()[byHand].Commits) > 0 {
		t.Errorf("%d eras: %v", n, c.Eras())
	}
}
