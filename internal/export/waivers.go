package export

import (
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// waivedCriterion is a criterion that failed and that a person waived.
type waivedCriterion struct {
	ID     string `json:"id"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func waivedCriteria(r plan.Review) []waivedCriterion {
	var list []waivedCriterion
	for _, c := range r.Criteria {
		if c.Result == plan.ResultWaived {
			list = append(list, waivedCriterion{c.ID, c.By, c.Evidence})
		}
	}
	return list
}

// waiversOf lists the policy's waivers of paths in the bundle of a plan, below any root.
func waiversOf(p *gitstore.Policy, id plan.ID) []policy.Waiver {
	var list []policy.Waiver
	for _, w := range p.Waivers {
		if InBundle(w.Path, id) {
			list = append(list, w)
		}
	}
	return list
}

// InBundle reports whether a path belongs to the bundle of a plan.
func InBundle(path string, id plan.ID) bool {
	return strings.Contains("/"+path, "/"+string(id)+"/bundle/")
}

// WithWaivers returns the bundle with the waivers of its paths in the manifest, as a commit of the policy holds them;
// without waivers it names no commit. The bundle's files stay what was approved: a waiver covers other content.
func WithWaivers(b *Bundle, p *gitstore.Policy, commit plan.OID) *Bundle {
	m := b.Manifest
	m.WaiversCommit, m.Waivers = "", waiversOf(p, m.PlanID)
	if len(m.Waivers) > 0 {
		m.WaiversCommit = commit
	}
	return finish(m)
}
