package gitstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// A plan is shared with a remote whose remote-tracking ref of it exists. While the remote answers, what is recorded in
// a shared plan is pushed at once, never by force: events to the plan's ref, a claim as a ref that nobody else may have
// made. Without a connection a shared plan is like any other, until git wf sync joins what both sides have recorded.

const (
	silence     = 4 * time.Second        // after which a remote that has said nothing is taken for dead
	slowest     = 2 * time.Minute        // for which one that has said something may say no more
	deadTime    = 60                     // seconds for which a dead one is not asked again
	newsTime    = 5                      // seconds for which what was fetched is taken for news
	pushDelay   = 500 * time.Millisecond // in which events are collected for one push
	handInDelay = 2 * time.Second        // the same for a worker, which mostly hands in a version with its review
)

// shares is what a Store has to do for shared plans.
type shares struct {
	pushing  sync.Mutex          // held while events are pushed, so that Close waits for it
	claiming sync.Mutex          // held by a worker while a claim here differs from that of the remote
	failed   error               // why a worker has not handed in yet
	waiting  []refChange         // what a worker saw waiting at its last turn,
	theirs   plan.OID            // beside this plan,
	since    time.Time           // which it had seen since then,
	pace     time.Duration       // and how long the one before
	kept     map[string]plan.OID // claims of a worker that its remote does not know, "" once one ended; under mu
	refused  sync.Map            // commits in the place of a claim that are not taken: whether the claim may be
	fetched  atomic.Int64        // when plans were fetched, in Unix time
	lost     atomic.Int64        // when a remote did not answer
	said     sync.Map

	mu      sync.Mutex
	changed map[plan.ID][]refChange // plans with new events, and the claims that ended with them
	timer   *time.Timer             // pushes them
}

// Shared is how a plan stands beside its remote, as that was seen last.
type Shared struct {
	Remote string    `json:"remote"`
	Ahead  int       `json:"ahead"`           // events here that were not there
	Behind int       `json:"behind"`          // events there that are not here
	Seen   time.Time `json:"seen,omitzero"`   // zero if nobody knows when
	Aside  []string  `json:"aside,omitempty"` // what joins of the newest events set aside, in a line each
	policy bool      // it is the policy
	named  string    // the option that names the remote, if that is not the main one
}

// String says it in a line, "" if both have the same.
func (sh *Shared) String() string {
	var parts []string
	if sh.Behind > 0 {
		parts = append(parts, fmt.Sprintf("%s is %d ahead", sh.Remote, sh.Behind))
	}
	if sh.Ahead > 0 {
		parts = append(parts, fmt.Sprintf("%d of yours not at %s yet", sh.Ahead, sh.Remote))
	}
	if len(parts) == 0 {
		return ""
	}
	mend := "git wf sync" + sh.named
	if sh.policy && sh.Ahead > 0 && sh.Behind > 0 { // plans alone are joined
		mend = "a maintainer makes the change again on what " + sh.Remote + " has"
	}
	seen := time.Since(sh.Seen).Round(time.Second)
	return fmt.Sprintf("%s (seen %s ago): %s", strings.Join(parts, ", "), seen, mend)
}

// Shared returns how a plan stands beside its remote, nil if it is not shared. It connects to nothing.
func (s *Store) Shared(ctx context.Context, id plan.ID, tip plan.OID) (*Shared, error) {
	remote, theirs := s.SharedWith(ctx, id)
	if remote == "" {
		return nil, ctx.Err()
	}
	sh, err := s.Beside(ctx, remote, id, tip, theirs)
	if err == nil {
		sh.Aside = s.asides(ctx, tip)
	}
	return sh, err
}

// Beside is how a plan, or the policy, stands beside what was fetched of it from a remote. An archive counts as here.
func (s *Store) Beside(ctx context.Context, remote string, id plan.ID, own, theirs plan.OID) (*Shared, error) {
	sh := &Shared{Remote: remote, policy: id == policyName}
	if main, err := s.MainRemote(ctx); err != nil || main != remote {
		sh.named = " --remote " + shell.Word(remote)
	}
	for _, name := range []string{s.seenMark(remote), filepath.Join(s.commonDir, fetchedRefs, remote, string(id))} {
		if st := lstat(name); st != nil && st.ModTime().After(sh.Seen) {
			sh.Seen = st.ModTime().UTC().Truncate(time.Second)
		}
	}
	if theirs == own {
		return sh, nil
	}
	if sh.Ahead, sh.Behind = s.stepsTo(ctx, own, theirs), s.stepsTo(ctx, theirs, own); sh.Ahead+sh.Behind > 0 {
		return sh, nil
	}
	out, err := s.Git(ctx, "rev-list", "--left-right", "--count", string(own)+"..."+string(theirs), "--not",
		"--glob="+archiveRefs+"*")
	if err == nil {
		_, err = fmt.Sscan(out, &sh.Ahead, &sh.Behind)
	}
	return sh, err
}

