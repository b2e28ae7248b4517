package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// git writes a worktree's files before it moves the branch. If it is killed in between, or finds the
// disk full, the files would be in the way of the next landing. So the worktree's git directory says
// from which commit to which it moves, and what git has written without moving the branch is taken
// back: files that are as the new commit has them, or their beginnings, or gone. What can't be taken
// back now is taken back by the next landing.

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
		if killed := (move{s, dir, from, plan.OID(is)}); was == string(from) && isOID(killed.to) {
			changed, err := killed.changed(ctx)
			if err == nil {
				_, err = killed.takeBack(ctx, changed)
			}
			if err != nil {
				return err
			}
		}
	}
	m := move{s, dir, from, to}
	changed, err := m.changed(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(mark, []byte(string(from)+" "+string(to)+"\n"), 0o666); err != nil {
		return err
	}
	_, err = s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"-c", "merge.verifySignatures=false", "merge", "-q",
		"--ff-only", "--no-overwrite-ignore", "--no-autostash", "--end-of-options", string(to)}})
	if ctx.Err() != nil {
		return err // the mark still says what git was doing
	}
	if err != nil {
		// What was there before is the user's, though it looks like git's.
		mine := slices.DeleteFunc(changed, func(f changedFile) bool { return sameFile(f.was, lstat(m.file(f.path))) })
		head, lookErr := s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"rev-parse", "HEAD"}})
		back := false
		if lookErr == nil && strings.TrimSpace(string(head)) == string(from) {
			back, lookErr = m.takeBack(ctx, mine)
		}
		if lookErr != nil {
			return fmt.Errorf("%w\nwhat was written is still there; git wf land takes it back: %w", err, lookErr)
		}
		if back { // git does not say why it could not write
			err = fmt.Errorf("%w\nwhat was written is taken back; df shows whether the disk is full", err)
		}
	}
	if removeErr := os.Remove(mark); err == nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = removeErr
	}
	return err
}

// move is a worktree on the way from one commit to another.
type move struct {
	s        *Store
	dir      string
	from, to plan.OID
}

// changedFile is a file that changes on the way: A added, D deleted, ... and what lstat said of it.
type changedFile struct {
	how, path string
	was       os.FileInfo
}

func (m *move) file(path string) string { return filepath.Join(m.dir, filepath.FromSlash(path)) }

func (m *move) git(ctx context.Context, stdin string, args ...string) ([]string, error) {
	out, err := m.s.GitIn(ctx, Invocation{
		Dir: m.dir, Args: args, Stdin: strings.NewReader(stdin), Env: []string{"GIT_LITERAL_PATHSPECS=1"},
	})
	if len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
}

func (m *move) changed(ctx context.Context) (all []changedFile, err error) {
	out, err := m.git(ctx, "", "diff-tree", "-r", "--no-renames", "--name-status", "-z", string(m.from), string(m.to))
	for i := 0; i+1 < len(out); i += 2 {
		all = append(all, changedFile{out[i], out[i+1], lstat(m.file(out[i+1]))})
	}
	return all, err
}

// takeBack restores files and index entries where git has put another commit's, and says if there were any.
func (m *move) takeBack(ctx context.Context, changed []changedFile) (any bool, err error) {
	var back, made []string
	for _, f := range changed {
		ours, err := m.written(ctx, f)
		if err != nil {
			return false, err
		}
		if !ours {
			continue
		}
		if back = append(back, f.path); f.how == "A" {
			made = append(made, f.path)
		}
	}
	if len(back) == 0 {
		return false, nil
	}
	for _, name := range made { // first: the index needs room
		if err := os.Remove(m.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			if st := lstat(m.file(dir)); st == nil || !st.IsDir() || os.Remove(m.file(dir)) != nil { // others are there
				break
			}
		}
	}
	list := strings.Join(back, "\x00") + "\x00"
	_, err = m.git(ctx, list, "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul", string(m.from))
	if err != nil {
		return true, err
	}
	kept := slices.DeleteFunc(back, func(path string) bool { return slices.Contains(made, path) })
	_, err = m.git(ctx, strings.Join(kept, "\x00"), "checkout-index", "-q", "-f", "-u", "-z", "--stdin")
	return true, err
}

// written reports whether a file is, as far as it goes, what git writes for a commit on the way there.
func (m *move) written(ctx context.Context, f changedFile) (bool, error) {
	name := m.file(f.path)
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // an added one may still be in the index
	}
	if err != nil || f.how == "D" {
		return false, err
	}
	link := info.Mode().Type() == fs.ModeSymlink
	var have []byte
	switch {
	case link:
		var target string
		target, err = os.Readlink(name)
		have = []byte(filepath.ToSlash(target))
	case info.Mode().IsRegular():
		have, err = os.ReadFile(name)
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	want, err := m.s.GitIn(ctx, Invocation{Dir: m.dir, Args: []string{"cat-file", "--filters", string(m.to) + ":" +
		f.path}})
	return err == nil && bytes.HasPrefix(want, have) && (!link || len(want) == len(have)), ctx.Err()
}
