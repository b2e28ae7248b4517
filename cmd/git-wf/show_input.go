package main

import (
	"fmt"
	"io"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/readmodel"
)

// printTaskInput shows what people gave a task, except reviews.
func (st style) printTaskInput(w io.Writer, in *readmodel.Detail) {
	if len(in.Questions) > 0 {
		st.heading(w, "Questions")
	}
	for _, q := range in.Questions {
		fmt.Fprintf(w, "  %s (%s) by %s: %s\n", q.QuestionID, plain.Line(q.Kind), plain.Line(q.By),
			plain.Line(q.Question.Question))
		if q.Answer == nil {
			fmt.Fprintln(w, "      not answered")
			continue
		}
		said := strings.TrimSpace(q.Answer.OptionID + " " + q.Answer.Text + " " + strings.Join(q.Answer.Inputs, ", "))
		fmt.Fprintf(w, "      %s: %s\n", plain.Line(q.Answer.By), clip(plain.Line(said), 200))
	}
	if len(in.HandedIn) > 0 {
		st.heading(w, "Handed in")
	}
	for _, d := range in.HandedIn {
		fmt.Fprintf(w, "  %s: %s, %d bytes, by %s at %s\n", plain.Line(d.Name), plain.Line(d.FileName), d.Size,
			plain.Line(d.By), date(d.CreatedAt))
	}
}
