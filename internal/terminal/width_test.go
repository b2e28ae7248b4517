package terminal

import (
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	tests := []struct {
		name, in     string
		ascii        bool
		want         string
		wantsColumns int
	}{
		{"plain", "a b", false, "a b", 3},
		{"wide", "說明 a", false, "說明 a", 6},
		{"wide in ASCII", "說明 a", true, "???? a", 6},
		{"an accent of its own", "e\u0301", false, "e\u0301", 1},
		{"an accent in ASCII", "e\u0301", true, "e", 1},
		{"control characters", "a\x1b[31mb\x07\x9b", false, "a\ufffd[31mb\ufffd\ufffd", 9},
		{"what turns the direction of writing", "a\u202eb\u2066c", false, "abc", 3},
		{"what joins", "a\u200db\u00adc", false, "abc", 3},
		{"another line", "a\nb\u2028c", false, "a\ufffdb\ufffdc", 5},
		{"tabs", "a\tb\t說\tc", false, "a   b   說  c", 13},
		{"an emoji", "✅ ok", false, "✅ ok", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Text(tt.in, tt.ascii)
			if got != tt.want || Cells(got) != tt.wantsColumns {
				t.Errorf("got %q, %d columns, want %q, %d", got, Cells(got), tt.want, tt.wantsColumns)
			}
		})
	}
}

func TestClipAndFit(t *testing.T) {
	tests := []struct {
		name, in string
		columns  int
		fit      string
		clip     string
	}{
		{"short", "abc", 5, "abc", "abc"},
		{"exact", "abcde", 5, "abcde", "abcde"},
		{"long", "abcdef", 5, "abcde", "abcd…"},
		{"in the middle of a wide one", "說明書", 5, "說明", "說明…"},
		{"nothing fits", "說", 1, "", ""},
		{"no room", "abc", 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fit(tt.in, tt.columns); got != tt.fit {
				t.Errorf("Fit: %q, want %q", got, tt.fit)
			}
			if got := Clip(tt.in, tt.columns, "…"); got != tt.clip {
				t.Errorf("Clip: %q, want %q", got, tt.clip)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		name, in string
		columns  int
		want     []string
	}{
		{"empty", "", 10, []string{""}},
		{"short", "a b", 10, []string{"a b"}},
		{"between words", "one two three", 8, []string{"one two", "three"}},
		{"a long word", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"wide", "說明文字", 5, []string{"說明", "文字"}},
		{"a narrow screen", "說a", 1, []string{"說", "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Wrap(tt.in, tt.columns); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
