package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/check"
	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/forge"
	"gitwf/internal/gitstore"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// proposals are what a landing that proposes changes knows of them.
type proposals struct {
	upstream string                    // the remote that has the branch; Remote is the one that is pushed to
	owner    string                    // of the fork that is pushed to, and a colon
	root     plan.OID                  // the branch's tip at upstream
	heads    map[string]plan.OID       // the plan's branches at Remote
	forge    *forge.Forge              // nil: git alone
	of       map[plan.TaskID]*proposal // of each change
}

// proposal is a change that is or was proposed, and what became of it.
type proposal struct {
	arrival                    // in the version that is looked for, or proposed now: then it has a commit
	old     plan.Landing       // the newest record that proposes it
	pull    *forge.PullRequest // as it was found
	landed  *step              // where it did
	undone  *step              // where that was taken back
	other   *step              // that brought something else under its name
}

// proposedBranch is the branch that has a task's change.
func (l *landing) proposedBranch(task plan.TaskID) string {
	return fmt.Sprintf("%s%s/%s", policy.WorkBranches, l.snap.ID, task)
}

// head is what that branch has at the remote.
func (l *landing) head(task plan.TaskID) plan.OID {
	return l.heads["refs/heads/"+l.proposedBranch(task)]
}

// isNamed reports whether a person asks for just this task, which goes over what others have done.
func (l *landing) isNamed(task plan.TaskID) bool {
	return !l.options.Watch && slices.Contains(l.options.Tasks, task)
}

// hasLanded reports whether a branch has the commit with which a version landed, as its record says: the messages of
// pull requests are others'.
func (e *Engine) hasLanded(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, version int, tip plan.OID) (
	bool, error) {
	last, err := export.LastLanding(ctx, e.Store, snap, id, version)
	if err != nil || last.Commit == "" {
		return false, err
	}
	has, _ := e.Store.IsAncestor(ctx, last.Commit, tip) // what is not here is not below it
	return has, ctx.Err()
}

// beginProposing begins where the remote has the branch, and takes the branch here along.
func (l *landing) beginProposing(ctx context.Context) error {
	e, store := l.engine, l.engine.Store
	l.proposals = &proposals{of: map[plan.TaskID]*proposal{}}
	var err error
	if l.upstream, err = store.Upstream(ctx, l.Branch); err == nil {
		l.Remote, err = store.RemoteOf(ctx, l.Branch)
	}
	if err == nil {
		l.root, err = store.RemoteTip(ctx, l.upstream, l.Branch)
	}
	if err == nil && l.root == "" {
		err = fault.Refused("git config wf.branch NAME, if it has another name now",
			"%s is not at %s, so nothing can land on it there", l.Branch, plain.Quote(l.upstream))
	}
	if err == nil {
		l.heads, err = store.RemoteTips(ctx, l.Remote, "refs/heads/"+l.proposedBranch("*"))
	}
	if err == nil {
		err = l.readProposals(ctx)
	}
	if err != nil {
		return err
	}
	l.tip = l.root
	if isBehind, _ := store.IsAncestor(ctx, l.Before, l.root); isBehind && l.Before != l.root {
		if err := store.Advance(ctx, l.Branch, l.Before, l.root); err != nil {
			l.note("%s stays behind that of %s: %s", l.Branch, l.upstream, fault.Line(err))
		}
	}
	if m := e.addressOf(ctx, l.Remote); m != nil && l.upstream != l.Remote {
		l.owner = m[2] + ":"
	}
	l.forge, err = e.forgeOf(ctx, l.upstream)
	return err
}

