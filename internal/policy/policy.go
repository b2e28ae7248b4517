package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// policyVersion is the version of policy.json that this package writes. A reader refuses a higher one.
const policyVersion = 1

// Policy is what a repository demands of every plan and of every bundle: the content of policy.json in
// refs/workflow/policy. The zero value of a field demands nothing; the zero Policy protects DefaultRoot.
type Policy struct {
	SchemaVersion int        `json:"schema_version"`
	Roots         []Root     `json:"roots"`
	Baseline      []plan.OID `json:"baseline"`    // commits up to which history is exempt
	Maintainers   []string   `json:"maintainers"` // who may change the policy on a server; names of Keys
	Keys          []Key      `json:"keys"`        // whose signatures make an approval count; none means unsigned
	Floors        Floors     `json:"floors"`      // a plan may only be stricter
	FourEyes      bool       `json:"four_eyes"`   // nobody approves what they made
	NoWaivers     bool       `json:"no_waivers"`
	PlanReviewers []string   `json:"plan_reviewers"` // agents and people who must approve a plan besides plan-review

	// The roles that agents which no run has started may review in, by the agent's name
	AgentRoles map[string][]string `json:"agent_roles,omitempty"`

	EachCriterion bool       `json:"each_criterion,omitempty"` // nobody approves as a whole
	Changes       Changes    `json:"changes,omitzero"`         // code that only approved changes may alter
	Prune         PruneRules `json:"prune,omitzero"`           // how much a prune keeps, and whose decision it is
}

// DefaultRoot is the protected directory of a repository whose policy names none.
const DefaultRoot = "deliverables"

// Root is a protected directory and what its bundles need beyond the floors.
type Root struct {
	Path      string   `json:"path"` // relative to the top of the working tree
	MinScore  int      `json:"min_score,omitempty"`
	Quorum    int      `json:"quorum,omitempty"`
	Reviewers []string `json:"reviewers,omitempty"` // one of them must have approved each item
}

// Floors are what the policy demands of every plan, which a plan may only tighten. The zero value demands nothing.
type Floors struct {
	MinScore  int      `json:"min_score"`  // least min_score of the plan and of each CHECK
	Quorum    int      `json:"quorum"`     // least number of reviewers who must approve
	Reviewers []string `json:"reviewers"`  // only these may review, if any are named
	MustShare float64  `json:"must_share"` // least share of MUST among an ACTION's criteria, 0 to 1
}

// Key is a key that somebody signs with: a line of an allowed-signers file for SSH, or a fingerprint for GPG.
type Key struct {
	Name string `json:"name"` // as reviews and commits name the person
	SSH  string `json:"ssh,omitempty"`
	GPG  string `json:"gpg,omitempty"`
}

// Waiver lets exactly one content of one path land unreviewed.
type Waiver struct {
	Path      string    `json:"path"`
	Mode      string    `json:"mode"` // "" for a deletion
	OID       plan.OID  `json:"oid"`  // "" for a deletion
	By        string    `json:"by"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
}

// Retirement lets a plan's whole bundle go.
type Retirement struct {
	PlanID    plan.ID   `json:"plan_id"`
	By        string    `json:"by"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
}

// Protected are the protected directories: Roots or, if it names none, the default.
func (p *Policy) Protected() []Root {
	if len(p.Roots) == 0 {
		return []Root{{Path: DefaultRoot}}
	}
	return p.Roots
}

// RootPaths are the paths of the protected directories.
func (p *Policy) RootPaths() []string {
	return each.Of(p.Protected(), func(r Root) string { return r.Path })
}

// RootOf is the protected directory that a path is in; of nested ones the innermost.
func (p *Policy) RootOf(name string) (Root, bool) {
	best, found := Root{}, false
	for _, r := range p.Protected() {
		if (name == r.Path || strings.HasPrefix(name, r.Path+"/")) && len(r.Path) >= len(best.Path) {
			best, found = r, true
		}
	}
	return best, found
}

// Check finds what is wrong with a policy.
func (p *Policy) Check() plan.Findings {
	var fs plan.Findings
	bad := func(code, where, text, found string) {
		fs = append(fs, plan.Finding{Code: code, File: "policy.json", Path: where, Message: text, Found: found})
	}
	seen := map[string]bool{}
	for i, r := range p.Roots {
		where := fmt.Sprintf("roots[%d].path", i)
		if err := relpath.Check(r.Path); err != nil || path.Clean(r.Path) != r.Path {
			bad("bad-root", where, "is no directory inside the working tree", r.Path)
		}
		if seen[relpath.Fold(r.Path)] {
			bad("duplicate-root", where, "is protected twice", r.Path)
		}
		seen[relpath.Fold(r.Path)] = true
		if r.MinScore < 0 || r.MinScore > 100 || r.Quorum < 0 {
			bad("bad-number", fmt.Sprintf("roots[%d]", i), badNumbers, "")
		}
	}
	p.checkKeys(bad)
	p.checkPrune(bad)
	p.checkChanges(bad)
	if f := p.Floors; f.MinScore < 0 || f.MinScore > 100 || f.Quorum < 0 || f.MustShare < 0 || f.MustShare > 1 {
		bad("bad-number", "floors",
			"needs a min_score of 0 to 100, a quorum that is not negative and a must_share of 0 to 1",
			"")
	}
	return fs
}

// Encode is the canonical form of policy.json.
func Encode(p *Policy) []byte {
	c := *p
	c.SchemaVersion = policyVersion
	c.Roots, c.Baseline = orEmpty(c.Roots), orEmpty(c.Baseline)
	c.Maintainers, c.Keys = orEmpty(c.Maintainers), orEmpty(c.Keys)
	c.Floors.Reviewers = orEmpty(c.Floors.Reviewers)
	c.PlanReviewers = orEmpty(c.PlanReviewers)
	if len(c.Changes.Paths) > 0 {
		c.Changes.Since = orEmpty(c.Changes.Since)
	}
	return plan.Document(c)
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return slices.Clone(s)
}

// Decode reads a policy.json. What it does not understand it refuses: a demand that is skipped is not met.
func Decode(data []byte) (*Policy, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var p Policy
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("policy.json: %w", err)
	}
	if p.SchemaVersion != policyVersion {
		return nil, fmt.Errorf("policy.json has schema_version %d; this git-wf knows %d", p.SchemaVersion,
			policyVersion)
	}
	if since := p.Changes.Since; len(since) == 1 && since[0].Paths == nil {
		since[0].Paths = p.Changes.Paths
	}
	return &p, p.Check().Err()
}
