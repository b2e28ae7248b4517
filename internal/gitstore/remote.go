package gitstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// RemoteOf returns the remote that a branch is pushed to, as git push chooses it: the branch's, or the only one.
func (s *Store) RemoteOf(ctx context.Context, branch string) (string, error) {
	return s.firstRemote(ctx, branch, "branch."+branch+".pushRemote", "remote.pushDefault", "branch."+branch+".remote")
}

// Upstream returns the remote that a branch comes from: another than RemoteOf, where one pushes to a fork.
func (s *Store) Upstream(ctx context.Context, branch string) (string, error) {
	return s.firstRemote(ctx, branch, "branch."+branch+".remote")
}

func (s *Store) firstRemote(ctx context.Context, branch string, keys ...string) (string, error) {
	for _, key := range keys {
		if name, set, err := s.Config(ctx, key); err != nil || set && name != "." {
			return name, err
		}
	}
	name, err := s.MainRemote(ctx)
	if err == nil && name == "" {
		err = fault.Refused("git config branch."+branch+".remote NAME",
			"nothing says which remote %s is pushed to", branch)
	}
	return name, err
}

// MainRemote names the remote that plans are shared with: wf.remote, else the only one, or origin; "" if that says
// nothing.
func (s *Store) MainRemote(ctx context.Context) (string, error) {
	_, main, err := s.remotes(ctx)
	return main, err
}

// remotes lists the remotes, as git's configuration has them, and names the main one.
func (s *Store) remotes(ctx context.Context) (names []string, main string, err error) {
	all, err := s.configuration(ctx)
	for _, kv := range all {
		if name, ok := strings.CutSuffix(kv[0], ".url"); ok && strings.HasPrefix(name, "remote.") {
			names = append(names, strings.TrimPrefix(name, "remote."))
		}
		if kv[0] == "wf.remote" {
			main = kv[1]
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case slices.Contains(names, main):
	case len(names) == 1:
		main = names[0]
	case slices.Contains(names, "origin"):
		main = "origin"
	default:
		main = ""
	}
	return names, main, err
}

// RemoteRef asks a remote for the value of a ref; "" if it has none.
func (s *Store) RemoteRef(ctx context.Context, remote, ref string) (plan.OID, error) {
	refs, err := s.remoteRefs(ctx, remote, ref)
	for _, r := range refs {
		if r.ref == ref { // longer names match, too
			return r.new, err
		}
	}
	return "", err
}

// remoteRefs asks a remote for the refs that match a pattern; new is what each one holds.
func (s *Store) remoteRefs(ctx context.Context, remote, pattern string) (refs []refChange, err error) {
	out, err := s.Git(ctx, "ls-remote", "--end-of-options", remote, pattern)
	for line := range strings.Lines(out) {
		oid, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		refs = append(refs, refChange{ref: name, new: plan.OID(oid)})
	}
	return refs, err
}

// RemoteTip asks a remote for the tip of a branch, "" if there is none, and fetches it if it is not here.
func (s *Store) RemoteTip(ctx context.Context, remote, branch string) (plan.OID, error) {
	heads, err := s.RemoteTips(ctx, remote, "refs/heads/"+branch)
	return heads["refs/heads/"+branch], err
}

// RemoteTips asks a remote for the refs that a pattern matches, and fetches what of them is not here.
func (s *Store) RemoteTips(ctx context.Context, remote, pattern string) (map[string]plan.OID, error) {
	refs, err := s.remoteRefs(ctx, remote, pattern)
	tips, absent := map[string]plan.OID{}, []string(nil)
	for _, r := range refs {
		tips[r.ref] = r.new
		if tree, _ := s.TreeOf(ctx, r.new); tree == "" {
			absent = append(absent, r.ref)
		}
	}
	if err == nil && len(absent) > 0 {
		err = s.fetch(ctx, remote, "--no-prune", absent...)
	}
	return tips, err
}

// PushRefs moves refs of a remote, all or none, each from exactly what it was to what it is to be.
func (s *Store) PushRefs(ctx context.Context, remote string, moves map[string][2]plan.OID) error {
	args, specs := []string{}, []string{"--end-of-options", remote}
	for ref, move := range moves {
		args = append(args, "--force-with-lease="+ref+":"+string(move[0]))
		specs = append(specs, string(move[1])+":"+ref)
	}
	refused, err := s.push(ctx, remote, append(args, specs...)...)
	if err == nil && refused != "" {
		err = fault.Refused("the same again, if somebody was faster", "%s does not take it: %s", remote, refused)
	}
	return err
}

// PushLanded pushes a commit as a branch together with a plan, both or neither. moved says that somebody else was
// faster: what they have pushed is fetched, and the plan goes on from it.
func (s *Store) PushLanded(ctx context.Context, remote, branch string, commit, theirs plan.OID,
	id plan.ID) (moved bool, err error) {
	_, err = s.Git(ctx, "push", "-q", "--atomic", "--end-of-options", remote, RefName(id)+":"+RefName(id),
		string(commit)+":refs/heads/"+branch)
	var refused *GitError
	if !errors.As(err, &refused) {
		return false, err
	}
	s.share.fetched.Store(0)
	if err := s.FetchPlans(ctx, remote); err != nil {
		return false, fmt.Errorf("nothing landed: %w", err)
	}
	before, _ := s.Tip(ctx, id)
	err = s.sayJoined(s.catchUp(ctx, remote, id))
	after, _ := s.Tip(ctx, id)
	now, err2 := s.RemoteTip(ctx, remote, branch)
	switch {
	case err != nil || err2 != nil:
		return false, fmt.Errorf("nothing landed: %w", cmp.Or(err, err2))
	case now != theirs || before != after:
		return true, nil
	}
	return false, fault.Refused("git wf doctor", "nothing landed: %s does not take it: %s", remote,
		firstSaid(refused.Stderr))
}

// MayAdvance fails if a file of the worktree that has a branch checked out is in the way of its move to a commit.
func (s *Store) MayAdvance(ctx context.Context, branch string, to plan.OID) error {
	ref := "refs/heads/" + branch
	if busy, err := s.busyBranch(ref, branch); err != nil || busy != "" {
		return cmp.Or(err, fault.Refused("git status", "%s: %s", branch, busy))
	}
	dir, err := s.worktreeOf(ctx, ref)
	if err != nil || dir == "" {
		return err
	}
	_, _ = s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"update-index", "-q", "--refresh"}})
	_, err = s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"read-tree", "-n", "-m", "-u", "HEAD", string(to)}})
	if err != nil {
		return inTheWay(branch, err)
	}
	return nil
}
