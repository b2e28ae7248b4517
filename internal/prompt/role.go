package prompt

// Role is what an agent is asked for. It names the template.
type Role string

// The roles that have a prompt.
const (
	Plan        Role = "plan"        // make a plan, or amend one
	PlanReview  Role = "plan-review" // review a plan
	Feasibility Role = "feasibility" // estimate the leaves of a plan
	Split       Role = "split"       // make a fragment of a leaf that is too large
	Action      Role = "action"      // make a deliverable
	Check       Role = "check"       // review a deliverable
)

// Roles are all roles that have a prompt.
func Roles() []Role { return []Role{Plan, PlanReview, Feasibility, Split, Action, Check} }

// File is the path of the role's template.
func (r Role) File() string {
	return "prompts/" + string(r) + ".md"
}

// partsFile defines the blocks that the templates share.
const partsFile = "prompts/parts.md"

// plans reports whether the top task itself is what the role works on. To the others it is background.
func (r Role) plans() bool { return r == Plan || r == PlanReview }
