package gitstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Git itself signs commits, with the key and the program of the user's configuration. It signs where commit.gpgSign
// asks for it, and where an event must be proven to count: an approval under a policy with keys, and a change of a
// policy with maintainers. Such a commit is checked before a ref moves to it, so that nobody learns later that their
// approval is worthless. Where nothing needs a signature, nothing is started.

// signing says why and for whom a commit is signed.
type signing struct {
	keys []policy.Key // keys that may prove it; none if only the user's configuration asks for a signature
	// refuse returns why the event would not count even if this key signed it, "" if it counts.
	refuse func(signer string) string
	by     string // what asks for a signature, "" is commit.gpgSign
}

// commitDraft is a commit that is not written yet.
type commitDraft struct {
	tree              plan.OID
	parents           []plan.OID // "" is none
	author, committer plan.Actor
	made, when        string // times of the author and of the committer, as timeOf writes them
	message           string
}

// text is the commit without a signature, as git stores it.
func (d commitDraft) text() string {
	parent := ""
	for _, p := range d.parents {
		if p != "" {
			parent += fmt.Sprintf("parent %s\n", p)
		}
	}
	return fmt.Sprintf("tree %s\n%sauthor %s %s\ncommitter %s %s\n\n%s", d.tree, parent, ident(d.author), d.made,
		ident(d.committer), d.when, d.message)
}

// timeOf is a commit's time as git stores it.
func timeOf(t time.Time) string { return fmt.Sprintf("%d %s", t.Unix(), t.Local().Format("-0700")) }

const setSigning = "git config gpg.format ssh; git config user.signingKey ~/.ssh/id_ed25519.pub"

// signingOf says how to sign the commit of a change; nil means not at all.
func (a *appending) signingOf(ctx context.Context, author plan.Actor, change plan.Change) (*signing, error) {
	if err := a.s.prepareWriting(ctx); err != nil {
		return nil, err
	}
	kind, reviewer := change.Trailer("Wf-Event"), change.Trailer("Wf-Agent")
	if a.policy != nil {
		if len(a.policy.Maintainers) > 0 {
			return a.policySigning()
		}
	} else if kind == plan.EventPruned {
		if s, err := a.pruneSigning(ctx); s != nil || err != nil {
			return s, err
		}
	} else if change.Trailer("Wf-Verdict") == string(plan.Approved) &&
		!plan.TaskID(change.Trailer("Wf-Task")).MakesPlans() {
		p, err := a.s.demands(ctx)
		if err != nil {
			return nil, err
		}
		if len(p.Keys) > 0 {
			return &signing{p.Keys, func(signer string) string {
				if p.Vouches(signer, reviewer, cleanActor(author)) {
					return ""
				}
				return fmt.Sprintf("the commit is signed with the key of %s, which does not make an "+
					"approval by %s count", signer, reviewer)
			}, ""}, nil
		}
	}
	if author == a.person && change.Trailer("Wf-Verdict") != "" {
		// one setting that asks for it is enough: none takes it back, not on git's command line either
		all, err := a.s.Settings(ctx, "wf.approval")
		if err != nil || slices.Contains(all, [2]string{"wf.approval", "signed"}) {
			return &signing{by: "wf.approval wants a person's verdict signed"}, err
		}
	}
	if a.s.writing.signs && (author == a.person || change.Trailer("Wf-Verdict") != "" || kind == plan.EventWaiver ||
		kind == plan.EventVerdicts) {
		return &signing{}, nil
	}
	return nil, nil
}

// policySigning says how to sign a change of a policy that names its maintainers.
func (a *appending) policySigning() (*signing, error) {
	if len(a.policy.Keys) > 0 {
		return &signing{keys: a.policy.Keys,
			refuse: func(signer string) string { return a.policy.MayChange(a.person.Name, signer) }}, nil
	}
	if why := a.policy.MayChange(a.person.Name, ""); why != "" {
		return nil, unproven(why, "git wf policy show")
	}
	if a.s.writing.signs {
		return &signing{}, nil
	}
	return nil, nil
}

