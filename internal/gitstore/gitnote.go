package gitstore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/shell"
)

// Nothing in a lock file of git's says whose it is, and a killed git leaves its own behind. So each git
// of ours that locks what is the user's has a note, wf-git-*. The note holds when that git began, and
// its time is when it was last seen at work; git inherits the lock on the note. Once nobody holds it,
// what was locked in between is a dead git's.

// noteTick is how often a note gets the time.
const noteTick = 250 * time.Millisecond

// locks reports whether a git locks the user's index, HEAD, configuration or a branch.
func (in Invocation) locks() bool {
	switch subcommand(in.Args) {
	case "commit", "update-ref", "fetch":
		return true
	case "config", "symbolic-ref", "worktree":
		return !slices.ContainsFunc(in.Args, func(arg string) bool { return readsOnly.Get().MatchString(arg) })
	case "merge", "reset", "rm", "update-index", "read-tree", "checkout-index":
		return !slices.ContainsFunc(in.Env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_INDEX_FILE=") })
	}
	return false
}

// runLocking runs a git that takes locks of the user's.
func (s *Store) runLocking(ctx context.Context, in Invocation) ([]byte, error) {
	if err := s.awaitLocks(ctx); err != nil {
		return nil, err
	}
	note, err := os.CreateTemp(s.commonDir, "wf-git-")
	if err != nil {
		return nil, err
	}
	unlock, err := inheritLock(note)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if st, err := note.Stat(); err == nil {
		_, _ = fmt.Fprint(note, st.ModTime().UnixNano()) // without it nothing is removed
	}
	in.inherits = append(in.inherits, note)
	stop := make(chan struct{})
	go func() {
		for tick := time.NewTicker(noteTick); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				_ = os.Chtimes(note.Name(), time.Time{}, time.Now())
			}
		}
	}()
	out, err := runGit(ctx, in)
	close(stop)
	if err != nil && exitCode(err) < 0 {
		_ = os.Chtimes(note.Name(), time.Time{}, time.Now())
		return out, err // killed: the next command removes what it has locked
	}
	_ = os.Remove(note.Name())
	if err != nil {
		if locks := s.foreignLocks(); len(locks) > 0 {
			err = &LockedError{locks, err}
		}
	}
	return out, err
}

// awaitLocks waits a moment for the locks of gits at work, and removes those of ours that were killed.
func (s *Store) awaitLocks(ctx context.Context) error {
	s.RemoveDeadLocks()
	began := time.Now()
	for told := false; ; {
		locks := slices.DeleteFunc(s.foreignLocks(), func(l Lock) bool { return l.Age > lockWait })
		if len(locks) == 0 || time.Since(began) > lockWait {
			return nil
		}
		if !told && locks[0].Age > lockPatience {
			s.notice("waiting for " + locks[0].String())
			told = true
		}
		if err := Pause(ctx, lockWait/100); err != nil {
			return err
		}
	}
}

// lockWait is how old a lock is that nobody waits for any longer.
const lockWait = 3 * time.Second

var readsOnly = pattern.Compile(`^(--get.*|--list|list|--show-.*|--quiet)$`)

// foreignLocks are the locks that gits of others may hold.
func (s *Store) foreignLocks() []Lock {
	return slices.DeleteFunc(s.Locks(), func(l Lock) bool { return l.Ours })
}

// Lock is a lock file of git's.
type Lock struct {
	File string
	Age  time.Duration
	Ours bool // it locks a ref of ours, where an old one is nobody's
}

func (l Lock) String() string { return plain.Line(l.File) + ": " + l.Why() }

// Why says what the lock means.
func (l Lock) Why() string {
	return fmt.Sprintf("locked for %s: another git is at work, or was killed", l.Age.Round(time.Second))
}

// OldLock is the age from which a lock on a ref of ours is a dead git's.
const OldLock = packedLockLimit

// LockedError is the failure of a git that found locks of others.
type LockedError struct {
	Locks []Lock
	Err   error
}

func (e *LockedError) Error() string {
	text, _, _ := strings.Cut(e.Err.Error(), "\n") // git goes on with advice of its own
	for _, l := range e.Locks {
		text += "\n" + l.String()
	}
	return text
}

func (e *LockedError) Unwrap() error { return e.Err }

// Exit returns the hint that gets past the locks.
func (e *LockedError) Exit() (int, string) {
	rm := "rm"
	for _, l := range e.Locks {
		rm += " " + shell.Word(l.File)
	}
	return fault.ExitRefused, "if no git is at work: " + rm + ", then the same command again"
}

// Locks lists git's lock files: of the index, HEAD, the configuration and the refs, of all worktrees.
func (s *Store) Locks() (locks []Lock) {
	add := func(file string) {
		if st := lstat(file); st != nil && !st.IsDir() {
			of, _ := filepath.Rel(s.commonDir, file)
			ours := strings.HasPrefix(filepath.ToSlash(of), "refs/workflow") ||
				strings.HasPrefix(filepath.Base(of), "WORKFLOW_")
			locks = append(locks, Lock{file, time.Since(st.ModTime()), ours})
		}
	}
	for _, pattern := range []string{"*.lock", "packed-refs.new", "worktrees/*/*.lock"} {
		for _, file := range s.glob(pattern) {
			add(file)
		}
	}
	_ = filepath.WalkDir(filepath.Join(s.commonDir, "refs"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".lock") {
			add(file)
		}
		return nil
	})
	return locks
}

// glob lists files of the git directory.
func (s *Store) glob(pattern string) []string {
	files, _ := filepath.Glob(filepath.Join(globWord.Replace(s.commonDir), filepath.FromSlash(pattern)))
	return files
}

// globWord makes a pattern of a path.
var globWord = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// RemoveDeadLocks removes what gits of ours had locked when they were killed.
func (s *Store) RemoveDeadLocks() {
	for _, name := range s.glob("wf-git-*") {
		held := lockDead(name, "")
		if held == nil {
			continue // at work
		}
		text, _ := os.ReadFile(name)
		began, err := strconv.ParseInt(string(text), 10, 64)
		if st := lstat(name); st != nil && err == nil {
			first, last := time.Unix(0, began), st.ModTime().Add(2*noteTick)
			for _, l := range s.Locks() {
				if at := lstat(l.File); at != nil && !at.ModTime().Before(first) && at.ModTime().Before(last) {
					_ = os.Remove(l.File)
				}
			}
		}
		_ = os.Remove(name)
		held.Close()
	}
}
