package gitstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// A worker hands in what it has recorded by moving the ref of the claim under which it did, from the claim to its
// newest event: nobody else moves that ref, so any number of workers hand in at once. Whoever comes next joins what
// waits into the plan, in one push that also deletes those refs.

// fetchForWork fetches what a worker needs of its plan. The claims here become those of the remote, once that knows
// all of them. A plan that somebody deleted there stays as it was, and the next push gives it back.
func (s *Store) fetchForWork(ctx context.Context, remote string) error {
	defer s.claimsDiffer()()
	id, policy := string(s.Works), fetchedRefs+remote+"/"+policyName
	tracking := fetchedRefs + remote + "/" + id
	before, beforeErr := s.commit(ctx, tracking)
	specs := []string{"+" + planRefs + id + "*:" + tracking + "*", "+" + PolicyRef + "*:" + policy + "*"}
	if s.share.mu.Lock(); !s.holdsUnknown() {
		specs = append(specs, "+"+claimRefs+id+"/*:"+claimRefs+id+"/*")
	}
	s.share.mu.Unlock()
	err := s.fetch(ctx, remote, "--prune", specs...)
	_, gone := s.commit(ctx, tracking)
	switch {
	case err != nil || gone == nil:
		return err
	case beforeErr != nil:
		return fault.Refused("git wf share, where it is", "%s has no plan %s", remote, id)
	}
	_, err = s.Git(ctx, "update-ref", tracking, string(before.oid))
	return err
}

// holdsUnknown reports whether a claim holds that the remote does not know; mu is held.
func (s *Store) holdsUnknown() bool {
	for _, claim := range s.share.kept {
		if claim != "" {
			return true
		}
	}
	return false
}

// claimsDiffer begins a time in which the claims of a worker's clone differ from those of the remote.
func (s *Store) claimsDiffer() (end func()) {
	if s.Works == "" {
		return func() {}
	}
	s.share.claiming.Lock()
	return s.share.claiming.Unlock
}

// unsaid reports whether a worker has something to hand in. Until it has, nothing changes what it works on.
func (s *Store) unsaid() bool {
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	return len(s.share.changed)+len(s.share.kept) > 0
}

// staysHere reports whether a change of a claim is not for the remote yet: nobody else knows the version that is
// reviewed under it. It becomes known together with that, see handIn.
func (s *Store) staysHere(change refChange) bool {
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	_, kept := s.share.kept[change.ref]
	if kept = kept || change.old == "" && len(s.share.changed) > 0; !kept {
		return false
	}
	if delete(s.share.kept, change.ref); change.new != "" {
		if s.share.kept == nil {
			s.share.kept = map[string]plan.OID{}
		}
		s.share.kept[change.ref] = change.new
	}
	return true
}

// handIn hands in what was recorded under claims that have ended.
func (s *Store) handIn(ctx context.Context, remote string, id plan.ID, ended []refChange) error {
	end := s.claimsDiffer()
	own, err := s.Tip(ctx, id)
	known, kept := s.known(ended)
	var leases []string
	args := []string{"--end-of-options", remote}
	for _, end := range known {
		leases = append(leases, "--force-with-lease="+end.ref+":"+string(end.old))
		args = append(args, string(own)+":"+end.ref)
	}
	for _, k := range kept {
		leases, args = append(leases, "--force-with-lease="+k.ref+":"), append(args, string(k.new)+":"+k.ref)
	}
	refused := ""
	if err == nil && len(known) > 0 {
		if refused, err = s.push(ctx, remote, append(leases, args...)...); err == nil && refused == "" {
			s.keepNo(kept)
			for _, end := range known {
				s.follow(ctx, end, own)
			}
		}
	}
	end()
	// Without a claim it is for the plan's ref. Refused, a claim was taken over, or a push that seemed to fail did
	// reach the remote.
	if err == nil && (refused != "" || len(known) == 0) {
		err = s.sayJoined(s.pushPlan(ctx, remote, id, known...))
	}
	if s.share.fetched.Store(0); err == nil {
		s.keepNo(ended)
	}
	return err
}

