// Package relpath says which paths a deliverable's files may have on every system, and when two of them collide.
package relpath

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gitwf/internal/casefold"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
)

// Limits of a path, in bytes: what the common file systems hold.
const (
	maxComponent = 255
	maxPath      = 1024
)

// Error says which rule a path breaks.
type Error struct {
	Path string
	Rule string // what the path would have to be: "must be relative"
}

func (e *Error) Error() string { return fmt.Sprintf("path %s: %s", plain.Quote(e.Path), e.Rule) }

// Check returns a *Error unless p can name a file of an artifact on every system: relative, clean, in NFC,
// free of what a terminal would obey, and without a component that git or Windows takes for something else. Every
// path that comes from a plan, an agent or a server passes through here.
func Check(p string) error { return CheckBy(p, checkComponent) }

// CheckPattern is Check for globs: * ? and [...] match in one component, ** matches any number of them.
func CheckPattern(p string) error { return CheckBy(p, checkPatternComponent) }

// IsPattern reports whether a file of a deliverable_spec is a glob.
func IsPattern(p string) bool { return strings.ContainsAny(p, "*?[") }

// Fold gives the key under which two paths collide on a file system that folds case and normalises.
func Fold(p string) string {
	if isASCII(p) {
		return strings.ToLower(p)
	}
	// x/text swaps the cases of Cherokee when it folds; lowering afterwards makes both the same.
	return norm.NFC.String(casefold.Of(norm.NFD.String(p)))
}

// CheckBy is Check with another rule for each component.
func CheckBy(p string, component func(string) string) error {
	if rule := checkWhole(p); rule != "" {
		return &Error{p, rule}
	}
	for c := range strings.SplitSeq(p, "/") {
		if rule := component(c); rule != "" {
			return &Error{p, rule}
		}
	}
	return nil
}

func checkWhole(p string) string {
	switch {
	case p == "":
		return "must not be empty"
	case len(p) > maxPath:
		return fmt.Sprintf("must be at most %d bytes long", maxPath)
	case !utf8.ValidString(p):
		return "must be UTF-8"
	case !norm.NFC.IsNormalString(p):
		return "must be in Unicode's composed form (NFC)"
	case p[0] == '/':
		return "must be relative, without a leading slash"
	case p[len(p)-1] == '/':
		return "must not end in a slash"
	}
	for _, r := range p {
		switch {
		case r == '\\':
			return "must use / and no backslash"
		case strings.ContainsRune(`:<>"|`, r):
			return fmt.Sprintf("must not contain %c, which Windows can't store", r)
		case plain.Hostile(r):
			return fmt.Sprintf("must not contain the control or invisible character U+%04X", r)
		}
	}
	return ""
}

func checkComponent(c string) string {
	if strings.ContainsAny(c, "*?") {
		return "must not contain * or ?, which Windows can't store"
	}
	return checkName(c)
}

func checkPatternComponent(c string) string {
	if c == "**" {
		return ""
	}
	switch {
	case strings.Contains(c, "**"):
		return "must have ** alone between slashes"
	case !balanced.Get().MatchString(c):
		return "must close each [ with a ]"
	}
	// The wild cards count as letters; and as nothing where the rest would be a name of git's: .gi[t] is refused. The
	// files that match are checked one by one all the same.
	wild := func(with rune) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("*?[]", r) {
				return with
			}
			return r
		}, c)
	}
	if bare := wild(-1); c != "" && strings.ContainsRune(".[", rune(c[0])) && gitReads(bare) {
		return checkName(bare)
	}
	return checkName(wild('x'))
}

// balanced are names in which every [ opens a class that a ] closes and that is not empty.
var balanced = pattern.Compile(`^(?:[^\[\]]|\[[^\]]+\])*$`)

func checkName(c string) string {
	switch {
	case c == "":
		return "must not contain an empty component (//)"
	case c == "." || c == "..":
		return "must not contain . or .. as a component"
	case len(c) > maxComponent:
		return fmt.Sprintf("must have components of at most %d bytes", maxComponent)
	case strings.HasSuffix(c, ".") || strings.HasSuffix(c, " "):
		return "must not have a component that ends in a dot or a space, which Windows drops"
	case isDevice(c):
		return "must not use a name that Windows reserves for a device"
	case gitReads(c):
		return "must not use a name that git itself interprets (.git* other than .gitignore)"
	}
	return ""
}

var deviceNames = pattern.Compile(`^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *$`)

func isDevice(c string) bool {
	base, _, _ := strings.Cut(strings.ToLower(c), ".")
	return deviceNames.Get().MatchString(base)
}

// shortGit matches the 8.3 names under which NTFS may know .git and .gitmodules: GIT~1, GITMOD~1, GI7EBA~1.
var shortGit = pattern.Compile(`^gi[0-9a-z]{0,6}~[0-9]`)

// gitReads reports whether some file system would hand the component to git as one of git's own names. HFS+ ignores
// invisible code points, NTFS drops trailing dots and spaces and cuts at a colon, and both fold case.
func gitReads(c string) bool {
	if c == ".gitignore" {
		return false
	}
	if isASCII(c) {
		low := strings.ToLower(c)
		return strings.HasPrefix(strings.TrimLeft(low, " "), ".git") || shortGit.Get().MatchString(low)
	}
	seen := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, c)
	low := Fold(norm.NFKC.String(seen))
	return strings.HasPrefix(strings.TrimLeft(low, " "), ".git") || shortGit.Get().MatchString(low)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
