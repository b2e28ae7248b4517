package export

import (
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// WaivedCriterion is a criterion that did not pass and does not count, on a person's word.
type WaivedCriterion struct {
	ID     string `json:"id"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func waivedCriteria(r plan.Review) []WaivedCriterion {
	var list []WaivedCriterion
	for _, c := range r.Criteria {
		if c.Result == plan.ResultWaived {
			list = append(list, WaivedCriterion{c.ID, c.By, c.Evidence})
		}
	}
	return list
}

// WaiversOf lists the policy's waivers of paths in the bundle of a plan, below whatever root.
func WaiversOf(p *gitstore.Policy, id plan.ID) []plan.Waiver {
	var list []plan.Waiver
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

// WithWaivers makes a bundle whose manifest lists the waivers of its paths, as a commit of the policy holds them; without any
// it names no commit. What the bundle holds stays what was approved: a waiver is of other content.
func WithWaivers(b *Bundle, p *gitstore.Policy, commit plan.OID) (*Bundle, error) {
	m := b.Manifest
	m.WaiversCommit, m.Waivers = "", WaiversOf(p, m.PlanID)
	if len(m.Waivers) > 0 {
		m.WaiversCommit = commit
	}
	return finish(m)
}
