package attacktest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/chaostest"
	"gitwf/internal/repotest"
)

func TestMain(m *testing.M) { os.Exit(repotest.InMemory{M: m}.Run()) }

// The short form of go run -C bench ./chaos gate people code.
func TestAttack(t *testing.T) {
	for _, kv := range os.Environ() { // the gate runs git in this process, too
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "WF_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	lab, err := chaostest.NewLab(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGates(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the checker sees", func(t *testing.T) { checkerSees(t, *g) })
	t.Run("the gate agrees", func(t *testing.T) {
		tally, err := g.Push(t.Context(), 1, 120)
		if err != nil {
			t.Fatal(err)
		}
		if tally.Accepted < 20 || tally.Scripts < 20 || tally.Clones == 0 {
			t.Errorf("too little was tried: %s", tally)
		}
		for _, d := range tally.Differences {
			t.Error(d)
		}
	})
	t.Run("the checker of code reads what git prints", func(t *testing.T) { codeCheckerReads(t, lab) })
	t.Run("the checker of code sees", func(t *testing.T) { codeCheckerSees(t, lab) })
	t.Run("the gate agrees about code", func(t *testing.T) { codeGateAgrees(t, lab) })
	t.Run("people are let work on code", func(t *testing.T) { codePeopleAreLetWork(t, lab) })
	t.Run("people are let work", func(t *testing.T) {
		r, err := NewPeople(lab).Work(t.Context(), 1, 40)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Found {
			t.Error(d)
		}
	})
}

// A blind checker would find no difference. So this disables the gate: everything lands, and the checker must see each
// kind of attack. Some kinds are rare, so it goes on until it has seen all.
func checkerSees(t *testing.T, g Gates) {
	g.blind, g.Each = true, 1000
	unseen := []string{
		"not in a bundle", "twice in one tree", "no manifest of this plan", "no commit of the plan", "is not approved",
		"not the approved version",
		"approved by nobody", "a bundle is gone", "a tag of a tree has", "a claim that is a commit",
		"a claim that is a large blob", "a policy with files",
		"a replacement", "a plan under another name", "a lie about what a plan has", "forged: another plan.json",
		"forged: no event", "forged: a join", "its tip: ", "nobody gave that score",
	}
	const most = 25
	for seed := uint64(1); len(unseen) > 0 && seed <= most; seed++ {
		tally, err := g.Push(t.Context(), seed, g.Each)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tally.Differences {
			if d.Kind != "landed" {
				t.Errorf("with nobody to refuse it: %s", d)
			}
			unseen = slices.DeleteFunc(unseen, func(want string) bool { return strings.Contains(d.String(), want) })
		}
	}
	for _, want := range unseen {
		t.Errorf("%q was not seen in %d pushes", want, most*g.Each)
	}
}
