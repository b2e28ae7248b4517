package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) answerCommand() *cli.Command {
	return &cli.Command{
		Name:      "answer",
		Usage:     "answer what a task asks, or hand in what it requires",
		ArgsUsage: "TASK [TEXT...]",
		Description: "Answers the first open question of the task, with a text, one of the given options, or files. Where the task\n" +
			"asks nothing, the files are for an input that it requires.",
		Flags: []cli.Flag{
			planFlag(),
			&cli.StringFlag{Name: "question", Usage: "the question to answer, such as `q2`", DefaultText: "the first open one"},
			&cli.StringFlag{Name: "option", Usage: "the `ID` of the option that is chosen"},
			&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, Usage: "a `FILE` to hand in; may be given more than once"},
			&cli.StringFlag{Name: "for", Usage: "the `NAME` of the input that the files are for"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, -1, "a task and a text"); err != nil {
				return err
			}
			return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error { return e.answer(c, store, snap) })
		},
	}
}

func (e *env) answer(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	if err := e.inAttempt(); err != nil {
		return err
	}
	t, err := findTask(snap.State(), c.Args().First())
	if err != nil {
		return err
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	r := engine.Reply{Task: t.TaskID, Text: strings.Join(c.Args().Tail(), " "), Option: c.String("option"), Files: e.absolute(c.StringSlice("file")), Person: person}
	if r.Text == "-" {
		data, err := io.ReadAll(io.LimitReader(e.stdin, plan.MaxFileBytes))
		if err != nil {
			return err
		}
		r.Text = strings.TrimRight(string(data), "\n")
	}
	if name := c.String("question"); name != "" {
		if n, err := fmt.Sscanf(name, "q%d", &r.Number); n != 1 || err != nil || r.Number < 1 {
			return usage("--question: %q is no question; questions are called q1, q2, ... (git wf show %s)", name, t.TaskID)
		}
	}
	var done *gitstore.Appended
	asks := len(snap.Records.Of(t.TaskID).OpenQuestions()) > 0 || r.Number > 0
	switch {
	case !asks && len(r.Files) > 0 && r.Text == "" && r.Option == "", c.String("for") != "" && len(r.Files) > 0:
		done, err = eng.HandIn(c.Context, snap.ID, t.TaskID, c.String("for"), r.Files, person)
	default:
		done, err = eng.Answer(c.Context, snap.ID, r)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, plan.OneLine(done.Change.Subject))
	fmt.Fprintln(e.stdout, "next: git wf run")
	return nil
}

// absolute makes file names absolute, from where the command was started.
func (e *env) absolute(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = name
		if !filepath.IsAbs(name) {
			all[i] = filepath.Join(e.dir, name)
		}
	}
	return all
}

// printQuestions shows what a task asks and requires, in which form, and where to put it.
func (e *env) printQuestions(w io.Writer, wait engine.Wait) {
	for _, q := range wait.Questions {
		fmt.Fprintf(w, "    %s (%s): %s\n", q.QuestionID, plan.OneLine(q.Kind), plan.OneLine(q.Question))
		for _, o := range q.Options {
			mark := ""
			if o.OptionID == q.RecommendedOptionID {
				mark = " (recommended)"
			}
			fmt.Fprintf(w, "      %s: %s%s\n", plan.OneLine(o.OptionID), plan.OneLine(o.Description), mark)
		}
	}
	for _, m := range wait.Missing {
		form := plan.OneLine(strings.TrimSpace(m.Kind + " " + strings.Join(m.Formats, "|")))
		if form != "" {
			form = ", " + form
		}
		about := plan.OneLine(m.Description)
		if about != "" {
			about = ": " + about
		}
		fmt.Fprintf(w, "    %s (%d/%d%s)%s\n", plan.OneLine(m.Name), m.Have, max(m.Count, 1), form, about)
	}
}
