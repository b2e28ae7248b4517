package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/forge"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// step is a commit of the branch, with the tree before it.
type step struct {
	gitstore.BranchStep
	before plan.OID
	isNear bool // to the tip: git is asked, too, what a conflict comes to, which takes a process each
}

const nearTip = 200

// lookAfter looks what became of the proposals of a plan. One has landed where a commit of the branch has just what the
// version makes of the commit before it; the forge and messages only say where to look. What was merged otherwise is
// the next version; what reviewers and checks ask for sets the version aside.
func (l *landing) lookAfter(ctx context.Context) error {
	all, err := l.watch(ctx)
	for _, p := range slices.Backward(all) { // what is set aside takes along what builds on it
		if err == nil {
			err = l.settle(ctx, p)
		}
		if err == nil {
			l.snap, err = l.engine.Store.Snapshot(ctx, l.snap.ID)
		}
	}
	return err
}

// isHere reports whether a commit is in this repository.
func (l *landing) isHere(ctx context.Context, commit plan.OID) bool {
	tree, _ := l.engine.Store.TreeOf(ctx, commit)
	return tree != ""
}

// watch finds what is proposed, and where it landed.
func (l *landing) watch(ctx context.Context) (all []*proposal, err error) {
	s, store, from := l.snap.State(), l.engine.Store, []plan.OID{l.root}
	for _, id := range s.Changes() {
		p := l.of[id]
		if p.old.Head == "" {
			continue
		}
		// A newer version may have been made of what was merged.
		version := max(plan.VersionNumber(p.old.ArtifactID), s.Tasks[id].Approved)
		v, _ := l.snap.Records.Of(id).Version(version)
		p.arrival = arrival{snap: l.snap, task: s.Tasks[id], Artifact: plan.Artifact{TaskID: id, Tree: v.Files,
			ArtifactID: plan.VersionID(version)}}
		isNext := l.snap.Records.Of(id).Proposed(version) || p.ArtifactID != p.old.ArtifactID
		if !l.isNamed(id) && isNext && p.old.State != "reverted" {
			l.find(ctx, p, &p.old)
		}
		if all = append(all, p); l.isHere(ctx, p.old.On) {
			from = append(from, p.old.On)
		}
	}
	fork, err := store.Fork(ctx, from...)
	if err != nil || fork == "" || len(all) == 0 {
		return all, err
	}
	steps, err := store.Steps(ctx, fork, l.root, "--first-parent", "--min-parents=1")
	for i, at := range steps {
		st := &step{BranchStep: at, isNear: len(steps)-i <= nearTip}
		if st.before, err = store.TreeOf(ctx, at.Parent); err != nil {
			return nil, err
		}
		for _, p := range all {
			if err = l.compare(ctx, p, st); err != nil {
				return nil, err
			}
		}
	}
	return all, err
}

// compare looks whether a step of the branch is where a change landed, or was taken back.
func (l *landing) compare(ctx context.Context, p *proposal, st *step) error {
	if p.landed != nil {
		tree, err := l.with(ctx, p, st.before, true, st.isNear)
		if tree == st.Tree {
			p.undone, p.landed = st, nil
		}
		return err
	}
	isNamed := p.pull != nil && p.pull.Merged == string(st.Commit) || slices.Contains(gitstore.Brings(st.Message),
		gitstore.Brought{Plan: l.snap.ID, Task: p.TaskID, Artifact: p.ArtifactID})
	for _, changes := range [][]*proposal{l.stack(p), {p}} { // a stack may be merged as one
		tree, err := st.before, error(nil)
		for _, p := range changes {
			if tree != "" && err == nil {
				tree, err = l.with(ctx, p, tree, false, st.isNear || isNamed)
			}
		}
		if err != nil {
			return err
		} else if tree == st.Tree && tree != st.before {
			for _, p := range changes {
				p.landed, p.other, p.undone = st, nil, nil
			}
			return nil
		}
	}
	if isNamed {
		p.other = st
	}
	return nil
}

// stack is a proposal with what it builds on and has not landed, the lowest first.
func (l *landing) stack(p *proposal) []*proposal {
	return each.Pick(l.snap.State().Changes(p.TaskID), func(id plan.TaskID) (*proposal, bool) {
		return l.of[id], l.of[id].old.Head != "" && l.of[id].landed == nil
	})
}

// isForeign reports whether somebody changed a proposal's branch: it has more than the branch below it and the stack.
// Who brings it up to date or rebases it changes nothing.
func (l *landing) isForeign(ctx context.Context, p *proposal, head plan.OID) bool {
	if head == "" || head == p.old.Head {
		return false
	}
	base, err := l.engine.Store.Fork(ctx, head, l.root)
	tree, treeErr := l.engine.Store.TreeOf(ctx, base)
	has, hasErr := l.engine.Store.TreeOf(ctx, head)
	err = cmp.Or(err, treeErr, hasErr)
	for _, below := range l.stack(p) {
		was := *below
		v, _ := l.snap.Records.Of(was.TaskID).Version(plan.VersionNumber(was.old.ArtifactID))
		if was.Tree = v.Files; err == nil && tree != "" {
			tree, err = l.with(ctx, &was, tree, false, true)
		}
	}
	return err != nil || tree != has
}

