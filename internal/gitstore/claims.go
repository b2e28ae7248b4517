package gitstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// heldClaim is a claim as it stands in the repository. oid is empty if there is none.
type heldClaim struct {
	plan.Claim
	oid plan.OID
}

// Claims returns the claims on a plan's tasks, expired ones too.
func (s *Store) Claims(ctx context.Context, id plan.ID) (plan.Claims, error) {
	if !id.Valid() {
		return nil, fmt.Errorf("%q can't be a plan's id", id)
	}
	prefix := claimRefs + string(id)
	if err := s.clearBroken(ctx, id); err != nil {
		return nil, err
	}
	refs, err := s.refsBelow(ctx, prefix)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = string(r.new)
	}
	claims := plan.Claims{}
	err = s.objects.each(ctx, names, func(i int, o object) error {
		task := plan.TaskID(strings.TrimPrefix(refs[i].ref, prefix+"/"))
		if c := parseClaim(task, o); c.oid != "" {
			claims[task] = c.Claim
		}
		return nil
	})
	return claims, err
}

// parseClaim reads a claim's blob. One that can't be read counts as expired long ago: it must not lock a task for ever.
func parseClaim(task plan.TaskID, o object) heldClaim {
	h := heldClaim{oid: o.OID}
	if json.Unmarshal(o.Data, &h.Claim) != nil {
		h.Claim = plan.Claim{}
	}
	h.Task = task
	return h
}

// IsClaimRef reports whether a ref is one of claims.
func IsClaimRef(ref string) bool { return strings.HasPrefix(ref, claimRefs) }

// mostClaim is the largest size of a claim, in bytes: its fields are names and one path.
const mostClaim = 16 << 10

// CheckClaim says why an object that a ref of claims holds, or is to hold, is not a claim on the task that the ref names
// (docs/format.md, section 5); "" if it is one.
func (s *Store) CheckClaim(ctx context.Context, ref string, oid plan.OID) (why string, err error) {
	id, task, _ := strings.Cut(strings.TrimPrefix(ref, claimRefs), "/")
	if !plan.ID(id).Valid() || !plan.TaskID(task).Valid() {
		return "no task can have this name", nil
	}
	err = s.objects.each(ctx, []string{string(oid)}, func(_ int, o object) error {
		why = notAClaim(plan.TaskID(task), o)
		return nil
	})
	return why, err
}

func notAClaim(task plan.TaskID, o object) string {
	switch {
	case o.Kind == "":
		return "the object is not here"
	case o.Kind != "blob":
		return "a " + o.Kind
	case len(o.Data) > mostClaim:
		return fmt.Sprintf("%d bytes, and none has more than %d", len(o.Data), mostClaim)
	}
	var c plan.Claim
	dec := json.NewDecoder(bytes.NewReader(o.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return plan.OneLine(err.Error())
	}
	if c.Task != task {
		return "it is on " + plan.OneLine(string(c.Task))
	}
	if line := bytes.TrimRight(o.Data, "\n"); dec.InputOffset() != int64(len(line)) || bytes.ContainsRune(line, '\n') {
		return "it is more than one line of JSON"
	}
	return ""
}

func encodeClaim(c plan.Claim) ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", c.Task, err)
	}
	return data, nil
}

func (s *Store) claim(ctx context.Context, id plan.ID, task plan.TaskID) (h heldClaim, ref string, err error) {
	ref, err = claimRef(id, task)
	if err != nil {
		return h, ref, err
	}
	err = s.objects.each(ctx, []string{ref}, func(_ int, o object) error {
		h = parseClaim(task, o)
		return nil
	})
	return h, ref, err
}

// Claim takes a lease on c.Task, on which there must be no claim, not even an expired one: with a *ClaimedError that says
// which one there is, it is left alone. Whether that still holds is for the caller to judge, see TakeOver.
func (s *Store) Claim(ctx context.Context, id plan.ID, c plan.Claim) (plan.Claim, error) {
	ref, err := claimRef(id, c.Task)
	if err != nil {
		return plan.Claim{}, err
	}
	return s.writeClaim(ctx, ref, "", c)
}

// TakeOver puts a claim in the place of exactly the one that was found, or fails with a *ClaimedError if that has changed
// meanwhile.
func (s *Store) TakeOver(ctx context.Context, id plan.ID, found, c plan.Claim) (plan.Claim, error) {
	held, ref, err := s.claim(ctx, id, c.Task)
	if err != nil {
		return plan.Claim{}, err
	}
	if held.oid == "" || !sameClaim(held.Claim, found) || !held.Expires.Equal(found.Expires) {
		return plan.Claim{}, &ClaimedError{held.Claim}
	}
	return s.writeClaim(ctx, ref, held.oid, c)
}

// Renew moves the end of a claim that is still ours; otherwise it fails with a *ClaimedError.
func (s *Store) Renew(ctx context.Context, id plan.ID, c plan.Claim, expires time.Time) (plan.Claim, error) {
	held, ref, err := s.ownClaim(ctx, id, c)
	if err != nil {
		return plan.Claim{}, err
	}
	c.Expires = expires
	return s.writeClaim(ctx, ref, held.oid, c)
}

// Release gives a claim back if it is still ours; otherwise it fails with a *ClaimedError.
func (s *Store) Release(ctx context.Context, id plan.ID, c plan.Claim) error {
	held, ref, err := s.ownClaim(ctx, id, c)
	if err != nil {
		return err
	}
	return s.moveClaim(ctx, s.NewBatch(), refChange{ref: ref, old: held.oid}, c.Task)
}

