package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// Where plans and claims are (docs/format.md).
const (
	planRefs   = "refs/workflow/"
	claimRefs  = "refs/workflow-claims/"
	activeRef  = "WORKFLOW_HEAD"
	formerRef  = "WORKFLOW_PREV"
	policyName = "policy"
)

// PolicyRef is the ref of the policy's history.
const PolicyRef = planRefs + policyName

// PlanRef is a plan and the newest commit of its history.
type PlanRef struct {
	ID  plan.ID
	Tip plan.OID
}

// planRef builds a plan's ref. Ids come from anywhere; an invalid one never becomes part of a ref name.
func planRef(id plan.ID) (string, error) {
	if !id.Valid() {
		return "", fmt.Errorf("%q can't be a plan's id", id)
	}
	return planRefs + string(id), nil
}

func claimRef(id plan.ID, task plan.TaskID) (string, error) {
	if !id.Valid() || !task.Valid() {
		return "", fmt.Errorf("%q of %q can't be claimed: no valid ids", task, id)
	}
	return claimRefs + string(id) + "/" + string(task), nil
}

// refChange updates one ref. An empty old value means that the ref must not exist, an empty new one deletes it.
type refChange struct {
	ref      string
	old, new plan.OID
}

// refUpdater updates refs through one long-lived `git update-ref --stdin`.
type refUpdater struct {
	lasting
	flush bool
}

// maxAge is how long a child may update refs: the reflog gets the time at which the child started.
const maxAge = time.Minute

// update makes all changes or none. An error does not say which: git may have died just after the update, so the caller
// looks at the refs again. The transaction is short, and cancelling the caller's context does not interrupt it.
func (u *refUpdater) update(changes ...refChange) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.c != nil && (time.Since(u.c.started) > maxAge || u.outdated()) {
		u.drop()
	}
	fresh := u.c == nil
	err := u.transact(changes)
	if !fresh && errors.As(err, new(*staleChildError)) {
		// The child had ended before we asked, so nothing has happened.
		err = u.transact(changes)
	}
	return err
}

// staleChildError: the request did not reach the child.
type staleChildError struct{ error }

func (u *refUpdater) transact(changes []refChange) error {
	if err := u.begin(); err != nil {
		return err
	}
	var in strings.Builder
	// Without start, git would commit a list that a killed writer cut off.
	in.WriteString("start\n")
	for _, c := range changes {
		switch {
		case c.new == "":
			fmt.Fprintf(&in, "delete %s %s\n", c.ref, c.old)
		case c.old == "":
			fmt.Fprintf(&in, "create %s %s\n", c.ref, c.new)
		default:
			fmt.Fprintf(&in, "update %s %s %s\n", c.ref, c.new, c.old)
		}
	}
	in.WriteString("prepare\ncommit\n")
	c := u.c
	if _, err := c.in.Write([]byte(in.String())); err != nil {
		u.drop()
		return &staleChildError{c.failure(err)}
	}
	for _, want := range []string{"start: ok\n", "prepare: ok\n", "commit: ok\n"} {
		line, err := c.out.ReadString('\n')
		if err == nil && line != want {
			err = fmt.Errorf("answered %q", line)
		}
		if err != nil {
			u.drop()
			return c.failure(noEOF(err))
		}
	}
	return nil
}

// begin starts the child. The user's hooks are meant for branches. The ambiguity check would look for a ref named like
// each object id. git before 2.36 ignores core.fsync.
func (u *refUpdater) begin() error {
	args := []string{"-c", "core.hooksPath=/dev/null", "-c", "core.warnAmbiguousRefs=false"}
	if u.flush {
		args = append(args, "-c", "core.fsync=reference", "-c", "core.fsyncMethod=fsync",
			"update-ref", "-m", "git wf", "--create-reflog", "--stdin")
	} else {
		// Written out before it gets its name, a claim is whole or missing after a power cut, where order is kept.
		args = append(args, "-c", "core.fsync=reference", "-c", "core.fsyncMethod=writeout-only", "update-ref",
			"--stdin")
	}
	return u.start(args...)
}

func (u *refUpdater) warm() {
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.begin()
}

