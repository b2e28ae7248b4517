package main

import (
	"fmt"
	"io"

	"gitwf/internal/export"
	"gitwf/internal/plain"
)

// printMoves shows who decided what, for whom, when and why, and what came of it, the oldest first.
func (st style) printMoves(w io.Writer, moves []export.Move) {
	if len(moves) > 0 {
		st.heading(w, "Orders and decisions")
	}
	for i := len(moves) - 1; i >= 0; i-- {
		m := moves[i]
		to := ""
		if m.To != "" {
			to = " → " + plain.Line(m.To)
		}
		fmt.Fprintf(w, "  %s  %s%s at %s: %s %s\n", m.Decision, plain.Line(m.From), to, date(m.Time), m.Kind,
			clip(plain.Line(string(m.Task)+" "+m.Text), mostSaid))
		fmt.Fprintf(w, "      because %s\n", clip(plain.Line(m.Why), mostSaid))
		for _, came := range m.Came {
			fmt.Fprintf(w, "      came: %s\n", clip(plain.Line(came), mostSaid))
		}
	}
}
