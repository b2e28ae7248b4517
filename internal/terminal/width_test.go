package terminal

import "testing"

func TestCells(t *testing.T) {
	tests := []struct {
		name, in string
		want     int
	}{
		{"plain", "a b", 3},
		{"wide", "說明 a", 6},
		{"an accent of its own", "e\u0301", 1},
		{"what turns the direction of writing", "a\u202eb\u2066c", 3},
		{"an emoji", "✅ ok", 5},
		{"styles", "\x1b[1;33m說\x1b[0m a", 4},
		{"another sequence", "\x1b[2J", 4},
		{"no sequence", "\x1b[1", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Cells(tt.in); got != tt.want {
				t.Errorf("%d columns, want %d", got, tt.want)
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
		{"styles", "\x1b[32mabc\x1b[0mdef", 3, "\x1b[32mabc\x1b[0m", "\x1b[32mab…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fit(tt.in, tt.columns); got != tt.fit {
				t.Errorf("Fit: %q, want %q", got, tt.fit)
			}
			if got := Clip(tt.in, tt.columns); got != tt.clip {
				t.Errorf("Clip: %q, want %q", got, tt.clip)
			}
		})
	}
}