// stepsTo is how many events lead from one tip to the other, 0 if only a git can tell: starting one takes longer.
func (s *Store) stepsTo(ctx context.Context, tip, old plan.OID) int {
	const few = 20
	for n := range few {
		if tip == old {
			return n
		}
		var err error
		if tip, err = s.parentOf(ctx, tip); err != nil || tip == "" {
			break
		}
	}
	return 0
}

// parentOf is the first parent of a commit, "" if it has none. Joins follow the same steps again and again.
func (s *Store) parentOf(ctx context.Context, commit plan.OID) (plan.OID, error) {
	if known, ok := s.parents.Load(commit); ok {
		return known.(plan.OID), nil
	}
	c, err := s.lookCommit(ctx, string(commit))
	if err == nil {
		s.parents.Store(commit, c.parent)
	}
	return c.parent, err
}

// SharedWith returns the remote that a plan is shared with, the main one or the only one that has it, and what was last
// seen of the plan there; "" if it is not shared.
func (s *Store) SharedWith(ctx context.Context, id plan.ID) (remote string, theirs plan.OID) {
	if !id.Valid() || s.noneBelow(strings.TrimSuffix(fetchedRefs, "/")) {
		return "", ""
	}
	names, main, _ := s.remotes(ctx)
	for _, name := range names {
		c, err := s.commit(ctx, fetchedRefs+name+"/"+string(id))
		switch {
		case err != nil:
		case name == main:
			return name, c.oid
		case remote != "":
			return "", "" // nothing says which
		default:
			remote, theirs = name, c.oid
		}
	}
	return remote, theirs
}

// seenMark is the file whose time says when a remote last answered us.
func (s *Store) seenMark(remote string) string {
	return filepath.Join(s.commonDir, "wf", "seen", url.PathEscape(remote))
}

// ErrLost: a remote did not answer. errNotAsked: it is not to be asked, which its user knows.
var (
	ErrLost     = errors.New("can't be reached")
	errNotAsked = errors.New("is not asked")
)

// excuse says once, in a line, why a shared plan and its remote differ. Who asked for the remote gets the error.
func (s *Store) excuse(err error) error {
	if err == nil || s.Asked || s.Works != "" {
		return err
	}
	if !errors.Is(err, errNotAsked) {
		s.say(fault.Line(err))
	}
	return nil
}

// say tells who waits, once.
func (s *Store) say(text string) {
	if _, said := s.share.said.LoadOrStore(text, true); !said && s.Notice != nil {
		s.Notice(text)
	}
}

// mayAsk fails where no remote is to be asked now.
func (s *Store) mayAsk(ctx context.Context, remote string) error {
	value, _, err := s.Config(ctx, "wf.offline")
	recently := time.Now().Unix()-s.share.lost.Load() < deadTime
	if err == nil && (s.Offline || !s.Asked && s.Works == "" && (isTrue(value) || recently)) {
		err = fault.Refused("git wf sync, with a connection", "%s %w: offline", remote, errNotAsked)
	}
	return err
}

// listener is called when something is written to it.
type listener func()

func (l listener) Write(p []byte) (int, error) {
	l()
	return len(p), nil
}

