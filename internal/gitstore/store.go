package gitstore

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// Store is a git repository with its plans. Its methods are safe for concurrent use.
type Store struct {
	dir       string // where git runs
	workTree  string
	gitDir    string
	commonDir string
	objectDir string

	// Notice receives what waiting people should know, from several goroutines; may be nil. Set it before use.
	Notice func(string)

	Offline bool // connects to no remote for shared plans; set it before you use the store
	Asked   bool // the user asked for the connection: wf.offline doesn't hold, git may ask for a password, errors count

	Works plan.ID // this clone is a worker's, and this its plan: it has the remote's claims, and hands in on their refs

	// Sound fails unless what another clone has recorded of a plan is a history of events. Without it nothing is taken.
	Sound func(ctx context.Context, id plan.ID, tip plan.OID) error

	share shares

	objects *reader
	events  *refUpdater // flushes the refs that it moves
	leases  *refUpdater // does not: a claim lost in a power cut is claimed again

	writing    writing        // how to write objects here
	background sync.WaitGroup // what Close waits for: writes of cache files, starts of gits

	trees     treeCache
	patches   sync.Map // the small ones of ChangeDiff
	parents   sync.Map // of commits the first ones
	partial   partial
	gcAwaited atomic.Value // the gc (runningGC) that we have waited for long enough

	mu    sync.Mutex
	plans map[plan.ID]*known        // what we last read of each plan
	turns map[plan.ID]chan struct{} // each held by the writer to a plan

	naming     sync.Mutex // held while git is asked who the user is
	person     plan.Actor
	asking     sync.Mutex  // held while git is asked for its configuration
	config     [][2]string // git's configuration as of configRead
	configRead time.Time
}

// The oldest git that has everything used here.
const oldestMajor, oldestMinor = 2, 34

// Begin makes the first commit of a repository, which has no files, and before that the repository itself.
func Begin(ctx context.Context, dir string, create bool) (err error) {
	if create {
		_, err = runGit(ctx, Invocation{Dir: dir, Args: []string{"init", "--quiet"}})
	}
	if err == nil {
		args := []string{"commit", "--quiet", "--allow-empty", "-m", "first commit"}
		_, err = runGit(ctx, Invocation{Dir: dir, Args: args})
	}
	return err
}

// Open finds the repository of dir as git does: it honours GIT_DIR and the like. It fails with ErrNoRepository if there
// is none, and names a repository, or a git, that it does not support.
func Open(ctx context.Context, dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// The worktree comes last: in a bare repository, and inside a .git directory, git fails there.
	out, err := runGit(ctx, Invocation{Dir: abs, Args: []string{"rev-parse", "--path-format=absolute", "--git-dir",
		"--git-common-dir", "--git-path", "objects", "--show-object-format", "--show-toplevel"}})
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) < 4 || strings.HasPrefix(lines[0], "--") { // an old git prints an option that it does not know
		if _, err := askVersion(ctx, abs); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrNoRepository, abs, err)
	}
	if len(lines) > 5 {
		return nil, unsupported("a repository whose path has a line break", "mv it to a path without one")
	}
	if lines[3] != "sha1" {
		return nil, unsupported("a repository with "+lines[3]+" objects", "use one with sha1 objects")
	}
	s := &Store{
		dir:       abs,
		gitDir:    filepath.FromSlash(lines[0]),
		commonDir: filepath.FromSlash(lines[1]),
		objectDir: filepath.FromSlash(lines[2]),

		plans: map[plan.ID]*known{},
		turns: map[plan.ID]chan struct{}{},
	}
	s.objects = &reader{lasting: lasting{s: s}}
	s.events = &refUpdater{lasting: lasting{s: s}, flush: true}
	s.leases = &refUpdater{lasting: lasting{s: s}}
	if err == nil && len(lines) > 4 {
		s.workTree = filepath.FromSlash(lines[4])
	}
	return s, nil
}

var versionPattern = pattern.Compile(`^git version (([0-9]+)\.([0-9]+)\S*)`)

// gitVersion is git's major and minor version.
type gitVersion [2]int

func (v gitVersion) atLeast(major, minor int) bool {
	return v[0] > major || v[0] == major && v[1] >= minor
}

// askVersion fails for a git that is too old.
func askVersion(ctx context.Context, dir string) (gitVersion, error) {
	out, err := runGit(ctx, Invocation{Dir: dir, Args: []string{"version"}})
	if err != nil {
		return gitVersion{}, err
	}
	return parseVersion(string(out))
}

// parseVersion reads what `git version` printed. It takes an unreadable version for a new one.
func parseVersion(printed string) (gitVersion, error) {
	m := versionPattern.Get().FindStringSubmatch(printed)
	if m == nil {
		return gitVersion{math.MaxInt, 0}, nil
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	v := gitVersion{major, minor}
	if v.atLeast(oldestMajor, oldestMinor) {
		return v, nil
	}
	return v, unsupported("git "+m[1], fmt.Sprintf("git %d.%d or later is needed", oldestMajor, oldestMinor))
}

// Close ends the Store's git processes and saves what it knows of long plans for the next Store.
func (s *Store) Close() error {
	s.pushChanged()
	s.mu.Lock()
	for id, k := range s.plans {
		s.saveCache(id, k)
	}
	s.mu.Unlock()
	s.background.Wait()
	var ending sync.WaitGroup
	for _, end := range []func(){s.objects.close, s.events.close, s.leases.close} {
		ending.Go(end)
	}
	ending.Wait()
	return nil
}

// Warm starts gits that a command is about to need, side by side: each takes milliseconds to start. What fails here
// fails again, and is reported, where it is needed.
func (s *Store) Warm(ctx context.Context, records bool) {
	s.background.Go(s.objects.warm)
	s.background.Go(func() { _, _ = s.configuration(ctx) })
	if records {
		s.background.Go(func() { _, _ = s.Person(ctx) })
		s.background.Go(s.leases.warm)
		s.background.Go(s.events.warm)
	}
}

// WorkTree is the absolute path of the worktree's top; "" if there is none (a bare repository, or inside .git).
func (s *Store) WorkTree() string { return s.workTree }

// GitDir is the absolute path of this worktree's git directory.
func (s *Store) GitDir() string { return s.gitDir }

func (s *Store) packedRefs() string { return filepath.Join(s.commonDir, "packed-refs") }

// CommonDir is the absolute path of the git directory that all linked worktrees share.
func (s *Store) CommonDir() string { return s.commonDir }
