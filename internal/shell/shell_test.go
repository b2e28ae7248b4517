package shell

import "testing"

func TestWord(t *testing.T) {
	for word, want := range map[string]string{
		"refs/workflow/WFS-a": "refs/workflow/WFS-a", "": "''", "a b": "'a b'", "$(x)": "'$(x)'", "it's": `'it'\''s'`,
		"a;b": "'a;b'", "\x1b": "'\x1b'",
	} {
		if got := Word(word); got != want {
			t.Errorf("Word(%q) = %s, want %s", word, got, want)
		}
	}
}