// connect runs a git that asks a remote. Unless the user asked for the remote, it asks the user nothing, and gives up
// on a silent one. It fails with ErrLost, or returns what git printed, and a line of what the remote or git said.
func (s *Store) connect(ctx context.Context, remote string, args ...string) (out, said string, err error) {
	if err := s.mayAsk(ctx, remote); err != nil {
		return "", "", err
	}
	env, patience := []string{"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=force"}, silence
	switch {
	case s.Works != "":
		patience = slowest
	case s.Asked:
		env, patience = nil, slowest
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(patience, stop)
	defer timer.Stop()
	data, stderr, err := runGitSaying(asking, Invocation{Dir: s.dir, Env: env,
		Args:  append([]string{"-c", "core.hooksPath=/dev/null", "-c", "maintenance.auto=false"}, args...),
		heard: listener(func() { timer.Reset(slowest) })})
	said = firstSaid(stderr)
	const fatal = 128
	if code := exitCode(err); err == nil || code > 0 && code != fatal {
		mark := s.seenMark(remote)
		if os.MkdirAll(filepath.Dir(mark), 0o777) == nil {
			_ = os.WriteFile(mark, nil, 0o666) // it only dates what is shown
		}
		return string(data), said, nil
	}
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	s.share.lost.Store(time.Now().Unix())
	return "", "", fault.Refused(fmt.Sprintf("git wf sync, once git ls-remote %s works", remote), "%s %w: %s", remote,
		ErrLost, cmp.Or(said, "it is silent"))
}

// firstSaid is the first line of why something was refused, by the remote if it said so.
func firstSaid(stderr string) string {
	for _, mark := range []string{"remote: error:", "fatal:", "remote:", "error:"} {
		if _, rest, ok := strings.Cut("\n"+stderr, "\n"+mark); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			return strings.TrimSpace(first)
		}
	}
	return ""
}

// push pushes without force, all or nothing. refused says why the remote took nothing, as far as it said.
func (s *Store) push(ctx context.Context, remote string, args ...string) (refused string, err error) {
	out, said, err := s.connect(ctx, remote, append([]string{"push", "--porcelain", "--progress", "--atomic",
		"--no-follow-tags", "--recurse-submodules=no"}, args...)...)
	if strings.Contains("\n"+out, "\n!") { // git's form for programs
		refused = cmp.Or(said, "it gives no reason")
	}
	return refused, err
}

// FetchPlans fetches a remote's plans and policy to their remote-tracking refs, unless it was done just now.
func (s *Store) FetchPlans(ctx context.Context, remote string) error {
	news := int64(newsTime)
	if s.Works != "" {
		news = 2 // others are about to claim the same tasks
	}
	if time.Now().Unix()-s.share.fetched.Load() < news {
		return s.mayAsk(ctx, remote)
	}
	fetch := func() error { return s.fetch(ctx, remote, "--no-prune", "+"+planRefs+"*:"+fetchedRefs+remote+"/*") }
	if s.Works != "" {
		fetch = func() error { return s.fetchForWork(ctx, remote) }
	}
	err := fetch()
	if err == nil {
		s.share.fetched.Store(time.Now().Unix())
	}
	return err
}

