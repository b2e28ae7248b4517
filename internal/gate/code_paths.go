package gate

import (
	"context"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/gitstore"
	"gitwf/internal/glob"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// guard says which paths are protected code, and since when.
type guard struct {
	patterns
	eras  []policy.Era // the oldest first; the last one has the present patterns
	older []patterns   // those of all eras but the last
}

// began returns the era in which a path's protection began, the newest in a row that protect it, as an index of eras.
// The path needs an approval at a commit that the era's commits do not contain. false: it is not protected.
func (g guard) began(path string) (era int, protected bool) {
	if !g.protects(path) {
		return 0, false
	}
	era = len(g.older)
	for era > 0 && g.older[era-1].protects(path) {
		era--
	}
	return era, true
}

// patterns say which paths are protected.
type patterns struct {
	rules []policy.ChangeRule
	heads []string
	dirs  [][]string // that hold protected code, by their components
}

func newGuard(c policy.Changes) guard {
	eras := c.Eras()
	g := guard{patterns: newPatterns(c), eras: eras}
	for _, e := range eras[:len(eras)-1] {
		g.older = append(g.older, newPatterns(policy.Changes{Paths: e.Paths}))
	}
	return g
}

func newPatterns(c policy.Changes) patterns {
	g := patterns{rules: c.Rules(), heads: c.Heads()}
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
func (g patterns) protects(path string) bool {
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
func (g patterns) skips(path string) bool {
	return !slices.Contains(g.heads, policy.Top) && !hooks.Alike(g.heads, path)
}

// afterProtection leaves out what is older than the code's protection: of each commit the paths whose protection began
// later, and the commits of which nothing is left.
func (c *code) afterProtection(ctx context.Context, all []*coded) ([]*coded, error) {
	if len(all) == 0 {
		return nil, nil
	}
	for i, era := range c.guard.eras {
		later, err := c.after(ctx, era, all)
		if err != nil {
			return nil, err
		}
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
	return slices.DeleteFunc(all, func(d *coded) bool { return len(d.paths) == 0 }), nil
}

// after returns the commits that an era's commits do not contain. What is not here exempts nothing.
func (c *code) after(ctx context.Context, era policy.Era, commits []*coded) (map[plan.OID]bool, error) {
	var stdin strings.Builder
	for _, d := range commits {
		stdin.WriteString(string(d.commit) + "\n")
	}
	for _, oid := range era.Commits {
		if _, err := c.store.Git(ctx, "cat-file", "-e", string(oid)+"^{commit}"); err == nil {
			stdin.WriteString("^" + string(oid) + "\n")
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	out, err := c.store.GitIn(ctx, gitstore.Invocation{
		Args: []string{"rev-list", "--stdin"}, Stdin: strings.NewReader(stdin.String()),
	})
	later := map[plan.OID]bool{}
	for oid := range strings.FieldsSeq(string(out)) {
		later[plan.OID(oid)] = true
	}
	return later, err
}