// moveRefs makes all changes or none. Git's error text tells nothing: look finds out whether they were made, and fails
// if they no longer can be. Otherwise the cause was passing (a lock, a gc that deleted the objects, packed-refs
// replaced too quickly for git to notice), and moveRefs retries: a few times, more often while a gc deletes objects,
// and on a lock file until it can tell that a killed git left it.
func (s *Store) moveRefs(ctx context.Context, u *refUpdater, b *Batch, changes []refChange,
	look func(context.Context) (bool, error)) error {
	const tries, mostLosses = 6, 200
	ctx = context.WithoutCancel(ctx) // we must learn whether it happened
	locks := s.refLocks(changes)
	for try, losses := 1, 0; ; try++ {
		err := u.update(changes...)
		if err == nil {
			return nil
		}
		s.forget()
		done, lookErr := look(ctx)
		if done || lookErr != nil {
			return lookErr
		}
		if locks.held(ctx) {
			try--
		} else if try == tries {
			return err
		}
		if err := Pause(ctx, time.Duration((1+try)*(1+rand.IntN(20)))*time.Millisecond); err != nil {
			return err
		}
		// Do this last before the retry: it leaves a gc the least time to interfere.
		lost, restoreErr := b.restore(ctx)
		if restoreErr != nil {
			return errors.Join(err, restoreErr)
		}
		if lost && losses < mostLosses {
			losses++
			try--
		}
	}
}

// Head returns the commit of HEAD, or ErrUnborn.
func (s *Store) Head(ctx context.Context) (plan.OID, error) {
	head, err := s.CommitOf(ctx, "HEAD")
	if err == nil && head == "" {
		err = ErrUnborn
	}
	return head, err
}

// CommitOf returns the commit that a revision names in any of git's ways, or "" if it names none.
func (s *Store) CommitOf(ctx context.Context, rev string) (plan.OID, error) {
	if rev == "" || strings.ContainsAny(rev, "\n\r\x00") {
		return "", nil
	}
	o, err := s.objects.one(ctx, rev+"^{commit}")
	return o.OID, err
}

// Plans lists the repository's plans, by id. It skips refs whose name can't be a plan's.
func (s *Store) Plans(ctx context.Context) ([]PlanRef, error) {
	refs, err := s.listRefs(ctx, planRefs)
	if err != nil {
		return nil, err
	}
	var plans []PlanRef
	for _, r := range refs {
		id := plan.ID(strings.TrimPrefix(r.ref, planRefs))
		if id != policyName && id.Valid() {
			plans = append(plans, PlanRef{id, r.new})
		}
	}
	return plans, nil
}

// noneBelow reports whether no ref is directly below a prefix, if that can be told without starting a git. Like git, it
// looks into packed-refs after the refs' own files: a ref that is packed meanwhile is in one of the two.
func (s *Store) noneBelow(prefix string) bool {
	files, err := os.ReadDir(filepath.Join(s.commonDir, filepath.FromSlash(prefix)))
	if len(files) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	has, known := s.inPackedRefs(" " + prefix + "/")
	return known && !has
}

// Active returns this worktree's active plan: where none was chosen, the only one that there is beside registers,
// unless it is completed; else ErrNoActive.
func (s *Store) Active(ctx context.Context) (plan.ID, error) {
	id, err := s.readPointer(ctx, activeRef)
	if errors.Is(err, ErrNoActive) {
		refs, _ := s.Plans(ctx)
		var only *Snapshot
		for _, ref := range refs {
			snap, readErr := s.Snapshot(ctx, ref.ID)
			if readErr == nil && snap.Plan.Register && len(refs) > 1 {
				continue
			}
			if readErr != nil || only != nil {
				return id, err
			}
			only = snap
		}
		if only != nil && only.State().SessionStatus() != plan.SessionCompleted {
			return only.ID, nil
		}
	}
	return id, err
}

// Former returns the plan that was active in this worktree before the current one, or ErrNoActive.
func (s *Store) Former(ctx context.Context) (plan.ID, error) { return s.readPointer(ctx, formerRef) }

func (s *Store) readPointer(ctx context.Context, name string) (plan.ID, error) {
	ref, err := s.target(ctx, s.gitDir, name)
	switch id := plan.ID(strings.TrimPrefix(ref, planRefs)); {
	case err != nil || id.Valid():
		return id, err
	case ref != "":
		return "", fmt.Errorf("%s stands for %s: %w", name, ref, ErrNoActive)
	}
	return "", ErrNoActive
}

// target returns the ref that a symbolic ref names, "" if there is none. It is usually a file, which can be read even
// if the ref that it names is damaged, when git says nothing.
func (s *Store) target(ctx context.Context, dir, name string) (string, error) {
	file := filepath.Join(dir, filepath.FromSlash(name))
	ref, ok := PointsTo(file)
	if ok || lstat(file) == nil && lstat(filepath.Join(s.commonDir, "reftable")) == nil {
		return ref, nil
	}
	ref, err := s.Git(ctx, "symbolic-ref", "--quiet", name)
	if exitCode(err) == 1 {
		err = nil
	}
	return ref, err
}

