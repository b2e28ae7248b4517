package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// sharedTree is one working tree for several git directories with different hooks, one of them in place at a time. So
// all contestants commit the same files, and each meets only its own hooks, however they are installed.
type sharedTree struct {
	l      *lab
	dir    string // the working tree
	parked string // the git directories that are not in place
	now    string // the one in place
	base   string // the commit at which each round begins
}

// What can be staged, by the name of its saved index.
const (
	oneFile = "one file"
	bundle  = "a bundle"
)

// newSharedTree makes the working tree and the git directory without hooks.
func newSharedTree(ctx context.Context, l *lab, z sizes) (*sharedTree, error) {
	s := &sharedTree{l: l, parked: filepath.Join(l.dir, "parked"), now: noHooks}
	var err error
	if s.dir, err = l.repo(ctx, "gate", manyFiles(z.files)); err != nil {
		return nil, err
	}
	if s.base, err = l.git(ctx, s.dir, nil, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	if err := os.Mkdir(s.parked, 0o777); err != nil {
		return nil, err
	}
	if err := s.stageOne(ctx); err != nil {
		return nil, err
	}
	return s, s.stageBundle(ctx, z.bundle)
}

func (s *sharedTree) git(name string) string { return filepath.Join(s.dir, ".git", name) }

// stageOne saves an index with one changed file. The working tree has the same content: lefthook hides unstaged changes
// while its jobs run, and a commit of everything does not pay for that.
func (s *sharedTree) stageOne(ctx context.Context) error {
	const path = "src/d000/e00/f0"
	if err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(path)), []byte("changed\n"), 0o666); err != nil {
		return err
	}
	if err := s.l.steps(ctx, s.dir, []string{"git", "add", path}); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(s.parked, oneFile), s.git("index")); err != nil {
		return err
	}
	return s.l.steps(ctx, s.dir, []string{"git", "reset", "-q"})
}

// stageBundle carries out a plan and saves an index with its bundle, as git wf export leaves it.
func (s *sharedTree) stageBundle(ctx context.Context, files int) error {
	yaml := filepath.Join(s.l.dir, "bundle.yaml")
	if err := os.WriteFile(yaml, []byte(planFile(pageLines(files, pagesEach))), 0o666); err != nil {
		return err
	}
	err := s.l.steps(ctx, s.dir,
		[]string{s.l.gitWF, "plan", "-f", yaml},
		[]string{s.l.gitWF, "run", "--quiet"},
		[]string{s.l.gitWF, "export"},
		[]string{"git", "gc", "-q"},
	)
	if err != nil {
		return err
	}
	staged, err := s.l.git(ctx, s.dir, nil, "diff", "--cached", "--name-only", "--", "deliverables/*.txt")
	if err != nil {
		return err
	}
	if n := len(strings.Fields(staged)); n != files {
		return fmt.Errorf("%d files of the bundle are staged, expected %d", n, files)
	}
	return copyFile(filepath.Join(s.parked, bundle), s.git("index"))
}

// pagesEach is the number of files per task of the bundle.
const pagesEach = 10

// add makes another git directory; setup installs its hooks while it is in place.
func (s *sharedTree) add(ctx context.Context, name string, setup func(context.Context) error) error {
	if err := s.place(noHooks); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(s.parked, name), os.DirFS(filepath.Join(s.dir, ".git"))); err != nil {
		return err
	}
	if err := s.place(name); err != nil {
		return err
	}
	return setup(ctx)
}

// place moves a git directory into the working tree.
func (s *sharedTree) place(name string) error {
	if name == s.now {
		return nil
	}
	if err := os.Rename(filepath.Join(s.dir, ".git"), filepath.Join(s.parked, s.now)); err != nil {
		return err
	}
	s.now = name
	return os.Rename(filepath.Join(s.parked, name), filepath.Join(s.dir, ".git"))
}

// ready moves a git directory into the working tree, at the first commit, with a saved index.
func (s *sharedTree) ready(ctx context.Context, name, staged string) error {
	if err := s.place(name); err != nil {
		return err
	}
	back := []string{"git", "-c", "core.hooksPath=" + filepath.Join(s.l.dir, "none"), "update-ref", "refs/heads/main",
		s.base}
	if err := s.l.steps(ctx, s.dir, back); err != nil {
		return err
	}
	return copyFile(s.git("index"), filepath.Join(s.parked, staged))
}

// commit returns a contestant: git commit with the hooks of a git directory.
func (s *sharedTree) commit(title, name, staged string, over *contestant) *contestant {
	return &contestant{
		name: title, dir: s.dir, over: over, args: []string{"git", "commit", "-q", "-m", "change"},
		before: func(ctx context.Context) error { return s.ready(ctx, name, staged) },
	}
}

// refuses checks that a git directory's hooks refuse everything unapproved: a comparison with a check that looks at
// less, or with a hook that git does not reach, says nothing.
func (s *sharedTree) refuses(ctx context.Context, name string) error {
	if err := s.ready(ctx, name, bundle); err != nil {
		return err
	}
	path, err := s.l.git(ctx, s.dir, nil, "ls-files", "--", "deliverables/*_IMPL-1/page0.txt")
	if err != nil {
		return err
	}
	blob, err := s.l.git(ctx, s.dir, strings.NewReader("nobody saw this\n"), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	for what, tamper := range map[string][]string{
		"changed":  {"--cacheinfo", "100644," + blob + "," + path},
		"added":    {"--add", "--cacheinfo", "100644," + blob + "," + path + ".txt"},
		"removed":  {"--force-remove", path},
		"runnable": {"--chmod=+x", path},
	} {
		if err := s.ready(ctx, name, bundle); err != nil {
			return err
		}
		if err := s.l.steps(ctx, s.dir, append([]string{"git", "update-index"}, tamper...)); err != nil {
			return err
		}
		if s.l.steps(ctx, s.dir, []string{"git", "commit", "-q", "-m", "sneak it in"}) == nil {
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
