package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Pool keeps the checkouts of a repository, for the next attempt or check to move to another commit: most files stay as
// they are. Each is a directory with the checkout and its index, beside a file that its user locks; so the checkouts of
// killed processes are free like any others.
//
// They are in a directory of the user's (poolsDir) and not below the git directory: tools look for their settings and
// modules in the directories above, and would find those of the user's worktree. Git would find the user's repository,
// if somebody removes the checkout's.
type Pool struct {
	store *gitstore.Store
	dir   string
}

// Idle checkouts go after this time, and where there are more than this many.
const (
	unused   = 7 * 24 * time.Hour
	mostIdle = 4
)

// ownerFile, beside the checkouts of a repository, holds the path of its git directory.
const ownerFile = "repository"

// OpenPool opens the pool of a repository. It removes the pools of repositories that are gone.
func OpenPool(store *gitstore.Store) (*Pool, error) {
	all := poolsDir(true)
	p := &Pool{store: store, dir: filepath.Join(all, poolName(store))}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	owner := filepath.Join(p.dir, ownerFile)
	if data, err := os.ReadFile(owner); err != nil || string(data) != store.CommonDir() {
		if err := os.WriteFile(owner, []byte(store.CommonDir()), 0o666); err != nil {
			return nil, err
		}
	}
	others, _ := filepath.Glob(filepath.Join(all, "*", ownerFile))
	for _, other := range others {
		data, err := os.ReadFile(other)
		if err != nil || !filepath.IsAbs(string(data)) {
			continue
		}
		if _, err := os.Stat(string(data)); errors.Is(err, fs.ErrNotExist) {
			_ = removeAll(filepath.Dir(other))
		}
	}
	return p, nil
}

func poolName(store *gitstore.Store) string {
	sum := sha256.Sum256([]byte(store.CommonDir()))
	return hex.EncodeToString(sum[:8])
}

// Held is where a repository's checkouts are, and how many bytes their files take, in blocks of 4 KB.
func Held(store *gitstore.Store) (dir string, bytes int64) {
	dir = filepath.Join(poolsDir(false), poolName(store))
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				bytes += (info.Size() + 4095) &^ 4095
			}
		}
		return nil
	})
	return dir, bytes
}

// What a directory of the pool holds.
const (
	filesDir  = "files" // the checkout
	indexFile = "index" // as it was after the checkout
	taskFile  = "task"  // whom it was last for; its time is when
)

// Take returns a checkout that nobody uses, with whatever is in it: the last one of the same task, else the one
// unused for longest, else a new one. No task means a check: checks and attempts share none. Close gives it back.
func (p *Pool) Take(task string) (*Workspace, error) {
	free := p.lockIdle()
	at := -1
	for i, w := range free {
		if w.task == task {
			at = i // the newest has most files in common
		}
	}
	if at < 0 {
		at = slices.IndexFunc(free, func(w *Workspace) bool { return (w.task == "") == (task == "") })
	}
	var taken *Workspace
	if at >= 0 {
		taken = free[at]
		free = slices.Delete(free, at, at+1)
	}
	release(free)
	if taken == nil {
		var err error
		if taken, err = p.add(); err != nil {
			return nil, err
		}
	}
	taken.same, taken.task = taken.task == task, task
	return taken, os.WriteFile(filepath.Join(filepath.Dir(taken.Dir), taskFile), []byte(task), 0o666)
}

// lockIdle takes all checkouts that nobody uses, the one unused for longest first.
func (p *Pool) lockIdle() (free []*Workspace) {
	dirs, _ := os.ReadDir(p.dir)
	for _, d := range dirs {
		if d.IsDir() && d.Name() != keptDir {
			if w := p.lock(d.Name()); w != nil {
				free = append(free, w)
			}
		}
	}
	slices.SortFunc(free, func(a, b *Workspace) int { return a.used.Compare(b.used) })
	return free
}

// release gives idle checkouts back, and removes those that are too old or too many.
func release(free []*Workspace) {
	for i, w := range free {
		if time.Since(w.used) > unused || len(free)-i > mostIdle {
			_ = w.discard()
		} else {
			w.unlock()
		}
	}
}

