package main

import (
	"fmt"
	"io"

	"gitwf/internal/agent"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

func (st style) printSeats(w io.Writer, t *plan.TaskState, seats []readmodel.Seat) {
	if len(seats) > 0 {
		st.heading(w, "Seats")
	}
	for _, one := range seats {
		switch {
		case one.ReviewID != "":
			fmt.Fprintf(w, "  %s: %s %s by %s\n", one.Role, one.ReviewID, one.Verdict, plain.Line(one.Agent))
		case t.Status == plan.StatusReadyToCheck:
			fmt.Fprintf(w, "  %s: open; git wf review %s --as %[1]s\n", one.Role, t.TaskID)
		default:
			fmt.Fprintf(w, "  %s\n", one.Role)
		}
	}
}

// makerOf says who makes a task, as far as the plan says it.
func makerOf(t *plan.Task) string {
	switch {
	case t.Agent != "" && t.Role != "":
		return plain.Line(t.Agent) + " as " + plain.Line(t.Role)
	case t.Agent != "":
		return plain.Line(t.Agent)
	case t.Role != "":
		return agent.RoleKey(plain.Line(t.Role)) + ", wf.executor or a person, as " + plain.Line(t.Role)
	}
	return "wf.executor or a person"
}

// printConcerns prints what an agent found wrong with the work of other tasks.
func printConcerns(w io.Writer, concerns []plan.Note) {
	for _, c := range concerns {
		fmt.Fprintf(w, "      concern about %s: %s\n", plain.Line(string(c.TaskID)), clip(plain.Line(c.Text), 110))
	}
}
