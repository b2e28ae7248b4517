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

// tipCache keeps the tips of plans for a moment: an event asks several times for the same one. Checking that the tip's
// files are unchanged takes microseconds, and asking git ten times as long. If coarse timestamps hide a change, git
// finds the wrong tip when it refuses to move it.
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

// Tips returns the newest commits of a plan: its own ref's, which alone decides, or, if the plan is not here, those of
// its remote-tracking refs. It is empty if the plan is unknown.
func (s *Store) Tips(ctx context.Context, id plan.ID) ([]plan.OID, error) {
	refs, err := s.planRefs(ctx, id)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	if own := refs[len(refs)-1]; own.ref == RefName(id) {
		return []plan.OID{own.new}, nil
	}
	var tips []plan.OID
	for _, r := range refs {
		tips = append(tips, r.new)
	}
	return tips, nil
}

// Ahead returns the remote-tracking refs that are ahead of the plan here, with their commits.
func (s *Store) Ahead(ctx context.Context, id plan.ID) (map[string]plan.OID, error) {
	refs, err := s.planRefs(ctx, id)
	if err != nil || len(refs) < 2 || refs[len(refs)-1].ref != RefName(id) {
		return nil, err
	}
	own, ahead := refs[len(refs)-1].new, map[string]plan.OID{}
	for _, r := range refs[:len(refs)-1] {
		grew, err := s.IsAncestor(ctx, own, r.new)
		if err != nil {
			return nil, err
		}
		if grew && r.new != own {
			ahead[r.ref] = r.new
		}
	}
	return ahead, nil
}

// planRefs are the refs that hold a plan or a fetched copy; the plan's own comes last.
func (s *Store) planRefs(ctx context.Context, id plan.ID) ([]refChange, error) {
	ref, err := planRef(id)
	if err != nil {
		return nil, err
	}
	out, err := s.Git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "--", ref,
		"refs/workflow-remotes/*/"+string(id))
	if err != nil {
		return nil, err
	}
	var refs []refChange
	for line := range strings.Lines(out) {
		oid, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs = append(refs, refChange{ref: name, new: plan.OID(oid)})
	}
	return refs, nil // git sorts them, and "-" before "/"
}

// RefName is the full name of a plan's ref, for git's own commands. The id must be valid.
func RefName(id plan.ID) string { return planRefs + string(id) }
