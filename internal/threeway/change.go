package threeway

import (
	"context"
	"strings"

	"gitwf/internal/plan"
)

// Cut returns the change between two trees as two trees of the changed paths alone: as they were, and as they are now.
// "" stands for an empty tree, also in the result.
func Cut(ctx context.Context, o Objects, before, after plan.OID) (old, now plan.OID, err error) {
	return cut(ctx, o, "", before, after, 0)
}

func cut(ctx context.Context, o Objects, path string, before, after plan.OID, depth int) (old, now plan.OID,
	err error) {
	switch {
	case before == after:
		return "", "", nil
	case depth > deepest:
		return "", "", tooDeep(path)
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	}
	was, err := read(ctx, o, before)
	if err != nil {
		return "", "", err
	}
	is, err := read(ctx, o, after)
	if err != nil {
		return "", "", err
	}
	var left, right []Entry
	for _, name := range names(was, is) {
		a, b := was[name], is[name]
		if !a.file.same(b.file) {
			left, right = with(left, name, a.file), with(right, name, b.file)
		}
		oldDir, newDir, err := cut(ctx, o, strings.TrimPrefix(path+"/"+name, "/"), a.dir, b.dir, depth+1)
		if err != nil {
			return "", "", err
		}
		left = with(left, name, Entry{Mode: Dir, OID: oldDir})
		right = with(right, name, Entry{Mode: Dir, OID: newDir})
	}
	if old, err = write(o, left); err != nil {
		return "", "", err
	}
	now, err = write(o, right)
	return old, now, err
}

// with adds an entry that exists.
func with(list []Entry, name string, e Entry) []Entry {
	if e.exists() {
		e.Name = name
		list = append(list, e)
	}
	return list
}

func write(o Objects, entries []Entry) (plan.OID, error) {
	if len(entries) == 0 {
		return "", nil
	}
	return o.WriteTree(entries)
}
