package gitstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

const policyFile = "policy.json"

// Policy is the repository's policy at one commit of refs/workflow/policy.
type Policy struct {
	policy.Policy
	Commit plan.OID // "" without a policy
	// KeysSince is the commit that introduced the current set of keys, so statements about the keys don't change with
	// every waiver. It is "" without keys.
	KeysSince plan.OID
	Waivers   []policy.Waiver
	Retired   map[plan.ID]policy.Retirement
	records   int // number of numbered records
}

// The records next to policy.json have numbers, so that two concurrent ones get different names.
var policyRecord = pattern.Compile(`^(waivers|retired)/([0-9]{4,9})\.json$`)

// Tip is a branch and its newest commit.
type Tip struct {
	Branch  string
	Commit  plan.OID
	Subject string
	History int // number of commits that it has
}

// NamedTips lists the branches of this repository that the policy names: no others, and nothing that was fetched.
func (s *Store) NamedTips(ctx context.Context, c policy.Changes) ([]Tip, error) {
	out, err := s.Git(ctx, "for-each-ref", "--format=%(objectname)%09%(refname:lstrip=2)%09%(subject)", "refs/heads")
	if err != nil {
		return nil, fmt.Errorf("list the branches: %w", err)
	}
	var tips []Tip
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) < 3 || !c.Names(f[1]) {
			continue
		}
		count, err := s.Git(ctx, "rev-list", "--count", f[0])
		if err != nil {
			return nil, err
		}
		n, _ := strconv.Atoi(count)
		tips = append(tips, Tip{f[1], plan.OID(f[0]), f[2], n})
	}
	return tips, nil
}

// Policy reads the repository's policy. Without one, it returns the zero policy.
func (s *Store) Policy(ctx context.Context) (*Policy, error) {
	return s.PolicyAt(ctx, planRefs+policyName)
}

// PolicyAt reads the policy at a revision, such as the commit before a push.
func (s *Store) PolicyAt(ctx context.Context, rev string) (*Policy, error) {
	c, err := s.commit(ctx, rev)
	if errors.Is(err, ErrNoPlan) {
		return &Policy{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	p, err := s.readPolicy(ctx, c.oid)
	if err != nil {
		return nil, fmt.Errorf("read the policy %.12s: %w", c.oid, err)
	}
	return p, nil
}

func (s *Store) readPolicy(ctx context.Context, commit plan.OID) (*Policy, error) {
	data, err := s.ReadFile(ctx, commit, policyFile)
	if err != nil {
		return nil, err
	}
	doc, err := policy.Decode(data)
	if err != nil {
		return nil, err
	}
	p := &Policy{Policy: *doc, Commit: commit, Retired: map[plan.ID]policy.Retirement{}}
	if len(p.Keys) > 0 {
		if p.KeysSince, err = s.keysSince(ctx, commit, p.Keys); err != nil {
			return nil, err
		}
	}
	entries, err := s.ListTree(ctx, commit)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		m := policyRecord.Get().FindStringSubmatch(e.Path)
		if m == nil {
			continue
		}
		p.records++
		data, err := s.ReadBlob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		if err := p.addRecord(m[1], data); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return p, nil
}

// keysSince finds the oldest commit since which the keys are the same up to this one.
func (s *Store) keysSince(ctx context.Context, commit plan.OID, keys []policy.Key) (plan.OID, error) {
	out, err := s.Git(ctx, "--no-literal-pathspecs", "-c", "log.showSignature=false", "log", "--format=%H",
		"--end-of-options", string(commit), "--", ":(top,literal)"+policyFile)
	if err != nil {
		return "", err
	}
	since := commit
	for c := range strings.FieldsSeq(out) {
		data, err := s.ReadFile(ctx, plan.OID(c), policyFile)
		if err != nil {
			return "", err
		}
		p, err := policy.Decode(data)
		if err != nil || !slices.Equal(p.Keys, keys) {
			break // an unreadable policy had no keys
		}
		since = plan.OID(c)
	}
	return since, nil
}

func (p *Policy) addRecord(kind string, data []byte) error {
	if kind == "retired" {
		var r policy.Retirement
		err := json.Unmarshal(data, &r)
		p.Retired[r.PlanID] = r
		return err
	}
	var w policy.Waiver
	err := json.Unmarshal(data, &w)
	p.Waivers = append(p.Waivers, w)
	return err
}

// PolicyEvent is one change of the policy. It gets the current policy and returns what to add or replace. Like a plan's
// event, it is called again if somebody else was faster.
type PolicyEvent func(p *Policy) (plan.Change, error)

// NextRecord is the name of the next numbered record of a kind, "waivers" or "retired".
func (p *Policy) NextRecord(kind string) string {
	return fmt.Sprintf("%s/%04d.json", kind, p.records+1)
}

// AppendPolicy records a change of the policy as one commit.
func (s *Store) AppendPolicy(ctx context.Context, now time.Time, ev PolicyEvent) (*Policy, error) {
	a := &appending{s: s, id: policyName, ref: PolicyRef, now: now}
	a.decide = func(ctx context.Context) (commitInfo, plan.Change, error) {
		p, err := s.Policy(ctx)
		if err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		a.policy = &p.Policy
		change, err := ev(p)
		if err != nil || p.Commit == "" {
			if change.Policy == nil && err == nil {
				change.Policy = policy.Encode(&p.Policy) // a history begins with its document
			}
			return commitInfo{}, change, err
		}
		tip, err := s.commit(ctx, string(p.Commit))
		return tip, change, err
	}
	if err := a.run(ctx); err != nil {
		return nil, fmt.Errorf("change the policy: %w", err)
	}
	return s.readPolicy(context.WithoutCancel(ctx), a.commit.oid)
}

// ThrowawayKey is the setting that makes a repository one for trying things out.
const ThrowawayKey = "wf.throwaway"

// Throwaway reports whether anybody passes for a person in this repository: it was made to try things out. One with
// another kind of plan is none, whatever its settings say: who could set that would decide about the plan.
func (s *Store) Throwaway(ctx context.Context) (bool, error) {
	value, _, err := s.Config(ctx, ThrowawayKey)
	if err != nil || value != "true" {
		return false, err
	}
	plans, err := s.Plans(ctx)
	return err == nil && !slices.ContainsFunc(plans, func(p PlanRef) bool { return !p.ID.Throwaway() }), err
}

// Discounts says why nothing that the plan approves counts in this repository, nil if it does: a throwaway one made it.
func (s *Store) Discounts(ctx context.Context, id plan.ID) *fault.Error {
	if here, err := s.Throwaway(ctx); !id.Throwaway() || err == nil && here {
		return nil
	}
	return errThrowaway
}