// Vacate gives a claim back if it is still ours, and leaves its number: the next claim has a higher one.
func (s *Store) Vacate(ctx context.Context, id plan.ID, c plan.Claim) error {
	held, ref, err := s.ownClaim(ctx, id, c)
	if err != nil {
		return err
	}
	_, err = s.writeClaim(ctx, ref, held.oid, plan.Claim{Task: c.Task, Number: c.Number})
	return err
}

func (s *Store) ownClaim(ctx context.Context, id plan.ID, c plan.Claim) (heldClaim, string, error) {
	held, ref, err := s.claim(ctx, id, c.Task)
	if err == nil && !sameClaim(held.Claim, c) {
		s.forget()
		held, ref, err = s.claim(ctx, id, c.Task)
	}
	if err == nil && (held.oid == "" || !sameClaim(held.Claim, c)) {
		err = &ClaimedError{held.Claim}
	}
	return held, ref, err
}

// sameClaim compares all but the end, which Renew moves. The number and the session tell apart what one process does.
func sameClaim(a, b plan.Claim) bool {
	return a.Task == b.Task && a.Agent == b.Agent && a.Session == b.Session && a.Host == b.Host && a.PID == b.PID &&
		a.Number == b.Number && a.Started.Equal(b.Started)
}

// ClaimedError says which claim is in the way; Held is vacant where it is gone. It is an ErrClaimed.
type ClaimedError struct{ Held plan.Claim }

func (e *ClaimedError) Error() string {
	if e.Held.Vacant() {
		return fmt.Sprintf("%s: the claim is gone", e.Held.Task)
	}
	return fmt.Sprintf("%s: %v: %s until %s", e.Held.Task, ErrClaimed, plan.OneLine(e.Held.Agent), e.Held.Expires.UTC().Format(time.RFC3339))
}

// Is makes a *ClaimedError an ErrClaimed.
func (e *ClaimedError) Is(target error) bool { return target == ErrClaimed }

func (s *Store) writeClaim(ctx context.Context, ref string, old plan.OID, c plan.Claim) (plan.Claim, error) {
	// What the caller gets is what the repository has: no monotonic clock, no local zone.
	c.Started, c.Expires = c.Started.UTC().Round(0), c.Expires.UTC().Round(0)
	data, err := encodeClaim(c)
	if err != nil {
		return plan.Claim{}, err
	}
	b := s.NewBatch()
	b.volatile = true // a claim that a power cut takes away held nobody's work
	oid := b.AddBlob(data)
	if err := b.Flush(ctx); err != nil {
		return plan.Claim{}, fmt.Errorf("claim %s: %w", c.Task, err)
	}
	if err := s.moveClaim(ctx, b, refChange{ref, old, oid}, c.Task); err != nil {
		return plan.Claim{}, err
	}
	return c, s.survive(ctx, b)
}

// moveClaim changes a claim's ref, or finds out who was faster. The batch has what the ref will hold.
func (s *Store) moveClaim(ctx context.Context, b *Batch, change refChange, task plan.TaskID) error {
	err := s.moveRefs(ctx, s.leases, []*Batch{b}, []refChange{change}, func(ctx context.Context) (bool, error) {
		var now heldClaim
		err := s.objects.each(ctx, []string{change.ref}, func(_ int, o object) error {
			now = parseClaim(task, o)
			return nil
		})
		switch {
		case err != nil || now.oid == change.new:
			return err == nil, err
		case now.oid == "":
			return false, s.clearBroken(ctx, plan.ID(path.Base(path.Dir(change.ref))))
		case now.oid != change.old:
			return false, &ClaimedError{now.Claim}
		}
		return false, nil
	})
	if err != nil && !errors.Is(err, ErrClaimed) {
		err = fmt.Errorf("claim %s: %w", task, err)
	}
	return err
}

// clearBroken removes what a power cut has left of claims on a plan's tasks: refs that say nothing, and such as name an
// object that is not there or not whole. Git neither makes another claim in the place of one nor deletes it. In another
// format of refs than one file each, none is ever half written.
func (s *Store) clearBroken(ctx context.Context, id plan.ID) error {
	dir := filepath.Join(s.commonDir, filepath.FromSlash(claimRefs), string(id))
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // nobody has claimed anything
	}
	var l looseReader
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		if !plan.TaskID(f.Name()).Valid() || !s.brokenClaim(ctx, &l, name) {
			continue
		}
		// Git's own lock: who holds it is at work on this claim, and gives the file a new content.
		lock, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			continue
		}
		if s.brokenClaim(ctx, &l, name) {
			err = os.Remove(name)
		}
		if err := errors.Join(err, lock.Close(), os.Remove(lock.Name())); err != nil {
			return fmt.Errorf("remove the broken claim %s: %w", f.Name(), err)
		}
	}
	return nil
}

// brokenClaim reports whether the file of a ref does not name a claim that can be read.
func (s *Store) brokenClaim(ctx context.Context, l *looseReader, file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	oid := plan.OID(strings.TrimSpace(string(text)))
	if !isOID(oid) {
		return !strings.HasPrefix(string(text), "ref:")
	}
	found, err := l.read(s.loosePath(oid), oid, func(int64, io.Reader) error { return nil })
	if !found { // packed
		err = s.objects.each(ctx, []string{string(oid)}, func(_ int, o object) error {
			if o.Kind == "" {
				return ErrNoPlan
			}
			return nil
		})
		return errors.Is(err, ErrNoPlan)
	}
	return err != nil
}
