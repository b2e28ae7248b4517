package plan_test

import (
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

func init() {
	plan.Parse = plandoc.Parse
	plan.ParseValid = func(name string, data []byte) (*plan.Plan, error) {
		return plandoc.ParseValid(name, data, policy.Floors{})
	}
	plan.Validate = func(p *plan.Plan) plan.Findings { return plandoc.Validate(p, policy.Floors{}) }
}
