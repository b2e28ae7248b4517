package gitstore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// git writes a worktree's files before it moves the branch. If it is killed in between, the files would be in the way
// of the next landing. So the worktree's git directory says from which commit to which it moves, and what a killed git
// has written is taken back: files that are as the new commit has them, or their beginnings, or gone.

// landingMark is the file that says so.
func (s *Store) landingMark(ctx context.Context, dir string) (string, error) {
	out, err := s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"rev-parse", "--git-path", "wf-landing"}})
	path := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, err
}

// mergeMarked moves the branch that a worktree has checked out.
func (s *Store) mergeMarked(ctx context.Context, dir string, from, to plan.OID) error {
	mark, err := s.landingMark(ctx, dir)
	if err != nil {
		return err
	}
	if data, err := os.ReadFile(mark); err == nil {
		was, is, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
		if was == string(from) && isOID(plan.OID(is)) {
			if err := s.takeBack(ctx, dir, from, plan.OID(is)); err != nil {
				return err
			}
		}
	}
	if err := os.WriteFile(mark, []byte(string(from)+" "+string(to)+"\n"), 0o666); err != nil {
		return err
	}
	_, err = s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"-c", "merge.verifySignatures=false", "merge", "-q",
		"--ff-only",
		"--no-overwrite-ignore", "--no-autostash", "--end-of-options", string(to)}})
	if err != nil && exitCode(err) == -1 {
		return err // git was killed, so the mark still says what it was doing
	}
	if removeErr := os.Remove(mark); err == nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = removeErr
	}
	return err
}

// takeBack restores the files and index entries of a commit where a killed git has put those of another.
func (s *Store) takeBack(ctx context.Context, dir string, from, to plan.OID) error {
	git := func(stdin string, args ...string) ([]string, error) {
		out, err := s.GitIn(ctx, Invocation{
			Dir: dir, Args: args, Stdin: strings.NewReader(stdin), Env: []string{"GIT_LITERAL_PATHSPECS=1"},
		})
		if len(out) == 0 {
			return nil, err
		}
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
	}
	changed, err := git("", "diff-tree", "-r", "--no-renames", "--name-status", "-z", string(from), string(to))
	if err != nil {
		return err
	}
	var back, made []string
	for i := 0; i+1 < len(changed); i += 2 {
		how, path := changed[i], changed[i+1]
		ours, err := s.written(ctx, dir, to, how, path)
		if err != nil {
			return err
		}
		if !ours {
			continue
		}
		if back = append(back, path); how == "A" {
			made = append(made, path)
		}
	}
	if len(back) == 0 {
		return nil
	}
	list := strings.Join(back, "\x00") + "\x00"
	if _, err := git(list, "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul", string(from)); err != nil {
		return err
	}
	for _, path := range made {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	kept := slices.DeleteFunc(back, func(path string) bool { return slices.Contains(made, path) })
	_, err = git(strings.Join(kept, "\x00"), "checkout-index", "-q", "-f", "-u", "-z", "--stdin")
	return err
}

// written reports whether a file is what git writes for a commit on the way there: all of it, its beginning, or nothing
// where there was a file before.
func (s *Store) written(ctx context.Context, dir string, to plan.OID, how, path string) (bool, error) {
	name := filepath.Join(dir, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return how != "A", nil
	case err != nil || how == "D" || !info.Mode().IsRegular():
		return false, err
	}
	have, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	want, err := s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"cat-file", "--filters", string(to) + ":" + path}})
	return err == nil && bytes.HasPrefix(want, have), ctx.Err()
}
