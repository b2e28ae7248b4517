package engine

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/agent"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Crowded says of which tasks one agent would take several seats here, while the policy wants more to approve than
// speak then.
func (e *Engine) Crowded(p *plan.Plan) []string {
	s := plan.Derive(p, plan.Records{}, nil, e.Now())
	var found []string
	for _, t := range p.Tasks {
		if t.NodeType != plan.Action {
			continue
		}
		if text := e.crowded(s, s.Tasks[t.TaskID]); text != "" {
			found = append(found, string(t.TaskID)+": "+text)
		}
	}
	return found
}

// crowded says why too few would speak for a task's reviewers here, "" if enough do. The gate counts who speaks, and
// would refuse the result. A person who takes a seat counts for themselves.
func (e *Engine) crowded(s *plan.State, t *plan.TaskState) string {
	least := e.Policy.Floors.Quorum
	for _, root := range e.Policy.Roots {
		least = max(least, root.Quorum)
	}
	seats, twice := s.Seats(t.TaskID), ""
	speakers := map[string]bool{}
	for _, name := range (plan.Agree{}).Seats(s.Reviewers(t.TaskID)) {
		by := name
		if slices.Contains(seats, name) {
			by = e.agentOfSeat(s, t, name)
		}
		if !e.Agents.Knows(by) {
			by = "person as " + name
		}
		if speakers[by] {
			twice = name
		}
		speakers[by] = true
	}
	if twice == "" || len(speakers) >= least {
		return ""
	}
	return fmt.Sprintf("%s here for its seats %s, and the policy wants %d to approve: git config %s AGENT has another speak "+
		"for one, or a person does: git wf review %s --as %s", speak(len(speakers)),
		plain.Line(strings.Join(seats, ", ")), least, agent.RoleKey(twice), t.TaskID, twice)
}

func speak(n int) string {
	if n == 1 {
		return "1 agent speaks"
	}
	return fmt.Sprintf("%d reviewers speak", n)
}
