package attacktest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/chaostest"
)

// Without a gate, the checker must take what people do with approved changes, and see each kind of attack.
func codeCheckerSees(t *testing.T, lab *chaostest.Lab) {
	c := NewCodes(lab)
	c.blind, c.Each = true, 400
	tally := newCodeTally()
	const most = 24
	for seed := uint64(1); len(c.kinds) > 0 && seed <= most; seed++ {
		one, err := c.Work(t.Context(), 1, int(seed)-1, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.kinds = slices.DeleteFunc(slices.Clone(c.kinds), func(a attack) bool { return one.Attacks[a.name] > 0 })
		tally.add(one)
	}
	right, wrong := total(tally.Legal), total(tally.Wrong)
	if wrong*10 > right {
		t.Errorf("the checker takes %d of %d operations for attacks: %v", wrong, right+wrong, tally.Wrong)
	}
	for _, a := range c.kinds {
		t.Errorf("%q was not seen in %d worlds", a.name, most)
	}
	t.Logf("%d of %d operations are not right: %v", wrong, right+wrong, tally.Wrong)
}

func codeGateAgrees(t *testing.T, lab *chaostest.Lab) {
	tally, err := NewCodes(lab).Work(t.Context(), 1, -1, 120)
	if err != nil {
		t.Fatal(err)
	}
	if tally.Taken < 15 || total(tally.Attacks) < 30 {
		t.Errorf("too little was tried: %s", tally)
	}
	for _, d := range tally.Differences {
		t.Error(d)
	}
}

// What people do with code that is protected is let in, or the refusal says how else.
func codePeopleAreLetWork(t *testing.T, lab *chaostest.Lab) {
	tally, err := NewSteps(lab).Work(t.Context(), 1, -1, 60)
	if err != nil {
		t.Fatal(err)
	}
	if tally.Taken < 30 {
		t.Errorf("too little was tried: %s", tally)
	}
	for _, d := range tally.Differences {
		t.Error(d)
	}
}

// The checker reads what git prints: the same files, the same history, and between two commits the same lines.
func codeCheckerReads(t *testing.T, lab *chaostest.Lab) {
	rng := rand.New(rand.NewPCG(5, 0))
	s, err := newCodeStage(t.Context(), lab, 0, rng)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(s.dir))
	o := newLineOracle(&objects{known: s.objects}, nil, s)
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", s.dir}, args...)...)
		cmd.Env = lab.Env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return string(out)
	}
	commits := strings.Fields(git(append([]string{"rev-list", s.landed, s.evil}, s.wide...)...))
	if have := o.oracle.history(append(s.wide, s.landed, s.evil)...); len(have) != len(commits) {
		t.Errorf("the checker sees %d commits of %d", len(have), len(commits))
	}
	for _, c := range commits {
		_, h, _ := o.parsed(c)
		if len(h["parent"]) != 1 {
			continue
		}
		parent := h["parent"][0]
		var listed []string
		for p, what := range o.of(c) {
			mode, id, _ := strings.Cut(what, " ")
			kind := map[string]string{"160000": "commit"}[mode]
			listed = append(listed, fmt.Sprintf("%s %s %s\t%s", mode, cmp.Or(kind, "blob"), id, p))
		}
		slices.SortFunc(listed, func(a, b string) int {
			return strings.Compare(a[strings.Index(a, "\t"):], b[strings.Index(b, "\t"):])
		})
		if got := strings.Join(listed, "\n") + "\n"; got != git("ls-tree", "-r", c) {
			t.Errorf("%s: the checker sees\n%s", c, got)
		}
		if strings.Contains(git("diff", "--raw", "--no-renames", parent, c), "120000") {
			continue // git shows links and submodules as text
		}
		want := items{}
		for line := range strings.Lines(git("diff", "--no-renames", "--unified=0", parent, c)) {
			if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
				want.add(items{"line " + line[1:]: 1}, 1)
			}
			if strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "---") {
				want.add(items{"line " + line[1:]: 1}, -1)
			}
		}
		got := o.items(o.of(c))
		got.add(o.items(o.of(parent)), -1)
		maps.DeleteFunc(got, func(item string, _ int) bool { return !strings.HasPrefix(item, "line ") })
		if !maps.Equal(got, want) {
			t.Errorf("%s: git diff has %v, the checker %v", c, want, got)
		}
	}
}
