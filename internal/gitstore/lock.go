package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// lockPlan queues the writers of one plan on this machine, so that none discards another's work; what keeps the history
// whole is the compare-and-swap of the ref. Only one goroutine of a process polls for the file.
func (s *Store) lockPlan(ctx context.Context, id plan.ID) (unlock func(), err error) {
	s.mu.Lock()
	turn := s.turns[id]
	if turn == nil {
		turn = make(chan struct{}, 1)
		s.turns[id] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := s.lockFile(ctx, filepath.Join(s.commonDir, "wf", "lock"), string(id))
	if err != nil {
		<-turn
		return nil, fmt.Errorf("lock plan: %w", err)
	}
	return func() {
		file.Close()
		<-turn
	}, nil
}

// LockWorktree serializes changes to something next to this worktree. The lock ends with its process.
func (s *Store) LockWorktree(ctx context.Context, name string) (unlock func(), err error) {
	file, err := s.lockFile(ctx, filepath.Join(s.gitDir, "wf", "lock", "worktree"), name)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { file.Close() }, nil
}

func (s *Store) lockFile(ctx context.Context, dir, name string) (*flock.Flock, error) {
	const interval = time.Millisecond
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// Another user of a shared repository must be able to lock the same file.
	file := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o666))
	at := shell.Word(file.Path())
	defer s.TellIfSlow("waiting for another git wf, which has locked " + at + ": fuser " + at + " names its process")()
	if _, err := file.TryLockContext(ctx, interval); err != nil {
		return nil, err
	}
	return file, nil
}

// How long git may hold a lock file: a ref's for one flush, that of packed-refs while it rewrites all refs. A slower
// git that is still alive loses only its transaction: without the file it can't update the ref.
const (
	refLockLimit    = 10 * time.Second
	packedLockLimit = 30 * time.Second
)

// lockPatience is how long we wait for a lock before telling the user.
const lockPatience = time.Second

// lockWatch watches the lock files that may block a ref update; killed gits leave theirs behind.
type lockWatch struct {
	store  *Store
	limits map[string]time.Duration
	seen   map[string]sighting
}

// sighting is a lock file and the time we first saw it.
type sighting struct {
	file    os.FileInfo
	since   time.Time
	removed bool // at least we tried
	told    bool // the user knows that we wait for it
}

// refLocks watches what git locks for the changes; packed-refs.new blocks as much as packed-refs.lock.
func (s *Store) refLocks(changes []refChange) *lockWatch {
	w := &lockWatch{s, map[string]time.Duration{}, map[string]sighting{}}
	for _, c := range changes {
		w.limits[filepath.Join(s.commonDir, filepath.FromSlash(c.ref)+".lock")] = refLockLimit
	}
	for _, name := range []string{"packed-refs.lock", "packed-refs.new"} {
		w.limits[filepath.Join(s.commonDir, name)] = packedLockLimit
	}
	return w
}

// held removes stale lock files, and reports whether one went or is still the same: then keep trying.
func (w *lockWatch) held(ctx context.Context) bool {
	held := false
	for path, limit := range w.limits {
		now := lstat(path)
		if now == nil {
			delete(w.seen, path)
			continue
		}
		first, again := w.seen[path]
		if !again || !sameLock(first.file, now) {
			first, again = sighting{file: now, since: time.Now()}, false
		}
		// If the clock was set back, a file looks young for ever; one that we watched this long is old anyway.
		age := max(time.Since(now.ModTime()), time.Since(first.since))
		switch {
		case first.removed: // in vain
		case age >= limit:
			w.remove(ctx, path, now)
			first.removed, held = true, true
		default:
			held = held || again
			if again && !first.told && time.Since(first.since) >= lockPatience {
				w.store.notice(fmt.Sprintf("waiting for %s, which another git holds or a killed one has "+
					"left; it is removed when it is %s old", path, limit))
				first.told = true
			}
		}
		w.seen[path] = first
	}
	return held
}

// remove removes a lock file, unless another process has made its own in its place.
func (w *lockWatch) remove(ctx context.Context, path string, old os.FileInfo) {
	dir := filepath.Join(w.store.commonDir, "wf", "lock")
	mutex, err := w.store.lockFile(ctx, dir, "stale") // no plan can have this name
	if err != nil {
		return
	}
	defer mutex.Close()
	if now := lstat(path); now != nil && sameLock(old, now) {
		_ = os.Remove(path) // on failure, git keeps reporting the lock
	}
}

func sameLock(a, b os.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }

// TellIfSlow tells the user what is under way, unless done is called before somebody would wonder.
func (s *Store) TellIfSlow(text string) (done func()) {
	timer := time.AfterFunc(lockWait, func() { s.notice(text) })
	return func() { timer.Stop() }
}

func (s *Store) notice(text string) {
	if s.Notice != nil {
		s.Notice(text)
	}
}
