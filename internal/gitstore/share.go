package gitstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// A plan is shared with a remote whose remote-tracking ref of it exists. While the remote answers, what is recorded in
// a shared plan is pushed at once, never by force: events to the plan's ref, a claim as a ref that nobody else may have
// made. Without a connection a shared plan is like any other, until git wf sync joins what both sides have recorded.

const (
	silence   = 4 * time.Second        // after which a remote that has said nothing is taken for dead
	slowest   = 2 * time.Minute        // for which one that has said something may say no more
	deadTime  = 60                     // seconds for which a dead one is not asked again
	newsTime  = 5                      // seconds for which what was fetched is taken for news
	pushDelay = 500 * time.Millisecond // in which events are collected for one push
)

// shares is what a Store has to do for shared plans.
type shares struct {
	pushing sync.Mutex   // held while events are pushed, so that Close waits for it
	fetched atomic.Int64 // when plans were fetched, in Unix time
	lost    atomic.Int64 // when a remote did not answer
	said    sync.Map

	mu      sync.Mutex
	changed map[plan.ID][]refChange // plans with new events, and the claims that ended with them
}

// Shared is how a plan stands beside its remote, as that was seen last.
type Shared struct {
	Remote string    `json:"remote"`
	Ahead  int       `json:"ahead"`           // events here that were not there
	Behind int       `json:"behind"`          // events there that are not here
	Seen   time.Time `json:"seen,omitzero"`   // zero if nobody knows when
	Aside  []string  `json:"aside,omitempty"` // what joins of the newest events set aside, in a line each
	policy bool      // it is the policy
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
	mend := "git wf sync"
	switch {
	case !sh.policy: // sync joins plans alone
	case sh.Ahead == 0:
		mend = fmt.Sprintf("git fetch %s %s:%[2]s", sh.Remote, PolicyRef)
	case sh.Behind == 0:
		mend = fmt.Sprintf("git push %s %s", sh.Remote, PolicyRef)
	default:
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
		c, err := s.lookCommit(ctx, string(tip))
		if tip = c.parent; err != nil || tip == "" {
			break
		}
	}
	return 0
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

// errLost says that a remote did not answer, which its user knows already.
var errLost = fault.Refused("git wf sync", "the plan was not pushed: offline, or the remote does not answer")

// sayError says once, in a line, why a shared plan and its remote differ.
func (s *Store) sayError(err error) {
	if err == nil || errors.Is(err, errLost) {
		return
	}
	text := err.Error()
	if f := fault.Fault(nil); errors.As(err, &f) {
		_, hint := f.Exit()
		text += ": " + hint
	}
	s.say(text)
}

// say tells who waits, once.
func (s *Store) say(text string) {
	if _, said := s.share.said.LoadOrStore(text, true); !said && s.Notice != nil {
		s.Notice(text)
	}
}

// offline reports whether no remote is to be asked now.
func (s *Store) offline(ctx context.Context) bool {
	value, _, err := s.Config(ctx, "wf.offline")
	return s.Offline || err != nil || isTrue(value) || time.Now().Unix()-s.share.lost.Load() < deadTime
}

// listener is called when something is written to it.
type listener func()

func (l listener) Write(p []byte) (int, error) {
	l()
	return len(p), nil
}

// connect runs a git that asks a remote. It asks the user nothing, and gives up on a silent remote: then reached is
// false, and the user knows. said is a line of what the remote or git said.
func (s *Store) connect(ctx context.Context, remote string, args ...string) (out, said string, reached bool) {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(silence, stop)
	defer timer.Stop()
	data, stderr, err := runGitSaying(asking, Invocation{Dir: s.dir,
		Args:  append([]string{"-c", "core.hooksPath=/dev/null", "-c", "maintenance.auto=false"}, args...),
		Env:   []string{"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=force"},
		heard: listener(func() { timer.Reset(slowest) })})
	said = firstSaid(stderr)
	const fatal = 128
	if code := exitCode(err); err == nil || code > 0 && code != fatal {
		mark := s.seenMark(remote)
		if os.MkdirAll(filepath.Dir(mark), 0o777) == nil {
			_ = os.WriteFile(mark, nil, 0o666) // it only dates what is shown
		}
		return string(data), said, true
	}
	if ctx.Err() == nil {
		s.share.lost.Store(time.Now().Unix())
		said = cmp.Or(said, "it is silent")
		s.sayError(fmt.Errorf("%s can't be reached (%s); git wf sync joins later", remote, said))
	}
	return "", "", false
}

// firstSaid is the first line of why something was refused, by the remote if it said so.
func firstSaid(stderr string) string {
	for _, mark := range []string{"remote: error:", "remote:", "fatal:", "error:"} {
		if _, rest, ok := strings.Cut("\n"+stderr, "\n"+mark); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			return strings.TrimSpace(first)
		}
	}
	return ""
}