// fetch fetches refs. Not all may be taken, such as a name that this file system can't tell from another's.
func (s *Store) fetch(ctx context.Context, remote, prune string, specs ...string) error {
	_, _, err := s.connect(ctx, remote, append([]string{"fetch", "--progress", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", prune, "--end-of-options", remote}, specs...)...)
	return err
}

// Adopt takes over the plans and the policy of a remote that are not here yet, and a policy that went on there. What
// the hooks refuse stays where it is. plans are those that the remote has.
func (s *Store) Adopt(ctx context.Context, remote string) (plans []plan.ID, err error) {
	if err := s.FetchPlans(ctx, remote); err != nil {
		return nil, s.excuse(err)
	}
	prefix := fetchedRefs + remote + "/"
	refs, err := s.Refs(ctx, prefix, strings.TrimSuffix(planRefs, "/"))
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(refs))) { // the policy first: it binds the others
		fetched, ok := strings.CutPrefix(name, prefix)
		id := plan.ID(fetched)
		if !ok || id != policyName && (!id.Valid() || id.Throwaway()) {
			continue
		}
		own := refs[RefName(id)]
		if id != policyName {
			plans = append(plans, id)
		} else if own != "" && own != refs[name] {
			if grew, err := s.IsAncestor(ctx, own, refs[name]); err != nil || !grew {
				continue
			}
		}
		if own == "" || id == policyName {
			_, err := s.Git(ctx, "update-ref", "-m", "from "+remote, "--create-reflog", RefName(id), string(refs[name]),
				cmp.Or(string(own), strings.Repeat("0", len(refs[name]))))
			if refused := (*GitError)(nil); errors.As(err, &refused) {
				s.say(fmt.Sprintf("what %s has of %s is not taken: git wf doctor says why", remote, id))
			}
		}
	}
	slices.Reverse(plans)
	return plans, cmp.Or(err, ctx.Err())
}

// Refresh has a shared plan go on from what its remote has, if that answers.
func (s *Store) Refresh(ctx context.Context, id plan.ID) error {
	remote, _ := s.SharedWith(ctx, id)
	if remote == "" || s.Works != "" && s.unsaid() {
		return nil
	}
	err := s.FetchPlans(ctx, remote)
	if err == nil && (s.Works == "" || s.isBehind(ctx, remote, id)) {
		err = s.sayJoined(s.catchUp(ctx, remote, id))
	}
	return s.excuse(err)
}

// sayJoined says what a join has set aside.
func (s *Store) sayJoined(done Joined, err error) error {
	for _, a := range done.Aside {
		s.say(a.String())
	}
	return err
}

// catchUp brings a plan together with what was fetched of it.
func (s *Store) catchUp(ctx context.Context, remote string, id plan.ID) (done Joined, err error) {
	theirs, err := s.commit(ctx, fetchedRefs+remote+"/"+string(id))
	own, err2 := s.commit(ctx, RefName(id))
	if done.Tip = own.oid; err != nil || err2 != nil || own.oid == theirs.oid || s.archived(ctx, own, theirs) {
		return done, err2
	}
	if main, err := s.MainRemote(ctx); err == nil && main != remote { // another one takes the order of the main one
		if has, err := s.IsAncestor(ctx, theirs.oid, own.oid); err != nil || has {
			return done, err
		}
	}
	done, err = s.Join(ctx, id, theirs.oid, time.Now())
	if ref := ArchiveRefName(id); IsAbsent(err) && s.fetch(ctx, remote, ref+":"+ref) == nil {
		done, err = s.Join(ctx, id, theirs.oid, time.Now())
	}
	if err == nil && s.Works == "" {
		s.dropEnded(ctx, id)
	}
	return done, err
}

// archived reports whether the newest prune of a history archived the one up to the other commit.
func (s *Store) archived(ctx context.Context, tip, old commitInfo) bool {
	archives, err := s.Archives(ctx, tip.oid)
	return err == nil && len(archives) > 0 && archives[len(archives)-1].Tip == old.oid
}

// dropEnded removes claims whose work was recorded by the clone that had them: they are copies of what was at a remote.
func (s *Store) dropEnded(ctx context.Context, id plan.ID) {
	claims, err := s.Claims(ctx, id)
	if err != nil || len(claims) == 0 {
		return
	}
	snap, err := s.Snapshot(ctx, id)
	for task, c := range claims {
		ended := err == nil && !c.HandedIn && c.PID != os.Getpid() &&
			c.Number <= snap.State().ClaimsEnded(task) // checks count, too
		if ended && !c.Vacant() {
			if held, ref, err := s.ownClaim(ctx, id, c); err == nil {
				_ = s.moveClaim(ctx, s.NewBatch(), refChange{ref: ref, old: held.oid}, task)
			}
		}
	}
}

// noteChanged has a new event pushed soon, if the plan is shared. ended is the claim that ended with it.
func (s *Store) noteChanged(id plan.ID, ended []refChange) {
	if s.noneBelow(strings.TrimSuffix(fetchedRefs, "/")) {
		return
	}
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	if s.share.changed == nil {
		s.share.changed = map[plan.ID][]refChange{}
		delay := pushDelay
		if s.Works != "" {
			delay = handInDelay
		}
		if s.share.timer == nil {
			s.share.timer = time.AfterFunc(delay, s.pushChanged)
		}
		s.share.timer.Reset(delay)
	}
	s.share.changed[id] = append(s.share.changed[id], ended...)
	for _, end := range ended {
		if s.share.kept[end.ref] == end.old {
			s.share.kept[end.ref] = ""
		}
	}
}

// pushChanged pushes the plans that have new events.
func (s *Store) pushChanged() {
	s.share.pushing.Lock()
	defer s.share.pushing.Unlock()
	s.pushNow()
}

func (s *Store) pushNow() {
	s.share.mu.Lock()
	changed := s.share.changed
	s.share.changed = nil
	s.share.mu.Unlock()
	ctx := context.Background()
	for id, ended := range changed {
		remote, _ := s.SharedWith(ctx, id)
		switch {
		case remote == "":
		case s.Works == id:
			if err := s.handIn(ctx, remote, id, ended); err != nil {
				s.share.failed = err
				s.noteChanged(id, ended)
			}
		default:
			_ = s.excuse(s.sayJoined(s.pushPlan(ctx, remote, id, ended...)))
		}
	}
}

// Share pushes a plan, and the policy: from then on the plan is shared with that remote.
func (s *Store) Share(ctx context.Context, remote string, id plan.ID) error {
	if err := s.pushPolicy(ctx, remote); err != nil {
		return err
	}
	return s.sayJoined(s.level(ctx, remote, id))
}

// pushPolicy pushes the policy, if there is one.
func (s *Store) pushPolicy(ctx context.Context, remote string) error {
	refused, err := s.push(ctx, remote, "--end-of-options", remote, PolicyRef)
	if err == nil && refused != "" {
		err = fault.Refused("git wf doctor", "%s does not take the policy: %s", remote, refused)
	}
	return err
}

// Sync adopts what a remote has, and levels each of its plans.
func (s *Store) Sync(ctx context.Context, remote string) (map[plan.ID]Joined, error) {
	plans, err := s.Adopt(ctx, remote)
	own, _ := s.Ref(ctx, PolicyRef)
	theirs, _ := s.Ref(ctx, fetchedRefs+remote+"/"+policyName)
	if err == nil && theirs != "" && own != theirs {
		err = s.pushPolicy(ctx, remote)
	}
	var there []refChange
	if err == nil {
		there, err = s.remoteRefs(ctx, remote, planRefs+"*")
	}
	done := map[plan.ID]Joined{}
	for _, id := range plans {
		is := func(r refChange) bool { return r.ref == RefName(id) }
		if err == nil && !slices.ContainsFunc(there, is) { // somebody deleted it
			_, err = s.Git(ctx, "update-ref", "-d", fetchedRefs+remote+"/"+string(id))
		}
		joined, err := s.level(ctx, remote, id)
		joined.Failed = err
		done[id] = joined
	}
	return done, err
}

// level joins a plan with what its remote has of it, and with what was handed in there, and pushes it.
func (s *Store) level(ctx context.Context, remote string, id plan.ID) (Joined, error) {
	return s.pushJoined(ctx, remote, id, true, nil)
}

// pushPlan pushes a plan, and the end of claims. Where somebody else was faster it takes what they have recorded.
func (s *Store) pushPlan(ctx context.Context, remote string, id plan.ID, ended ...refChange) (Joined, error) {
	return s.pushJoined(ctx, remote, id, false, ended)
}

// pushJoined pushes a plan, and the end of claims, until the remote takes it: each time joined with what the remote has
// by then and, if all is asked for, with what was handed in there.
func (s *Store) pushJoined(ctx context.Context, remote string, id plan.ID, all bool, ended []refChange) (sum Joined,
	err error) {
	for try, last, refused := 0, "", ""; ; try++ {
		var done Joined
		var others []refChange
		if all || try > 0 {
			if err = s.FetchPlans(ctx, remote); err == nil {
				done, err = s.catchUp(ctx, remote, id)
				sum = sum.then(done)
			}
			if err == nil && all {
				done, others, err = s.takeIn(ctx, remote, id, math.MaxInt)
				sum = sum.then(done)
			}
		}
		theirs, _ := s.commit(ctx, fetchedRefs+remote+"/"+string(id))
		own, _ := s.commit(ctx, RefName(id))
		switch now := fmt.Sprint(theirs.oid, own.oid, others); {
		case err != nil:
			return sum, err
		case now != last:
			last = now
		default: // perhaps the remote does not know all of them
			there, _ := s.remoteRefs(ctx, remote, claimRefs+string(id)+"/*")
			known := each.If(ended, func(end refChange) bool {
				return slices.Contains(there, refChange{ref: end.ref, new: end.old})
			})
			if len(known) == len(ended) {
				return sum, notTaken(remote, id, refused)
			}
			ended = known
		}
		refused, done, err = s.pushOnce(ctx, remote, id, slices.Concat(ended, others))
		if sum = sum.then(done); err != nil {
			return sum, err
		}
		if refused == "" {
			return sum, nil
		}
		if err := Pause(ctx, time.Duration(rand.IntN(try*100+1))*time.Millisecond); err != nil {
			return sum, err
		}
	}
}

func notTaken(remote string, id plan.ID, why string) error {
	return fault.Refused("git wf doctor", "%s does not take %s: %s", remote, id, why)
}

// then is what a join did, and the next one after it.
func (j Joined) then(next Joined) Joined {
	next.Aside, next.Again = append(j.Aside, next.Aside...), append(j.Again, next.Again...)
	if next.Second == "" {
		next.Second, next.Change = j.Second, j.Change
	}
	return next
}

// pushOnce pushes a plan, and the end of claims, unless the remote has moved. The remote's history goes only if a prune
// has archived it.
func (s *Store) pushOnce(ctx context.Context, remote string, id plan.ID, ended []refChange) (refused string,
	done Joined, err error) {
	ref, tracking := RefName(id), fetchedRefs+remote+"/"+string(id)
	own, err := s.commit(ctx, ref)
	before, _ := s.commit(ctx, tracking)
	if done.Tip = own.oid; err != nil || before.oid == own.oid && len(ended) == 0 {
		return "", done, err
	}
	var leases []string
	args := []string{"--end-of-options", remote, string(own.oid) + ":" + ref}
	if before.oid != "" && s.archived(ctx, own, before) {
		leases = append(leases, "--force-with-lease="+ref+":"+string(before.oid))
		args = append(args, ArchiveRefName(id)+":"+ArchiveRefName(id))
	}
	for _, end := range ended {
		leases, args = append(leases, "--force-with-lease="+end.ref+":"+string(end.old)), append(args, ":"+end.ref)
	}
	refused, err = s.push(ctx, remote, append(leases, args...)...)
	if s.share.fetched.Store(0); err == nil && refused == "" {
		done.Pushed = true
		_, err = s.Git(ctx, "update-ref", tracking, string(own.oid)) // git did, if init has set it up
		for _, end := range ended {
			s.follow(ctx, end, "")
		}
	}
	return refused, done, err
}

// shareClaim makes a claim of a shared plan known at its remote: as a new ref, or in the place of exactly the one that
// it replaces, or that it is gone. If somebody else has the task, their claim takes the place of ours, and the error
// names it.
func (s *Store) shareClaim(ctx context.Context, change refChange) error {
	id, task, _ := strings.Cut(strings.TrimPrefix(change.ref, claimRefs), "/")
	remote, _ := s.SharedWith(ctx, plan.ID(id))
	if remote == "" || s.Works != "" && s.staysHere(change) {
		return nil
	}
	for try := range 2 {
		refused, err := s.push(ctx, remote, "--force-with-lease="+change.ref+":"+string(change.old),
			"--end-of-options", remote, string(change.new)+":"+change.ref)
		if err != nil || refused == "" || change.new == "" {
			if s.Works == "" || err != nil { // a worker has just looked
				s.share.fetched.Store(0) // the task may have been done before it was claimed
			}
			return s.excuse(err)
		}
		there, err := s.fetchClaim(ctx, remote, change.ref)
		switch {
		case err != nil || there == change.new:
			return err
		case there != "":
			held, _, err := s.claim(ctx, plan.ID(id), plan.TaskID(task))
			if err == nil && held.HandedIn && s.Works == "" {
				err = s.sayJoined(s.level(ctx, remote, plan.ID(id)))
			}
			return errors.Join(err, &ClaimedError{held.Claim})
		}
		if change.old = ""; s.Works != "" && try > 0 {
			return notTaken(remote, plan.ID(id), refused)
		} // else ours was made without a connection
	}
	return nil
}

// fetchClaim takes over the claim on a task that a remote, which has just answered, has; "" if it has none.
func (s *Store) fetchClaim(ctx context.Context, remote, ref string) (there plan.OID, err error) {
	asking, stop := context.WithTimeout(ctx, silence)
	defer stop()
	if _, err := s.Git(asking, "-c", "core.hooksPath=/dev/null", "fetch", "-q", "--no-tags", "--no-write-fetch-head",
		"--end-of-options", remote, "+"+ref+":"+ref); err != nil {
		return "", ctx.Err()
	}
	return s.Ref(ctx, ref)
}
