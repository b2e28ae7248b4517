package relpath

import (
	"errors"
	"strings"
	"testing"

	"gitwf/internal/plain"
)

func TestCheck(t *testing.T) {
	const ok = ""
	tests := []struct{ path, want string }{
		{"report.md", ok}, {"a/b/c.tar.gz", ok}, {"报告/第一章.md", ok}, {"[slug].tsx", ok}, {"a b.txt", ok}, {"...x", ok},
		{".gitignore", ok}, {"sub/.gitignore", ok}, {".github2", "git itself"}, {"git", ok}, {"gitt~1", "git itself"},
		{"x.git", ok},
		{"می\u200cخواهم.md", ok}, {"com10.txt", ok}, {"console.log", ok}, {"nullable", ok}, {"café.md", ok},

		{"", "empty"}, {"/etc/passwd", "relative"}, {"a//b", "empty component"}, {"a/", "end in a slash"}, {"./a", ". or .."},
		{"a/../b", ". or .."}, {"..", ". or .."}, {".", ". or .."}, {`a\b`, "backslash"}, {`..\a`, "backslash"},
		{"C:/x", "Windows"}, {"c:x", "Windows"}, {"a:b", "Windows"}, {"a?b", "Windows"}, {"a*b", "Windows"},
		{`a"b`, "Windows"}, {"a|b", "Windows"}, {"<a>", "Windows"},
		{"CON", "device"}, {"con.txt", "device"}, {"a/NUL", "device"}, {"nul .txt", "device"}, {"COM1.log", "device"},
		{"lpt9", "device"},
		{"LPT².x", "device"}, {"conin$", "device"}, {"aux.tar.gz", "device"},
		{"a.", "dot or a space"}, {"a /b", "dot or a space"}, {"a/b. ", "dot or a space"}, {"...", "dot or a space"},
		{"a\x00b", "U+0000"}, {"a\nb", "U+000A"}, {"a\x1b[31mb", "U+001B"}, {"a\x7f", "U+007F"}, {"a\u0085b", "U+0085"},
		{"a\u202egnp.exe", "U+202E"}, {"a\u2066b", "U+2066"}, {"a\u200bb", "U+200B"}, {"a\u2028b", "U+2028"},
		{"\ufeffa", "U+FEFF"}, {"a\u00adb", "U+00AD"},
		{"a\xff", "UTF-8"}, {"cafe\u0301.md", "NFC"}, {"a\ufffdb", "U+FFFD"},

		{".git", "git itself"}, {".GIT", "git itself"}, {".Git/config", "git itself"},
		{"a/.git/hooks/pre-commit", "git itself"},
		{".gitmodules", "git itself"}, {".gitattributes", "git itself"}, {".gitkeep", "git itself"},
		{".GITIGNORE", "git itself"}, {".gitignore.bak", "git itself"},
		{"git~1", "git itself"}, {"GIT~1", "git itself"}, {"GITMOD~1", "git itself"}, {"gi7eba~1", "git itself"},
		{"gitatt~4", "git itself"}, {"GIT~1.x", "git itself"},
		{".git::$INDEX_ALLOCATION", "Windows"}, {".git:x", "Windows"}, {".git ", "dot or a space"},
		{".git.", "dot or a space"}, {" .git", "git itself"},
		{".g\u200cit", "git itself"}, {".gi\u200dt", "git itself"}, {".g\u200cit\u200dignore", "git itself"},
		{"\u200c.git", "git itself"},
		{"．ｇｉｔ", "git itself"}, {"ｇｉｔ~1", "git itself"},
		{strings.Repeat("a", 255), ok}, {strings.Repeat("a", 256), "at most 255"}, {strings.Repeat("字", 86), "at most 255"},
		{strings.Repeat("a/", 511) + "aa", ok}, {strings.Repeat("a/", 512) + "a", "at most 1024"},
	}
	for _, tt := range tests {
		err := Check(tt.path)
		var e *Error
		switch {
		case tt.want == ok && err != nil:
			t.Errorf("Check(%q) = %v, want nil", tt.path, err)
		case tt.want != ok && (!errors.As(err, &e) || !strings.Contains(e.Rule, tt.want)):
			t.Errorf("Check(%q) = %v, want a rule with %q", tt.path, err, tt.want)
		}
		if err != nil && strings.ContainsFunc(err.Error(), plain.Hostile) && !strings.Contains(err.Error(), "\ufffd") {
			t.Errorf("the error on %q would reach the terminal as it is: %q", tt.path, err)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		"*.md": "", "**": "", "**/*.md": "", "a/*/b": "", "ch[0-9].md": "", "?": "", "report.md": "", "*.*": "",
		"report.*": "", "*.gitlab.yml": "", "docs/**/x.png": "",
		"../*": ". or ..", "/**": "relative", "a**": "** alone", "[a": "close each", "a]": "close each", "[]": "close each",
		".git*": "git itself", ".g[i]t": "git itself", ".gi?t": "git itself", "*/": "end in a slash",
		"a//**": "empty component",
		"con.*": "device", `*\x`: "backslash", "**/.gitmodules": "git itself",
	} {
		err := CheckPattern(pattern)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckPattern(%q) = %v, want %q", pattern, err, want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, same := range [][2]string{
		{"README.md", "readme.MD"}, {"straße", "STRASSE"}, {"é", "e\u0301"}, {"É", "e\u0301"}, {"ΣΑΣ", "σας"},
		{"Å", "\u212b"}, {"Ꮶ", "ꮶ"},
	} {
		if Fold(same[0]) != Fold(same[1]) {
			t.Errorf("%q and %q have different keys %q and %q", same[0], same[1], Fold(same[0]), Fold(same[1]))
		}
	}
	if Fold("a") == Fold("b") || Fold("报告") == Fold("报表") {
		t.Error("different names have the same key")
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"a/b", ".git", "..", "a:b", ".g\u200cit", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if Check(p) != nil {
			return
		}
		low := strings.ToLower(p)
		for c := range strings.SplitSeq(low, "/") {
			if c == "" || c == ".." || strings.HasPrefix(c, ".git") && c != ".gitignore" {
				t.Errorf("Check lets %q pass", p)
			}
		}
		if Fold(Fold(p)) != Fold(p) {
			t.Errorf("Fold(%q) is not stable", p)
		}
	})
}
