package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Workspace is a checkout of a commit, in a directory of its own.
type Workspace struct {
	Dir string // the checkout

	store *gitstore.Store
	base  plan.OID // the tree that was checked out
	index string   // as it was after the checkout

	// Of a checkout that a pool keeps; else zero.
	pool   *Pool
	unlock func()
	task   string    // whom it is for
	same   bool      // it was for the same one before
	used   time.Time // when it was taken last; zero: never
}

// Make checks a commit out into a new or empty directory. It keeps an index beside it; the caller removes both.
func Make(ctx context.Context, store *gitstore.Store, dir string, commit plan.OID) (*Workspace, error) {
	w := &Workspace{Dir: dir, store: store, index: dir + ".index"}
	tree, err := w.treeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	return w, w.fresh(ctx, commit, tree)
}

func (w *Workspace) treeOf(ctx context.Context, commit plan.OID) (plan.OID, error) {
	tree, err := w.store.TreeOf(ctx, commit)
	if err == nil && tree == "" {
		err = fmt.Errorf("commit %.12s is not here", commit)
	}
	return tree, err
}

// fresh writes the files of a commit.
func (w *Workspace) fresh(ctx context.Context, commit, tree plan.OID) error {
	if err := os.MkdirAll(w.Dir, 0o777); err != nil {
		return err
	}
	if _, err := w.git(ctx, w.index, nil, "read-tree", "-m", "-u", string(tree)); err != nil {
		return fmt.Errorf("check out %.12s: %w", commit, err)
	}
	w.base = tree
	return w.addGitDir(ctx, commit)
}

// Here is the user's own working tree, as if it had been checked out from a tree. The copy of its index lies in
// scratch; the user's stays as it is.
func Here(ctx context.Context, store *gitstore.Store, scratch string, base plan.OID) (*Workspace, error) {
	w := &Workspace{Dir: store.WorkTree(), store: store, base: base, index: filepath.Join(scratch, "index")}
	from, err := store.Git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	if err := copyIndex(from, w.index); !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	_, err = w.git(ctx, w.index, nil, "read-tree", "--empty")
	return w, err
}

// settings apply to every git that looks at a checkout: nothing starts a program that its content names, asks another
// process, or refuses a file for its line ends.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "core.fsync=loose-object", "-c", "core.splitIndex=false", "-c", "index.version=2", "-c", "index.sparse=false",
	"-c", "core.trustctime=true", "-c", "core.checkStat=default", // what somebody sets back is seen all the same
	"-c", "core.safecrlf=false", "-c", "submodule.recurse=false", "-c", "advice.addEmbeddedRepo=false",
}

// git runs git on the checkout, with the user's repository and an index.
func (w *Workspace) git(ctx context.Context, index string, stdin io.Reader, args ...string) ([]byte, error) {
	return w.store.GitIn(ctx, gitstore.Invocation{
		Args: slices.Concat(settings, args), Stdin: stdin, Dir: w.Dir,
		Env: []string{"GIT_DIR=" + w.store.GitDir(), "GIT_WORK_TREE=" + w.Dir, "GIT_INDEX_FILE=" + index,
			"GIT_LITERAL_PATHSPECS=1"},
	})
}

// addGitDir gives the checkout a git directory for whoever works in it. It borrows the repository's objects, has no
// refs and no remotes, and runs no hooks: nothing done there reaches the user's branches or configuration.
func (w *Workspace) addGitDir(ctx context.Context, commit plan.OID) error {
	dir := filepath.Join(w.Dir, ".git")
	config, err := w.config(ctx)
	if err != nil {
		return err
	}
	for _, d := range []string{filepath.Join(dir, "objects", "info"), filepath.Join(dir, "refs")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"objects/info/alternates": filepath.Join(w.store.CommonDir(), "objects") + "\n",
		"config":                  config,
		"HEAD":                    string(commit) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	if data, err := os.ReadFile(filepath.Join(w.store.CommonDir(), "shallow")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, "shallow"), data, 0o666); err != nil {
			return err
		}
	}
	return copyIndex(w.index, filepath.Join(dir, "index"))
}

