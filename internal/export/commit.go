package export

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// CheckIdle fails during a merge, rebase or similar operation. The next commit would end it and take over the message,
// author or parents that git keeps for it.
func CheckIdle(store *gitstore.Store) error {
	for _, name := range []string{"merge", "cherry-pick", "revert"} {
		ref := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_HEAD"
		if _, err := os.Stat(filepath.Join(store.GitDir(), ref)); err == nil {
			return fault.Refused("finish it first, or give it up: git "+name+" --abort", "a %s is in progress", name)
		}
	}
	return nil
}

// Commit commits the bundle on the current branch through git commit and its hooks. It leaves out everything else that
// is staged: it uses an index of its own with HEAD and the bundle. It returns "" if HEAD already holds the bundle.
func Commit(ctx context.Context, store *gitstore.Store, root string, b *Bundle) (plan.OID, error) {
	if err := CheckIdle(store); err != nil {
		return "", err
	}
	scratch, release, err := store.Scratch(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	git := func(stdin string, args ...string) error {
		_, err := store.GitIn(ctx, gitstore.Invocation{Args: args, Env: env, Stdin: strings.NewReader(stdin),
			Dir: store.WorkTree()})
		return err
	}
	if err := git("", "read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := stage(ctx, store, BundleDir(root, b.Manifest.PlanID), b.Entries, env); err != nil {
		return "", err
	}
	// Without this, git would read every file of the bundle again to check it against the index.
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
	// A concurrent gc may remove the trees before the branch names them, and git does not check; this writes the
	// missing ones.
	if err := git("", "write-tree"); err != nil {
		return "", err
	}
	return store.Head(ctx)
}

// message says what lands and who approved it.
func message(m Manifest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Deliver %s\n\n", plain.Line(m.Title))
	for _, i := range m.Items {
		fmt.Fprintf(&b, "%s %s, %s", i.TaskID, i.Version(), plain.Count(len(i.Files), "file"))
		if r := i.Review; r != nil {
			who := plan.Review{Reviewer: r.Reviewer, Agent: r.Agent}.Who()
			fmt.Fprintf(&b, ", %s by %s (score %d)", strings.ToLower(string(r.Verdict)), plain.Line(who), r.Score)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nWf-Plan: %s\nWf-Plan-Commit: %s\n", m.PlanID, m.PlanCommit)
	return b.String()
}
