package threeway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// Why two sides of a merge do not agree at a path.
type Why string

// The reasons for a conflict.
const (
	Lines     Why = "both sides changed the same lines"
	Kinds     Why = "both sides changed it, and not both into a file of text"
	Added     Why = "both sides added it, differently"
	Deleted   Why = "one side changed it, the other deleted it"
	Directory Why = "one side has a file where the other has a directory"
)

// Conflict is a path at which a merge has no answer.
type Conflict struct {
	Path    string
	Why     Why
	Renamed string // where the side that deleted it has the content now; "" if nowhere
}

func (c Conflict) String() string {
	if c.Renamed != "" {
		return fmt.Sprintf("%s: %s (renamed to %s)", c.Path, c.Why, c.Renamed)
	}
	return fmt.Sprintf("%s: %s", c.Path, c.Why)
}

// Merge merges two trees that come from a base, path by path. A side that left a path as the base has it yields to the
// other; equal sides agree; the lines of three regular files are merged; everything else is a conflict. Merge returns
// the merged tree, which has our side at each conflict. "" stands for an empty tree.
//
// With the two trees of a change as base and theirs, Merge applies the change to ours: at a path that neither has, both
// agree that nothing changes.
func Merge(ctx context.Context, o Objects, base, ours, theirs plan.OID) (plan.OID, []Conflict, error) {
	m := &merging{Objects: o}
	tree, err := m.dir(ctx, "", base, ours, theirs, 0)
	if err != nil {
		return "", nil, err
	}
	if tree == "" {
		if tree, err = o.WriteTree(nil); err != nil {
			return "", nil, err
		}
	}
	return tree, m.conflicts, m.explain(ctx, base, ours, theirs)
}

type merging struct {
	Objects
	conflicts []Conflict
}

// dir merges a directory, and returns "" for one that ends up empty.
func (m *merging) dir(ctx context.Context, path string, base, ours, theirs plan.OID, depth int) (plan.OID, error) {
	switch {
	case base == theirs || ours == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	case depth > deepest:
		return "", tooDeep(path)
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	var sides [3]map[string]node
	for i, oid := range []plan.OID{base, ours, theirs} {
		var err error
		if sides[i], err = read(ctx, m, oid); err != nil {
			return "", err
		}
	}
	var merged []Entry
	for _, name := range names(sides[:]...) {
		below := strings.TrimPrefix(path+"/"+name, "/")
		e, err := m.node(ctx, below, sides[0][name], sides[1][name], sides[2][name], depth)
		if err != nil {
			return "", err
		}
		if e.exists() {
			e.Name = name
			merged = append(merged, e)
		}
	}
	return write(m, merged)
}

// node merges what the three sides have under one name. A file and the files of a directory of that name are different
// paths, so they are merged apart; they can't both be there afterwards.
func (m *merging) node(ctx context.Context, path string, base, ours, theirs node, depth int) (Entry, error) {
	file, err := m.file(ctx, path, base.file, ours.file, theirs.file)
	if err != nil {
		return Entry{}, err
	}
	dir, err := m.dir(ctx, path, base.dir, ours.dir, theirs.dir, depth+1)
	switch {
	case err != nil:
		return Entry{}, err
	case dir == "":
		return file, nil
	case !file.exists():
		return Entry{Mode: Dir, OID: dir}, nil
	}
	m.conflicts = append(m.conflicts, Conflict{Path: path, Why: Directory})
	if ours.dir != "" {
		return Entry{Mode: Dir, OID: ours.dir}, nil
	}
	return ours.file, nil
}

// file merges one path.
func (m *merging) file(ctx context.Context, path string, base, ours, theirs Entry) (Entry, error) {
	merged, why, err := MergeEntry(ctx, m, base, ours, theirs)
	if err != nil {
		return Entry{}, fmt.Errorf("merge %s: %w", path, err)
	}
	if why != "" {
		m.conflicts = append(m.conflicts, Conflict{Path: path, Why: why})
	}
	return merged, nil
}

// MergeEntry merges what three trees have at a path, which may be nothing; at a conflict ours, and why.
func MergeEntry(ctx context.Context, o Objects, base, ours, theirs Entry) (Entry, Why, error) {
	switch {
	case base.same(theirs) || ours.same(theirs):
		return ours, "", nil
	case base.same(ours):
		return theirs, "", nil
	case !base.exists():
		return ours, Added, nil
	case !ours.exists() || !theirs.exists():
		return ours, Deleted, nil
	case base.regular() && ours.regular() && theirs.regular():
		return lines(ctx, o, base, ours, theirs)
	}
	return ours, Kinds, nil
}

// lines merges three regular files, and their modes like their content, where no two conflict.
func lines(ctx context.Context, o Objects, base, ours, theirs Entry) (Entry, Why, error) {
	merged := ours
	if base.Mode == ours.Mode {
		merged.Mode = theirs.Mode
	}
	switch {
	case base.OID == theirs.OID || ours.OID == theirs.OID:
		return merged, "", nil
	case base.OID == ours.OID:
		merged.OID = theirs.OID
		return merged, "", nil
	}
	oid, clean, err := o.MergeFiles(ctx, base.OID, ours.OID, theirs.OID)
	if err != nil || !clean {
		return ours, Lines, err
	}
	merged.OID = oid
	return merged, "", nil
}

// explain says of a file that one side deleted where that side has it now.
func (m *merging) explain(ctx context.Context, base, ours, theirs plan.OID) error {
	deleted := func(c Conflict) bool { return c.Why == Deleted }
	if !slices.ContainsFunc(m.conflicts, deleted) {
		return nil
	}
	for _, side := range []plan.OID{ours, theirs} {
		renamed, err := m.Renames(ctx, base, side)
		if err != nil {
			return err
		}
		for i, c := range m.conflicts {
			if deleted(c) && c.Renamed == "" {
				m.conflicts[i].Renamed = renamed[c.Path]
			}
		}
	}
	return nil
}
