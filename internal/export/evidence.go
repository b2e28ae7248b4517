package export

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Approval is an approval that counts under a policy with keys, and its proof.
type Approval struct {
	ReviewID string   `json:"review_id"`
	Reviewer string   `json:"reviewer"`
	SignedBy string   `json:"signed_by"` // the name of the key
	Commit   plan.OID `json:"commit"`    // it recorded the review and bears the signature
}

// Unproven is an approval that does not count, and why.
type Unproven struct {
	TaskID   plan.TaskID
	Version  string
	ReviewID string
	Reviewer string
	Why      string
}

func (u Unproven) String() string {
	return fmt.Sprintf("%s %s: the approval %s by %s does not count: %s", u.TaskID, u.Version, u.ReviewID, u.Reviewer,
		u.Why)
}

// Evidence is a plan at one commit with the approvals that count under a policy. Without keys, all of them count.
type Evidence struct {
	// Snapshot is the plan without unproven approvals. A rejection needs no proof: it stands until an approval that
	// counts overturns it.
	Snapshot *gitstore.Snapshot
	Signed   bool // the policy has keys

	policy plan.OID // the commit that gave the policy its keys
	whole  *gitstore.Snapshot
	proofs map[gitstore.ReviewRef]Proof // of all approvals
}

// SignedWord returns "signed" or "unsigned" for the approvals that count.
func (e *Evidence) SignedWord() string {
	if e.Signed {
		return "signed"
	}
	return "unsigned"
}

// Prove finds the approvals of deliverables that count under a policy. An approval counts if the commit that recorded
// it is signed with a key that may speak for the reviewer (plan.Policy.Vouches).
func Prove(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot,
	policy *gitstore.Policy) (*Evidence, error) {
	e := &Evidence{Snapshot: snap, whole: snap}
	if len(policy.Keys) == 0 {
		return e, nil
	}
	var err error
	e.Signed, e.policy = true, policy.KeysSince
	if e.proofs, err = ProveReviews(ctx, store, snap, approvals(snap), policy); err != nil {
		return nil, err
	}
	for _, proof := range e.proofs {
		if !proof.Counts {
			e.Snapshot = e.withoutUnproven()
			break
		}
	}
	return e, nil
}

// Proof is what a policy's keys say of one review.
type Proof struct {
	Counts   bool
	Reviewer string
	Signer   string   // the owner of the key that signed Commit, "" if none did
	Commit   plan.OID // it recorded the review; "" if no event of the plan did
	Why      string   // it does not count
}

// ProveReviews finds out what the policy's keys say of reviews. One commit that proves a review is enough.
func ProveReviews(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, refs []gitstore.ReviewRef,
	p *gitstore.Policy) (map[gitstore.ReviewRef]Proof, error) {
	recorded, signatures, err := recordedBy(ctx, store, snap, refs, p.Keys)
	if err != nil {
		return nil, err
	}
	proofs := map[gitstore.ReviewRef]Proof{}
	for _, ref := range refs {
		rev, err := ReadReview(ctx, store, snap, ref.Task, ref.Review)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		proof := Proof{Reviewer: plan.UnescapeName(ref.Review.Reviewer), Why: "no event of this plan recorded it"}
		if err != nil {
			proof.Why = err.Error() // the signature covers the document, not its name
			recorded[ref] = nil
		}
		for _, r := range recorded[ref] {
			sig := signatures[r.Commit]
			proof.Commit, proof.Signer, proof.Why = r.Commit, sig.Signer, sig.Problem
			if p.Vouches(sig.Signer, rev.By(), r.Author) {
				proof.Counts, proof.Reviewer, proof.Why = true, rev.By(), ""
				break
			}
			if sig.Signer != "" {
				proof.Why = "it is signed with the key of " + sig.Signer
			}
		}
		proofs[ref] = proof
	}
	return proofs, nil
}