// demands is the policy's current document.
func (s *Store) demands(ctx context.Context) (*policy.Policy, error) {
	c, err := s.lookCommit(ctx, PolicyRef)
	if errors.Is(err, ErrNoPlan) {
		return &policy.Policy{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	var p *policy.Policy
	data, err := s.ReadFile(ctx, c.oid, policyFile)
	if err == nil {
		p, err = policy.Decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy %.12s: %w", c.oid, err)
	}
	return p, nil
}

// addSigned has git make and sign the commit and adds it to the batch. Its tree must exist.
func (a *appending) addSigned(ctx context.Context, d commitDraft, why *signing) (commitInfo, error) {
	if err := a.batch.Flush(ctx); err != nil {
		return commitInfo{}, err
	}
	oid, err := a.s.commitSigned(ctx, d)
	if err != nil {
		return commitInfo{}, signingFailed(ctx, why, err)
	}
	if err := a.proven(ctx, oid, why); err != nil {
		return commitInfo{}, err
	}
	o, err := a.s.objects.one(ctx, string(oid))
	if err == nil {
		err = o.want("commit", string(oid))
	}
	if err != nil {
		return commitInfo{}, err
	}
	return a.add(string(o.Data)), nil
}

// commitSigned runs git commit-tree. It leaves the message as it is.
func (s *Store) commitSigned(ctx context.Context, d commitDraft) (plan.OID, error) {
	author, committer := cleanActor(d.author), cleanActor(d.committer)
	args := []string{"-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", "-F", "-"}
	for _, p := range d.parents {
		if p != "" {
			args = append(args, "-p", string(p))
		}
	}
	out, err := s.GitIn(ctx, Invocation{
		Args: append(args, string(d.tree)), Stdin: strings.NewReader(d.message),
		Env: []string{
			"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email, "GIT_AUTHOR_DATE=@" + d.made,
			"GIT_COMMITTER_NAME=" + committer.Name, "GIT_COMMITTER_EMAIL=" + committer.Email,
			"GIT_COMMITTER_DATE=@" + d.when,
		},
	})
	oid := plan.OID(strings.TrimSpace(string(out)))
	if err == nil && !isOID(oid) {
		err = fmt.Errorf("git commit-tree printed %q", out)
	}
	return oid, err
}

// proven checks that the commit will count.
func (a *appending) proven(ctx context.Context, oid plan.OID, why *signing) error {
	if len(why.keys) == 0 {
		return nil
	}
	signatures, err := a.s.Signatures(ctx, why.keys, []plan.OID{oid})
	if err != nil {
		return err
	}
	sig := signatures[oid]
	if sig.Signer == "" {
		return unproven("the policy counts only what is signed with a key that it names, and this commit "+
			"would not be: "+sig.Problem,
			"git config user.signingKey FILE, with a key of git wf policy show; or have a maintainer run "+
				"git wf policy key add NAME --ssh FILE")
	}
	if refusal := why.refuse(sig.Signer); refusal != "" {
		return unproven(refusal, "git wf policy show lists the keys and whose they are")
	}
	return nil
}

// signingFailed says what git could not do and which setting is missing.
func signingFailed(ctx context.Context, why *signing, err error) error {
	var g *GitError
	if ctx.Err() != nil || !errors.As(err, &g) {
		return err
	}
	demand := cmp.Or(why.by, "commit.gpgSign wants the commit signed")
	if len(why.keys) > 0 {
		demand = "the policy counts only what is signed with a key that it names"
	}
	return unproven(fmt.Sprintf("%s, and git can't sign it: %s", demand, lastLines(g.Stderr)), setSigning)
}

// lastLines is the end of git's output: gpg's own chatter comes first.
func lastLines(stderr string) string {
	const most = 3
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	lines = slices.DeleteFunc(lines[max(len(lines)-most, 0):],
		func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) == 0 {
		return "it does not say why"
	}
	return plain.Line(strings.Join(lines, "; "))
}
