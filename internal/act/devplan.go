package act

import (
	"fmt"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// DevPlan renders the plan for people and deciders: each task with its progress in one of five words,
// its criteria and its reviews. It is a view: nothing reads it back.
func DevPlan(s *plan.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", plain.Line(s.Plan.Title))
	for _, t := range s.Plan.Tasks {
		switch {
		case t.NodeType == plan.Goal && t.TaskID != s.Plan.RootTaskID:
			fmt.Fprintf(&b, "\n## %s: %s\n", t.TaskID, plain.Line(t.Title))
		case t.NodeType == plan.Action && !t.Planning() && t.Decides == nil:
			devTask(&b, s, s.Tasks[t.TaskID])
		}
	}
	return b.String()
}

func devTask(b *strings.Builder, s *plan.State, t *plan.TaskState) {
	fmt.Fprintf(b, "\n### %s: %s\n- status: %s\n", t.TaskID, plain.Line(t.Title), DevPlanWord(s, t.TaskID))
	if t.Role != "" {
		fmt.Fprintf(b, "- role: %s\n", t.Role)
	}
	if t.Status != plan.StatusDone && s.Reason(t) != "" {
		fmt.Fprintf(b, "- stands: %s, %s\n", t.Status, plain.Line(s.Reason(t)))
	}
	if len(t.DependsOn) > 0 {
		fmt.Fprintf(b, "- depends on: %s\n", plan.JoinIDs(t.DependsOn))
	}
	if t.Judges != nil {
		fmt.Fprintf(b, "- judges: %s\n", plan.JoinIDs(s.Judged(t.TaskID)))
	}
	b.WriteString("- acceptance:\n")
	for _, c := range t.AcceptanceCriteria {
		fmt.Fprintf(b, "  - %s: %s", c.ID, plain.Line(c.Statement))
		if c.Run != "" {
			fmt.Fprintf(b, ": `%s`", plain.Line(c.Run))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "- evidence: %s\n", evidence(s, t))
}

// evidence names the reviews of the version that counts.
func evidence(s *plan.State, t *plan.TaskState) string {
	version := t.Active
	if t.Approved > 0 && t.Status == plan.StatusDone {
		version = t.Approved
	}
	said := each.Pick(s.Records.Of(t.TaskID).Reviews, func(r plan.ReviewRecord) (string, bool) {
		return s.Word(t.TaskID, r) + " by " + plain.Line(plan.UnescapeName(r.Reviewer)), r.Version == version
	})
	if len(said) == 0 {
		return "none"
	}
	return strings.Join(said, ", ")
}
