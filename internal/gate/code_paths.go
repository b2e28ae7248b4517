package gate

import (
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/glob"
	"gitwf/internal/policy"
)

// guard says which paths are protected code.
type guard struct {
	rules []policy.ChangeRule
	heads []string
	dirs  [][]string // that hold protected code, by their components
}

func newGuard(c policy.Changes) guard {
	g := guard{rules: c.Rules(), heads: c.Heads()}
	for _, r := range g.rules {
		n := r.Literal()
		if n == len(r.Parts) && !r.Below {
			n--
		}
		if !r.Except && n > 0 {
			g.dirs = append(g.dirs, r.Parts[:n])
		}
	}
	return g
}

// protects reports whether only approved changes may alter a path. A rule also matches what some file system takes for
// a path that it names; an exception matches only what it says. What stands in place of a directory that holds
// protected code is protected, too: a link there leads elsewhere.
func (g guard) protects(path string) bool {
	names := strings.Split(path, "/")
	plain := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	in := false
	for _, r := range g.rules {
		switch {
		case r.Except && in:
			in = !r.Matches(names, glob.Match)
		case !r.Except && !in:
			in = r.Matches(names, glob.Match) || r.Matches(plain, alikePart)
		}
	}
	return in || slices.ContainsFunc(g.dirs, func(dir []string) bool {
		return len(plain) <= len(dir) && slices.EqualFunc(dir[:len(plain)], plain, hooks.AlikeName)
	})
}

// alikePart reports whether some file system may take a name for one that a part of a pattern matches.
func alikePart(part, name string) bool {
	if !strings.ContainsAny(part, `*?[\`) {
		return hooks.AlikeName(part, name)
	}
	return glob.Match(hooks.Folded(part), hooks.Plain(name))
}

// skips reports whether nothing at or below a path can be protected.
func (g guard) skips(path string) bool {
	return !slices.Contains(g.heads, policy.Top) && !hooks.Alike(g.heads, path)
}
