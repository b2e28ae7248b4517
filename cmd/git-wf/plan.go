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

	"gitwf/internal/agent"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/outline"
	"gitwf/internal/plan"
)

func (e *env) planCommand() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "make a plan, from a sentence or from a file",
		ArgsUsage: "[WHAT...]",
		Description: "From a sentence, the planner (wf.planner, an agent) makes the plan. A file is a plan in YAML or JSON, or Markdown\n" +
			"whose headings are goals and tasks. Either is reviewed and, if it is approved, becomes the active plan. The command\n" +
			"lines of a file that you hand in are trusted on this machine: read them before.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the plan, or a .txt with what is to be planned; - for a plan on standard input"},
			&cli.StringSliceFlag{Name: "attach", Aliases: []string{"a"}, Usage: "a `FILE` that belongs to what is asked for; may be given more than once"},
			plannerFlag(),
			&cli.BoolFlag{Name: "amend", Usage: "change the active plan: tasks that are not done may be added, changed and left out"},
			&cli.BoolFlag{Name: "edit", Aliases: []string{"e"}, Usage: "open the plan in your editor and hand in what you make of it"},
			&cli.StringFlag{Name: "reason", Aliases: []string{"m"}, Usage: "why the plan is amended"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "show the graph and the findings, write nothing"},
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of plan files"},
			planFlag(), jsonFlag(),
		},
		Action: e.plan,
	}
}

func (e *env) plan(c *cli.Context) error {
	if c.Bool("schema") {
		_, err := e.stdout.Write(plan.Schema())
		return err
	}
	file, sentence := c.String("file"), strings.TrimSpace(strings.Join(c.Args().Slice(), " "))
	change := c.Bool("amend") || c.Bool("edit")
	switch {
	case change && c.Bool("dry-run"):
		return usage("--dry-run shows a new plan; leave out --amend and --edit")
	case c.Bool("amend") && sentence != "":
		return usage("--amend takes the change as -m TEXT or as -f FILE, and no arguments")
	case change:
		return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
			if c.Bool("edit") {
				return e.editPlan(c, store, snap)
			}
			return e.replan(c, store, snap, "")
		})
	case file == "" && sentence == "":
		return &failure{code: exitUsage, err: errors.New("no plan was given"), hint: "git wf plan -f FILE, or git wf plan 'what is to be made'"}
	case file == "" && c.Args().Len() == 1 && isPlanFile(sentence):
		return &failure{code: exitUsage, err: fmt.Errorf("%s is a file, not something to be made", sentence), hint: "git wf plan -f " + sentence}
	case file != "" && sentence != "":
		return usage("a plan is made from a sentence or from a file, not from both; what belongs to a sentence goes into --attach FILE")
	}
	if err := e.inAttempt(); err != nil {
		return err
	}
	return e.withStore(c.Context, func(store *gitstore.Store) error {
		eng, err := e.engine(c, store)
		if err != nil {
			return err
		}
		if sentence != "" {
			return e.planSentence(c, store, eng, sentence)
		}
		return e.planFile(c, store, eng, file)
	})
}

// isPlanFile reports whether somebody has most likely left out -f.
func isPlanFile(word string) bool {
	switch strings.ToLower(filepath.Ext(word)) {
	case ".yaml", ".yml", ".json":
		return !strings.ContainsAny(word, " \t\n")
	}
	return isMarkdown(word) && !strings.ContainsAny(word, " \t\n")
}

// planFile makes a plan from a file: one that is a plan, or Markdown.
func (e *env) planFile(c *cli.Context, store *gitstore.Store, eng *engine.Engine, file string) error {
	data, err := e.readPlan(file)
	if err != nil {
		return &failure{code: exitUsage, err: fmt.Errorf("read the plan %s: %w", file, err)}
	}
	if isMarkdown(file) {
		if c.String("planner") != "" && c.String("planner") != agent.NameOutline {
			return e.planSentence(c, store, eng, strings.TrimSpace(string(data)))
		}
		return e.planOutline(c, store, eng, file, data)
	}
	if strings.EqualFold(filepath.Ext(file), ".txt") {
		return e.planSentence(c, store, eng, strings.TrimSpace(string(data)))
	}
	d, err := e.draft(file, data, eng.Policy.Floors)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, d, nil)
	}
	return e.createPlan(c, store, eng, d)
}

func isMarkdown(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown", ".mdown":
		return true
	}
	return false
}

