package exchange

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// FuzzUTF16 reads back what the complete encoder writes. Bytes that nobody's encoder writes become a text all the same:
// the two decoders differ in how many replacement characters stand for surrogates without their pair.
func FuzzUTF16(f *testing.F) {
	for _, s := range []string{"", "a", "é", "😀", "\xff\xfe", "\x3d\xd8\x00\xde", "\x00\xdc", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.ToValidUTF8(s, "?")
		for _, order := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
			written, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().Bytes([]byte(want))
			if err != nil {
				t.Fatal(err)
			}
			if got := fromUTF16(written); string(got) != want {
				t.Errorf("%q: got %q", want, got)
			}
		}
		for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
			if got := fromUTF16([]byte(mark + s)); !utf8.Valid(got) {
				t.Errorf("%q: got %q, which is no UTF-8", mark+s, got)
			}
		}
	})
}
