package hooks

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAlike(t *testing.T) {
	roots := []string{"deliverables", "docs/Release notes.2024", "ausgänge", "out"}
	tests := map[string]bool{
		"deliverables":                true,
		"deliverables/x":              true,
		"Deliverables/x":              true,
		"deliverable\u017f/x":         true,
		"d\u200celiverables/x":        true,
		"\ufeffdeliverables":          true,
		"deliverables. ./x":           true,
		"deliverables:stream":         true,
		`deliverables\x`:              true,
		"DELIVE~1/x":                  true,
		"deliv~12/x":                  true,
		"DE0A1F~3":                    true,
		"docs/release notes.2024/x":   true,
		"docs/RELEAS~1.202/x":         true,
		"docs./release notes.2024./x": true,
		"AUSGA\u0308NGE/x":            true,
		"out./x":                      true,
		"":                            false,
		"deliverable/x":               false,
		"deliverables.md":             false,
		"xdeliverables":               false,
		"d\u200bliverables":           false,
		"delive~x":                    false,
		"dexxxx~1":                    false,
		"docs":                        true, // a file in place of the directory
		"DOCS.":                       true,
		"docs/x":                      false,
		"out~1/x":                     false, // already a short name
		"other/deliverables/x":        false,
	}
	for path, want := range tests {
		if got := Alike(roots, path); got != want {
			t.Errorf("Alike(%q) = %v, want %v", path, got, want)
		}
	}
}

// Alike never sees what the hooks' pathspecs miss. This asks git whether they find what they must and ignore plain
// names.
func TestGlobsFindWhatIsAlike(t *testing.T) {
	r := newRepo(t)
	roots := []string{"deliverables", "docs/out[1]", "交付", "-x", "top/end", "an/other/end", "交易/end", "MS/end"}
	alike := []string{
		"d\u200celiverables/a/b", "\u206adeliverables", "deliverables./a", "deliverables \u200f/a", "deliverables:s",
		"deliverables\\a",
		"DELIVE~1/a", "DE12AB~1", "deliv~10/a", "docs/out[1]./a", "docs./out[1]/a", "do\u200dcs/out[1]/a",
		"docs/o\u200cut[1]/a", "docs\\out[1]",
		"交\u200c付/a", "\u200c交付/a", "-x./a", "\u200c-x/a", "Deliverables/a", "docs/OUT[1]/a",
		"top", "TOP.", "t\u200cop", "an/other", "an/OTHER:s", "交易", "ms", "m\u017f",
	}
	plain := []string{"a", "docs/a", "docs.md", "src/deliverables/a", "src/d\u200celiverables/a", "交/付", "x/y",
		"de/live~1", "dist/app.js", "an/a", "tops", "stop"}
	blob := r.git("hash-object", "-w", "-t", "blob", "/dev/null")
	var list strings.Builder
	for _, p := range append(slices.Clone(alike), plain...) {
		list.WriteString("100644 " + blob + "\t" + p + "\x00")
	}
	cmd := exec.Command("git", "-c", "core.protectHFS=false", "-c", "core.protectNTFS=false", "update-index", "-z",
		"--index-info")
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(list.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := strings.Split(strings.TrimSuffix(r.git(append([]string{"ls-files", "-z", "--"}, Wide(roots)...)...), "\x00"),
		"\x00")
	for _, p := range alike {
		if !Alike(roots, p) {
			t.Errorf("%q is not alike", p)
		}
		if !slices.Contains(found, p) {
			t.Errorf("the pathspecs do not find %q", p)
		}
	}
	for _, p := range plain {
		if Alike(roots, p) || slices.Contains(found, p) {
			t.Errorf("%q is taken for a root: found %v", p, slices.Contains(found, p))
		}
	}
}

// If the hooks find a path by another spelling, the program must not take it for unprotected.
func TestSpellingsAreAlike(t *testing.T) {
	for _, root := range []string{"deliverables", "skis/ﬁles", "Straße", "交付", "a;b`c", "ǅungla", "ΑΣ", "Ꭰ"} {
		for _, s := range spellings(root) {
			if !Alike([]string{root}, s+"/x") {
				t.Errorf("%q is a spelling of %q, and not alike", s, root)
			}
		}
	}
}