// planSentence has an agent make the plan of what was asked for.
func (e *env) planSentence(c *cli.Context, store *gitstore.Store, eng *engine.Engine, task string) error {
	if c.Bool("dry-run") {
		return usage("--dry-run needs a plan: an agent's plan exists only once it is made")
	}
	name, err := e.plannerOf(c, eng, "git wf plan -f FILE")
	if err != nil {
		return err
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	if _, err := store.Head(c.Context); err != nil {
		return err
	}
	id, err := eng.BeginPlan(c.Context, engine.Asked{TopTask: task, Files: e.absolute(c.StringSlice("attach")), Planner: name, Person: person})
	if err != nil {
		return err
	}
	if err := store.SetActive(c.Context, id); err != nil {
		return err
	}
	return e.makePlan(c, store, eng, id)
}

// plannerOf is the agent that makes plans here; otherwise is what to do without one.
func (e *env) plannerOf(c *cli.Context, eng *engine.Engine, otherwise string) (string, error) {
	settings, err := eng.Agents.Settings()
	if err != nil {
		return "", err
	}
	name := settings.Planner
	if name == "" {
		return "", &failure{
			code: exitUsage, err: errors.New("nobody is set up who makes plans"),
			hint: "git config wf.planner AGENT, or --planner AGENT (git wf agents lists them); or " + otherwise,
		}
	}
	if !eng.Agents.Knows(name) {
		_, err := eng.Agents.Lookup(name)
		if err == nil || errors.Is(err, agent.ErrManual) {
			err = fmt.Errorf("%s makes no plans", name)
		}
		return "", &failure{code: exitUsage, err: err, hint: "git wf agents"}
	}
	return name, nil
}

// makePlan works on the tasks that make plans until they are done or wait for somebody.
func (e *env) makePlan(c *cli.Context, store *gitstore.Store, eng *engine.Engine, id plan.ID) error {
	eng.Report = e.progress(c.Bool("json"))
	s, err := eng.Plan(c.Context, id)
	if err != nil {
		return err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	all, err := eng.Waits(c.Context, snap, s)
	if err != nil {
		return err
	}
	var waits []engine.Wait // of planning
	for _, w := range all {
		t := s.Tasks[w.Task]
		if t.NodeType == plan.Check {
			t = s.Tasks[t.ReviewTargetTaskID]
		}
		if t.Planning() || len(w.Questions) > 0 {
			waits = append(waits, w)
		}
	}
	if c.Bool("json") {
		if err := e.printJSON(describe(s, all)); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.stdout, "%s: %s\n", id, planWord(s))
		for _, w := range waits {
			fmt.Fprintf(e.stdout, "  %s: %s\n", w.Task, plan.OneLine(w.Text))
			e.printQuestions(e.stdout, w)
			if w.Command != "" {
				fmt.Fprintf(e.stdout, "    %s\n", plan.OneLine(w.Command))
			}
		}
		if len(waits) == 0 && len(s.Plan.Grafts) > 0 {
			fmt.Fprintln(e.stdout, "next: git wf run")
		}
	}
	for _, w := range waits {
		if w.Failed {
			return errSaid
		}
	}
	if len(waits) > 0 {
		return errWaiting
	}
	return nil
}

// planWord says how far the making of a plan has come.
func planWord(s *plan.State) string {
	t := s.Tasks[plan.PlanTaskID]
	if s.Plan.Grafted(plan.PlanTaskID) {
		return fmt.Sprintf("plan %s approved, %s", plan.VersionID(t.Approved), plan.Count(len(s.Leaves(s.Plan.RootTaskID)), "task"))
	}
	return "the plan is " + string(t.Status)
}

// maxPlanFile is one byte more than plan.Parse takes, so that it is the one to say that a file is too large.
const maxPlanFile = plan.MaxFileBytes + 1

// draft validates a plan file.
func (e *env) draft(name string, data []byte, floors plan.Floors) (engine.Draft, error) {
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
	if err := e.tryLines(c, eng, d); err != nil {
		return err
	}
	id, state, err := eng.CreatePlan(ctx, d)
	if err != nil {
		return err
	}
	if err := store.SetActive(ctx, id); err != nil {
		return err
	}
	return e.planOutcome(c, store, eng, state, plan.PlanTaskID)
}

// tryLines trusts the command lines of a file that a person hands in, and has its criteria tried on nothing.
func (e *env) tryLines(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	fresh := eng.Trust.New(d.Plan)
	e.showLines(fresh, "trusted on this machine because you hand this file in")
	green, err := eng.RedFirst(c.Context, d)
	if err != nil {
		return err
	}
	if len(green) > 0 {
		return green
	}
	if err := eng.Trust.Add(fresh); err != nil {
		return fmt.Errorf("trust the plan's command lines: %w", err)
	}
	return nil
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

// planOutcome tells whether the plan was accepted, with the review's words if it was not. Where the policy names more
// reviewers than the built-in one, it is their turn.
func (e *env) planOutcome(c *cli.Context, store *gitstore.Store, eng *engine.Engine, s *plan.State, task plan.TaskID) error {
	t := s.Tasks[task]
	if t.Verdict != plan.Rejected && !s.Plan.Grafted(task) {
		return e.makePlan(c, store, eng, s.Plan.PlanID)
	}
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

// dryRun shows what a plan would be, and what it was made from if that was Markdown. It runs only lines that are trusted
// already.
func (e *env) dryRun(c *cli.Context, eng *engine.Engine, d engine.Draft, o *outline.Outline) error {
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
			Outline   *outline.Outline   `json:"outline,omitempty"` // what was read in Markdown
		}{describe(s, nil), review, append(plan.Findings{}, green...), append([]plan.CommandLine{}, untrusted...), o}
		if err := e.printJSON(doc); err != nil {
			return err
		}
	} else {
		if o != nil {
			e.printOutline(o)
		}
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