// lock takes a checkout of the pool, nil if somebody else has it.
func (p *Pool) lock(name string) *Workspace {
	dir := filepath.Join(p.dir, name)
	unlock := gitstore.TryLock(dir)
	if unlock == nil {
		return nil
	}
	if _, err := os.Stat(dir); err != nil { // its last user has removed it
		unlock()
		_ = os.Remove(dir + ".lock")
		return nil
	}
	w := &Workspace{Dir: filepath.Join(dir, filesDir), store: p.store, index: filepath.Join(dir, indexFile)}
	w.pool, w.unlock = p, unlock
	if task, err := os.ReadFile(filepath.Join(dir, taskFile)); err == nil {
		w.task = string(task)
	}
	if info, err := os.Stat(filepath.Join(dir, taskFile)); err == nil {
		w.used = info.ModTime()
	}
	return w
}

// add makes a new directory of the pool.
func (p *Pool) add() (*Workspace, error) {
	for {
		dir, err := os.MkdirTemp(p.dir, "")
		if err != nil {
			return nil, err
		}
		if w := p.lock(filepath.Base(dir)); w != nil { // nobody was faster
			return w, nil
		}
	}
}

// Close gives a checkout back to its pool, and tidies a pool that has many.
func (w *Workspace) Close() {
	if w.unlock == nil {
		return
	}
	w.unlock()
	if all, _ := os.ReadDir(w.pool.dir); len(all) > 2*(mostIdle+1) { // each has a lock beside it
		release(w.pool.lockIdle())
	}
}

// discard removes a checkout from its pool.
func (w *Workspace) discard() error {
	err := removeAll(filepath.Dir(w.Dir))
	w.unlock()
	_ = os.Remove(filepath.Dir(w.Dir) + ".lock")
	return err
}

// CheckOut makes the checkout of a pool one of the commit. What somebody left in it goes, down to its git directory;
// ignored files of the same task stay if kept is set. Where that can't be done, a new one takes its place.
func (w *Workspace) CheckOut(ctx context.Context, commit plan.OID, kept bool) error {
	tree, err := w.treeOf(ctx, commit)
	if err != nil {
		return err
	}
	defer w.store.TellIfSlow(fmt.Sprintf("checking %.12s out in %s", commit, w.Dir))()
	if w.used.IsZero() {
		w.used, w.same = time.Now(), true
		return w.fresh(ctx, commit, tree)
	}
	if err := w.reuse(ctx, commit, tree, kept && w.same); err == nil || ctx.Err() != nil {
		return err
	}
	next, err := w.pool.add()
	if err != nil {
		return err
	}
	old := *w
	next.task, next.same, next.used = w.task, true, time.Now()
	*w = *next
	_ = old.discard()
	if err := os.WriteFile(filepath.Join(filepath.Dir(w.Dir), taskFile), []byte(w.task), 0o666); err != nil {
		return err
	}
	return w.fresh(ctx, commit, tree)
}

// errNotReusable is the answer to a checkout of which nobody can say what is in it.
var errNotReusable = errors.New("not reusable")

// reuse moves the checkout to another tree and removes all else.
func (w *Workspace) reuse(ctx context.Context, commit, tree plan.OID, kept bool) error {
	for name, isDir := range map[string]bool{w.Dir: true, w.index: false} {
		if info, err := os.Lstat(name); err != nil || info.IsDir() != isDir || !isDir && !info.Mode().IsRegular() {
			return errNotReusable
		}
	}
	// A git of a killed process may still write the index, or the one in which Candidate stages.
	if locks, err := filepath.Glob(w.index + "*.lock"); err != nil || len(locks) > 0 {
		return errNotReusable
	}
	if err := removeAll(filepath.Join(w.Dir, ".git")); err != nil {
		return err
	}
	if _, err := w.git(ctx, w.index, nil, "read-tree", "--reset", "-u", string(tree)); err != nil {
		return err
	}
	clean := []string{"clean", "-ffdq"}
	if !kept {
		clean = append(clean, "-x")
	}
	if _, err := w.git(ctx, w.index, nil, clean...); err != nil {
		return err
	}
	staged, err := w.git(ctx, w.index, nil, "-c", "sparse.expectFilesOutsideOfPatterns=true", "ls-files", "-t",
		"--stage", "-z")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(string(staged), "\x00") {
		about, path, _ := strings.Cut(entry, "\t")
		switch dir := filepath.Join(w.Dir, filepath.FromSlash(path)); {
		case strings.HasPrefix(about, "S"): // git does not look for what is in the place of a file that is left out
			return errNotReusable
		case strings.HasPrefix(about, "H 160000"): // nor inside a submodule
			if err := errors.Join(removeAll(dir), os.Mkdir(dir, 0o777)); err != nil {
				return err
			}
		}
	}
	w.base = tree
	return w.addGitDir(ctx, commit)
}

// removeAll removes a directory, also where somebody took away the right to.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