// readProposals reads the newest proposal of each change for the branch, also by the name that it had before.
func (l *landing) readProposals(ctx context.Context) error {
	isThere := map[string]bool{l.Branch: true}
	for _, id := range l.snap.State().Changes() {
		p := &proposal{}
		l.of[id] = p
		docs, err := export.DocumentsOf(ctx, l.engine.Store, l.snap, id).Landings()
		for _, d := range docs {
			is, known := isThere[d.Branch]
			if d.Head != "" && !known && err == nil {
				var tip plan.OID
				tip, err = l.engine.Store.RemoteTip(ctx, l.upstream, d.Branch)
				is = tip != ""
				isThere[d.Branch] = is
			}
			if d.Head == "" || d.Branch != l.Branch && is {
				continue
			}
			if d.Base == d.Branch {
				d.Base = l.Branch
			}
			p.old, p.old.Branch = d, l.Branch
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note says something once.
func (l *landing) note(format string, args ...any) {
	l.Notes = each.Add(l.Notes, plain.Line(fmt.Sprintf(format, args...)))
}

// PullHead fetches what a pull request has.
func (e *Engine) PullHead(ctx context.Context, number int) (plan.OID, error) {
	remote, err := e.Store.MainRemote(ctx)
	tips, tipsErr := e.Store.RemoteTips(ctx, remote, fmt.Sprintf("refs/*/%d/head", number))
	for _, of := range []string{"pull", "merge-requests"} {
		if tip := tips[fmt.Sprintf("refs/%s/%d/head", of, number)]; tip != "" {
			return tip, tipsErr
		}
	}
	none := fault.Refused("git ls-remote "+remote, "%s has no pull request %d", plain.Quote(remote), number)
	return "", cmp.Or(err, tipsErr, none)
}

// Issue asks the forge for an issue, as JSON in GitHub's words.
func (e *Engine) Issue(ctx context.Context, number string) ([]byte, error) {
	remote, err := e.Store.MainRemote(ctx)
	f, forgeErr := e.forgeOf(ctx, remote)
	if err = cmp.Or(err, forgeErr); err != nil || f == nil {
		return nil, cmp.Or(err, fault.Usage("git config wf.forge gh", "wf.forge is none, and has no issues"))
	}
	return f.Issue(ctx, number)
}

// forgeOf finds the program of a remote's forge, by wf.forge or by the address; nil if none is to be asked.
func (e *Engine) forgeOf(ctx context.Context, remote string) (*forge.Forge, error) {
	name, set, err := e.Store.Config(ctx, "wf.forge")
	if m := e.addressOf(ctx, remote); !set && m != nil && strings.Contains(m[1], "gitlab") {
		name = "glab"
	}
	switch f := (&forge.Forge{Program: cmp.Or(name, "gh"), Dir: e.repo(), Environ: e.Environ}); f.Program {
	case "none":
		return nil, err
	case "gh", "glab":
		return f, err
	}
	return nil, fault.Usage("git config wf.forge gh", "wf.forge is %s, not gh, glab or none", plain.Quote(name))
}

// remoteURL is the form of forges' addresses: a host, an owner, which may have groups, and a name.
var remoteURL = pattern.Compile(
	`^(?:\w+://)?(?:[^@/]*@)?([\w-]+\.[\w.-]+)(?::\d+)?[:/]([\w./~-]+)/([\w.-]+?)(?:\.git)?$`)

// addressOf is the address of a remote in its parts, nil if it has another form.
func (e *Engine) addressOf(ctx context.Context, remote string) []string {
	at, _, _ := e.Store.Config(ctx, "remote."+remote+".url")
	return remoteURL.Get().FindStringSubmatch(at)
}

// mayPropose reports whether a change is to be proposed now, or again: not if it waits for a person.
func (l *landing) mayPropose(id plan.TaskID) bool {
	old, t := l.of[id].old, l.snap.State().Tasks[id]
	if old.State != "" && old.ArtifactID == plan.VersionID(t.Approved) && !l.isNamed(id) &&
		l.there[id].Version != old.ArtifactID {
		l.held[id] = "waits for a person"
	}
	return l.held[id] == "" && (!l.options.Watch || old.Head != "" && t.Status == plan.StatusDone)
}

// below are the changes proposed in this round that one builds on, the lowest first.
func (l *landing) below(task plan.TaskID) []arrival {
	return each.Pick(l.snap.State().Changes(task), func(id plan.TaskID) (arrival, bool) {
		return l.of[id].arrival, id != task && l.of[id].commit != ""
	})
}

// standOn puts the tip where a change to be proposed goes: on top of what it builds on, or else on the branch. It
// refuses a change without one such place.
func (l *landing) standOn(ctx context.Context, c arrival) (err error) {
	below := l.below(c.TaskID)
	l.tip, l.landed = l.root, append(l.landed[:l.checked:l.checked], below...)
	if n := len(below); n > 0 {
		if l.tip = below[n-1].commit; len(l.below(below[n-1].TaskID)) < n-1 {
			names := each.Of(below, func(b arrival) string { return string(b.TaskID) })
			l.silent[c.TaskID] = true
			l.refuse(l.doc(c), fmt.Sprintf("it builds on %s, which are proposed side by side: it follows when all but "+
				"one have landed", strings.Join(names, " and ")))
		}
	}
	if err = l.batch.Flush(ctx); err == nil {
		l.tipTree, err = l.engine.Store.TreeOf(ctx, l.tip)
	}
	l.tree = l.tipTree
	return err
}

// propose makes the commit that is proposed, unless the one that was proposed before still serves: who has looked at a
// pull request need not look again.
func (l *landing) propose(ctx context.Context, c arrival, draft gitstore.NewCommit, v verdict) (err error) {
	p, doc, below := l.of[c.TaskID], l.doc(c), l.below(c.TaskID)
	doc.On, doc.Criteria, doc.Base, doc.Head, doc.URL = l.root, v.results, l.Branch, p.old.Head, p.old.URL
	if n := len(below); n > 0 && l.upstream == l.Remote {
		doc.Base = l.proposedBranch(below[n-1].TaskID)
	}
	if own := l.ownCommits(ctx, p.old.Head, l.tip); p.old.ArtifactID != c.ArtifactID || len(own) != 1 {
		doc.Head, err = l.batch.AddUserCommit(ctx, draft, l.engine.Now())
	}
	p.arrival, l.Tasks = c, append(l.Tasks, doc)
	p.commit, p.at = doc.Head, l.engine.Now()
	return err
}

// ownCommits are the commits that another has not. Merges, such as forges' buttons make, bring what is elsewhere.
func (l *landing) ownCommits(ctx context.Context, of, on plan.OID) []string {
	out, _ := l.engine.Store.Git(ctx, "rev-list", "--no-merges", string(of), "--not", string(on))
	return strings.Fields(out)
}

// publish pushes the plan and the branches, and has the forge show them.
func (l *landing) publish(ctx context.Context) error {
	moves := map[string][2]plan.OID{}
	for _, d := range l.Tasks {
		if has := l.head(d.TaskID); d.Head != "" && d.State == "" && has != d.Head {
			moves["refs/heads/"+l.proposedBranch(d.TaskID)] = [2]plan.OID{has, d.Head}
		}
	}
	err := l.engine.Store.Share(ctx, l.Remote, l.snap.ID)
	if err == nil && len(moves) > 0 {
		err = l.engine.Store.PushRefs(ctx, l.Remote, moves)
	}
	for i := range l.Tasks {
		if d := &l.Tasks[i]; d.Head != "" && d.State == "" && err == nil {
			err = l.show(ctx, d, l.proposedBranch(d.TaskID))
		}
	}
	return err
}

// find asks the forge for the pull request of a proposal. If it can't say, git alone tells from then on.
func (l *landing) find(ctx context.Context, p *proposal, d *plan.Landing) {
	if l.forge != nil && p.pull == nil {
		var err error
		p.pull, err = l.forge.Find(ctx, l.owner+l.proposedBranch(d.TaskID), d.CreatedAt, string(d.Head),
			string(l.head(d.TaskID)))
		if err != nil {
			l.note("%s", fault.Line(err))
			l.forge = nil
		}
	}
}

// show makes the pull request of a proposal, or brings the one that is there up to date. What the forge refuses is
// noted: the branch is there.
func (l *landing) show(ctx context.Context, d *plan.Landing, branch string) error {
	p := l.of[d.TaskID]
	body, err := l.text(ctx, p.arrival)
	if err != nil {
		return err
	}
	l.find(ctx, p, d)
	if l.forge != nil {
		if p.pull == nil || p.pull.State != "open" {
			_, err = l.forge.Ask(ctx, "create", "BRANCH", l.owner+branch, "BASE", d.Base, "BODY", body,
				"TITLE", plain.Line(fmt.Sprintf("%s: %s", d.TaskID, p.task.Title)))
			if err == nil {
				p.pull, err = l.forge.Find(ctx, l.owner+branch, d.CreatedAt)
			}
		} else {
			theirs, _, has := strings.Cut(p.pull.Body, textBegins)
			if body = theirs + body; !has {
				body = theirs
			}
			if p.pull.Base != d.Base || p.pull.Body != body {
				_, err = l.forge.Ask(ctx, "update", "N", p.pull.Number, "BASE", d.Base, "BODY", body)
			}
		}
		if err == nil && l.options.Auto && len(l.below(d.TaskID)) == 0 && p.pull != nil {
			err = l.forge.Queue(ctx, p.pull.Number, string(d.Head))
		}
		if err != nil {
			l.note("%s", fault.Line(err))
		}
	}
	if p.pull != nil {
		d.URL = cmp.Or(p.pull.URL, d.URL)
	}
	if d.URL == "" { // a person opens it
		where := fmt.Sprintf("of %s into %s at %s", branch, d.Base, l.upstream)
		if m := l.engine.addressOf(ctx, l.upstream); m != nil {
			where = fmt.Sprintf("https://%s/%s/%s/compare/%s...%s%s", m[1], m[2], m[3], d.Base, l.owner, branch)
		}
		l.note("open a pull request: %s", where)
	}
	return ctx.Err()
}

// mostText is a length in characters that forges, and the arguments of a program, take.
const mostText = 30_000

// textBegins is where our part of a pull request's text begins. Who removes it keeps theirs.
const textBegins = "<!-- git wf keeps what follows up to date -->"

// text is what a pull request says: what is asked for, by what it was approved, and how the plan stands. Nothing in it
// can name others.
func (l *landing) text(ctx context.Context, c arrival) (string, error) {
	s := l.snap.State()
	review, err := export.ApprovedBy(ctx, l.engine.Store, l.snap, c.TaskID, plan.VersionNumber(c.ArtifactID))
	text := fmt.Sprintf("%s\n%s\n\n%s\n## Plan `%s`\n\n", textBegins, check.Inline(c.task.Description),
		check.File(review), l.snap.ID)
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		text += fmt.Sprintf("- %s: %s (%s)\n", id, check.Inline(s.Tasks[id].Title), s.Tasks[id].Status)
	}
	return strings.TrimSpace(plain.Clip(l.engine.Secrets().Text(text), mostText)), err
}
