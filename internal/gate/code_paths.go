package gate

import (
	"context"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/glob"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/relpath"
	"gitwf/internal/threeway"
)

// guard says which paths are protected code, and since when.
type guard struct {
	patterns
	eras  []policy.Era // the oldest first; the last one has the present patterns
	older []patterns   // those of all eras but the last
}

func newGuard(c policy.Changes) guard {
	eras := c.Eras()
	g := guard{patterns: newPatterns(c), eras: eras}
	for _, e := range eras[:len(eras)-1] {
		g.older = append(g.older, newPatterns(policy.Changes{Paths: e.Paths}))
	}
	return g
}

// began returns the era in which a path's protection began, the newest in a row that protect it, as an index of eras.
// The path needs an approval at a commit that the era's commits do not contain. false: it is not protected.
func (g guard) began(path string, redirects bool) (era int, protected bool) {
	if !g.covers(path, redirects) {
		return 0, false
	}
	era = len(g.older)
	for era > 0 && g.older[era-1].covers(path, redirects) {
		era--
	}
	return era, true
}

// patterns say which paths are protected.
type patterns struct {
	rules []policy.ChangeRule
	heads []string
	roots []string // of bundles, which are judged as such, and are no code
}

func newPatterns(c policy.Changes) patterns { return patterns{rules: c.Rules(), heads: c.Heads()} }

// protects reports whether only approved changes may alter a file.
func (g patterns) protects(path string) bool { return g.covers(path, false) }

// covers reports whether only approved changes may alter a path; redirects says that it is a link or a submodule, or
// was one. A rule also matches what some file system takes for a path that it names; an exception matches only what it
// says. Protected, too, is what decides what becomes of protected code: whatever stands in place of a directory that a
// rule names, a link or a submodule in place of one that it may go through, and the attributes and modules of git.
func (g patterns) covers(path string, redirects bool) bool {
	if slices.ContainsFunc(g.roots, func(root string) bool { return strings.HasPrefix(path, root+"/WFS-") }) {
		return false
	}
	names := strings.Split(path, "/")
	plain := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
	dir, base := plain[:len(plain)-1], plain[len(plain)-1]
	attributes := hooks.AlikeName(policy.Attributes, base)
	modules := len(dir) == 0 && hooks.AlikeName(policy.Modules, base)
	in := false
	for _, r := range g.rules {
		switch {
		case r.Except && in:
			in = !r.Matches(names, glob.Match)
		case !r.Except && !in:
			in = modules || r.Matches(names, glob.Match) || r.Matches(plain, alikePart) ||
				attributes && r.Through(dir, alikePart) ||
				(redirects || len(plain) <= r.Literal()) && r.Through(plain, alikePart)
		}
	}
	return in
}

// redirects reports whether a link or a submodule comes or goes: what is below it is elsewhere.
func (c Change) redirects() bool {
	elsewhere := func(mode string) bool { return mode == threeway.Link || mode == threeway.Submodule }
	return elsewhere(c.Mode) || elsewhere(c.was.Mode)
}

// alikePart reports whether some file system may take a name for one that a part of a pattern matches.
func alikePart(part, name string) bool {
	if !strings.ContainsAny(part, `*?[\`) {
		return hooks.AlikeName(part, name)
	}
	return glob.Match(relpath.Fold(part), hooks.PlainName(name))
}

// skips reports whether nothing at or below a path can be protected.
func (g patterns) skips(path string) bool {
	return !slices.Contains(g.heads, policy.Top) && !hooks.Alike(g.heads, path) && !g.protects(path)
}

// exemptOlder leaves out of each commit the paths whose protection began later.
func (c *code) exemptOlder(ctx context.Context, all []*coded) error {
	if len(all) == 0 {
		return nil
	}
	for i, era := range c.guard.eras {
		if len(era.Commits) == 0 {
			continue
		}
		var revs strings.Builder
		for _, d := range all {
			revs.WriteString(string(d.commit) + "\n")
		}
		for _, oid := range era.Commits {
			revs.WriteString("^" + string(oid) + "\n") // what is not here exempts nothing
		}
		out, err := c.store.GitIn(ctx, gitstore.Invocation{
			Args: []string{"rev-list", "--ignore-missing", "--stdin"}, Stdin: strings.NewReader(revs.String()),
		})
		if err != nil {
			return err
		}
		later := each.Set(gitstore.OIDs(string(out)), func(oid plan.OID) plan.OID { return oid })
		for _, d := range all {
			if d.exempt == nil {
				d.exempt = map[int]bool{}
			}
			d.exempt[i] = !later[d.commit]
		}
	}
	for _, d := range all {
		d.paths = slices.DeleteFunc(d.paths, func(path string) bool { return !d.needs(path) })
	}
	return nil
}