// SetActive makes the plan the active one of this worktree. The plan need not exist yet.
func (s *Store) SetActive(ctx context.Context, id plan.ID) error {
	if former, err := s.Active(ctx); err == nil && former != id {
		if err := s.setPointer(ctx, formerRef, former); err != nil {
			return err
		}
	}
	return s.setPointer(ctx, activeRef, id)
}

func (s *Store) setPointer(ctx context.Context, name string, id plan.ID) error {
	ref, err := planRef(id)
	if err != nil {
		return err
	}
	return s.writePointer(ctx, name, name, ref)
}

// writePointer runs git symbolic-ref, as soon as nobody locks what it writes.
func (s *Store) writePointer(ctx context.Context, name string, args ...string) (err error) {
	locks := s.refLocks(nil)
	locks.limits[filepath.Join(s.gitDir, name+".lock")] = refLockLimit
	const tries, interval = 3, 50 * time.Millisecond
	for try := 1; ; try++ {
		if _, err = s.Git(ctx, append([]string{"symbolic-ref"}, args...)...); err == nil {
			return nil
		}
		if locks.held(ctx) {
			try--
		} else if try == tries {
			return err
		}
		if err := Pause(ctx, interval); err != nil {
			return err
		}
	}
}

// ClearActive leaves this worktree without an active plan if it is this one, which becomes the former one.
func (s *Store) ClearActive(ctx context.Context, id plan.ID) error {
	active, err := s.Active(ctx)
	if errors.Is(err, ErrNoActive) || err == nil && active != id {
		return nil
	}
	if err == nil {
		err = s.setPointer(ctx, formerRef, id)
	}
	if err == nil {
		err = s.writePointer(ctx, activeRef, "--delete", activeRef)
	}
	return err
}

// IsAncestor reports whether old is new or in its history.
func (s *Store) IsAncestor(ctx context.Context, old, new plan.OID) (bool, error) {
	if old == new || s.stepsTo(ctx, new, old) > 0 {
		return true, nil
	}
	_, err := s.Git(ctx, "merge-base", "--is-ancestor", "--end-of-options", string(old), string(new))
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Ref returns what a ref holds, or "" if no ref has exactly that full name. git rev-parse would try others, too.
func (s *Store) Ref(ctx context.Context, name string) (plan.OID, error) {
	refs, err := s.Refs(ctx, name)
	return refs[name], err
}

// Refs returns what refs hold, by full name: the named ones and those below them, or all.
func (s *Store) Refs(ctx context.Context, names ...string) (map[string]plan.OID, error) {
	list, err := s.listRefs(ctx, names...)
	refs := make(map[string]plan.OID, len(list))
	for _, r := range list {
		refs[r.ref] = r.new
	}
	return refs, err
}

// listRefs is Refs in the order of names; new is what each one holds.
func (s *Store) listRefs(ctx context.Context, names ...string) (refs []refChange, err error) {
	out, err := s.Git(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}, names...)...)
	for line := range strings.Lines(out) {
		oid, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs = append(refs, refChange{ref: ref, new: plan.OID(oid)})
	}
	return refs, err
}

// RemoteHas reports whether a remote has a plan as of a commit, by the remote-tracking ref or, if that says no, by the
// remote itself. A state of the plan that is not here may have it.
func (s *Store) RemoteHas(ctx context.Context, remote string, id plan.ID, commit plan.OID) (bool, error) {
	tip, err := s.Ref(ctx, fetchedRefs+remote+"/"+string(id))
	if err != nil {
		return false, err
	}
	if has, err := s.remoteHolds(ctx, id, tip, commit); err != nil || has {
		return has, err
	}
	if tip, err = s.RemoteRef(ctx, remote, RefName(id)); err != nil {
		return false, err
	}
	return s.remoteHolds(ctx, id, tip, commit)
}

// remoteHolds reports whether a plan at a tip may contain a commit or, after a prune, all that is here of it.
func (s *Store) remoteHolds(ctx context.Context, id plan.ID, tip, commit plan.OID) (bool, error) {
	if tip == "" {
		return false, nil
	}
	if _, err := s.Git(ctx, "cat-file", "-e", string(tip)+"^{commit}"); err != nil {
		return true, ctx.Err() // it is not here
	}
	own, err := s.Ref(ctx, RefName(id))
	if err != nil {
		return false, err
	}
	for _, want := range []plan.OID{commit, own} {
		if want == "" {
			continue
		}
		if has, err := s.IsAncestor(ctx, want, tip); err != nil || has {
			return has, err
		}
	}
	return false, nil
}
