package plan_test

import (
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func init() {
	plan.Parse, plan.ParseValid, plan.Validate = plandoc.Parse, plandoc.ParseValid, plandoc.Validate
}
