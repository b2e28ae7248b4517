package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) planCommand() *cli.Command {
	return &cli.Command{
		Name:  "plan",
		Usage: "make a plan from a file",
		Description: "Reads a plan (YAML or JSON), has it reviewed and, if it is approved, makes it the active plan. The command\n" +
			"lines of a file that you hand in are trusted on this machine: read them before.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the plan; - for standard input"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "show the graph and the findings, write nothing"},
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of plan files"},
			jsonFlag(),
		},
		Action: e.plan,
	}
}

func (e *env) plan(c *cli.Context) error {
	if c.Bool("schema") {
		_, err := e.stdout.Write(plan.Schema())
		return err
	}
	if err := wantArgs(c, 0, 0, "a file with -f FILE and no arguments"); err != nil {
		return err
	}
	if c.String("file") == "" {
		return &failure{code: exitUsage, err: errors.New("no plan was given"), hint: "git wf plan -f FILE"}
	}
	if err := e.inAttempt(); err != nil {
		return err
	}
	return e.withStore(c.Context, func(store *gitstore.Store) error {
		eng, err := e.engine(c.Context, store)
		if err != nil {
			return err
		}
		d, err := e.draft(c.String("file"), eng.Policy.Floors)
		if err != nil {
			return err
		}
		if c.Bool("dry-run") {
			return e.dryRun(c, eng, d)
		}
		return e.createPlan(c, store, eng, d)
	})
}

// maxPlanFile is one byte more than plan.Parse takes, so that it is the one to say that a file is too large.
const maxPlanFile = plan.MaxFileBytes + 1

// draft reads and validates a plan file.
func (e *env) draft(name string, floors plan.Floors) (engine.Draft, error) {
	data, err := e.readPlan(name)
	if err != nil {
		return engine.Draft{}, &failure{code: exitUsage, err: fmt.Errorf("read the plan %s: %w", name, err)}
	}
	if name == "-" {
		name = "standard input"
	}
	p, err := plan.ParseValid(name, data, floors)
	if err != nil {
		return engine.Draft{}, err
	}
	return engine.Draft{Name: name, Data: data, Plan: p}, nil
}

func (e *env) readPlan(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(e.stdin, maxPlanFile))
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(e.dir, name)
	}
	info, err := os.Stat(name) // before opening, which would wait for ever for a pipe's other end
	if err != nil {
		return nil, reasonOf(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPlanFile))
}

// reasonOf is what is wrong with a file whose name is said already.
func reasonOf(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (e *env) createPlan(c *cli.Context, store *gitstore.Store, eng *engine.Engine, d engine.Draft) error {
	ctx := c.Context
	var err error
	if d.Source, err = store.Head(ctx); err != nil {
		return err
	}
	if d.Author, err = store.Person(ctx); err != nil {
		return err
	}
	fresh := eng.Trust.New(d.Plan)
	e.showLines(fresh, "trusted on this machine because you hand this file in")
	green, err := eng.RedFirst(ctx, d)
	if err != nil {
		return err
	}
	if len(green) > 0 {
		return green
	}
	if err := eng.Trust.Add(fresh); err != nil {
		return fmt.Errorf("trust the plan's command lines: %w", err)
	}
	id, state, err := eng.CreatePlan(ctx, d)
	if err != nil {
		return err
	}
	if err := store.SetActive(ctx, id); err != nil {
		return err
	}
	return e.planOutcome(c, store, state)
}

// showLines lists command lines that can run from now on, or could if they were trusted.
func (e *env) showLines(lines []plan.CommandLine, what string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(e.stderr, "%s, %s:\n", plan.Count(len(lines), "command line"), what)
	const most = 40
	for i, l := range lines {
		if i == most {
			fmt.Fprintf(e.stderr, "  and %d more, all of them in the file\n", len(lines)-most)
			break
		}
		fmt.Fprintf(e.stderr, "  %s: %s\n", l.TaskID, clip(plan.OneLine(strings.ReplaceAll(strings.TrimSpace(l.Line), "\n", " ↵ ")), 100))
	}
}

// planOutcome tells whether the plan was accepted, with the review's words if it was not.
func (e *env) planOutcome(c *cli.Context, store *gitstore.Store, s *plan.State) error {
	t := s.Tasks[plan.PlanTaskID]
	reviews := s.Records.Of(t.TaskID).Reviews
	last := reviews[len(reviews)-1]
	accepted := last.Verdict == plan.Approved
	if c.Bool("json") {
		if err := e.printJSON(describe(s, nil)); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.stdout, "%s: plan %s %s (score %d), %s\n", s.Plan.PlanID, plan.VersionID(last.Version), verdictWord(last.Verdict), last.Score, plan.Count(len(s.Leaves(s.Plan.RootTaskID)), "task"))
	}
	if accepted {
		if !c.Bool("json") {
			fmt.Fprintln(e.stdout, "next: git wf run")
		}
		return nil
	}
	snap, err := store.Snapshot(c.Context, s.Plan.PlanID)
	if err != nil {
		return err
	}
	text, err := store.ReadFile(c.Context, snap.Commit, t.TaskID.Dir()+"/reviews/"+last.Dir()+"/"+last.Verdict.File())
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "\n%s\n", plan.Printable(string(text)))
	return refused("mend the file, then git wf plan -f FILE again: it becomes the next version", "the plan was rejected")
}

func verdictWord(v plan.Verdict) string {
	if v == plan.Approved {
		return "approved"
	}
	return "REJECTED"
}

// dryRun shows what a plan would be. It runs only lines that are trusted already.
func (e *env) dryRun(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	review := plan.ReviewPlan(d.Plan)
	review.Suggestions = append([]plan.PlanSuggestion{}, review.Suggestions...) // in JSON a list, never null
	untrusted := eng.Trust.New(d.Plan)
	var green plan.Findings
	if len(untrusted) == 0 {
		var err error
		if green, err = eng.RedFirst(c.Context, d); err != nil {
			return err
		}
	}
	d.Plan.PlanID = plan.NewID(d.Plan.Title, 1)
	s := plan.Derive(d.Plan, plan.Records{}, nil, e.now())
	if c.Bool("json") {
		doc := struct {
			statusDocument
			Review    plan.PlanReview    `json:"review"`
			Findings  plan.Findings      `json:"findings"`
			Untrusted []plan.CommandLine `json:"untrusted"`
		}{describe(s, nil), review, append(plan.Findings{}, green...), append([]plan.CommandLine{}, untrusted...)}
		if err := e.printJSON(doc); err != nil {
			return err
		}
	} else {
		e.printTree(e.stdout, s, nil)
		e.printPlanReview(review)
		e.showLines(untrusted, "not tried on an empty candidate because they are not trusted yet")
	}
	switch {
	case len(green) > 0:
		return green
	case review.Verdict != plan.Approved:
		return refused("", "the review would reject this plan (score %d)", review.Score)
	}
	return nil
}

func (e *env) printPlanReview(r plan.PlanReview) {
	e.heading(e.stdout, fmt.Sprintf("Review: %s, score %d", verdictWord(r.Verdict), r.Score))
	for _, c := range r.Criteria {
		word := "pass"
		if !c.Passed() {
			word = "FAIL"
		}
		fmt.Fprintf(e.stdout, "  %-4s %-4s %s: %s\n", c.ID, word, plan.OneLine(c.Statement), plan.OneLine(c.Evidence))
	}
	for _, s := range r.Suggestions {
		fmt.Fprintf(e.stdout, "  %-4s %s\n", s.Priority, plan.OneLine(s.Text))
	}
}
