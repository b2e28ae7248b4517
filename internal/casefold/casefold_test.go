package casefold

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folding ignores neighbours, so if all letters agree, all texts do.
func TestOf(t *testing.T) {
	folder := cases.Fold()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		letter := norm.NFD.String(string(r))
		if got, want := Of(letter), strings.ToLower(folder.String(letter)); got != want {
			t.Errorf("%U %q: got %q, want %q", r, letter, got, want)
		}
	}
	for _, s := range []string{"", "\xff", "STRASSE straße", "ΌΣΟΣ όσος", "\x80a\xc3", "Ǆ ǅ ǆ"} {
		s = norm.NFD.String(s)
		if got, want := Of(s), strings.ToLower(folder.String(s)); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
