package exchange

import (
	"testing"

	"golang.org/x/text/encoding/unicode"
)

// FuzzUTF16 holds the decoder against the complete one.
func FuzzUTF16(f *testing.F) {
	for _, s := range []string{"", "a\x00", "\x00a", "a", "\x3d\xd8\x00\xde", "\xd8\x3d\xde\x00", "\x00\xd8a\x00", "\x00\xdc", "\xff\xfe", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
			want, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes([]byte(mark + s))
			if err != nil {
				t.Fatal(err)
			}
			if got := fromUTF16([]byte(mark + s)); string(got) != string(want) {
				t.Errorf("%q: got %q, want %q", mark+s, got, want)
			}
		}
	})
}
