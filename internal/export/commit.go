package export

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// CheckIdle fails while something goes on that the next commit would end: the commit would take over
// the message, the author or the parents that git keeps for it.
func CheckIdle(store *gitstore.Store) error {
	for _, name := range []string{"merge", "cherry-pick", "revert"} {
		ref := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_HEAD"
		if _, err := os.Stat(filepath.Join(store.GitDir(), ref)); err == nil {
			return fault.Refused("finish it first, or give it up: git "+name+" --abort", "a %s is in progress", name)
		}
	}
	return nil
}

// Commit records the bundle in a commit on the current branch, through git commit and its hooks. Whatever else is
// staged stays out of it: the commit is made from an index of its own, HEAD and the bundle. It returns "" when HEAD
// holds the bundle already.
func Commit(ctx context.Context, store *gitstore.Store, root string, b *Bundle) (plan.OID, error) {
	if err := CheckIdle(store); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(store.GitDir(), "wf-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	git := func(stdin string, args ...string) error {
		_, err := store.GitIn(ctx, gitstore.Invocation{Args: args, Env: env, Stdin: strings.NewReader(stdin), Dir: store.WorkTree()})
		return err
	}
	if err := git("", "read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := Stage(ctx, store, BundleDir(root, b.Manifest.PlanID), b.Entries, env); err != nil {
		return "", err
	}
	// Git would read every file of the bundle again to learn that it is the one that the index names.
	var paths strings.Builder
	for _, e := range b.Entries {
		paths.WriteString(BundleDir(root, b.Manifest.PlanID) + "/" + e.Path + "\x00")
	}
	if err := git(paths.String(), "update-index", "-z", "--assume-unchanged", "--stdin"); err != nil {
		return "", err
	}
	if git("", "diff-index", "--cached", "--quiet", "--no-ext-diff", "HEAD") == nil {
		return "", nil
	}
	if err := git(message(b.Manifest), "commit", "--quiet", "--file=-"); err != nil {
		return "", err
	}
	// git does not look whether a concurrent gc took the trees that it had written before the branch named them; this
	// writes those that are missing.
	if err := git("", "write-tree"); err != nil {
		return "", err
	}
	return store.Head(ctx)
}

// message says what lands and on whose word.
func message(m Manifest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Deliver %s\n\n", plan.OneLine(m.Title))
	for _, i := range m.Items {
		fmt.Fprintf(&b, "%s %s, %s", i.TaskID, i.Version(), plan.Count(len(i.Files), "file"))
		if r := i.Review; r != nil {
			fmt.Fprintf(&b, ", %s by %s (score %d)", strings.ToLower(string(r.Verdict)), plan.OneLine(r.Reviewer), r.Score)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nWf-Plan: %s\nWf-Plan-Commit: %s\n", m.PlanID, m.PlanCommit)
	return b.String()
}
