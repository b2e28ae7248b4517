package process

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\n", "a\tb\n"},
		{"any script", "完成 ✓\n", "完成 ✓\n"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red"},
		{"window title", "a\x1b]0;title\x07b\x1b]0;title\x1b\\c", "abc"},
		{"unfinished title", "a\x1b]0;rest\n of it", "a]0;rest\n of it"},
		{"short escape", "a\x1b(Bb\x1bMc", "abc"},
		{"progress", "10%\r20%\r\n", "10%\n20%\n"},
		{"bell and nul", "a\x07\x00b", "ab"},
		{"C1 control", "a\u009b31mb", "a31mb"},
		{"writing direction", "a\u202eb", "ab"},
		{"not UTF-8", "a\xff\xfe\xfdb", "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Printable([]byte(tt.in)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// However the output is split, the log is its beginning and its end, and the tail is printable.
func TestCapture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.Int64Range(1, 20000).Draw(t, "keep")
		var all, log bytes.Buffer
		c := newCapture(&log, keep, 1<<30)
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			unit := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "unit")
			p := bytes.Repeat(unit, rapid.IntRange(1, 4000).Draw(t, "times"))
			all.Write(p)
			c.add(p)
		}
		c.close()
		whole := all.Bytes()
		if int64(len(whole)) <= keep {
			if !bytes.Equal(log.Bytes(), whole) || c.dropped != 0 {
				t.Fatalf("log differs from an output of %d bytes", len(whole))
			}
		} else {
			half, rest := keep/2, keep-keep/2
			if c.dropped != int64(len(whole))-keep || !bytes.HasPrefix(log.Bytes(), whole[:half]) ||
				!bytes.HasSuffix(log.Bytes(), whole[int64(len(whole))-rest:]) {
				t.Fatalf("log is not the ends of an output of %d bytes, %d dropped", len(whole), c.dropped)
			}
		}
		tail := c.tail()
		if len(tail) > MaxTail || !utf8.ValidString(tail) || strings.ContainsAny(tail, "\x00\x1b\r\x7f") {
			t.Fatalf("tail %q", tail)
		}
	})
}
