package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// BundleDir returns the directory of a plan's bundle below the root of the working tree.
func BundleDir(root string, id plan.ID) string { return path.Join(root, string(id), "bundle") }

// PlanCommit returns the plan's newest commit with an event that can change a bundle. Notes, failed attempts and other
// events change no deliverable, so an export from this commit, not the tip, builds the same bundle after them. It
// follows first parents: a join may leave out what its second has.
func PlanCommit(ctx context.Context, store *gitstore.Store, tip plan.OID) (plan.OID, error) {
	_, kinds := plan.EventKinds()
	pattern := "^Wf-Event: (" + strings.Join(kinds, "|") + ")$"
	out, err := store.Git(ctx, "log", "-1", "--first-parent", "--format=%H", "-E", "--grep="+pattern,
		"--end-of-options", string(tip))
	if err != nil {
		return "", fmt.Errorf("find the newest approval: %w", err)
	}
	if out == "" {
		return tip, nil
	}
	return plan.OID(out), nil
}

// Place writes the bundle into the working tree, whole or not at all, and into the index. It reports whether anything
// changed. Until the index names them, a concurrent gc may remove the objects that only the bundle has; Place then
// writes them again and retries.
func Place(ctx context.Context, store *gitstore.Store, root string, b *Bundle) (bool, error) {
	const tries = 20
	dir := BundleDir(root, b.Manifest.PlanID)
	if err := checkDirs(store.WorkTree(), dir); err != nil {
		return false, err
	}
	batch := store.NewBatch()
	tree, err := writeObjects(ctx, batch, b)
	if err != nil {
		return false, err
	}
	changed := false
	for try := 1; ; try++ {
		moved, err := placeFiles(ctx, store, tree, b.Entries, filepath.Join(store.WorkTree(), filepath.FromSlash(dir)))
		changed = changed || moved
		if err == nil {
			var staged bool
			staged, err = stage(ctx, store, dir, b.Entries, nil)
			changed = changed || staged
		}
		lost, keepErr := batch.Keep(ctx)
		if err == nil || keepErr != nil || !lost || try == tries {
			return changed, errors.Join(err, keepErr)
		}
	}
}

// checkDirs refuses a path through a symbolic link: its target does not belong to the working tree, and git does not
// follow it either.
func checkDirs(top, dir string) error {
	for i := range len(dir) + 1 {
		if i != len(dir) && dir[i] != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir[:i])))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link; the bundle needs a directory there", dir[:i])
		case !info.IsDir():
			return fmt.Errorf("%s is a file; the bundle needs a directory there", dir[:i])
		}
	}
	return nil
}

// writeObjects writes the objects that only the bundle has, and its tree.
func writeObjects(ctx context.Context, batch *gitstore.Batch, b *Bundle) (plan.OID, error) {
	if _, _, err := batch.AddFiles(map[string][]byte{ManifestName: b.Data,
		attributesName: []byte(attributes)}); err != nil {
		return "", err
	}
	tree, err := batch.AddTreeOf(b.Entries)
	if err != nil {
		return "", err
	}
	return tree, batch.Flush(ctx)
}

// placeFiles replaces target with the tree's files, which are the entries, unless it already holds them. It completes
// the new files next to target before it touches target, so a killed process leaves the old bundle or the new one; the
// next export removes its leftovers under the other names.
func placeFiles(ctx context.Context, store *gitstore.Store, tree plan.OID, entries []gitstore.TreeEntry,
	target string) (bool, error) {
	fresh, old := target+".new", target+".old"
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(old)); err != nil {
		return false, err
	}
	if same, err := dirHolds(ctx, target, entries); err != nil || same {
		return false, err
	}
	if err := os.MkdirAll(fresh, 0o777); err != nil {
		return false, err
	}
	defer os.RemoveAll(fresh)
	if err := store.Export(ctx, tree, fresh); err != nil {
		return false, err
	}
	if err := os.Rename(target, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.Rename(fresh, target); err != nil {
		return false, errors.Join(err, os.Rename(old, target))
	}
	return true, os.RemoveAll(old)
}

// stage makes the index hold exactly the entries below dir, by mode and object id. It never uses git add, which would
// let attributes and ignore rules change what was approved. env may name another index. It reports whether the index
// changed.
func stage(ctx context.Context, store *gitstore.Store, dir string, entries []gitstore.TreeEntry, env []string) (bool,
	error) {
	out, err := store.GitIn(ctx, gitstore.Invocation{
		Args: []string{"ls-files", "--stage", "-z", "--", ":(top,literal)" + dir}, Env: env,
	})
	if err != nil {
		return false, fmt.Errorf("read the index: %w", err)
	}
	want := map[string]string{}
	for _, e := range entries {
		want[dir+"/"+e.Path] = fmt.Sprintf("%s %s 0", e.Mode, e.OID)
	}
	var info bytes.Buffer
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		stage, name, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		if want[name] == stage {
			delete(want, name)
			continue
		}
		fmt.Fprintf(&info, "0 %s\t%s\x00", strings.Repeat("0", 40), name)
	}
	for name, stage := range want {
		fmt.Fprintf(&info, "%s\t%s\x00", stage, name)
	}
	if info.Len() == 0 {
		return false, nil
	}
	_, err = store.GitIn(ctx, gitstore.Invocation{
		Args: []string{"update-index", "-z", "--index-info"}, Env: env, Stdin: &info,
	})
	if err != nil {
		return false, fmt.Errorf("stage the bundle: %w", err)
	}
	return true, nil
}

// dirHolds reports whether a directory has exactly the files of the entries, with their content and what git keeps of
// their mode.
func dirHolds(ctx context.Context, dir string, entries []gitstore.TreeEntry) (bool, error) {
	missing := each.By(entries, func(e gitstore.TreeEntry) string { return e.Path })
	progress := gitstore.Track(ctx, "Comparing files", len(entries))
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		e, known := missing[filepath.ToSlash(rel)]
		if !known {
			return errDiffers
		}
		delete(missing, e.Path)
		defer progress.File()
		return compareFile(name, e, progress)
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDiffers) {
		return false, nil
	}
	return len(missing) == 0, err
}

var errDiffers = errors.New("differs")

// compareFile fails with errDiffers if a file is not what the entry says. Windows has no executable bit.
func compareFile(name string, e gitstore.TreeEntry, progress *gitstore.Tracker) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	var content io.Reader
	size := info.Size()
	switch mode := info.Mode(); {
	case e.Mode == "120000" && mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return err
		}
		target = filepath.ToSlash(target)
		content, size = strings.NewReader(target), int64(len(target))
	case e.Mode != "120000" && mode.IsRegular() &&
		(runtime.GOOS == "windows" || (e.Mode == "100755") == (mode&0o100 != 0)):
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		content = f
	default:
		return errDiffers
	}
	if oid, err := gitstore.HashBlob(progress.Follow(content, size), size); err != nil || oid != e.OID {
		return cmp.Or(err, errDiffers)
	}
	return nil
}

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
