package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gitwf/internal/plan"
)

// tipCache holds the tips of plans for a moment: an event asks for the same one several times. Whether the files that hold
// it are as they were costs a few microseconds, and git ten times as much. A tip that is wrong all the same, because
// a file system's clock goes in steps, is found out when git does not move it.
type tipCache struct {
	mu   sync.Mutex
	tips map[string]seenTip // by ref
}

type seenTip struct {
	commitInfo
	missing bool
	files   [3]os.FileInfo
	at      time.Time
}

const tipAge = time.Second

func (c *tipCache) get(commonDir, ref string, read func() (commitInfo, error)) (commitInfo, error) {
	seen := seenTip{at: time.Now()}
	for i, name := range [...]string{ref, "packed-refs", "reftable/tables.list"} {
		seen.files[i] = lstat(filepath.Join(commonDir, filepath.FromSlash(name)))
	}
	c.mu.Lock()
	old, ok := c.tips[ref]
	c.mu.Unlock()
	if ok && seen.at.Sub(old.at) < tipAge && old.sameFiles(seen) {
		if old.missing {
			return commitInfo{}, ErrNoPlan
		}
		return old.commitInfo, nil
	}
	tip, err := read()
	seen.commitInfo, seen.missing = tip, errors.Is(err, ErrNoPlan)
	if err != nil && !seen.missing {
		return tip, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tips == nil {
		c.tips = map[string]seenTip{}
	}
	c.tips[ref] = seen
	return tip, err
}

func (a seenTip) sameFiles(b seenTip) bool {
	for i := range a.files {
		if !sameFile(a.files[i], b.files[i]) {
			return false
		}
	}
	return true
}

func (c *tipCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tips)
}

// Tip returns the newest commit of a plan's history, or ErrNoPlan.
func (s *Store) Tip(ctx context.Context, id plan.ID) (plan.OID, error) {
	ref, err := planRef(id)
	if err != nil {
		return "", err
	}
	c, err := s.commit(ctx, ref)
	return c.oid, err
}

// Tips returns the newest commits that are known of a plan: its own ref's and what was last fetched of it from each
// remote. It is empty where the plan is not known at all.
func (s *Store) Tips(ctx context.Context, id plan.ID) ([]plan.OID, error) {
	ref, err := planRef(id)
	if err != nil {
		return nil, err
	}
	out, err := s.Git(ctx, "for-each-ref", "--format=%(objectname)", "--", ref, "refs/workflow-remotes/*/"+string(id))
	if err != nil {
		return nil, err
	}
	var tips []plan.OID
	for _, oid := range strings.Fields(out) {
		tips = append(tips, plan.OID(oid))
	}
	return tips, nil
}

// RefName is the full name of a plan's ref, for git's own commands. The id must be valid.
func RefName(id plan.ID) string { return planRefs + string(id) }
