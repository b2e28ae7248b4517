package gitstore

import (
	"strings"
	"testing"
)

func TestScanTree(t *testing.T) {
	id := strings.Repeat("\x01", 20)
	tree := func(entries ...string) []byte {
		var b strings.Builder
		for _, e := range entries {
			b.WriteString(e + "\x00" + id)
		}
		return []byte(b.String())
	}
	tests := map[string]struct {
		data []byte
		want string // name and reason
	}{
		"nothing":                   {nil, ""},
		"files and directories":     {tree("100644 a", "100755 a.b", "40000 a0", "120000 b", "160000 c"), ""},
		"a directory behind a file": {tree("100644 a-b", "40000 a", "100644 a0"), ""},
		"modes that git reads":      {tree("040000 a", "100664 b", "0100644 c", "100600 d"), ""},
		"names like .git": {tree("100644 .gitattributes", "40000 .github", "100644 .gitignore", "100644 git",
			"100644 gitk~1"), ""},
		"a slash":                    {tree("100644 a/b"), "a/b has a slash in its name"},
		"a slash at the end":         {tree("40000 a/"), "a/ has a slash in its name"},
		"no name":                    {tree("100644 "), " has no name"},
		"a dot":                      {tree("40000 ."), ". stands for another directory"},
		"two dots":                   {tree("40000 .."), ".. stands for another directory"},
		".git":                       {tree("40000 .git"), ".git stands for .git"},
		"another case of it":         {tree("40000 .GiT"), ".GiT stands for .git"},
		"with what HFS+ ignores":     {tree("40000 .g\u200cit"), ".g\u200cit stands for .git"},
		"with that at its start":     {tree("40000 \u200c.git"), "\u200c.git stands for .git"},
		"with what NTFS drops":       {tree("40000 .git. "), ".git.  stands for .git"},
		"its stream":                 {tree("40000 .git::$INDEX_ALLOCATION"), ".git::$INDEX_ALLOCATION stands for .git"},
		"its short name":             {tree("40000 GIT~1"), "GIT~1 stands for .git"},
		"below it, for Windows":      {tree(`100644 .git\config`), `.git\config stands for .git`},
		"it, further down":           {tree(`40000 a\b\.GIT`), `a\b\.GIT stands for .git`},
		"a backslash at both ends":   {tree(`100644 \git~1\`), `\git~1\ stands for .git`},
		"backslashes and no .git":    {tree(`100644 .gitignore\a\.github`), ""},
		"not sorted":                 {tree("100644 b", "100644 a"), "a is not in git's order"},
		"a directory as if a file":   {tree("40000 a", "100644 a.b"), "a.b is not in git's order"},
		"a file twice":               {tree("100644 a", "100644 a"), "a is there twice"},
		"a directory twice":          {tree("40000 a", "40000 a"), "a is there twice"},
		"both":                       {tree("100644 a", "40000 a"), "a is there twice"},
		"both, with others between":  {tree("100644 a", "100644 a-b", "40000 a-c", "40000 a"), "a is there twice"},
		"both, the other way round":  {tree("40000 a", "100644 a"), "a is there twice"},
		"both, below a longer name":  {tree("100644 a", "100644 a-b", "100644 a-b-c", "40000 a-b"), "a-b is there twice"},
		"no mode":                    {tree(" a"), "a has mode "},
		"mode zero":                  {tree("000000 a"), "a has mode 000000"},
		"a device":                   {tree("20644 a"), "a has mode 20644"},
		"no octal digits":            {tree("100648 a"), "a has mode 100648"},
		"a mode too long":            {tree("0000100644 a"), "a has mode 0000100644"},
		"cut off":                    {tree("100644 a")[:20], " it is damaged"},
		"only a mode":                {[]byte("100644 "), " it is damaged"},
		"no end of the name":         {[]byte("100644 abc"), " it is damaged"},
		"a flaw, then a sound entry": {tree("100644 ..", "100644 a"), ".. stands for another directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if f := ScanTree(tt.data, func(_, _, _ []byte) {}); f != nil {
				got = f.Name + " " + f.Why
			}
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// ScanTree accepts the order of every tree that git sorted.
func FuzzScanTreeOrder(f *testing.F) {
	f.Add("a", "a.b", "a0", uint8(1))
	f.Add("lib", "lib-x", "lib.c", uint8(5))
	f.Fuzz(func(t *testing.T, a, b, c string, trees uint8) {
		names := map[string]bool{}
		var entries []rawEntry
		for i, n := range []string{a, b, c} {
			if names[n] || badName([]byte(n)) != "" || strings.Contains(n, "\x00") {
				t.Skip()
			}
			names[n] = true
			mode := modeFile
			if trees>>i&1 == 1 {
				mode = modeTree
			}
			entries = append(entries, rawEntry{mode: mode, name: n, oid: "0123456789012345678901234567890123456789"})
		}
		data, err := encodeTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		if flaw := ScanTree(data, func(_, _, _ []byte) {}); flaw != nil {
			t.Errorf("%q: %+v", data, flaw)
		}
	})
}
