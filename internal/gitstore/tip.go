package gitstore

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// Tip returns the newest commit of a plan's history, or ErrNoPlan.
func (s *Store) Tip(ctx context.Context, id plan.ID) (plan.OID, error) {
	ref, err := planRef(id)
	if err != nil {
		return "", err
	}
	c, err := s.commit(ctx, ref)
	return c.oid, err
}

// PlanRefs are the commits of the refs that hold a plan.
type PlanRefs struct {
	Own     plan.OID            // of the plan's own ref, "" if the plan is not here
	Fetched map[string]plan.OID // of its remote-tracking refs, by their full names
}

const fetchedRefs = "refs/workflow-remotes/"

// AllPlanRefs reads the refs that hold plans, by plan.
func (s *Store) AllPlanRefs(ctx context.Context) (map[plan.ID]PlanRefs, error) {
	refs, err := s.Refs(ctx, strings.TrimSuffix(planRefs, "/"), strings.TrimSuffix(fetchedRefs, "/"))
	all := map[plan.ID]PlanRefs{}
	for name, oid := range refs {
		own, fetched := strings.CutPrefix(name, fetchedRefs)
		if own = strings.TrimPrefix(own, planRefs); fetched {
			_, own, _ = strings.Cut(own, "/") // without the remote
		}
		id := plan.ID(own)
		r := all[id]
		switch {
		case !id.Valid():
			continue // the policy, or no plan
		case !fetched:
			r.Own = oid
		case r.Fetched == nil:
			r.Fetched = map[string]plan.OID{name: oid}
		default:
			r.Fetched[name] = oid
		}
		all[id] = r
	}
	return all, err
}

// Tips returns the newest commits of the plan: its own ref's, which alone decides, or, if the plan is not here, those
// of its remote-tracking refs. It is empty if the plan is unknown.
func (r PlanRefs) Tips() []plan.OID {
	if r.Own != "" {
		return []plan.OID{r.Own}
	}
	return each.Of(slices.Sorted(maps.Keys(r.Fetched)), func(name string) plan.OID { return r.Fetched[name] })
}

// Ahead returns the fetched commits that continue the plan from where it is here.
func (s *Store) Ahead(ctx context.Context, refs PlanRefs) (ahead []plan.OID, err error) {
	for _, tip := range slices.Sorted(maps.Values(refs.Fetched)) {
		if refs.Own == "" || tip == refs.Own {
			continue
		}
		if grew, err := s.IsAncestor(ctx, refs.Own, tip); err != nil {
			return nil, err
		} else if grew {
			ahead = append(ahead, tip)
		}
	}
	return ahead, nil
}

// RefName is the full name of a plan's ref, for git's own commands. The id must be valid.
func RefName(id plan.ID) string { return planRefs + string(id) }

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

// How often Changes looks at the pulse, and when it reports a change anyway: a file system may keep time in steps,
// and a claim ends by itself.
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
