package attacktest

import (
	"context"
	"strings"
	"testing"

	"gitwf/internal/chaostest"
)

// A checker that sees nothing would find no difference. With the gate out of the way everything lands, and each kind of attack must be
// seen.
func TestCheckerSees(t *testing.T) {
	ctx := context.Background()
	lab, err := chaostest.NewLab(ctx, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGates(ctx, lab)
	if err != nil {
		t.Fatal(err)
	}
	g.blind, g.Each = true, 1000
	tally, err := g.Push(ctx, 1, 3000)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, d := range tally.Differences {
		if d.Kind != "landed" {
			t.Errorf("with nobody to refuse it: %s", d)
		}
		all.WriteString(d.String())
	}
	for _, want := range []string{
		"not in a bundle", "twice in one tree", "no manifest of this plan", "no commit of the plan", "is not approved", "not the approved version",
		"approved by nobody", "a bundle is gone", "a tag of a tree has", "a claim that is a commit", "a claim that is a large blob", "a policy with files",
		"a replacement", "a plan under another name", "forged: another plan.json", "forged: no event", "forged: a join", "its tip: ", "nobody gave that score",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q was not seen in %d pushes", want, tally.Pushes)
		}
	}
}
