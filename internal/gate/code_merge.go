package gate

import (
	"context"
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// start makes the state that a commit begins with; nil if there is none.
type start func(ctx context.Context) (*state, error)

// starts returns what a commit may begin with: its parent, or for a merge what merging the parents yields, by our own
// merge function or else by git's.
func (c *code) starts(ctx context.Context, d *coded) ([]start, error) {
	if len(d.roots) == 1 {
		return []start{func(context.Context) (*state, error) { return &state{root: d.roots[0]}, nil }}, nil
	}
	return []start{
		func(ctx context.Context) (*state, error) { return c.fold(ctx, d) },
		func(ctx context.Context) (*state, error) { return c.gitMerge(ctx, d) },
	}, ctx.Err()
}

// fold merges the parents of a commit at the paths in which it differs from one of them: at every other path they
// agree. A conflict means that there is no such state.
func (c *code) fold(ctx context.Context, d *coded) (*state, error) {
	s := &state{root: d.roots[0], now: map[string]threeway.Entry{}}
	for i, theirs := range d.roots[1:] {
		base, err := c.mergeBase(ctx, d.parents[:i+1], d.parents[i+1])
		if err != nil {
			return nil, err
		}
		for _, path := range d.paths {
			was, err := c.entryAt(ctx, base, path)
			if asFlaw(err) {
				was, err = threeway.Entry{}, nil
			}
			if err != nil {
				return nil, err
			}
			ours, err := c.has(ctx, s, path)
			if err != nil {
				return nil, err
			}
			other, err := c.entryAt(ctx, theirs, path)
			if err != nil {
				return nil, err
			}
			merged, conflict, err := c.batch.MergeFile(ctx, was, ours, other)
			if err != nil || conflict != "" {
				return nil, err
			}
			merged.Name = ""
			s.now[path] = merged
		}
	}
	return s, nil
}

// mergeBase returns the root tree of git's merge base; "" if there is none.
func (c *code) mergeBase(ctx context.Context, ours []plan.OID, theirs plan.OID) (plan.OID, error) {
	args := []string{"merge-base", "--end-of-options", string(theirs)}
	for _, p := range ours {
		args = append(args, string(p))
	}
	out, err := c.store.Git(ctx, args...)
	if err != nil {
		return "", ctx.Err() // no common history
	}
	base, _, _ := strings.Cut(out, "\n")
	return c.store.TreeOf(ctx, plan.OID(base))
}

// gitMerge is git's own merge of two parents, which follows renames; nil if it conflicts at a protected path. What
// people make of a conflict elsewhere is theirs.
func (c *code) gitMerge(ctx context.Context, d *coded) (*state, error) {
	if len(d.parents) != 2 {
		return nil, nil
	}
	differs, clean, err := c.batch.GitMerge(ctx, d.parents[0], d.parents[1], d.root, c.guard.protects)
	if err != nil || !clean {
		return nil, err
	}
	s := &state{root: d.root, now: map[string]threeway.Entry{}}
	for path, e := range differs {
		if c.guard.protects(path) {
			s.now[path] = e
		}
	}
	return s, nil
}