// recordedBy finds the commits that recorded reviews and, under keys, their signatures.
func recordedBy(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, refs []gitstore.ReviewRef,
	keys []policy.Key) (recorded map[gitstore.ReviewRef][]gitstore.Recorded,
	signatures map[plan.OID]gitstore.Signature, err error) {
	if recorded, err = store.RecordedBy(ctx, snap, refs); err != nil || len(keys) == 0 {
		return recorded, nil, err
	}
	var commits []plan.OID
	for _, ref := range refs {
		for _, r := range recorded[ref] {
			commits = append(commits, r.Commit)
		}
	}
	signatures, err = store.Signatures(ctx, keys, commits)
	return recorded, signatures, err
}

// approvals lists the approvals of deliverables.
func approvals(snap *gitstore.Snapshot) []gitstore.ReviewRef {
	var refs []gitstore.ReviewRef
	for _, t := range snap.Plan.Tasks {
		if t.NodeType != plan.Action || t.Planning() {
			continue
		}
		for _, rec := range snap.Records.Of(t.TaskID).Reviews {
			if rec.Verdict == plan.Approved {
				refs = append(refs, gitstore.ReviewRef{Task: t.TaskID, Review: rec})
			}
		}
	}
	return refs
}

// withoutUnproven returns the snapshot without what does not count.
func (e *Evidence) withoutUnproven() *gitstore.Snapshot {
	s := e.whole
	tasks := make(map[plan.TaskID]*plan.TaskRecords, len(s.Records.Tasks))
	for id, r := range s.Records.Tasks {
		kept := *r
		kept.Reviews = slices.DeleteFunc(slices.Clone(r.Reviews), func(rec plan.ReviewRecord) bool {
			proof, known := e.proofs[gitstore.ReviewRef{Task: id, Review: rec}]
			return known && !proof.Counts
		})
		tasks[id] = &kept
	}
	return s.With(plan.Records{Tasks: tasks})
}

// ApprovalsOf lists the approvals of one version that count.
func (e *Evidence) ApprovalsOf(task plan.TaskID, version string) (list []Approval) {
	for id, p := range e.proofsOf(task, version) {
		if p.Counts {
			list = append(list, Approval{id, p.Reviewer, p.Signer, p.Commit})
		}
	}
	return list
}

// Missing lists the approvals of one version that do not count.
func (e *Evidence) Missing(task plan.TaskID, version string) (list []Unproven) {
	for id, p := range e.proofsOf(task, version) {
		if !p.Counts {
			why := p.Why
			if p.Commit != "" {
				why = fmt.Sprintf("of commit %.12s, %s", p.Commit, why)
			}
			list = append(list, Unproven{task, version, id, p.Reviewer, why})
		}
	}
	return list
}

// proofsOf gives the approvals of one version, by the review's id, with what is proven of them.
func (e *Evidence) proofsOf(task plan.TaskID, version string) iter.Seq2[string, Proof] {
	return func(yield func(string, Proof) bool) {
		if !e.Signed { // then there is no proof, and there may be no plan
			return
		}
		for _, rec := range e.whole.Records.Of(task).Reviews {
			proof, ok := e.proofs[gitstore.ReviewRef{Task: task, Review: rec}]
			if ok && plan.VersionID(rec.Version) == version && !yield(fmt.Sprintf("r%d", rec.N), proof) {
				return
			}
		}
	}
}

// Lost lists the approvals whose loss leaves one of the tasks not done, or done by another version, though the plan
// says otherwise.
func (e *Evidence) Lost(tasks []plan.TaskID) []Unproven {
	var list []Unproven
	if e.Snapshot == e.whole {
		return nil
	}
	said, counts := e.whole.State(), e.Snapshot.State()
	for _, id := range tasks {
		if s, c := said.Tasks[id], counts.Tasks[id]; s != nil && c != nil && s.Approved != c.Approved {
			list = append(list, e.Missing(id, plan.VersionID(s.Approved))...)
		}
	}
	return list
}

// Signers names the keys that approvals are signed with.
func Signers(approvals []Approval) string {
	var names []string
	for _, a := range approvals {
		names = each.Add(names, a.SignedBy)
	}
	return plain.Line(strings.Join(names, ", "))
}

