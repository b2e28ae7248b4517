package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// doAnywhere is do, also where there is no repository, or none with a commit: at a terminal it offers to make both.
func (e *env) doAnywhere(c *cli.Context) error {
	err := e.onEngine(e.do)(c)
	line, none := "git commit --allow-empty -m 'first commit'", errors.Is(err, gitstore.ErrNoRepository)
	if none {
		line = "git init && " + line
	}
	if !none && !errors.Is(err, gitstore.ErrUnborn) || c.NArg() == 0 {
		return err
	}
	if e.asks() {
		fmt.Fprintln(e.stderr, "error:", plain.Line(err.Error()))
		if yes, err := e.ask(c.Context, fmt.Sprintf("Make it with: %s? [y/N] ", line)); err != nil {
			return err
		} else if yes {
			if err := gitstore.Begin(c.Context, e.dir, none); err != nil {
				return err
			}
			return e.onEngine(e.do)(c)
		}
	}
	var f fault.Fault
	errors.As(err, &f)
	code, _ := f.Exit()
	return &fault.Error{Code: code, Hint: line + "; then the same git wf do", Err: err}
}

func (e *env) do(c *cli.Context, eng *engine.Engine) error {
	store := eng.Store
	task := strings.TrimSpace(strings.Join(c.Args().Slice(), " "))
	switch {
	case task == "":
		return fault.Usage("git wf do 'what is to be made'", "nothing says what is to be done")
	case c.NArg() == 1 && isPlanFile(task):
		return fault.Usage("git wf plan -f "+shell.Word(task)+", then git wf run",
			"%s is a file, not something to be made", task)
	}
	if _, err := store.Head(c.Context); err != nil {
		return err
	}
	id, found, err := eng.PlanOf(c.Context, task)
	if err != nil {
		return err
	}
	planner, made := "", (*madePlan)(nil)
	if given := givenFlags(c, "attach|from|workflow"); found && len(given) > 0 {
		return fault.Usage("git wf answer TASK --file FILE hands in what a task asks for; other words begin "+
			"another plan", "--%s belongs to a new plan, and %s goes on", given[0], id)
	}
	if !found { // refused before anything is set up
		if planner, made, err = e.howToPlan(c, eng, task); err != nil {
			return err
		}
	}
	if store.WorkTree() != "" {
		if _, err := e.setUp(c, store); err != nil {
			return err
		}
	}
	switch {
	case found:
		fmt.Fprintf(e.stderr, "going on with %s\n", id)
		err = store.SetActive(c.Context, id)
	case made != nil:
		made.draft.Plan.PlanID = plan.NewID(engine.TitleOf(task), 1)
		var s *plan.State
		if s, err = e.recordPlan(c, eng, made.draft, e.tryLines); err == nil {
			id = s.Plan.PlanID
		}
	default:
		_, err = e.beginPlan(c, eng, id, task, planner)
		if errors.Is(err, gitstore.ErrPlanExists) { // somebody was faster, and maybe with the same words
			return e.do(c, eng)
		}
	}
	if err != nil {
		return err
	}
	if approved, err := e.planTrusted(c, eng, id); err != nil || !approved {
		return err
	}
	for {
		err := e.runPlan(c, eng, id)
		if !errors.Is(err, errWaiting) {
			return err
		}
		if fresh, trustErr := e.trustNew(c, eng, id); trustErr != nil || !fresh {
			return errors.Join(trustErr, err)
		}
	}
}

// planTrusted makes the plan and has its command lines trusted, until it is approved, or waits and says for what.
func (e *env) planTrusted(c *cli.Context, eng *engine.Engine, id plan.ID) (approved bool, err error) {
	snap, err := eng.Store.Snapshot(c.Context, id)
	if err == nil && len(snap.Plan.Grafts) == 0 {
		_, err = e.foresee(c, eng, id)
	}
	if err != nil {
		return false, err
	}
	for {
		s, err := e.makePlans(c, eng, id)
		if err != nil {
			return false, err
		}
		fresh, err := e.trustNew(c, eng, id)
		switch {
		case err != nil:
			return false, err
		case fresh:
		case s.Plan.Grafted(plan.PlanTaskID): // a run goes on with what does not wait
			fmt.Fprintf(e.stdout, "%s: %s\n", id, planWord(s))
			return true, nil
		default:
			return false, e.planned(c, eng, id, s)
		}
	}
}

// trustNew shows the plan's command lines that are not trusted here yet and asks; fresh says that there were some.
func (e *env) trustNew(c *cli.Context, eng *engine.Engine, id plan.ID) (fresh bool, err error) {
	snap, err := eng.Store.Snapshot(c.Context, id)
	if err != nil {
		return false, err
	}
	lines, err := eng.NewLines(c.Context, snap)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	e.printLines(e.stdout, lines)
	if e.asks() {
		if err := e.askTrust(c.Context, eng, snap.Plan, lines); !errors.Is(err, errWaiting) {
			return err == nil, err
		}
	}
	return false, fault.Waiting("git wf trust, or git wf trust --yes now that they are shown; then the "+
		"same git wf do", "not trusted here yet: %s", engine.CountUntrusted(lines))
}
