package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// yard is one working tree for several git directories that differ in their hooks. One of them at a time is in place: so
// all contestants commit the same files, each meets the hooks that it is about and no others, however they are installed.
type yard struct {
	l    *lab
	dir  string // the working tree
	park string // the git directories that are not in place
	now  string // the one that is
	base string // the commit on which each round begins
}

// What can be staged, by the name under which its index is kept.
const (
	oneFile = "one file"
	bundle  = "a bundle"
)

// newYard makes the working tree and the git directory without hooks.
func newYard(ctx context.Context, l *lab, z sizes) (*yard, error) {
	y := &yard{l: l, park: filepath.Join(l.dir, "yard"), now: noHooks}
	var err error
	if y.dir, err = l.repo(ctx, "gate", manyFiles(z.files)); err != nil {
		return nil, err
	}
	if y.base, err = l.git(ctx, y.dir, nil, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	if err := os.Mkdir(y.park, 0o777); err != nil {
		return nil, err
	}
	if err := y.stageOne(ctx); err != nil {
		return nil, err
	}
	return y, y.stageBundle(ctx, z.bundle)
}

func (y *yard) git(name string) string { return filepath.Join(y.dir, ".git", name) }

// stageOne keeps an index with one changed file. The working tree has the same content: lefthook hides what is not staged
// while its jobs run, which a commit of everything does not make it pay for.
func (y *yard) stageOne(ctx context.Context) error {
	const path = "src/d000/e00/f0"
	if err := os.WriteFile(filepath.Join(y.dir, filepath.FromSlash(path)), []byte("changed\n"), 0o666); err != nil {
		return err
	}
	if err := y.l.steps(ctx, y.dir, []string{"git", "add", path}); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(y.park, oneFile), y.git("index")); err != nil {
		return err
	}
	return y.l.steps(ctx, y.dir, []string{"git", "reset", "-q"})
}

// stageBundle has a plan carried out, and keeps an index with its bundle, as git wf export leaves it.
func (y *yard) stageBundle(ctx context.Context, files int) error {
	yaml := filepath.Join(y.l.dir, "bundle.yaml")
	if err := os.WriteFile(yaml, []byte(planFile(pageLines(files, pagesEach))), 0o666); err != nil {
		return err
	}
	err := y.l.steps(ctx, y.dir,
		[]string{y.l.gitWF, "plan", "-f", yaml},
		[]string{y.l.gitWF, "run", "--quiet"},
		[]string{y.l.gitWF, "export"},
		[]string{"git", "gc", "-q"},
	)
	if err != nil {
		return err
	}
	staged, err := y.l.git(ctx, y.dir, nil, "diff", "--cached", "--name-only", "--", "deliverables/*.txt")
	if err != nil {
		return err
	}
	if n := len(strings.Fields(staged)); n != files {
		return fmt.Errorf("%d files of the bundle are staged, expected %d", n, files)
	}
	return copyFile(filepath.Join(y.park, bundle), y.git("index"))
}

// pagesEach is how many files a task of the bundle has.
const pagesEach = 10

// add makes another git directory, and its hooks by a setup that runs while it is in place.
func (y *yard) add(ctx context.Context, name string, setup func(context.Context) error) error {
	if err := y.place(noHooks); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(y.park, name), os.DirFS(filepath.Join(y.dir, ".git"))); err != nil {
		return err
	}
	if err := y.place(name); err != nil {
		return err
	}
	return setup(ctx)
}

// place puts a git directory into the working tree.
func (y *yard) place(name string) error {
	if name == y.now {
		return nil
	}
	if err := os.Rename(filepath.Join(y.dir, ".git"), filepath.Join(y.park, y.now)); err != nil {
		return err
	}
	y.now = name
	return os.Rename(filepath.Join(y.park, name), filepath.Join(y.dir, ".git"))
}

// ready puts a git directory into the working tree, on the first commit, with something staged.
func (y *yard) ready(ctx context.Context, name, staged string) error {
	if err := y.place(name); err != nil {
		return err
	}
	back := []string{"git", "-c", "core.hooksPath=" + filepath.Join(y.l.dir, "none"), "update-ref", "refs/heads/main", y.base}
	if err := y.l.steps(ctx, y.dir, back); err != nil {
		return err
	}
	return copyFile(y.git("index"), filepath.Join(y.park, staged))
}

// commit is a contestant: git commit, with the hooks of a git directory.
func (y *yard) commit(title, name, staged string, over *contestant) *contestant {
	return &contestant{
		name: title, dir: y.dir, over: over, args: []string{"git", "commit", "-q", "-m", "change"},
		before: func(ctx context.Context) error { return y.ready(ctx, name, staged) },
	}
}

// refuses checks that the hooks of a git directory let nothing pass that was not approved: a comparison with a check that
// looks at less, or with a hook that git does not reach, says nothing.
func (y *yard) refuses(ctx context.Context, name string) error {
	if err := y.ready(ctx, name, bundle); err != nil {
		return err
	}
	path, err := y.l.git(ctx, y.dir, nil, "ls-files", "--", "deliverables/*_IMPL-1/page0.txt")
	if err != nil {
		return err
	}
	blob, err := y.l.git(ctx, y.dir, strings.NewReader("nobody saw this\n"), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	for what, tamper := range map[string][]string{
		"changed":  {"--cacheinfo", "100644," + blob + "," + path},
		"added":    {"--add", "--cacheinfo", "100644," + blob + "," + path + ".txt"},
		"removed":  {"--force-remove", path},
		"runnable": {"--chmod=+x", path},
	} {
		if err := y.ready(ctx, name, bundle); err != nil {
			return err
		}
		if err := y.l.steps(ctx, y.dir, append([]string{"git", "update-index"}, tamper...)); err != nil {
			return err
		}
		if y.l.steps(ctx, y.dir, []string{"git", "commit", "-q", "-m", "sneak it in"}) == nil {
			return fmt.Errorf("the hooks of %q let a bundle pass in which a file was %s", name, what)
		}
	}
	return nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
