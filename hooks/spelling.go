package hooks

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"gitwf/internal/relpath"
)

// maxSpellings limits how many pathspecs one root becomes.
const maxSpellings = 64

// asciiUnits maps ASCII to the characters outside ASCII that a file system which folds case or normalises takes for it:
// the long s, the Kelvin sign, ligatures, and two that normalise to punctuation.
var asciiUnits = map[string][]string{
	"s": {"\u017f"}, "k": {"\u212a"}, ";": {"\u037e"}, "`": {"\u1fef"},
	"ss": {"\u00df", "\u1e9e"}, "st": {"\ufb05", "\ufb06"},
	"ff": {"\ufb00"}, "fi": {"\ufb01"}, "fl": {"\ufb02"}, "ffi": {"\ufb03"}, "ffl": {"\ufb04"},
}

// Pathspecs returns pathspecs that select what is below the roots, in any spelling that a file system may take for
// theirs. The hooks look for changes with them, and the judge must look wherever the hooks do.
func Pathspecs(roots []string) []string {
	var specs []string
	for _, root := range roots {
		for _, spelling := range spellings(root) {
			specs = append(specs, ":(top,literal,icase)"+spelling)
		}
	}
	return specs
}

// spellings returns the names that a case-folding or normalising file system takes for root, except for the case of
// ASCII, which the pathspecs ignore; root itself comes first. If a root has too many to list, it returns those a person
// would write: composed and decomposed, as given, in lower case and in upper case. The program, which compares paths
// one by one, still finds the others.
func spellings(root string) []string {
	out := []string{root}
	all, complete := allSpellings(root)
	if !complete {
		all = nil
		for _, s := range []string{root, strings.ToLower(root), strings.ToUpper(root)} {
			all = append(all, norm.NFC.String(s), norm.NFD.String(s))
		}
	}
	for _, s := range all {
		out = addSpelling(out, s)
	}
	return out
}

// addSpelling adds s unless another spelling's pathspec matches it.
func addSpelling(to []string, s string) []string {
	if slices.ContainsFunc(to, func(have string) bool { return equalFoldASCII(have, s) }) {
		return to
	}
	return append(to, s)
}

// allSpellings returns every spelling of root, or false if there are more than maxSpellings.
func allSpellings(root string) ([]string, bool) {
	runes := []rune(relpath.Fold(root))
	after := make([][]string, len(runes)+1) // the spellings of what follows each position
	after[len(runes)] = []string{""}
	for at := len(runes) - 1; at >= 0; at-- {
		ways := runeSpellings(runes[at])
		after[at] = joinEach(ways, after[at+1])
		for _, unit := range slices.Sorted(maps.Keys(asciiUnits)) {
			if end := at + len(unit); end <= len(runes) && equalFoldASCII(string(runes[at:end]), unit) {
				after[at] = append(after[at], joinEach(asciiUnits[unit], after[end])...)
			}
		}
		if len(after[at]) > maxSpellings {
			return nil, false
		}
	}
	return after[0], true
}

func joinEach(heads, tails []string) []string {
	var out []string
	for _, h := range heads {
		for _, t := range tails {
			out = append(out, h+t)
		}
	}
	return out
}

// runeSpellings returns the variants of a character: other cases, composed, decomposed and as a compatibility
// ideograph.
func runeSpellings(r rune) []string {
	s := string(r)
	if r < 0x80 {
		return []string{s}
	}
	var out []string
	add := func(s string) {
		for _, form := range []string{s, norm.NFC.String(s), norm.NFD.String(s)} {
			out = addSpelling(out, form)
		}
	}
	add(s)
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		add(string(o))
	}
	if unicode.Is(unicode.Han, r) {
		for _, block := range [][2]rune{{0xf900, 0xfaff}, {0x2f800, 0x2fa1f}} {
			for c := block[0]; c <= block[1]; c++ {
				if norm.NFC.String(string(c)) == s {
					add(string(c))
				}
			}
		}
	}
	return out
}

// equalFoldASCII compares as git's icase does: it ignores the case of ASCII letters only.
func equalFoldASCII(a, b string) bool { return lowerASCII(a) == lowerASCII(b) }

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
