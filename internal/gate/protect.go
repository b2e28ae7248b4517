package gate

import (
	"context"
	"fmt"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// MayProtect refuses a directory in which the index or a local branch has files that no bundle explains: nobody could
// change them any more.
func MayProtect(ctx context.Context, store *gitstore.Store, dir string) error {
	if store.WorkTree() != "" {
		out, err := store.Git(ctx, "ls-files", "-z", "--full-name", "--", ":(top,icase,literal)"+dir)
		if err != nil {
			return fmt.Errorf("list the files below %s: %w", plan.OneLine(dir), err)
		}
		if err := allInBundles(dir, "there", strings.Split(out, "\x00")); err != nil {
			return err
		}
	}
	out, err := store.Git(ctx, "for-each-ref", "--format=%(refname)", "refs/heads")
	if err != nil {
		return fmt.Errorf("list the branches: %w", err)
	}
	branches := strings.Fields(out)
	var ask strings.Builder
	for _, b := range branches {
		ask.WriteString(b + ":" + dir + "\n")
	}
	// One process finds what all branches have there. Most have the same, which is listed once.
	answers, err := store.GitIn(ctx, gitstore.Invocation{Stdin: strings.NewReader(ask.String()),
		Args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"}})
	if err != nil {
		return fmt.Errorf("look for %s in the branches: %w", plan.OneLine(dir), err)
	}
	listed := map[string]bool{}
	for i, answer := range strings.Split(string(answers), "\n") {
		kind, oid, _ := strings.Cut(answer, " ")
		if i >= len(branches) || listed[oid] || kind != "tree" && kind != "blob" {
			continue
		}
		listed[oid] = true
		paths := []string{dir}
		if kind == "tree" {
			if out, err = store.Git(ctx, "ls-tree", "-r", "-z", "--name-only", oid); err != nil {
				return fmt.Errorf("list the files below %s: %w", plan.OneLine(dir), err)
			}
			paths = strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
			for i := range paths {
				paths[i] = dir + "/" + paths[i]
			}
		}
		if err := allInBundles(dir, "on the branch "+plan.OneLine(strings.TrimPrefix(branches[i], "refs/heads/")),
			paths); err != nil {
			return err
		}
	}
	return nil
}

func allInBundles(dir, where string, paths []string) error {
	var others []string
	for _, path := range paths {
		if path != "" && !InBundle(dir, path) {
			others = append(others, path)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fault.Refused("git wf policy protect DIR, with a new directory that only bundles are exported to",
		"%s: %s %s that no plan has made, such as %s; nobody could change them any more, for only bundles may be below a protected directory",
		plan.OneLine(dir), plan.Count(len(others), "tracked file"), where, plan.OneLine(others[0]))
}
