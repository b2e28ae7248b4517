package plain

import (
	"strings"
	"testing"
)

// Line leaves a plain line as it is, and makes one of everything else, of all short texts of the characters that
// matter.
func TestLine(t *testing.T) {
	var try func(s string)
	try = func(s string) {
		want := strings.Join(strings.Fields(Text(s)), " ")
		if got := Line(s); got != want {
			t.Errorf("Line(%q) = %q, want %q", s, got, want)
		}
		for _, c := range "a~ \n\t\x1b\x7f\u0085\u202eé" {
			if len(s) < 5 {
				try(s + string(c))
			}
		}
	}
	try("")
}

func TestSome(t *testing.T) {
	for _, tt := range []struct {
		list []string
		want string
	}{
		{nil, ""}, {[]string{"a"}, "a"}, {[]string{"a", "b"}, "a, b"}, {[]string{"a", "b", "c", "d"}, "a, b, 2 more"},
	} {
		if got := strings.Join(Some(tt.list, 2, strings.ToLower), ", "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.list, got, tt.want)
		}
	}
}
