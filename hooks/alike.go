package hooks

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"gitwf/internal/casefold"
	"gitwf/internal/pattern"
)

// ignorable are the characters that HFS+ leaves out when it compares names, as git's core.protectHFS knows them.
const ignorable = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// Wide returns the pathspecs that find everything protected in an index: Pathspecs, Globs, and what stands in the place of a
// directory that a root is in.
func Wide(roots []string) []string {
	specs := append(Pathspecs(roots), Globs(roots)...)
	for _, root := range roots {
		for i, c := range root {
			if c == '/' {
				specs = addSpecs(specs, itself(root[:i]))
			}
		}
	}
	return specs
}

// TreePathspecs returns those that find it in trees, too: there a name may hold a slash, which no path of an index does.
func TreePathspecs(roots []string) []string {
	specs := Wide(roots)
	for _, root := range roots {
		specs = addSpecs(specs, append(itself(root), escapeGlob(root)+"/**"))
	}
	return specs
}

func addSpecs(to, patterns []string) []string {
	for _, pattern := range patterns {
		if spec := ":(top,icase,glob)" + pattern; !slices.Contains(to, spec) {
			to = append(to, spec)
		}
	}
	return to
}

// itself are patterns of a path, in any spelling, that do not find what is below it. git takes a pattern without a wildcard for a
// directory, too, and one letter in brackets is a wildcard.
func itself(path string) []string {
	var patterns []string
	for _, s := range spellings(path) {
		s = lowerASCII(s) // as git's wildmatch wants it in brackets
		at := strings.LastIndexFunc(s, func(r rune) bool { return r < 0x80 && plainLetter.Get().MatchString(string(r)) })
		if at < 0 {
			patterns = append(patterns, escapeGlob(s)+"*") // finds its neighbours too, which Alike leaves out
			continue
		}
		patterns = append(patterns, escapeGlob(s[:at])+"["+s[at:at+1]+"]"+escapeGlob(s[at+1:]))
	}
	return patterns
}

// Globs returns the pathspecs that find what Pathspecs does not: names that a file system takes for a root though they are
// spelt otherwise. HFS+ ignores characters; NTFS drops dots and spaces at the end, knows a directory by its streams
// and by a short name, and reads a backslash as a slash. They find too much rather than too little: Alike decides. git
// looks at more of a history for them than for Pathspecs, which is nothing for a few commits and a lot for thousands.
func Globs(roots []string) []string {
	var specs []string
	for _, root := range roots {
		parent, parts := "", strings.Split(root, "/")
		for i, component := range parts {
			find := globs
			if i < len(parts)-1 {
				find = parentGlobs
			}
			for _, pattern := range find(component) {
				specs = append(specs, ":(top,icase,glob)"+escapeGlob(parent)+pattern)
			}
			parent += component + "/"
		}
	}
	return specs
}

// globs are patterns of the names that the last component of a root goes by, too. There are few of them, since git holds
// each against every path of the index.
func globs(component string) []string {
	letters := escapedLetters(component)
	heads := []string{""}
	if plainLetter.Get().MatchString(letters[0]) {
		letters[0] = "[" + letters[0] + ignorable + "]" // of bytes: git knows no other
	} else {
		heads = append(heads, "["+ignorable+"]*")
	}
	out := shortGlobs(component)
	for _, head := range heads {
		apart := head + strings.Join(letters, "*")
		out = append(out, apart, apart+`[. :\\`+ignorable+"]*")
	}
	for _, pattern := range slices.Clone(out) {
		out = append(out, pattern+"/**")
	}
	return out
}

// parentGlobs are patterns of the names that a directory goes by, too, which is not protected itself: they must not find its
// own.
func parentGlobs(component string) []string {
	letters := escapedLetters(component)
	plain := strings.Join(letters, "")
	out := []string{plain + `*[\\:]*`, plain + "*[. " + ignorable + "]"}
	for i := range letters {
		out = append(out, strings.Join(letters[:i], "")+"["+ignorable+"]*"+strings.Join(letters[i:], "*")+"*")
	}
	out = append(out, shortGlobs(component)...)
	for _, pattern := range slices.Clone(out) {
		out = append(out, pattern+"/**")
	}
	return out
}

func shortGlobs(component string) []string {
	if _, hashed, ok := shortNames(component); ok && hashed != "" {
		return []string{escapeGlob(hashed) + "*~[0-9]*"}
	}
	return nil
}

func escapedLetters(component string) []string {
	letters := strings.Split(lowerASCII(component), "")
	for i := range letters {
		letters[i] = escapeGlob(letters[i])
	}
	return letters
}

var plainLetter = pattern.Compile(`^[0-9a-z_]$`)

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// Alike reports whether a file's path is a root, or below one, on some file system: in any case, composed or not, with what HFS+
// ignores or NTFS drops, or by a short name that NTFS may have given it. It is also true of a path that stands where a directory
// belongs that a root is in: a link there leads the root elsewhere.
func Alike(roots []string, path string) bool {
	names := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	for _, root := range roots {
		parts := strings.Split(root, "/")
		same := true
		for i := 0; same && i < min(len(parts), len(names)); i++ {
			same = AlikeName(parts[i], names[i])
		}
		if same {
			return true
		}
	}
	return false
}

// AlikeName reports whether some file system takes a name for a component of a root, or for a path that begins with it.
func AlikeName(component, name string) bool {
	name, _, _ = strings.Cut(name, `\`)
	have, want := plainName(name), fold(component)
	return have == want || shortFor(component, have)
}

// plainName is what is left of a name after what file systems leave out of it.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(ignorable, r) {
			return -1
		}
		return r
	}, name)
	return fold(strings.TrimRight(name, ". "))
}

// fold gives equal results for names that differ in case or in how they are composed.
func fold(name string) string {
	return norm.NFC.String(casefold.Of(norm.NFD.String(name)))
}

var tilde = pattern.Compile(`^([^~]*)~[0-9]+(\.[^.]{0,3})?$`)

// shortFor reports whether NTFS may have given the component this short name. Which number a directory gets, and from when on
// the name is made of a hash, depends on what else is there.
func shortFor(component, name string) bool {
	base, hashed, ok := shortNames(component)
	m := tilde.Get().FindStringSubmatch(name)
	if !ok || m == nil || base == "" {
		return false
	}
	head := m[1]
	if rest, is := strings.CutPrefix(head, hashed); is && len(rest) == 4 && strings.Trim(rest, "0123456789abcdef") == "" {
		return true
	}
	return strings.HasPrefix(head, base) || len(base) == 6 && head == base[:5]
}

// shortNames returns how the short names of a component begin, before the tilde and before the hash; ok is false if its own
// name is short. Of characters outside of ASCII nobody knows what becomes of them: there only what stands before them is said.
func shortNames(component string) (base, hashed string, ok bool) {
	name := fold(component)
	stem, ext := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		stem, ext = name[:dot], name[dot+1:]
	}
	var b strings.Builder
	for _, r := range stem {
		if r >= 0x80 {
			break
		}
		switch {
		case r == ' ' || r == '.':
		case strings.ContainsRune("+,;=[]", r):
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	base = b.String()
	if base == stem && len(stem) <= 8 && len(ext) <= 3 && !strings.ContainsAny(ext, " +,;=[]") {
		return "", "", false
	}
	return base[:min(6, len(base))], base[:min(2, len(base))], true
}
