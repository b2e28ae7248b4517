package hooks

import (
	"path"
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/relpath"
)

// ignorable are the characters that HFS+ ignores when it compares names, as in git's core.protectHFS.
const ignorable = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// Wide returns the pathspecs for an index: Pathspecs, Globs, and what stands in place of a directory above a root.
func Wide(roots []string) []string {
	if slices.Contains(roots, everywhere) {
		return []string{":(top)"}
	}
	roots, files := splitFiles(roots)
	specs := slices.Concat(Pathspecs(roots), files, Globs(roots))
	for _, root := range roots {
		for i, c := range root {
			if c == '/' {
				specs = addSpecs(specs, patternsOfPathAlone(root[:i]))
			}
		}
	}
	return specs
}

// splitFiles takes the files of git out of the roots. Its pathspecs match some others as well: git tests each pathspec
// against every path, so there are two for a directory, whatever a file system makes of the names.
func splitFiles(roots []string) (others, specs []string) {
	for _, root := range roots {
		if path.Base(root) == gitFiles {
			dir := ":(top,icase,glob)" + escapeGlob(strings.TrimSuffix(root, gitFiles))
			specs = append(specs, dir+"*.*g*i*t*[am]*[dt]*", dir+"gi*~[0-9]*")
		} else {
			others = append(others, root)
		}
	}
	return others, specs
}

// TreePathspecs returns the pathspecs for trees: there a name may contain a slash, which no path of an index does.
func TreePathspecs(roots []string) []string {
	specs := Wide(roots)
	if slices.Contains(roots, everywhere) {
		return specs
	}
	roots, _ = splitFiles(roots)
	for _, root := range roots {
		specs = addSpecs(specs, append(patternsOfPathAlone(root), escapeGlob(root)+"/**"))
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

// patternsOfPathAlone returns patterns that match a path in any spelling but nothing below it. git treats a pattern
// without a wildcard as a directory, too; one letter in brackets is a wildcard.
func patternsOfPathAlone(path string) []string {
	var patterns []string
	for _, s := range spellings(path) {
		s = lowerASCII(s) // git's wildmatch wants lower case in brackets
		at := strings.LastIndexFunc(s, func(r rune) bool {
			return r < 0x80 &&
				plainLetter.Get().MatchString(string(r))
		})
		if at < 0 {
			patterns = append(patterns, escapeGlob(s)+"*") // also matches its neighbours, which Alike rejects
			continue
		}
		patterns = append(patterns, escapeGlob(s[:at])+"["+s[at:at+1]+"]"+escapeGlob(s[at+1:]))
	}
	return patterns
}

// Globs returns the pathspecs for names that Pathspecs misses: a file system takes them for a root though they are
// spelt otherwise. HFS+ ignores characters; NTFS drops dots and spaces at the end, knows a directory by its streams and
// by a short name, and reads a backslash as a slash. Globs match too much rather than too little: Alike decides. They
// make git read more of a history than Pathspecs do, which costs nothing for a few commits and a lot for thousands.
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

// globs returns patterns for the other names of a root's last component; few, since git tests every path against
// each.
func globs(component string) []string {
	letters := escapedLetters(component)
	heads := []string{""}
	if plainLetter.Get().MatchString(letters[0]) {
		letters[0] = "[" + letters[0] + ignorable + "]" // bytes, since git's brackets match bytes only
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

// parentGlobs returns patterns for the other names of a directory that is not protected itself: they must not match its
// own name.
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

// Alike reports whether some file system takes a file's path for a root or for a path below one: in any case, composed
// or not, with characters that HFS+ ignores or NTFS drops, or by a short name that NTFS may have given it. It is also
// true for a path that stands in place of a directory that contains a root: a link there leads the root elsewhere.
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
	have, want := PlainName(name), relpath.Fold(component)
	return have == want || shortFor(component, have)
}

// PlainName is a name without what file systems ignore, in lower case: two names that some file system takes for one
// are equal, except for the short names of NTFS.
func PlainName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(ignorable, r) {
			return -1
		}
		return r
	}, name)
	return relpath.Fold(strings.TrimRight(name, ". "))
}

var tilde = pattern.Compile(`^([^~]*)~[0-9]+(\.[^.]{0,3})?$`)

// shortFor reports whether NTFS may have given the component this short name. The number of a short name, and whether
// it contains a hash, depend on what else is in the directory.
func shortFor(component, name string) bool {
	base, hashed, ok := shortNames(component)
	m := tilde.Get().FindStringSubmatch(name)
	if !ok || m == nil || base == "" {
		return false
	}
	head := m[1]
	if rest, is := strings.CutPrefix(head, hashed); is && len(rest) == 4 &&
		strings.Trim(rest, "0123456789abcdef") == "" {
		return true
	}
	return strings.HasPrefix(head, base) || len(base) == 6 && head == base[:5]
}

// shortNames returns how the short names of a component begin, before the tilde and before the hash; ok is false if its
// own name is short. Nobody knows how NTFS maps characters outside ASCII, so the result ends before the first one.
func shortNames(component string) (base, hashed string, ok bool) {
	name := relpath.Fold(component)
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