// push pushes without force, all or nothing. refused says why the remote took nothing, as far as it said; without a
// connection reached is false.
func (s *Store) push(ctx context.Context, remote string, args ...string) (refused string, reached bool) {
	out, said, reached := s.connect(ctx, remote, append([]string{"push", "--porcelain", "--progress", "--atomic",
		"--no-follow-tags", "--recurse-submodules=no"}, args...)...)
	if strings.Contains("\n"+out, "\n!") { // git's form for programs
		refused = cmp.Or(said, "it gives no reason")
	}
	return refused, reached
}

// FetchPlans fetches a remote's plans and policy to their remote-tracking refs, unless it was done just now. reached is
// false if the remote did not answer.
func (s *Store) FetchPlans(ctx context.Context, remote string) (reached bool) {
	if remote == "" || s.offline(ctx) {
		return false
	}
	return time.Now().Unix()-s.share.fetched.Load() < newsTime || s.fetchPlans(ctx, remote)
}

func (s *Store) fetchPlans(ctx context.Context, remote string) (reached bool) {
	// Not all may be taken, such as a name that this file system can't tell from another's.
	_, _, reached = s.connect(ctx, remote, "fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-prune",
		"--no-recurse-submodules", "--end-of-options", remote, "+"+planRefs+"*:"+fetchedRefs+remote+"/*")
	if reached {
		s.share.fetched.Store(time.Now().Unix())
	}
	return reached
}

// Adopt makes refs of the plans and the policy of a remote that are not here yet, as they were fetched. found is how
// many plans the remote has. What the hooks refuse stays where it is.
func (s *Store) Adopt(ctx context.Context, remote string) (found int, err error) {
	prefix := fetchedRefs + remote + "/"
	refs, err := s.Refs(ctx, prefix, strings.TrimSuffix(planRefs, "/"))
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(refs))) { // the policy first: it binds the others
		fetched, ok := strings.CutPrefix(name, prefix)
		id := plan.ID(fetched)
		if !ok || id != policyName && (!id.Valid() || id.Throwaway()) {
			continue
		}
		if id != policyName {
			found++
		}
		if refs[RefName(id)] == "" {
			_, err := s.Git(ctx, "update-ref", "-m", "from "+remote, "--create-reflog", RefName(id), string(refs[name]),
				strings.Repeat("0", len(refs[name])))
			if refused := (*GitError)(nil); errors.As(err, &refused) {
				err = fault.Refused("git wf doctor", "what %s has of %s is not taken: %s", remote, id,
					firstSaid(refused.Stderr))
			}
			s.sayError(err)
		}
	}
	return found, cmp.Or(err, ctx.Err())
}

// Refresh has a shared plan go on from what its remote has, if that answers and nothing is to be joined.
func (s *Store) Refresh(ctx context.Context, id plan.ID) {
	if remote, _ := s.SharedWith(ctx, id); remote != "" && s.FetchPlans(ctx, remote) {
		_, err := s.catchUp(ctx, remote, id)
		s.sayError(err)
	}
}

// catchUp brings a plan together with what was fetched of it. ahead says that the remote lacks some of it then.
func (s *Store) catchUp(ctx context.Context, remote string, id plan.ID) (ahead bool, err error) {
	theirs, err := s.commit(ctx, fetchedRefs+remote+"/"+string(id))
	own, err2 := s.commit(ctx, RefName(id))
	if err != nil || err2 != nil || own.oid == theirs.oid {
		return errors.Is(err, ErrNoPlan), err2
	}
	done, err := s.Join(ctx, id, theirs.oid, time.Now())
	if err != nil {
		return false, err
	}
	s.dropEnded(ctx, id)
	for _, a := range done.Aside {
		s.say(a.String())
	}
	return done.Tip != theirs.oid, nil
}