// with is what a tree becomes with a change, or without it: by our merge or, where that finds a conflict, by git's,
// which follows renames. It is "" if that can't be, or is there already.
func (l *landing) with(ctx context.Context, p *proposal, tree plan.OID, isBack, asksGit bool) (plan.OID, error) {
	apply := l.batch.ApplyChange
	if isBack {
		apply = l.batch.RevertChange
	}
	next, conflicts, err := apply(ctx, p.Tree, tree)
	if err == nil && len(conflicts) > 0 {
		if next = ""; asksGit {
			next, err = l.byGit(ctx, p, tree, isBack)
		}
	}
	if next == tree {
		next = ""
	}
	return next, err
}

// byGit is the tree to which git's own merge brings a change, or from which it takes it back; "" if it can't.
func (l *landing) byGit(ctx context.Context, p *proposal, ours plan.OID, isBack bool) (plan.OID, error) {
	before, err := l.engine.Store.Resolve(ctx, string(p.old.Head)+"^^{tree}")
	if err != nil {
		return "", ctx.Err() // what was proposed is not here
	}
	after, conflicts, err := l.batch.ApplyChange(ctx, p.Tree, before)
	if err != nil || len(conflicts) > 0 {
		return "", err
	}
	if isBack {
		before, after = after, before
	}
	return l.batch.MergedTree(ctx, before, ours, after)
}

// settle says what became of a proposal.
func (l *landing) settle(ctx context.Context, p *proposal) error {
	s, doc, old := l.snap.State(), l.doc(p.arrival), &p.old
	records, version := s.Records.Of(p.TaskID), plan.VersionNumber(p.ArtifactID)
	isApproved := s.VersionVerdict(p.TaskID, p.ArtifactID) == plan.Approved
	isCurrent, isNewer := s.Tasks[p.TaskID].Status == plan.StatusDone && isApproved, p.ArtifactID != old.ArtifactID
	switch {
	case p.undone == nil && records.Landed(version) && !records.Proposed(version): // known
		return nil
	case p.landed != nil && !isApproved:
		l.note("%s %s was merged, although it was set aside: the next version builds on it", p.TaskID, p.ArtifactID)
		return nil
	case p.landed != nil:
		doc.Commit, doc.On = p.landed.Commit, p.landed.Parent
		l.Tasks = append(l.Tasks, doc)
		return nil
	case p.undone != nil:
		doc.State, doc.Seen = "reverted", p.undone.Commit
	case !isCurrent || l.isNamed(p.TaskID) && (p.other == nil || isNewer): // or a person's word is on its way
		return nil
	case p.other != nil && !isNewer:
		return l.takeMerged(ctx, p)
	default:
		pull := cmp.Or(p.pull, &forge.PullRequest{Base: old.Base})
		doc.Seen = l.head(p.TaskID)
		isForeign := l.isForeign(ctx, p, doc.Seen)
		switch {
		case isNewer && isForeign && doc.Seen != old.Seen && pull.State != "merged":
			l.keepBack(p, fmt.Sprintf("somebody pushed %.12s to its branch", doc.Seen))
			return nil
		case isNewer && pull.State == "closed" && old.State != "closed":
			l.keepBack(p, "the pull request of "+old.ArtifactID+" was closed")
			return nil
		case isNewer: // which is proposed next
			return nil
		case pull.State == "merged" || pull.State == "closed":
			doc.State = pull.State
		case doc.Seen == "":
			doc.State = "gone"
		case isForeign:
			doc.State = "pushed"
		case pull.Base != old.Base && (pull.Base != l.Branch || len(l.stack(p)) > 1): // not as forges do
			doc.State = "moved"
		case len(pull.Findings) > 0:
			return l.sendBack(ctx, p, fmt.Sprintf("pull request %s asks for changes", pull.Number), pull.Findings)
		default: // as it is there, perhaps brought up to date with the branch
			old.Head = doc.Seen
		}
	}
	if old.State, old.Seen = doc.State, doc.Seen; old.State != "" {
		doc.Head, doc.Base, doc.URL, doc.On = old.Head, old.Base, old.URL, old.On
		l.Tasks = append(l.Tasks, doc)
	}
	return nil
}

// keepBack leaves a new version out, since what is proposed is not as it was left.
func (l *landing) keepBack(p *proposal, why string) {
	l.held[p.TaskID] = fmt.Sprintf("waits: %s; git wf land --pr %s proposes it all the same", why, p.TaskID)
	l.Kept = append(l.Kept, KeptBack{p.TaskID, p.ArtifactID, l.held[p.TaskID]})
}

// sendBack sets a version aside, with what is to be changed.
func (l *landing) sendBack(ctx context.Context, p *proposal, why string, findings []string) error {
	again, err := l.engine.redo(ctx, l.snap, l.snap.State(), []Again{{TaskID: p.TaskID, Reason: why + ":\n" +
		strings.Join(findings, "\n"), findings: findings}})
	if err == nil {
		err = l.engine.MakeAgain(ctx, l.snap.ID, again, why)
	}
	if err == nil {
		l.note("%s %s is to be made again: %s: %s", p.TaskID, p.ArtifactID, why,
			strings.Join(plain.Some(findings, 3, plain.Line), "; "))
	}
	return err
}

// takeMerged makes what was merged instead of a version the next version, which awaits its review.
func (l *landing) takeMerged(ctx context.Context, p *proposal) error {
	err := l.sendBack(ctx, p, fmt.Sprintf("%.12s on %s has something else", p.other.Commit, l.Branch),
		[]string{"It was merged with other content, which is the next version."})
	if err == nil {
		_, err = l.engine.Submit(ctx, l.snap.ID, Submission{Task: p.TaskID, Person: AgentActor(l.upstream),
			Message: firstLine(p.other.Message), Commit: string(p.other.Commit), On: p.other.Parent})
	}
	return err
}