// known are those of the ended claims that the remote knows, and kept the claims that it does not and that hold.
func (s *Store) known(ended []refChange) (known, kept []refChange) {
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	holding := maps.Clone(s.share.kept)
	for _, end := range ended {
		if _, ok := s.share.kept[end.ref]; !ok {
			known = append(known, end)
		}
		delete(holding, end.ref)
	}
	maps.DeleteFunc(holding, func(_ string, claim plan.OID) bool { return claim == "" })
	for ref, claim := range holding {
		kept = append(kept, refChange{ref: ref, new: claim})
	}
	return known, kept
}

// keepNo forgets claims that the remote did not know: it does now, or they have ended.
func (s *Store) keepNo(claims []refChange) {
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	for _, c := range claims {
		delete(s.share.kept, c.ref)
	}
}

// follow changes the copy here of what a claim was at a remote, as the next fetch would. A newer claim stays.
func (s *Store) follow(ctx context.Context, was refChange, now plan.OID) {
	here, err := s.Ref(ctx, was.ref)
	if err == nil && (here == was.old || here == "" && now != "") {
		_ = s.leases.update(refChange{ref: was.ref, old: here, new: now})
	}
}

// handedIn lists the claims of a plan at a remote on which something was handed in.
func (s *Store) handedIn(ctx context.Context, remote string, id plan.ID) (waiting []refChange, err error) {
	prefix := claimRefs + string(id) + "/"
	var claims []refChange
	if s.Works != "" {
		claims, err = s.listRefs(ctx, prefix)
	} else if claims, err = s.remoteRefs(ctx, remote, prefix+"*"); err == nil && len(claims) > 0 {
		claims, err = s.fetchClaims(ctx, remote, id, claims)
	}
	if err == nil {
		err = s.objects.each(ctx, objectsOf(claims), func(i int, o object) error {
			if _, refused := s.share.refused.Load(o.OID); o.Kind == "commit" && !refused {
				waiting = append(waiting, refChange{ref: claims[i].ref, old: o.OID})
			}
			return nil
		})
	}
	return waiting, err
}

// fetchClaims fetches what the claims of a remote on a plan's tasks hold. A hostile remote has any number of others.
func (s *Store) fetchClaims(ctx context.Context, remote string, id plan.ID, all []refChange) (claims []refChange,
	err error) {
	snap, err := s.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	tasks := snap.Plan.Index()
	claims = each.If(all, func(c refChange) bool { return tasks.Task(plan.TaskID(path.Base(c.ref))) != nil })
	var absent []string
	err = s.objects.each(ctx, objectsOf(claims), func(i int, o object) error {
		if o.Kind == "" {
			absent = append(absent, claims[i].ref)
		}
		return nil
	})
	if err == nil && len(absent) > 0 {
		err = s.fetch(ctx, remote, "--no-prune", absent...)
	}
	return claims, err
}

func objectsOf(refs []refChange) []string {
	return each.Of(refs, func(r refChange) string { return string(r.new) })
}

// Finish pushes what is not pushed yet. It tries for a time.
func (s *Store) Finish(ctx context.Context, patience time.Duration) error {
	for began := time.Now(); ; {
		if s.pushChanged(); !s.unsaid() {
			return nil
		}
		if err := Pause(ctx, time.Second); err != nil || time.Since(began) > patience {
			s.share.pushing.Lock()
			defer s.share.pushing.Unlock()
			return errors.Join(s.share.failed, err)
		}
	}
}

