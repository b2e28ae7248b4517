package gitstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// heldClaim is a claim as the repository has it. oid is empty if there is none.
type heldClaim struct {
	plan.Claim
	oid plan.OID
}

// Claims returns the claims on a plan's tasks, including expired ones.
func (s *Store) Claims(ctx context.Context, id plan.ID) (plan.Claims, error) {
	if !id.Valid() {
		return nil, fmt.Errorf("%q can't be a plan's id", id)
	}
	prefix := claimRefs + string(id)
	if err := s.clearBroken(ctx, id); err != nil {
		return nil, err
	}
	if s.noneBelow(prefix) {
		return nil, nil
	}
	refs, err := s.listRefs(ctx, prefix+"/")
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
		if c := s.parseClaim(task, o); c.oid != "" {
			claims[task] = c.Claim
		}
		return nil
	})
	return claims, err
}

// parseClaim reads a claim's blob, or what was handed in on its ref. An unreadable claim counts as long expired: it
// must not lock a task for ever.
func (s *Store) parseClaim(task plan.TaskID, o object) heldClaim {
	h := heldClaim{oid: o.OID}
	if o.Kind == "commit" {
		unsound, _ := s.share.refused.Load(o.OID)
		h.Task, h.HandedIn = task, unsound != true
		return h
	}
	if len(o.Data) > mostClaim || json.Unmarshal(o.Data, &h.Claim) != nil {
		h.Claim = plan.Claim{}
	}
	h.Task = task
	return h
}

// IsClaimRef reports whether a ref is a claim's.
func IsClaimRef(ref string) bool { return strings.HasPrefix(ref, claimRefs) }

// mostClaim is the largest size of a claim, in bytes: its fields are names and one path.
const mostClaim = 16 << 10

// CheckClaim returns why the object that a claim's ref holds, or is to hold, is not a claim on the task that the ref
// names (docs/format.md, section 5), or "" if it is one. handedIn is the plan of which it is a commit instead.
func (s *Store) CheckClaim(ctx context.Context, ref string, oid plan.OID) (why string, handedIn plan.ID, err error) {
	id, task, _ := strings.Cut(strings.TrimPrefix(ref, claimRefs), "/")
	if !plan.ID(id).Valid() || !plan.TaskID(task).Valid() {
		return "no task can have this name", "", nil
	}
	o, err := s.objects.one(ctx, string(oid))
	if o.Kind == "commit" {
		return "", plan.ID(id), err
	}
	return notAClaim(plan.TaskID(task), o), "", err
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
		return plain.Line(err.Error())
	}
	if c.Task != task {
		return "it is on " + plain.Line(string(c.Task))
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
	o, err := s.objects.one(ctx, ref)
	return s.parseClaim(task, o), ref, err
}

// Claim takes a lease on c.Task. If any claim exists, even an expired one, it fails with a *ClaimedError that names it.
// The caller decides whether that claim still holds, see TakeOver.
func (s *Store) Claim(ctx context.Context, id plan.ID, c plan.Claim) (plan.Claim, error) {
	ref, err := claimRef(id, c.Task)
	if err != nil {
		return plan.Claim{}, err
	}
	return s.writeClaim(ctx, ref, "", c)
}

// TakeOver replaces exactly the claim that was found, or fails with a *ClaimedError if it has changed since.
func (s *Store) TakeOver(ctx context.Context, id plan.ID, found, c plan.Claim) (plan.Claim, error) {
	held, ref, err := s.claim(ctx, id, c.Task)
	if err != nil {
		return plan.Claim{}, err
	}
	if held.oid == "" || !sameClaim(held.Claim, found) || !held.Expires.Equal(found.Expires) {
		return plan.Claim{}, &ClaimedError{held.Claim}
	}
	remote, _ := s.SharedWith(ctx, id)
	if remote != "" && !found.Vacant() && (found.Host != c.Host || s.Works != "") && s.mayAsk(ctx, remote) == nil {
		there, err := s.RemoteRef(ctx, remote, ref)
		switch {
		case err != nil || there != "":
		case s.Works != "":
			s.share.fetched.Store(0) // it is old
			return plan.Claim{}, &ClaimedError{plan.Claim{Task: c.Task}}
		default: // it has ended there
			gone, err := s.writeClaim(ctx, ref, held.oid, plan.Claim{Task: c.Task, Number: found.Number})
			return plan.Claim{}, errors.Join(err, &ClaimedError{gone})
		}
	}
	return s.writeClaim(ctx, ref, held.oid, c)
}

// Renew extends a claim that is still ours; otherwise it fails with a *ClaimedError.
func (s *Store) Renew(ctx context.Context, id plan.ID, c plan.Claim, expires time.Time) (plan.Claim, error) {
	held, ref, err := s.ownClaim(ctx, id, c)
	if err != nil {
		return plan.Claim{}, err
	}
	c.Expires = expires
	return s.writeClaim(ctx, ref, held.oid, c)
}

