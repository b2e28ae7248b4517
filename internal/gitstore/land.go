package gitstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// Advance moves a branch forward by any number of commits, with the worktree that has it checked out. It fails, and
// moves nothing, if the branch moved meanwhile, is being rebased or bisected, or a file is in the way.
func (s *Store) Advance(ctx context.Context, branch string, from, to plan.OID) error {
	ref := "refs/heads/" + branch
	if busy, err := s.busyBranch(ref, branch); err != nil || busy != "" {
		return cmp.Or(err, fault.Refused("git status", "%s: %s", branch, busy))
	}
	dir, err := s.worktreeOf(ctx, ref)
	if err != nil {
		return err
	}
	// Two that land write the same files.
	lock, err := s.lockFile(ctx, filepath.Join(s.commonDir, "wf", "lock", "land"), "land")
	if err != nil {
		return err
	}
	defer lock.Close()
	tip, err := s.Ref(ctx, ref)
	if err != nil {
		return err
	}
	if tip != from {
		return ErrBranchMoved
	}
	if dir == "" {
		_, err = s.Git(ctx, "update-ref", "-m", "git wf land", ref, string(to), string(from))
	} else {
		err = s.mergeMarked(ctx, dir, from, to)
	}
	if err == nil {
		return nil
	}
	if now, readErr := s.Ref(ctx, ref); readErr == nil && now != from {
		return ErrBranchMoved
	}
	return inTheWay(branch, err)
}

// inTheWay is the error of a branch that did not move: git's own words name the file, the lock or the hook.
func inTheWay(branch string, err error) error {
	var g *GitError
	if !errors.As(err, &g) {
		return err
	}
	if _, ok := errors.AsType[*LockedError](err); ok {
		return fmt.Errorf("%s did not move: %w", branch, err)
	}
	text := strings.TrimPrefix(err.Error(), "git "+subcommand(g.Args)+": ") // with what became of the files
	text = gitPrefix.Get().ReplaceAllString(text, "")
	return fault.Refused("git wf land, once that is out of the way", "%s did not move: %s", branch, plain.Text(text))
}

// gitPrefix begins an error of git's.
var gitPrefix = pattern.Compile(`(?m)^(error|fatal): `)

// ErrBranchMoved: somebody else moved the branch first. Judge anew on its new tip.
var ErrBranchMoved = fault.Refused("git wf land", "the branch moved while the changes were tried")

// worktreeOf returns the worktree that has a branch checked out, "" if none has.
func (s *Store) worktreeOf(ctx context.Context, ref string) (string, error) {
	out, err := s.GitIn(ctx, Invocation{Args: []string{"for-each-ref", "--format=%(worktreepath)", ref}})
	return strings.TrimSuffix(string(out), "\n"), err
}

// Inside is where a worktree of that name lies inside of the main one, for who may write nowhere else: never in another
// linked one, with which it would be removed.
func (s *Store) Inside(name string) string {
	dir := s.workTree
	if filepath.Base(s.commonDir) == ".git" {
		dir = filepath.Dir(s.commonDir)
	}
	return filepath.Join(dir, ".worktrees", name)
}

// Exclude adds lines to info/exclude, which linked worktrees share. It rewrites nothing: a kill would lose it.
func (s *Store) Exclude(lines string) error {
	name := filepath.Join(s.commonDir, "info", "exclude")
	before, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) || strings.Contains(string(before), lines) {
		return err
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		lines = "\n" + lines
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines)
	return errors.Join(err, f.Close())
}

// Worktree is a working tree as git lists it.
type Worktree struct {
	Dir    string
	Branch string // the name of its ref, "" if it is detached
	Begun  bool   // git worktree add has not finished, or was killed
}