// Turn ends a worker's work on a task: it hands in what was recorded, or joins that into the plan itself if nothing
// else waits; then it goes on from what the remote has. It also joins what has waited since its last turn, if nobody
// else seems to: if the plan has not moved for three times as long as it lately took. moved reports whether the plan
// here is another one, waits whether something waited.
func (s *Store) Turn(ctx context.Context, id plan.ID) (moved, waits bool, err error) {
	s.share.pushing.Lock()
	defer s.share.pushing.Unlock()
	before, err := s.Tip(ctx, id)
	remote, _ := s.SharedWith(ctx, id)
	s.share.mu.Lock()
	ended, own := s.share.changed[id]
	if delete(s.share.changed, id); len(s.share.changed) == 0 {
		s.share.changed = nil
	}
	s.share.mu.Unlock()
	looked := time.Now().Unix()
	if own {
		s.share.fetched.Store(0) // others record, too
	}
	if err = errors.Join(err, s.FetchPlans(ctx, remote)); err == nil {
		waits, err = s.turn(ctx, remote, id, ended, own)
	}
	if own {
		s.share.fetched.Store(looked) // and not before the push, which the next claim follows
	}
	if err != nil && own {
		s.noteChanged(id, ended)
	}
	after, err2 := s.Tip(ctx, id)
	return before != after, waits, errors.Join(err, err2)
}

// turn is Turn after a fetch. own says that there is something to hand in, under the claims that ended.
func (s *Store) turn(ctx context.Context, remote string, id plan.ID, ended []refChange, own bool) (waits bool,
	err error) {
	waiting, err := s.handedIn(ctx, remote, id)
	if err != nil {
		return false, err
	}
	tracking, sh := fetchedRefs+remote+"/"+string(id), &s.share
	theirs, _ := s.commit(ctx, tracking)
	switch now := time.Now(); {
	case len(sh.waiting) == 0:
		sh.since = now
	case theirs.oid != sh.theirs:
		sh.since, sh.pace = now, min(now.Sub(sh.since), mostPace)
	}
	isOld := slices.ContainsFunc(waiting, func(w refChange) bool { return slices.Contains(sh.waiting, w) })
	joined := false
	if own && len(waiting) == 0 || isOld && time.Since(sh.since) >= 3*sh.pace {
		joined, err = s.joinNow(ctx, remote, id, ended, own)
	}
	theirs, _ = s.commit(ctx, tracking)
	sh.waiting, sh.theirs = waiting, theirs.oid
	if err == nil && own && !joined {
		err = s.handIn(ctx, remote, id, ended)
	}
	if err == nil {
		err = s.goOn(ctx, remote, id)
	}
	return len(waiting) > 0, err
}

// joinNow joins what waits, and what was recorded here, into what was fetched of the plan, and pushes that, again and
// again until nothing waits. Where the remote's has moved meanwhile, it stops: whoever was faster joins what waits.
func (s *Store) joinNow(ctx context.Context, remote string, id plan.ID, ended []refChange, own bool) (done bool,
	err error) {
	tip, err := s.Tip(ctx, id)
	if err == nil && own {
		_, err = s.catchUp(ctx, remote, id)
	} else if err == nil {
		err = s.goOn(ctx, remote, id)
	}
	if err != nil {
		return false, err
	}
	for most := 4; ; most = min(2*most, mostTaken) {
		_, others, err := s.takeIn(ctx, remote, id, most)
		if err != nil || done && len(others) == 0 {
			return done, err
		}
		known, _ := s.known(ended)
		refused, _, err := s.pushOnce(ctx, remote, id, append(known, others...))
		if err != nil || refused != "" {
			return done, errors.Join(err, s.moveTo(ctx, id, tip))
		}
		s.keepNo(ended)
		done, ended = true, nil
		if tip, err = s.Tip(ctx, id); err != nil {
			return done, err
		}
	}
}

// isBehind reports whether the remote has all that is here of a plan.
func (s *Store) isBehind(ctx context.Context, remote string, id plan.ID) bool {
	theirs, err := s.commit(ctx, fetchedRefs+remote+"/"+string(id))
	own, err2 := s.commit(ctx, RefName(id))
	behind, err3 := s.IsAncestor(ctx, own.oid, theirs.oid)
	return errors.Join(err, err2, err3) == nil && behind
}

// goOn takes a worker's plan to what was fetched of it, since what it recorded was handed in.
func (s *Store) goOn(ctx context.Context, remote string, id plan.ID) error {
	theirs, err := s.commit(ctx, fetchedRefs+remote+"/"+string(id))
	own, err2 := s.commit(ctx, RefName(id))
	if err = errors.Join(err, err2); err != nil || theirs.oid == own.oid {
		return err
	}
	if err = s.Sound(ctx, id, theirs.oid); err != nil {
		return err
	}
	return s.moveTo(ctx, id, theirs.oid)
}