// carried are the settings of the user's repository that decide what a checkout looks like, and who commits.
var carried = []string{"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase",
	"core.precomposeunicode", "core.excludesfile", "core.attributesfile", "user.name", "user.email"}

// config is what the checkout's own configuration begins with.
func (w *Workspace) config(ctx context.Context) (string, error) {
	all, err := w.store.Settings(ctx, "")
	if err != nil {
		return "", err
	}
	text := "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\thooksPath = " + os.DevNull +
		"\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
	for _, entry := range all {
		key, value := entry[0], entry[1]
		if !slices.Contains(carried, key) && !strings.HasPrefix(key, "filter.") {
			continue
		}
		dot := strings.LastIndexByte(key, '.')
		section, name := key[:dot], key[dot+1:]
		if group, sub, ok := strings.Cut(section, "."); ok {
			section = group + " " + quote(sub)
		}
		text += fmt.Sprintf("[%s]\n\t%s = %s\n", section, name, quote(value))
	}
	return text, nil
}

// quote writes a value or subsection as git reads it.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// copyIndex copies an index and its time: git reads a file again that is not older than the index, since
// both may be of one second.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	_ = os.Remove(to)
	return copyFile(from, to, info)
}

// Candidate is what became of a checkout.
type Candidate struct {
	Base, Tree plan.OID // the tree that was checked out, and the tree of the files as they are
	Nested     []string // repositories inside: their files are not in Tree
	Vanished   []string // submodules whose directories are gone: Tree still has them
}

// Candidate stores the files as they are now in the user's repository. Nothing names the new objects yet.
func (w *Workspace) Candidate(ctx context.Context) (*Candidate, error) {
	c := &Candidate{Base: w.base}
	if err := w.open(); err != nil {
		return nil, err
	}
	index := w.index + ".now"
	if err := copyIndex(w.index, index); err != nil {
		return nil, err
	}
	moved, err := w.takeSubmodules(ctx, index)
	if err != nil {
		return nil, err
	}
	changed, gone, err := w.changed(ctx, index, c)
	if err != nil {
		return nil, err
	}
	changed = slices.DeleteFunc(changed, func(path string) bool { return slices.Contains(moved, path) })
	if err := w.stage(ctx, index, changed, gone); err != nil {
		return nil, err
	}
	if err := w.unstageUntouched(ctx, index); err != nil {
		return nil, err
	}
	out, err := w.git(ctx, index, nil, "write-tree", "--missing-ok")
	c.Tree = plan.OID(strings.TrimSpace(string(out)))
	return c, err
}

// takeSubmodules puts what the checkout's own index says of submodules into another: nothing initialises them here, so
// no file shows it. It returns their paths.
func (w *Workspace) takeSubmodules(ctx context.Context, index string) (moved []string, err error) {
	own := filepath.Join(w.Dir, ".git", "index")
	if _, err := os.Lstat(own); err != nil {
		return nil, nil
	}
	out, err := w.git(ctx, own, nil, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", string(w.base))
	if err != nil {
		return nil, ctx.Err() // somebody broke it, and the files still say what they say
	}
	var lines bytes.Buffer
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 { // ":<modes> <ids> <status>", path
		f, path := strings.Fields(fields[i]), fields[i+1]
		_, gone := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(path)))
		if f[1] == submodule || f[0] == ":"+submodule && gone != nil {
			fmt.Fprintf(&lines, "%s %s\t%s\x00", f[1], f[3], path)
			moved = append(moved, path)
		}
	}
	if len(moved) > 0 {
		_, err = w.git(ctx, index, &lines, "update-index", "-z", "--index-info")
	}
	return moved, err
}

// open lets us into every directory: git says nothing of what is in one that it can't read.
func (w *Workspace) open() error {
	return filepath.WalkDir(w.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode()&0o700 != 0o700 {
			err = os.Chmod(path, info.Mode().Perm()|0o700)
		}
		return err
	})
}

