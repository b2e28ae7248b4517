package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) answer(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	t = snap.State().Subject(t.TaskID)
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	r := engine.Reply{Task: t.TaskID, Text: strings.Join(c.Args().Tail(), " "), Option: c.String("option"),
		Files: e.absoluteAll(c.StringSlice("file")), Person: person}
	if r.Text == "-" {
		if r.Text, err = e.answerText(); err != nil {
			return err
		}
	}
	if name := c.String("question"); name != "" {
		if r.Number, err = questionNumber(snap, t.TaskID, name); err != nil {
			return err
		}
	}
	if c.String("for") != "" {
		r.Text = cmp.Or(r.Text, r.Option)
	}
	var done *gitstore.Appended
	asks := len(snap.Records.Of(t.TaskID).OpenQuestions()) > 0 || r.Number > 0
	gives := len(r.Files) > 0 || r.Text != ""
	switch {
	case gives && (c.String("for") != "" || !asks && r.Option == "" && len(t.Requires)+len(r.Files) > 0):
		done, err = eng.HandIn(c.Context, snap.ID, t.TaskID, c.String("for"), r.Files, r.Text, person)
	default:
		done, err = eng.Answer(c.Context, snap.ID, r)
	}
	if err != nil {
		return err
	}
	if err := e.printDecision(snap.ID, t.TaskID, done); err != nil || e.json {
		return err
	}
	return e.stillAsked(c.Context, eng, done.Snapshot, t.TaskID)
}

// stillAsked prints what else a task waits for, or the next command.
func (e *env) stillAsked(ctx context.Context, eng *engine.Engine, snap *gitstore.Snapshot, task plan.TaskID) error {
	x, err := e.explain(ctx, eng, snap)
	if err != nil {
		return err
	}
	for _, w := range x.Waits {
		if w.Task == task && len(w.Questions)+len(w.Missing) > 0 {
			fmt.Fprintln(e.stdout, "still needed:")
			err := e.render(e.stdout, "questions", w)
			fmt.Fprintf(e.stdout, "next: %s\n", plain.Line(w.Command))
			return err
		}
	}
	return e.render(e.stdout, "next", x)
}

// maxAnswer is the limit, in bytes, of an answer on standard input; longer ones are handed in as files.
const maxAnswer = 1 << 20

// answerText is the answer on standard input.
func (e *env) answerText() (string, error) {
	data, err := e.readInput("-", maxAnswer+1)
	hint := "git wf answer TASK --file FILE hands in what is longer, or no text"
	switch {
	case err != nil:
		return "", err
	case len(data) > maxAnswer:
		return "", fault.Usage(hint, "the answer on standard input has more than %d bytes", maxAnswer)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fault.Usage(hint, "the answer on standard input is no text in UTF-8")
	}
	return strings.TrimSpace(string(data)), nil
}

// questionNumber is the number of the question that a person names.
func questionNumber(snap *gitstore.Snapshot, task plan.TaskID, name string) (int, error) {
	records := snap.Records.Of(task)
	n, err := strconv.Atoi(strings.TrimPrefix(name, "q"))
	if err == nil && slices.Contains(records.Questions, n) {
		return n, nil
	}
	known := "it has asked none"
	if len(records.Questions) > 0 {
		named := func(q int) string { return fmt.Sprintf("q%d", q) }
		known = "it has asked " + strings.Join(plain.Some(records.Questions, len(records.Questions), named), ", ")
	}
	return 0, fault.Usage(fmt.Sprintf("git wf show %s shows them", task),
		"%s: has no question %s; %s", task, plain.Line(name), known)
}

// absoluteAll makes file names absolute.
func (e *env) absoluteAll(names []string) []string {
	return plain.Some(names, len(names), e.absolute)
}