// moveTo takes a worker's plan to a commit.
func (s *Store) moveTo(ctx context.Context, id plan.ID, commit plan.OID) error {
	tip, err := s.Tip(ctx, id)
	if err != nil || tip == commit {
		return err
	}
	change := refChange{RefName(id), tip, commit}
	return s.moveRefs(ctx, s.events, s.NewBatch(), []refChange{change}, func(ctx context.Context) (bool, error) {
		now, err := s.commit(ctx, change.ref)
		return now.oid == change.new, err
	})
}

const (
	mostTaken = 16               // hand-ins that a worker joins before it pushes: others see that somebody does
	mostPace  = 10 * time.Second // that others take this to last; three times as long nothing moves if it is killed
)

// takeIn joins what waits at a remote into the plan here, but not more than most. The claims end once that is pushed.
func (s *Store) takeIn(ctx context.Context, remote string, id plan.ID, most int) (all Joined, ended []refChange,
	err error) {
	waiting, err := s.handedIn(ctx, remote, id)
	if len(waiting) > most { // which ones is left to chance, so that none waits for ever
		rand.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		waiting = waiting[:most]
	}
	for _, w := range waiting {
		done, err := s.joinOther(ctx, id, w.old, false, time.Now())
		switch {
		case ctx.Err() != nil:
			return all, nil, ctx.Err()
		case err != nil:
			s.share.refused.Store(w.old, errors.Is(err, ErrUnsound))
			s.say(fmt.Sprintf("what %s hands in is not taken: %v", w.ref, err))
		default:
			ended, all = append(ended, w), all.then(done)
		}
	}
	return all, ended, err
}

// largestBlob is the size of the files that a worker's clone has at once: of records, and not of most deliverables.
const largestBlob = "blob:limit=64k"

// CloneToWork makes the clone of a worker, which has nothing of the remote yet.
func CloneToWork(ctx context.Context, dir, url string) error {
	steps := [][]string{
		{"init", "--quiet", "--bare"}, {"remote", "add", "origin", url}, {"config", "remote.origin.promisor", "true"},
		{"config", "remote.origin.partialclonefilter", largestBlob}, {"config", "gc.auto", "0"},
	}
	if _, err := runGit(ctx, Invocation{Dir: dir, Args: []string{"var", "GIT_COMMITTER_IDENT"}}); exitCode(err) > 0 {
		steps = append(steps, []string{"config", "user.name", "a worker"},
			[]string{"config", "user.email", "worker@invalid"})
	}
	for _, args := range steps {
		if _, err := runGit(ctx, Invocation{Dir: dir, Args: args}); err != nil {
			return err
		}
	}
	return nil
}

// ReadyToWork brings the remote's branch, with its history if the plan changes that, and finds out whether the remote
// takes pushes.
func (s *Store) ReadyToWork(ctx context.Context, remote string) error {
	snap, err := s.Snapshot(ctx, s.Works)
	if err != nil {
		return err
	}
	probe := RefName(s.Works) + ":" + claimRefs + string(s.Works) + "/probe"
	refused, err := s.push(ctx, remote, "--dry-run", "--end-of-options", remote, probe)
	if refused != "" {
		err = notTaken(remote, s.Works, refused)
	}
	head, _, err2 := s.connect(ctx, remote, "ls-remote", "--symref", "--end-of-options", remote, "HEAD")
	branch, _, _ := strings.Cut(strings.TrimPrefix(head, "ref: "), "\tHEAD")
	if err = errors.Join(err, err2); err != nil || !strings.HasPrefix(branch, "refs/heads/") {
		return err
	}
	depth := "--depth=1"
	if slices.ContainsFunc(snap.Plan.Tasks, (*plan.Task).Changes) {
		depth = "--no-tags"
	}
	if err = s.fetch(ctx, remote, depth, "+"+branch+":"+branch); err == nil {
		_, err = s.Git(ctx, "symbolic-ref", "HEAD", branch)
	}
	return err
}
