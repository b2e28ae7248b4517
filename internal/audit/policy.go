package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// PolicyMove audits who made the changes between an old and a new commit of the policy. The policy before the move
// judges the first commit, and each commit judges the next: a maintainer may make somebody else a maintainer. The
// policy before the move also judges every commit that does not follow its predecessor, such as a side branch's or a
// merge, so that an older policy is no way back in. The first policy is believed.
func PolicyMove(ctx context.Context, store *gitstore.Store, old, next plan.OID) ([]Finding, error) {
	a := auditor{ctx: ctx, store: store}
	revs := []string{"rev-list", "--topo-order", "--reverse", "--parents", "--end-of-options", string(next)}
	if old != "" {
		revs = append(revs, "^"+string(old))
	}
	out, err := store.Git(ctx, revs...)
	if err != nil {
		return nil, fmt.Errorf("read the history of the policy: %w", err)
	}
	before, err := a.policyAt(old)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return a.findings, nil
	}
	last, rules := old, before
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		commit, by := plan.OID(f[0]), before
		if len(f) == 2 && plan.OID(f[1]) == last {
			by = rules
		}
		if len(by.Maintainers) > 0 {
			if err := a.checkAllowed(commit, by, by.MayChange, "not-a-maintainer", "git wf policy log"); err != nil {
				return nil, err
			}
		}
		if last, rules = commit, nil; len(a.findings) == 0 {
			if rules, err = a.policyAt(commit); err != nil {
				return nil, err
			}
		}
		if rules == nil {
			rules = before
		}
		if before.Commit == "" {
			before = rules // of a history from its beginning, the first policy is the one to judge by
		}
	}
	err = a.checkGuarded(old, next)
	return a.findings, err
}

// policyPath reports whether the tree of a policy's commit may hold a path (docs/format.md, section 9).
func policyPath(name string) bool {
	dir, file, _ := strings.Cut(name, "/")
	number, isJSON := strings.CutSuffix(file, ".json")
	isRecord := isJSON && len(number) >= 4 && len(number) <= 9 && strings.Trim(number, "0123456789") == ""
	return name == policyFile || (dir == "waivers" || dir == "retired") && isRecord
}

// checkGuarded reports a policy that has keys but no maintainers, unless the policy before the move was
// like that, too: then the finding would refuse every change, even the one that repairs it.
func (a *auditor) checkGuarded(old, next plan.OID) error {
	for _, commit := range []plan.OID{old, next} {
		p, err := a.policyAt(commit)
		if err != nil || p == nil {
			return err
		}
		if p.Unguarded() {
			if commit == next {
				a.report(codeUnguarded, policyFile, "git wf policy set --maintainer NAME",
					"has keys and no maintainers: anybody may push a policy without the keys")
			}
			return nil
		}
	}
	return nil
}

const codeUnguarded = "no-maintainers"

// policyAt is the policy at a commit; one that can't be read is found by Move.
func (a *auditor) policyAt(commit plan.OID) (*gitstore.Policy, error) {
	if commit == "" {
		return &gitstore.Policy{}, nil
	}
	p, err := a.store.PolicyAt(a.ctx, string(commit))
	if err != nil && a.ctx.Err() == nil && !gitstore.IsAbsent(err) {
		a.report("bad-policy", fmt.Sprintf("%.12s: policy.json", commit), "", "%v", err)
		return nil, nil
	}
	return p, err
}

// FourEyes finds the reviews of a plan at one commit that the version's own maker wrote, which a policy
// of four eyes does not allow. It leaves out what was recorded at the commit before ("" for none).
func FourEyes(ctx context.Context, store *gitstore.Store, id plan.ID, before, commit plan.OID) ([]Finding, error) {
	snap, err := store.SnapshotAt(ctx, id, commit)
	if err != nil {
		return nil, err
	}
	known := map[gitstore.ReviewRef]bool{}
	if before != "" {
		old, err := store.SnapshotAt(ctx, id, before)
		if err != nil {
			return nil, err
		}
		for task, r := range old.Records.Tasks {
			for _, rec := range r.Reviews {
				known[gitstore.ReviewRef{Task: task, Review: rec}] = true
			}
		}
	}
	a := auditor{ctx: ctx, store: store, id: id, snap: snap}
	for _, t := range snap.Plan.Tasks {
		for _, rec := range snap.Records.Of(t.TaskID).Reviews {
			if !known[gitstore.ReviewRef{Task: t.TaskID, Review: rec}] {
				a.checkOwnReview(t.TaskID, rec)
			}
		}
	}
	return a.findings, nil
}

