package plan

// The package of the plan documents imports this one, so tests here reach it by way of external_test.go.
var (
	Parse      func(name string, data []byte) (*Plan, error)
	ParseValid func(name string, data []byte) (*Plan, error)
	Validate   func(p *Plan) Findings
)