// Worth returns what a plan's approvals are worth: signed only if it needs none that does not count.
func (e *Evidence) Worth(s *plan.State) string {
	switch {
	case !e.Signed:
		return "unsigned"
	case len(e.Lost(s.Leaves(s.Plan.RootTaskID))) > 0:
		return "not all signed"
	}
	return "signed"
}

// UnprovenError says that approvals do not count under the policy's keys.
type UnprovenError struct{ Approvals []Unproven }

func (e *UnprovenError) Error() string {
	return strings.Join(plain.Some(e.Approvals, 8, func(u Unproven) string { return plain.Line(u.String()) }), "\n")
}

// Exit returns the review that would count.
func (e *UnprovenError) Exit() (int, string) {
	task := string(e.Approvals[0].TaskID)
	return fault.ExitRefused, "git wf review " + task +
		" --approve, by somebody who signs with a key of git wf policy show"
}

// Lacks says which versions lack approvals that a policy demands of them and of what is below a root, and which those
// are. The plan, or whoever wrote its refs, may have known a laxer policy or none. The snapshot has only the approvals
// that count (Prove).
func Lacks(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, p *gitstore.Policy, root policy.Root,
	versions []Version) (map[Version]string, error) {
	lacking := map[Version]string{}
	for _, v := range versions {
		if p.NoWaivers && snap.State().Accepted(v.TaskID, v.Number) {
			lacking[v] = "no_waivers: what is accepted with a warning does not count"
		}
	}
	if p.Lacks(root, nil) == "" {
		return lacking, nil
	}
	given, err := approvalsOf(ctx, store, snap, p, versions)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if what := p.Lacks(root, given[v]); what != "" {
			lacking[v] = what
		}
	}
	return lacking, nil
}

// approvalsOf returns the approvals that count for each version: each reviewer's newest review of the version, if it
// approves. Who approves is whoever made the commit that recorded the review, whatever the review says: nobody approves
// in another's name, and one who speaks in several seats is one. If that commit is missing because a prune's archive is
// not here, the review does not count.
func approvalsOf(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, p *gitstore.Policy,
	versions []Version) (map[Version][]policy.Approval, error) {
	var newest []gitstore.ReviewRef
	makers := map[Version]string{}
	for _, v := range versions {
		if p.FourEyes {
			a, err := ReadArtifact(ctx, store, snap, v.TaskID, v.Number)
			if err != nil {
				return nil, err
			}
			makers[v] = a.Agent
		}
		of := map[string]plan.ReviewRecord{}
		for _, rec := range snap.Records.Of(v.TaskID).Reviews {
			if rec.Version == v.Number {
				of[rec.Reviewer] = rec
			}
		}
		for _, rec := range of {
			if rec.Verdict == plan.Approved {
				newest = append(newest, gitstore.ReviewRef{Task: v.TaskID, Review: rec})
			}
		}
	}
	recorded, signatures, err := recordedBy(ctx, store, snap, newest, p.Keys)
	if err != nil {
		return nil, err
	}
	given := map[Version][]policy.Approval{}
	for _, ref := range newest {
		r, err := ReadReview(ctx, store, snap, ref.Task, ref.Review)
		if err != nil {
			return nil, err
		}
		if len(recorded[ref]) == 0 || r.Taken() {
			continue
		}
		by := recorded[ref][0]
		for _, other := range recorded[ref] {
			if p.Vouches(signatures[other.Commit].Signer, r.By(), other.Author) {
				by = other // it is the one that counts
			}
		}
		a := policy.Approval{By: r.By(), Score: r.Score, Whole: len(r.AsAWhole()) > 0}
		if !by.Names(a.By) {
			a.By = by.Reviewer
		}
		switch {
		case by.Author.IsAgent() || a.By == plan.ReviewerChecks:
		case len(p.Keys) > 0:
			a.Person = signatures[by.Commit].Signer
		default:
			a.Person = a.By
		}
		v := Version{ref.Task, ref.Review.Version}
		a.Self = r.SelfReviewed || a.By == makers[v] || a.Person != "" && a.Person == makers[v]
		given[v] = append(given[v], a)
	}
	return given, nil
}
