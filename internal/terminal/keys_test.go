package terminal

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		name, in string
		final    bool
		want     []Key
		rest     string // not decoded
	}{
		{"characters", "aZ/", false, []Key{"a", "Z", "/"}, ""},
		{"Chinese", "好", false, []Key{"好"}, ""},
		{"half a character", "\xe5\xa5", false, nil, "\xe5\xa5"},
		{"half a character and no more", "\xe5\xa5", true, []Key{None, None}, ""},
		{"arrows", "\x1b[A\x1b[B\x1b[C\x1b[D", false, []Key{Up, Down, Right, Left}, ""},
		{"arrows of the application mode", "\x1bOA\x1bOB", false, []Key{Up, Down}, ""},
		{"an arrow with Shift", "\x1b[1;2A", false, []Key{Up}, ""},
		{"page keys", "\x1b[5~\x1b[6~\x1b[1~\x1b[4~\x1b[H\x1b[F", false, []Key{PageUp, PageDown, Home, End, Home, End}, ""},
		{"an escape that may go on", "\x1b", false, nil, "\x1b"},
		{"an escape", "\x1b", true, []Key{Escape}, ""},
		{"an escape and a character", "\x1bq", false, []Key{Escape, "q"}, ""},
		{"half a sequence", "\x1b[1;", false, nil, "\x1b[1;"},
		{"half a sequence and no more", "\x1b[1;", true, []Key{None}, ""},
		{"an unknown sequence", "\x1b[200~x", false, []Key{None, "x"}, ""},
		{"a sequence that is broken off", "\x1b[1\x1b[A", false, []Key{None, Up}, ""},
		{"controls", "\r\n\t\x7f\x03\x1a\x15", false, []Key{Enter, Enter, Tab, Backspace, Interrupt, Suspend, Clear}, ""},
		{"a control that is no key", "\x00\x07", false, []Key{None, None}, ""},
		{"what turns the direction of writing", "\u202e", false, []Key{None}, ""},
		{"an endless sequence", "\x1b[" + strings.Repeat("1", 40), false,
			[]Key{None, "1", "1", "1", "1", "1", "1", "1", "1", "1", "1"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			var got []Key
			for len(in) > 0 {
				k, n := Decode(in, tt.final)
				if n == 0 {
					break
				}
				got, in = append(got, k), in[n:]
			}
			if !slices.Equal(got, tt.want) || string(in) != tt.rest {
				t.Errorf("got %q and %q left, want %q and %q", got, in, tt.want, tt.rest)
			}
		})
	}
}

// Decode consumes a terminal's input to the end, whole or in pieces, and returns only printable characters and named
// keys.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a", "\x1b[A", "\x1b[1;5C", "好\x1b", "\x1b[<0;1;1M", "\x1bO"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for len(in) > 0 {
			k, n := Decode(in, true)
			if n < 1 || n > len(in) {
				t.Fatalf("%q: %d bytes", in, n)
			}
			if early, m := Decode(in, false); m > 0 && (early != k || m != n) {
				t.Fatalf("%q is %q with %d bytes, or %q with %d if more may come", in, k, n, early, m)
			}
			if s := k.Text(); strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
				t.Fatalf("%q types %q", in, s)
			}
			in = in[n:]
		}
	})
}

func TestKeysFromATerminal(t *testing.T) { synctest.Test(t, keysFromATerminal) } // its clock knows no busy machine

func keysFromATerminal(t *testing.T) {
	in, out := io.Pipe()
	keys := Keys(in)
	write := func(s string) {
		if _, err := out.Write([]byte(s)); err != nil {
			t.Error(err)
		}
	}
	want := func(k Key) {
		t.Helper()
		select {
		case got := <-keys:
			if got != k {
				t.Fatalf("got %q, want %q", got, k)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no key, want %q", k)
		}
	}
	go write("\x1b[")
	go func() {
		time.Sleep(5 * time.Millisecond)
		write("A")
		time.Sleep(4 * escapeTime)
		write("\x1b")
		time.Sleep(4 * escapeTime)
		write("q")
		out.Close()
	}()
	want(Up)
	want(Escape)
	want("q")
	if k, open := <-keys; open {
		t.Errorf("%q after the end", k)
	}
}
