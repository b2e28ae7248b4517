package hooks

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gitwf/internal/relpath"
)

// The table has exactly the characters that relpath.Fold takes for ASCII.
func TestASCIIUnitsAreComplete(t *testing.T) {
	want := map[string][]string{}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		if folded := relpath.Fold(string(r)); strings.IndexFunc(folded, func(r rune) bool { return r >= 0x80 }) < 0 {
			want[folded] = append(want[folded], string(r))
		}
	}
	got := asciiUnits
	for unit, chars := range want {
		if !slices.Equal(got[unit], chars) {
			t.Errorf("%q: %q, want %q", unit, got[unit], chars)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d units, want %d", len(got), len(want))
	}
}

func TestSpellings(t *testing.T) {
	cases := []struct {
		root  string
		whole bool     // every spelling is listed
		some  []string // names that a file system may take for root
		not   []string
	}{
		{"out", true, []string{"OUT"}, []string{"oüt"}},
		{"deliverables", true, []string{"Deliverable\u017f"}, []string{"deliverable"}},
		{"Office", true, []string{"o\ufb03ce", "oF\ufb01ce", "o\ufb00ICE"}, nil},
		{"Straße", true, []string{"strasse", "STRASSE", "stra\u1e9ee", "\u017ftraſse", "\ufb05raße"}, nil},
		{"Prüfung", true, []string{"pru\u0308fung", "PRÜFUNG", "PRU\u0308FUNG"}, []string{"prufung"}},
		{"报告", true, nil, []string{"报表"}},
		{"金", true, []string{"\uf90a"}, nil},
		{"Ångström", true, []string{"\u212bngström", "a\u030angstro\u0308m"}, nil},
		{"отчёты-за-квартал", false, []string{"ОТЧЁТЫ-ЗА-КВАРТАЛ", "отче\u0308ты-за-квартал"}, nil},
		{"보고서", true, []string{norm.NFD.String("보고서")}, nil},
	}
	for _, c := range cases {
		got := spellings(c.root)
		if got[0] != c.root || len(got) > maxSpellings+1 {
			t.Errorf("%s: %d spellings, the first %q", c.root, len(got), got[0])
		}
		has := func(name string) bool {
			return slices.ContainsFunc(got, func(s string) bool { return equalFoldASCII(s, name) })
		}
		for _, name := range c.some {
			if relpath.Fold(name) != relpath.Fold(c.root) {
				t.Errorf("%s: %q is no spelling of it", c.root, name)
			}
			if !has(name) {
				t.Errorf("%s: %q is missing", c.root, name)
			}
		}
		for _, name := range c.not {
			if has(name) {
				t.Errorf("%s: %q is one of %q", c.root, name, got)
			}
		}
		for _, s := range got {
			if relpath.Fold(s) != relpath.Fold(c.root) {
				t.Errorf("%s: %q is another name", c.root, s)
			}
		}
		if _, whole := allSpellings(c.root); whole != c.whole {
			t.Errorf("%s: all listed: %v", c.root, whole)
		}
	}
}

// The index probe finds look-alikes of the root.
func TestLookAlikes(t *testing.T) {
	for _, c := range []struct{ root, path string }{
		{"deliverables", "DELIVERABLE\u017f/a"},
		{"deliverables", "deliverable\u017f"},
		{"Prüfung", "pru\u0308fung/a"},
		{"Straße/neu", "STRASSE/NEU/a"},
	} {
		r := newRepo(t)
		r.git("config", "core.precomposeUnicode", "false")
		o := r.options()
		o.Roots = []string{c.root}
		_, err := Install(t.Context(), o)
		must(t, err)
		blob := r.git("hash-object", "-w", "--stdin")
		r.git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+c.path)
		r.wantCommit(true)
		r.wantCalls("args: hook pre-commit\n")
	}
}
