package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/progress"
)

func (e *env) runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "carry the plan out until it is done or waits for someone",
		Description: "Works on every task that is ready, has each version reviewed, redoes what was rejected. Exits with 0 if the plan is\n" +
			"done, 3 if a person has to act, 1 if a task used up its attempts.",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			jobsFlag(),
			boolFlag("step", "do exactly one thing"),
			&cli.StringFlag{Name: "orchestrator", Usage: "who decides: agent, or policy, which is a rule", Value: "agent"},
			boolFlag("land", "land each change of the repository when it is approved, as git wf land does"),
			executorFlag(), reviewerFlag(),
			boolFlag("quiet,q", "do not print a line for each event"),
		},
		Action: e.onPlan(wholePlan, e.carryOut),
	}
}

func (e *env) carryOut(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	if c.NArg() > 0 { // no task is run alone, and for a container there is more to say
		return cmp.Or(snap.State().RefuseContainer(plan.TaskID(c.Args().First()), "git wf run"), checkArgs(c))
	}
	if _, err := jobsOf(c); err != nil {
		return err
	}
	if who := c.String("orchestrator"); who != "agent" && who != "policy" {
		return usage("--orchestrator: expected agent or policy, found %s", plain.Quote(who))
	}
	if _, err := store.Head(c.Context); err != nil {
		return err
	}
	if c.Bool("land") && c.Bool("json") {
		return usage("--land with --json: run git wf land --json after it")
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	eng.ByRule = c.String("orchestrator") == "policy"
	return e.runPlan(c, store, eng, snap.ID)
}

// runPlan carries a plan out and says how far it is.
func (e *env) runPlan(c *cli.Context, store *gitstore.Store, eng *engine.Engine, id plan.ID) (err error) {
	if eng.Jobs, err = jobsOf(c); err != nil {
		return err
	}
	if c.Bool("land") {
		o, err := landOptions(c.Context, store)
		if err != nil {
			return err
		}
		eng.Landing = &engine.RunLanding{LandOptions: o}
	}
	state, did, err := e.work(c, eng, id)
	e.tidyUp(c.Context, store)
	if eng.Landing != nil && err != nil {
		return e.sayLanded(c, eng.Landing.Done, err)
	}
	if err != nil || did && state.Root().Status != plan.StatusDone {
		return err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	x, err := e.explain(c.Context, eng, snap)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		d := x.describe()
		d.HeldUp, d.Claims = heldUp(x.open), x.claims
		if err := e.printJSON(d); err != nil {
			return err
		}
	} else {
		e.printOutcome(x)
	}
	if eng.Landing != nil {
		if err := e.sayLanded(c, eng.Landing.Done, nil); err != nil {
			return err
		}
	}
	return runResult(x)
}

// jobsOf is how many tasks are worked on at once.
func jobsOf(c *cli.Context) (int, error) {
	if c.Int("jobs") < 1 {
		return 0, usage("--jobs: expected at least 1, found %d", c.Int("jobs"))
	}
	return c.Int("jobs"), nil
}

// work has the engine run or, with --step, do one thing, and shows what happens; did says that it was done.
func (e *env) work(c *cli.Context, eng *engine.Engine, id plan.ID) (s *plan.State, did bool, err error) {
	shown, line := c.Context, func(string) {}
	if !c.Bool("quiet") && !c.Bool("json") {
		var end func()
		shown, line, end = e.showWork(shown, eng)
		defer end()
	}
	ctx, end := untilInterrupted(shown, func() { line("stopping; interrupt again to end at once") })
	defer end()
	if c.Bool("step") {
		return eng.Step(ctx, id)
	}
	s, err = eng.Run(ctx, id)
	return s, false, err
}

// showWork prints a line for each event and, on a terminal that can, keeps the running tasks below them. line prints
// another line, and the context also shows long copying.
func (e *env) showWork(ctx context.Context, eng *engine.Engine) (shown context.Context, line func(string), end func()) {
	shown, end = ctx, func() {}
	if size := e.screen(); size != nil {
		view := progress.NewLive(e.stderr, size, e.now, wantColour(e.stderr, e.getenv("NO_COLOR"), e.getenv("TERM")))
		line, end, eng.Watch = view.Line, view.Close, view.Watch
		shown = gitstore.WithProgress(ctx, view.Step)
	} else {
		line = e.lines()
	}
	eng.Report = e.report(line)
	return shown, line, end
}

// progress prints a line for each event.
func (e *env) progress(quiet bool) func(engine.Progress) {
	if quiet {
		return nil
	}
	return e.report(e.lines())
}

// lines prints lines from several goroutines.
func (p printer) lines() func(string) {
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(p.stderr, text)
	}
}