// checkOwnReview finds a review by the version's own maker. The audit of the records finds what can't be read.
func (a *auditor) checkOwnReview(task plan.TaskID, rec plan.ReviewRecord) {
	rev, err := export.ReadReview(a.ctx, a.store, a.snap, task, rec)
	if err != nil {
		return
	}
	made, err := export.ReadArtifact(a.ctx, a.store, a.snap, task, rec.Version)
	if err != nil {
		return
	}
	if rev.SelfReviewed || rev.By() == made.Agent {
		a.report("own-review", task.Dir()+"/"+rec.Dir(), "git wf review "+string(task)+" --approve, by somebody else",
			"%s made %s and reviewed it, but the policy wants four eyes", rev.By(), plan.VersionID(rec.Version))
	}
}

// Waiver is a waiver of a path, and the commit of the policy that recorded it.
type Waiver struct {
	policy.Waiver
	Commit plan.OID `json:"commit"`
}

// String says what was waived, by whom, and why.
func (w Waiver) String() string {
	what := fmt.Sprintf("%s (%.12s)", w.Path, w.OID)
	if w.OID == "" {
		what = "the removal of " + w.Path
	}
	return fmt.Sprintf("%s, by %s: %s", what, w.By, w.Reason)
}

// Waivers lists the waivers of paths that the policy holds at a commit, "" for no policy, the newest first.
func Waivers(ctx context.Context, store *gitstore.Store, policy plan.OID) ([]Waiver, error) {
	if policy == "" {
		return nil, nil
	}
	out, err := store.GitIn(ctx, gitstore.Invocation{Args: []string{
		"-c", "log.showSignature=false", "log", "--topo-order", "--diff-merges=off", "--root", "--diff-filter=A",
		"--name-only", "--no-renames",
		"-z", "--format=%x01%H", "--end-of-options", string(policy),
	}})
	if err != nil {
		return nil, fmt.Errorf("read the history of the policy: %w", err)
	}
	var all []Waiver
	for _, commit := range strings.Split(string(out), "\x01")[1:] {
		fields := strings.Split(commit, "\x00")
		for _, path := range fields[1:] {
			path = strings.TrimSpace(path)
			if !strings.HasPrefix(path, "waivers/") {
				continue
			}
			w := Waiver{Commit: plan.OID(fields[0])}
			data, err := store.ReadFile(ctx, w.Commit, path)
			if err != nil {
				return nil, fmt.Errorf("read %s of the policy: %w", path, err)
			}
			if err := json.Unmarshal(data, &w.Waiver); err != nil {
				return nil, fmt.Errorf("read %s of the policy: %w", path, err)
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// checkAllowed reports a commit that the policy does not allow; may decides, by committer and signer.
func (a *auditor) checkAllowed(commit plan.OID, by *gitstore.Policy, may func(committer, signer string) string,
	code, mend string) error {
	committer, err := a.store.Git(a.ctx, "-c", "log.showSignature=false", "log", "-1", "--no-color", "--no-notes",
		"--encoding=UTF-8", "--format=%cn", "--end-of-options", string(commit))
	if err != nil {
		return err
	}
	var sig gitstore.Signature
	if len(by.Keys) > 0 {
		all, err := a.store.Signatures(a.ctx, by.Keys, []plan.OID{commit})
		if err != nil {
			return err
		}
		sig = all[commit]
	}
	why := may(committer, sig.Signer)
	if why != "" && sig.Problem != "" {
		why += ": " + sig.Problem
	}
	if why != "" {
		a.report(code, fmt.Sprintf("%.12s", commit), mend, "%s", why)
	}
	return nil
}