// readable makes a file readable, and reports whether it is a file or a link: nothing else can be recorded.
func (w *Workspace) readable(path string) (bool, error) {
	name := filepath.Join(w.Dir, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	switch {
	case err != nil || info.IsDir(): // a submodule
		return err == nil, err
	case info.Mode().IsRegular() && info.Mode()&0o400 == 0:
		err = os.Chmod(name, info.Mode().Perm()|0o400)
	}
	return info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0, err
}

// changed lists the files that differ from the checkout by time, size, mode or kind, and those that are gone.
func (w *Workspace) changed(ctx context.Context, index string, c *Candidate) (changed, gone []string, err error) {
	out, err := w.git(ctx, index, nil, "diff-files", "--raw", "-z", "--ignore-submodules=dirty")
	if err != nil {
		return nil, nil, err
	}
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 { // ":<modes> <ids> <status>", path
		switch deleted := strings.HasSuffix(fields[i], "D"); {
		case deleted && strings.HasPrefix(fields[i], ":"+submodule):
			c.Vanished = append(c.Vanished, fields[i+1])
		case deleted:
			gone = append(gone, fields[i+1])
		default:
			is, err := w.readable(fields[i+1])
			if err != nil {
				return nil, nil, err
			}
			if !is {
				gone = append(gone, fields[i+1])
				continue
			}
			changed = append(changed, fields[i+1])
		}
	}
	out, err = w.git(ctx, index, nil, "ls-files", "-z", "--others", "--exclude-standard")
	for _, p := range split(out) {
		if dir, nested := strings.CutSuffix(p, "/"); nested {
			c.Nested = append(c.Nested, dir)
			continue
		}
		if _, err := w.readable(p); err != nil {
			return nil, nil, err
		}
		changed = append(changed, p)
	}
	return changed, gone, err
}

const submodule = "160000"

func split(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// stage puts the files into the index, cleaned as git add cleans them.
func (w *Workspace) stage(ctx context.Context, index string, paths, gone []string) error {
	if len(gone) > 0 { // one in a directory that is a link now is beyond update-index --remove
		var lines bytes.Buffer
		for _, path := range gone {
			fmt.Fprintf(&lines, "0 %040d\t%s\x00", 0, path)
		}
		if _, err := w.git(ctx, index, &lines, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	if len(paths) == 0 {
		return nil
	}
	_, err := w.git(ctx, index, strings.NewReader(strings.Join(paths, "\x00")+"\x00"), "update-index", "--add",
		"--remove", "--replace", "-z", "--stdin")
	return err
}

// unstageUntouched restores the entries of files that only cleaning changed: a checkout writes the same bytes for both,
// so nobody touched them.
func (w *Workspace) unstageUntouched(ctx context.Context, index string) error {
	out, err := w.git(ctx, index, nil, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--diff-filter=M",
		string(w.base))
	if err != nil {
		return err
	}
	var restored bytes.Buffer
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 { // ":<modes> <ids> <status>", path
		f, path := strings.Fields(fields[i]), fields[i+1]
		if len(f) != 5 || f[0] != ":"+f[1] || !strings.HasPrefix(f[1], "100") {
			continue
		}
		file := filepath.Join(w.Dir, filepath.FromSlash(path))
		as, err := hashOf(file)
		if err != nil {
			return err
		}
		if as == f[3] { // cleaning left it alone
			continue
		}
		fresh, err := w.git(ctx, index, nil, "cat-file", "--filters", "--path="+path, f[2])
		if err != nil {
			return err
		}
		now, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Equal(fresh, now) {
			fmt.Fprintf(&restored, "%s %s\t%s\x00", f[1], f[2], path)
		}
	}
	if restored.Len() == 0 {
		return nil
	}
	_, err = w.git(ctx, index, &restored, "update-index", "-z", "--index-info")
	return err
}

// hashOf returns the id that a file's bytes have as a blob.
func hashOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	oid, err := gitstore.HashBlob(f, info.Size())
	return string(oid), err
}
