package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// taskInput is what a task has from people beside reviews.
type taskInput struct {
	Questions []askedDocument      `json:"questions"`
	HandedIn  []plan.InputDocument `json:"handed_in"`
}

// askedDocument is a question of a task with its answer, null while there is none.
type askedDocument struct {
	plan.Question
	Answer *plan.Answer `json:"answer"`
}

// readTaskInput reads the questions, answers and inputs of a task.
func readTaskInput(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, id plan.TaskID) (taskInput, error) {
	in := taskInput{Questions: []askedDocument{}, HandedIn: []plan.InputDocument{}}
	read := func(name string, v any) error {
		data, err := store.ReadFile(ctx, snap.Commit, id.Dir()+"/"+name)
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	}
	r := snap.Records.Of(id)
	for _, n := range r.Questions {
		var q askedDocument
		if err := read(fmt.Sprintf("questions/q%d.json", n), &q.Question); err != nil {
			return in, err
		}
		if slices.Contains(r.Answers, n) {
			q.Answer = &plan.Answer{}
			if err := read(fmt.Sprintf("answers/q%d.json", n), q.Answer); err != nil {
				return in, err
			}
		}
		in.Questions = append(in.Questions, q)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Inputs)) {
		for n := 1; n <= r.Inputs[name]; n++ {
			var doc plan.InputDocument
			if err := read(fmt.Sprintf("inputs/%s/%d.json", name, n), &doc); err != nil {
				return in, err
			}
			in.HandedIn = append(in.HandedIn, doc)
		}
	}
	return in, nil
}

func (e *env) printTaskInput(w io.Writer, in taskInput) {
	if len(in.Questions) > 0 {
		e.heading(w, "Questions")
	}
	for _, q := range in.Questions {
		fmt.Fprintf(w, "  %s (%s) by %s: %s\n", q.QuestionID, plan.OneLine(q.Kind), plan.OneLine(q.By), plan.OneLine(q.Question.Question))
		if q.Answer == nil {
			fmt.Fprintln(w, "      not answered")
			continue
		}
		said := strings.TrimSpace(q.Answer.OptionID + " " + q.Answer.Text + " " + strings.Join(q.Answer.Inputs, ", "))
		fmt.Fprintf(w, "      %s: %s\n", plan.OneLine(q.Answer.By), clip(plan.OneLine(said), 200))
	}
	if len(in.HandedIn) > 0 {
		e.heading(w, "Handed in")
	}
	for _, d := range in.HandedIn {
		fmt.Fprintf(w, "  %s: %s, %d bytes, by %s at %s\n", plan.OneLine(d.Name), plan.OneLine(d.FileName), d.Size, plan.OneLine(d.By), date(d.CreatedAt))
	}
}
