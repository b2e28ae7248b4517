package gate

import (
	"context"
	"fmt"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// MayProtect refuses a directory with files that no bundle explains: nobody could change them any more.
func MayProtect(ctx context.Context, store *gitstore.Store, dir string) error {
	if store.WorkTree() != "" {
		out, err := store.Git(ctx, "ls-files", "-z", "--full-name", "--", ":(top,icase,literal)"+dir)
		if err != nil {
			return fmt.Errorf("list the files below %s: %w", plain.Line(dir), err)
		}
		if err := allInBundles(dir, "there", strings.Split(out, "\x00")); err != nil {
			return err
		}
	}
	out, err := store.Git(ctx, "for-each-ref", "--format=%(refname)", "refs/heads")
	if err != nil {
		return fmt.Errorf("list the branches: %w", err)
	}
	for _, ref := range strings.Fields(out) {
		out, err := store.Git(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref, "--", dir)
		if err != nil {
			return fmt.Errorf("list the files below %s: %w", plain.Line(dir), err)
		}
		where := "on the branch " + plain.Line(strings.TrimPrefix(ref, "refs/heads/"))
		if err := allInBundles(dir, where, strings.Split(out, "\x00")); err != nil {
			return err
		}
	}
	return nil
}

func allInBundles(dir, where string, paths []string) error {
	others := each.If(paths, func(path string) bool { return path != "" && !InBundle(dir, path) })
	if len(others) == 0 {
		return nil
	}
	return fault.Refused("git wf policy protect DIR, with a new directory that only bundles are exported to",
		"%s: %s %s that no plan has made, such as %s; nobody could change them any more, for only bundles may "+
			"be below a protected directory",
		plain.Line(dir), plain.Count(len(others), "tracked file"), where, plain.Line(others[0]))
}