// report makes a line of each event, with the time since the start.
func (e *env) report(line func(string)) func(engine.Progress) {
	began := e.now()
	return func(p engine.Progress) {
		line(fmt.Sprintf("%7s  %-12s %s", e.now().Sub(began).Round(100*time.Millisecond), p.Task, plain.Line(p.Text)))
	}
}

// screen returns the size of the terminal for a live view; nil if there is none.
func (e *env) screen() func() (columns, rows int) { return e.sizeOf(e.stderr) }

// sizeOf returns the size of the terminal that out is; nil if it is none, or one that can't redraw.
func (u user) sizeOf(out io.Writer) func() (columns, rows int) {
	f, ok := out.(*os.File)
	if !ok || !u.movesCursor() || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() (int, int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}
}

// movesCursor reports whether the terminal, if there is one, can redraw its screen.
func (u user) movesCursor() bool {
	if runtime.GOOS == "windows" && u.getenv("WT_SESSION") != "" { // the one console there that surely does
		return true
	}
	kind := u.getenv("TERM")
	return kind != "" && kind != "dumb"
}

// printOutcome says how far the plan is, and what each open task waits for.
func (p printer) printOutcome(x explained) {
	s, waits := x.state, x.waits
	done, all := s.Progress()
	fmt.Fprintf(p.stdout, "%s: %s, %d of %d done%s\n", s.Plan.PlanID, s.Root().Status, done, all, s.VerifiedLine())
	for _, w := range slices.Concat(waits, x.asks) {
		p.printWait(w)
	}
	if finished(s, waits) {
		p.printNext(x)
		return
	}
	p.printHeldUp(p.stdout, x.open)
	p.printClaims(p.stdout, x.claims)
}

// printNext says with which commands a plan goes on, or lands if it is done.
func (p printer) printNext(x explained) {
	for _, command := range x.next {
		fmt.Fprintln(p.stdout, "next: "+plain.Line(command))
	}
	if x.person {
		fmt.Fprintln(p.stdout, "next: a person decides")
	}
}

// printNextOf is printNext after something was recorded in the plan.
func (e *env) printNextOf(ctx context.Context, eng *engine.Engine, id plan.ID) error {
	snap, err := eng.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	x, err := e.explain(ctx, eng, snap)
	if err == nil {
		e.printNext(x)
	}
	return err
}

// recorded is printNextOf for a command that needs no engine to record.
func (e *env) recorded(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, id)
}

// printWait says what a task waits for, and the command that helps. A question is printed once.
func (p printer) printWait(w engine.Wait) {
	text := plain.Line(w.Text)
	if n := len(w.Questions); n > 0 {
		text = "asks " + plain.Count(n, "question")
	}
	fmt.Fprintf(p.stdout, "  %s: %s\n", w.Task, text)
	if w.Spent != "" {
		fmt.Fprintf(p.stdout, "    %s\n", w.Spent)
	}
	printQuestions(p.stdout, w)
	if w.Command != "" {
		fmt.Fprintf(p.stdout, "    %s\n", plain.Line(w.Command))
	}
}

// finished reports whether nothing is left to do. An assembled plan is DONE with its last task, but one of its
// deliverables may have been rejected since.
func finished(s *plan.State, waits []engine.Wait) bool {
	done, all := s.Progress()
	return s.Root().Status == plan.StatusDone && len(waits) == 0 && done == all
}

// runResult is the exit code of a run that has stopped.
func runResult(x explained) error {
	s, waits := x.state, x.waits
	if finished(s, waits) {
		return nil
	}
	for _, w := range waits {
		if w.Failed {
			return errSaid
		}
	}
	if len(waits) > 0 {
		return errWaiting
	}
	if err := s.MayBegin(); err != nil {
		return err // somebody paused it meanwhile
	}
	for _, c := range x.claims {
		if c.Holds {
			return fault.Waiting("git wf next --explain", "%s is in work elsewhere: %s", c.Task, c.Owner())
		}
	}
	return fault.Refused("git wf next --explain", "nothing can go on in %s", s.Plan.PlanID)
}
