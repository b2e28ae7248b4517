package contract

import (
	"embed"
	"slices"
	"strings"

	"gitwf/internal/each"
)

// Role is what an agent is asked to be. It names the template of its prompt.
type Role string

// The roles.
const (
	RolePlan        Role = "plan"        // make a plan, or amend one
	RolePlanReview  Role = "plan-review" // review a plan
	RoleFeasibility Role = "feasibility" // estimate the leaves of a plan
	RoleSplit       Role = "split"       // make a fragment of a leaf that is too large
	RoleAction      Role = "action"      // make a deliverable
	RoleCheck       Role = "check"       // review a deliverable
	RoleConsult     Role = "consult"     // answer what the maker of a deliverable asks
)

// ResultType is the kind of a reply.
type ResultType string

// The kinds of reply.
const (
	Artifact    ResultType = "ARTIFACT"    // the deliverable: in Files, or in WF_OUT
	NeedsInput  ResultType = "NEEDS_INPUT" // the task can't be done without the answers to Needs
	Noop        ResultType = "NOOP"        // there is nothing to do
	Error       ResultType = "ERROR"       // it can't be done; Error says why
	Review      ResultType = "REVIEW"      // a verdict on a candidate
	Feasibility ResultType = "FEASIBILITY" // estimates of the leaves of a plan
	Answer      ResultType = "ANSWER"      // to the question of Want
)

// attempt is how one who makes something may reply.
var attempt = []ResultType{Artifact, NeedsInput, Noop, Error}

// roles is the table of roles, in the order of docs/format/prompts.md.
var roles = [...]roleRow{
	{RolePlan, "plan", RolePlan, true, true, attempt},
	{RolePlanReview, "check", RolePlan, true, false, []ResultType{Review, Error}},
	{RoleFeasibility, "feasibility", RolePlan, false, false, []ResultType{Feasibility, Error}},
	{RoleSplit, "split", RolePlan, false, true, attempt},
	{RoleAction, "action", RoleAction, false, false, attempt},
	{RoleCheck, "check", RoleCheck, false, false, []ResultType{Review, Error}},
	{RoleConsult, "consult", RoleAction, false, false, []ResultType{Answer, Error}},
}

type roleRow struct {
	role    Role
	env     string       // WF_ROLE
	way     Role         // the role whose rules of the plan's type its prompt has
	topTask bool         // it works on the top task itself; to the others that is background
	plan    bool         // it makes a plan, or a part of one
	results []ResultType // how it may reply, the usual way first
}

// Roles are all roles.
func Roles() []Role {
	return each.Of(roles[:], func(row roleRow) Role { return row.role })
}

// row is the role's; that of a role that does not exist is empty.
func (r Role) row() roleRow {
	for _, row := range roles {
		if row.role == r {
			return row
		}
	}
	return roleRow{}
}

// Env is the value of WF_ROLE.
func (r Role) Env() string { return r.row().env }

// Way returns the role whose rules of the plan's type the prompt has.
func (r Role) Way() Role { return r.row().way }

// TopTask reports whether the top task itself is what the role works on. To the others it is background.
func (r Role) TopTask() bool { return r.row().topTask }

// Results are the kinds of reply that the role may give, the usual one first; none for a role that does not exist.
func (r Role) Results() []ResultType { return r.row().results }

// Usual is the kind of reply that the role is there for, "" for a role that does not exist.
func (r Role) Usual() ResultType {
	if results := r.Results(); len(results) > 0 {
		return results[0]
	}
	return ""
}

//go:embed examples
var examples embed.FS

// Example is a reply of one kind as a prompt shows it to an agent, in JSON of several lines with a newline at its end;
// nil if the role has no such reply.
func Example(role Role, result ResultType) []byte {
	if !slices.Contains(role.Results(), result) {
		return nil
	}
	name := strings.ToLower(string(result))
	if result == Artifact && role != RoleAction {
		name = string(role)
	}
	data, _ := examples.ReadFile("examples/" + name + ".json")
	return data
}
