package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// How long git can be thought to hold a lock file. It holds that of a ref for as long as a flush takes, and that of
// packed-refs for as long as it takes to write all refs anew. A git that is slower than that, and alive, loses nothing
// but its transaction: it can't give the ref its value without the file.
const (
	refLockLimit    = 10 * time.Second
	packedLockLimit = 30 * time.Second
)

// lockPatience is after which time a wait for a lock is worth a word.
const lockPatience = time.Second

// lockWatch looks at the lock files that may be in the way of a change of refs. Git never removes one that a killed
// process left behind; a plan must go on without a person who does.
type lockWatch struct {
	store  *Store
	limits map[string]time.Duration
	seen   map[string]sighting
}

// sighting is a lock file, and when it was seen first.
type sighting struct {
	file    os.FileInfo
	since   time.Time
	removed bool // at least that was tried
	told    bool // it was said that it is waited for
}

// refLocks watches what git locks to make the changes. packed-refs.new is written under packed-refs.lock, and a leftover
// of it is as much in the way.
func (s *Store) refLocks(changes []refChange) *lockWatch {
	w := s.lockWatch()
	for _, c := range changes {
		w.limits[filepath.Join(s.commonDir, filepath.FromSlash(c.ref)+".lock")] = refLockLimit
	}
	for _, name := range []string{"packed-refs.lock", "packed-refs.new"} {
		w.limits[filepath.Join(s.commonDir, name)] = packedLockLimit
	}
	return w
}

func (s *Store) lockWatch() *lockWatch {
	return &lockWatch{s, map[string]time.Duration{}, map[string]sighting{}}
}

// held removes the lock files that nobody can still hold, and reports whether to try the change again for as long as it
// takes: one was removed, or one is there that has not changed since the last look.
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
		// A clock that was set back makes a file look young for ever; what was watched for so long is old nevertheless.
		age := max(time.Since(now.ModTime()), time.Since(first.since))
		switch {
		case first.removed: // in vain
		case age >= limit:
			w.remove(ctx, path, now)
			first.removed, held = true, true
		default:
			held = held || again
			if again && !first.told && time.Since(first.since) >= lockPatience {
				w.store.notice(fmt.Sprintf("waiting for %s, which another git holds or a killed one has left; it is removed when it is %s old", path, limit))
				first.told = true
			}
		}
		w.seen[path] = first
	}
	return held
}

// remove removes a lock file unless it is another one by now: whoever else found the same one may have removed it and
// made its own.
func (w *lockWatch) remove(ctx context.Context, path string, old os.FileInfo) {
	dir := filepath.Join(w.store.commonDir, "wf", "lock")
	if os.MkdirAll(dir, 0o777) != nil {
		return
	}
	mutex := flock.New(filepath.Join(dir, "stale"), flock.SetPermissions(0o666)) // no plan is called so
	if _, err := mutex.TryLockContext(ctx, time.Millisecond); err != nil {
		return
	}
	defer mutex.Close()
	if now := lstat(path); now != nil && sameLock(old, now) {
		_ = os.Remove(path) // if it can't be, git goes on to say that it is there
	}
}

func sameLock(a, b os.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }

func (s *Store) notice(text string) {
	if s.Notice != nil {
		s.Notice(text)
	}
}