// dropEnded removes claims whose work was recorded by the clone that had them: they are copies of what was at a remote.
func (s *Store) dropEnded(ctx context.Context, id plan.ID) {
	claims, err := s.Claims(ctx, id)
	if err != nil || len(claims) == 0 {
		return
	}
	snap, err := s.Snapshot(ctx, id)
	for task, c := range claims {
		if err == nil && !c.Vacant() && c.Number <= snap.State().ClaimsEnded(task) {
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
		time.AfterFunc(pushDelay, s.pushChanged)
	}
	s.share.changed[id] = append(s.share.changed[id], ended...)
}

// pushChanged pushes the plans that have new events.
func (s *Store) pushChanged() {
	s.share.pushing.Lock()
	defer s.share.pushing.Unlock()
	s.share.mu.Lock()
	changed := s.share.changed
	s.share.changed = nil
	s.share.mu.Unlock()
	ctx := context.Background()
	for id, ended := range changed {
		if remote, _ := s.SharedWith(ctx, id); remote != "" && !s.offline(ctx) {
			s.sayError(s.pushPlan(ctx, remote, id, ended...))
		}
	}
}

// Share pushes a plan, and the policy: from then on the plan is shared with that remote.
func (s *Store) Share(ctx context.Context, remote string, id plan.ID) error {
	if !s.FetchPlans(ctx, remote) {
		return errLost
	}
	if refused, _ := s.push(ctx, remote, "--end-of-options", remote, PolicyRef); refused != "" { // there may be none
		return fault.Refused("git wf doctor", "%s does not take the policy: %s", remote, refused)
	}
	return s.pushPlan(ctx, remote, id)
}

// pushPlan pushes a plan, and the end of claims. Where somebody else was faster it takes what they have recorded.
func (s *Store) pushPlan(ctx context.Context, remote string, id plan.ID, ended ...refChange) error {
	tracking := fetchedRefs + remote + "/" + string(id)
	for {
		own, err := s.commit(ctx, RefName(id))
		before, _ := s.commit(ctx, tracking)
		if err != nil || before.oid == own.oid && len(ended) == 0 {
			return err
		}
		args := []string{"--end-of-options", remote, string(own.oid) + ":" + RefName(id)}
		for _, end := range ended {
			lease := "--force-with-lease=" + end.ref + ":" + string(end.old)
			args = append([]string{lease}, append(args, ":"+end.ref)...)
		}
		switch refused, reached := s.push(ctx, remote, args...); {
		case !reached || refused != "" && !s.fetchPlans(ctx, remote):
			return errLost
		case refused == "":
			_, err := s.Git(ctx, "update-ref", tracking, string(own.oid)) // git did, if init has set it up
			return err
		default:
			if ahead, err := s.catchUp(ctx, remote, id); err != nil || !ahead {
				return err
			}
			if after, _ := s.commit(ctx, tracking); after.oid == before.oid && len(ended) == 0 {
				return fault.Refused("git wf doctor", "%s does not take %s: %s", remote, id, refused)
			}
			ended = nil // the remote may not know the claim
		}
	}
}

// shareClaim makes a claim of a shared plan known at its remote: as a new ref, or in the place of exactly the one that
// it replaces, or that it is gone. If somebody else has the task, their claim takes the place of ours, and the error
// names it.
func (s *Store) shareClaim(ctx context.Context, change refChange) error {
	id, task, _ := strings.Cut(strings.TrimPrefix(change.ref, claimRefs), "/")
	remote, _ := s.SharedWith(ctx, plan.ID(id))
	if remote == "" || s.offline(ctx) {
		return nil
	}
	for range 2 {
		refused, reached := s.push(ctx, remote, "--force-with-lease="+change.ref+":"+string(change.old),
			"--end-of-options", remote, string(change.new)+":"+change.ref)
		if !reached || refused == "" || change.new == "" {
			return nil
		}
		there, err := s.fetchClaim(ctx, remote, change.ref)
		switch {
		case err != nil || there == change.new:
			return err
		case there != "":
			held, _, err := s.claim(ctx, plan.ID(id), plan.TaskID(task))
			return errors.Join(err, &ClaimedError{held.Claim})
		}
		change.old = "" // ours was made without a connection
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