// Release deletes a claim that is still ours; otherwise it fails with a *ClaimedError.
func (s *Store) Release(ctx context.Context, id plan.ID, c plan.Claim) error {
	held, ref, err := s.ownClaim(ctx, id, c)
	if err != nil {
		return err
	}
	change := refChange{ref: ref, old: held.oid}
	defer s.claimsDiffer()()
	if err := s.moveClaim(ctx, s.NewBatch(), change, c.Task); err != nil {
		return err
	}
	return s.shareClaim(ctx, change)
}

// Vacate releases a claim that is still ours but keeps its number, so that the next claim has a higher one.
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

// sameClaim compares everything but the expiry, which Renew moves. Number and session tell one process's claims apart.
func sameClaim(a, b plan.Claim) bool {
	return a.Task == b.Task && a.Agent == b.Agent && a.Session == b.Session && a.Host == b.Host && a.PID == b.PID &&
		a.Number == b.Number && a.Started.Equal(b.Started)
}

// ClaimedError names the claim that is in the way; Held is vacant if there is none any more. It matches ErrClaimed.
type ClaimedError struct{ Held plan.Claim }

func (e *ClaimedError) Error() string {
	if e.Held.Vacant() {
		return fmt.Sprintf("%s: the claim is gone", e.Held.Task)
	}
	return fmt.Sprintf("%s: %v: %s until %s", e.Held.Task, ErrClaimed, plain.Line(e.Held.Agent),
		e.Held.Expires.UTC().Format(time.RFC3339))
}

// Is makes a *ClaimedError match ErrClaimed.
func (e *ClaimedError) Is(target error) bool { return target == ErrClaimed }

func (s *Store) writeClaim(ctx context.Context, ref string, old plan.OID, c plan.Claim) (plan.Claim, error) {
	// Return what the repository stores: no monotonic clock, no local time zone.
	c.Started, c.Expires = c.Started.UTC().Round(0), c.Expires.UTC().Round(0)
	data, err := encodeClaim(c)
	if err != nil {
		return plan.Claim{}, err
	}
	b := s.NewBatch()
	b.volatile = true // no work is lost with a claim that a power cut deletes
	oid := b.AddBlob(data)
	if err := b.Flush(ctx); err != nil {
		return plan.Claim{}, fmt.Errorf("claim %s: %w", c.Task, err)
	}
	change := refChange{ref, old, oid}
	defer s.claimsDiffer()()
	if err := s.moveClaim(ctx, b, change, c.Task); err != nil {
		return plan.Claim{}, err
	}
	if err := s.awaitGC(ctx, b); err != nil || c.Vacant() && old == "" {
		return c, err
	}
	return c, s.shareClaim(ctx, change)
}

// moveClaim changes a claim's ref, or finds out who was faster. The batch holds the ref's new object.
func (s *Store) moveClaim(ctx context.Context, b *Batch, change refChange, task plan.TaskID) error {
	absent := 0
	err := s.moveRefs(ctx, s.leases, b, []refChange{change}, func(ctx context.Context) (bool, error) {
		o, err := s.objects.one(ctx, change.ref)
		now := s.parseClaim(task, o)
		switch {
		case err != nil || now.oid == change.new:
			return err == nil, err
		case now.oid == "":
			// While git packs refs, one may seem absent for a moment.
			if absent++; absent > 2 && change.old != "" {
				return false, &ClaimedError{plan.Claim{Task: task}}
			}
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

// clearBroken removes what a power cut left of claims: empty refs, and refs to missing or damaged objects, which git
// neither replaces nor deletes. Only the one-file-per-ref format can leave one half written.
func (s *Store) clearBroken(ctx context.Context, id plan.ID) error {
	dir := filepath.Join(s.commonDir, filepath.FromSlash(claimRefs), string(id))
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // nobody has claimed anything
	}
	for _, f := range files {
		name := filepath.Join(dir, f.Name())
		if !plan.TaskID(f.Name()).Valid() || !s.brokenClaim(ctx, name) {
			continue
		}
		// This is git's own lock: its holder is updating this claim and gives the file new content.
		lock, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			continue
		}
		if s.brokenClaim(ctx, name) {
			err = os.Remove(name)
		}
		if err := errors.Join(err, lock.Close(), os.Remove(lock.Name())); err != nil {
			return fmt.Errorf("remove the broken claim %s: %w", f.Name(), err)
		}
	}
	return nil
}

// brokenClaim reports whether a ref's file names no object that can be read. What is no claim stays until a claim takes
// its place: a remote that has it would only give it again.
func (s *Store) brokenClaim(ctx context.Context, file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	oid := plan.OID(strings.TrimSpace(string(text)))
	if !isOID(oid) {
		return !strings.HasPrefix(string(text), "ref:")
	}
	if o, err := s.objects.one(ctx, string(oid)); err == nil && o.Kind != "" {
		return false
	}
	_, err = s.Git(ctx, "cat-file", "-p", string(oid))
	return exitCode(err) > 0
}
