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

func TestSlug(t *testing.T) {
	tests := []struct{ in, want string }{
		{"First part", "First_part"},
		{"__init__.py", "init_py"},
		{"标题：第一章", "标题_第一章"},
		{"e\u0301te\u0301", "été"},
		{"Ⅷ ½ ①", ""},
		{"🎉 done", "done"},
		{"a \u0301b", "a_b"},
		{"१२३", "१२३"},
	}
	for _, tt := range tests {
		if got := Slug(tt.in, '_'); got != tt.want {
			t.Errorf("Slug(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestIsText(t *testing.T) {
	for _, tt := range []struct {
		data         string
		whole, isNot bool
	}{
		{"", true, false}, {"é\n", true, false}, {"a\x00", true, true}, {"a\xc3", true, true}, {"a\xc3", false, false},
		{"a\xff\xff\xff\xff", false, true}, {"\xf0\x9f\x98", false, false},
	} {
		if got := IsText([]byte(tt.data), tt.whole); got == tt.isNot {
			t.Errorf("%q, whole %v: %v", tt.data, tt.whole, got)
		}
	}
}