// Worktrees lists the working trees, the main one first. A path with a newline in it can't be told apart.
func (s *Store) Worktrees(ctx context.Context) (all []Worktree, err error) {
	out, err := s.Git(ctx, "worktree", "list", "--porcelain")
	for block := range strings.SplitSeq(out, "\n\n") {
		var w Worktree
		for line := range strings.Lines(block) {
			switch key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " "); key {
			case "worktree":
				w.Dir = value
			case "branch":
				w.Branch = value
			case "locked":
				w.Begun = value == "initializing"
			}
		}
		all = append(all, w)
	}
	return all, err
}

// busyBranch says what a worktree is doing with a branch that must not move meanwhile.
func (s *Store) busyBranch(ref, branch string) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(s.CommonDir(), "worktrees", "*"))
	if err != nil {
		return "", err
	}
	for _, dir := range append(dirs, s.CommonDir()) {
		for _, busy := range []struct{ file, holds, what string }{
			{"rebase-merge/head-name", ref, "is being rebased"}, {"rebase-apply/head-name", ref, "is being rebased"},
			{"BISECT_START", branch, "is being bisected"},
		} {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(busy.file)))
			if err == nil && strings.TrimSpace(string(data)) == busy.holds {
				return busy.what, nil
			}
		}
	}
	return "", nil
}

// BeginMerge begins git's own merge of a branch into HEAD, in the working tree, and gives the files the content that
// they are to have; one without an id is deleted. What is protected and not named stays as HEAD has it. It returns the
// other paths at which git found a conflict: those are for a person.
func (s *Store) BeginMerge(ctx context.Context, branch string, files map[string]threeway.Entry,
	protects func(path string) bool) (conflicts []string, err error) {
	run := func(stdin string, args ...string) (string, error) {
		out, err := s.GitIn(ctx, Invocation{Args: args, Stdin: strings.NewReader(stdin), Dir: s.workTree})
		return string(out), err
	}
	if dirty, err := run("", "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"); err != nil {
		return nil, err
	} else if dirty != "" {
		return nil, fault.Refused("git stash", "the working tree has changes that are not committed")
	}
	_, mergeErr := run("", "merge", "--no-ff", "--no-commit", "--end-of-options", branch)
	if merging, err := s.CommitOf(ctx, "MERGE_HEAD"); err != nil || merging == "" {
		return nil, fmt.Errorf("git merge %s: %w", plain.Quote(branch), mergeErr)
	}
	touched, err := run("", "diff-index", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=none", "HEAD")
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(touched, "\x00"), "\x00") {
		if _, named := files[path]; path == "" || named || !protects(path) {
			continue
		}
		out, err := run("", "ls-tree", "-z", "HEAD", "--", ":(literal)"+path)
		if err != nil {
			return nil, err
		}
		var e threeway.Entry
		if f := strings.Fields(out); len(f) > 2 {
			e = threeway.Entry{Mode: f[0], OID: plan.OID(f[2])}
		}
		files[path] = e
	}
	var index, made bytes.Buffer
	for path, e := range files {
		if _, err := run("", "rm", "-r", "-f", "-q", "--ignore-unmatch", "--", ":(literal)"+path); err != nil {
			return nil, err
		}
		if e.OID != "" {
			fmt.Fprintf(&index, "%s %s\t%s\x00", e.Mode, e.OID, path)
			fmt.Fprintf(&made, "%s\x00", path)
		}
	}
	if _, err := run(index.String(), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	if _, err := run(made.String(), "checkout-index", "-f", "-u", "-z", "--stdin"); err != nil {
		return nil, err
	}
	left, err := run("", "diff", "--name-only", "-z", "--diff-filter=U")
	for path := range strings.SplitSeq(strings.TrimSuffix(left, "\x00"), "\x00") {
		if path != "" {
			conflicts = append(conflicts, path)
		}
	}
	return conflicts, err
}

// CommitMerge commits the merge that BeginMerge began.
func (s *Store) CommitMerge(ctx context.Context) error {
	_, err := s.GitIn(ctx, Invocation{Args: []string{"commit", "-q", "--no-edit"}, Dir: s.workTree})
	return err
}
