package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"gitwf/internal/plan"
)

// Pulse changes when a plan's history or its claims do. Equal pulses do not prove that nothing happened: file systems
// have coarse timestamps, which may hide a quick change.
type Pulse [4]stamp

// stamp is what stat says about a file's content.
type stamp struct{ modified, size int64 }

// Pulse looks at a few files and at no object, so you may call it several times a second. Call it before you read the
// plan, so as not to miss a change in between. Of "" it is the pulse of all plans.
func (s *Store) Pulse(id plan.ID) (p Pulse) {
	if id != "" && !id.Valid() {
		return p
	}
	for i, name := range [...]string{
		planRefs + string(id),
		claimRefs + string(id), // the directory changes with each claim in it
		"packed-refs",
		"reftable/tables.list",
	} {
		if st, err := os.Stat(filepath.Join(s.commonDir, filepath.FromSlash(name))); err == nil {
			p[i] = stamp{st.ModTime().UnixNano(), st.Size()}
		}
	}
	if id == "" {
		claims, _ := os.ReadDir(filepath.Join(s.commonDir, filepath.FromSlash(claimRefs))) // of each plan
		for _, of := range claims {
			if st, err := of.Info(); err == nil {
				p[1].modified += st.ModTime().UnixNano()
			}
		}
	}
	return p
}

// How often Changes looks at the pulse, and when it reports a change anyway: a file system may keep time in steps, and a
// claim ends by itself.
const (
	pulseTime  = 250 * time.Millisecond
	settleTime = 1200 * time.Millisecond
	rereadTime = 5 * time.Second
)

// Changes says when to read a plan again, until the context ends: when its pulse changes, and now and then.
func Changes[T comparable](ctx context.Context, pulse func() T) <-chan struct{} {
	c := make(chan struct{}, 1)
	last := pulse()
	go func() {
		tick := time.NewTicker(pulseTime)
		defer tick.Stop()
		next := time.Now().Add(rereadTime)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now := pulse()
			switch {
			case now != last:
				last, next = now, time.Now().Add(settleTime)
			case time.Now().After(next):
				next = time.Now().Add(rereadTime)
			default:
				continue
			}
			select {
			case c <- struct{}{}:
			default: // it will be read anyway
			}
		}
	}()
	return c
}
