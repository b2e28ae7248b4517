package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/progress"
	"gitwf/internal/readmodel"
	"gitwf/internal/workflow"
)

func (e *env) carryOut(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	if c.NArg() > 0 { // no task is run alone, and for a container there is more to say
		return cmp.Or(snap.State().RefuseContainer(plan.TaskID(c.Args().First()), "git wf run"), checkArgs(c))
	}
	if who := c.String("orchestrator"); who != "agent" && who != "policy" {
		return usage("--orchestrator: expected agent or policy, found %s", plain.Quote(who))
	}
	if _, err := eng.Store.Head(c.Context); err != nil {
		return err
	}
	eng.ByRule = c.String("orchestrator") == "policy"
	return e.runPlan(c, eng, snap.ID)
}

// runPlan carries a plan out and says how far it is.
func (e *env) runPlan(c *cli.Context, eng *engine.Engine, id plan.ID) (err error) {
	eng.Jobs = c.Int("jobs")
	if c.Bool("land") {
		o, err := landOptions(c.Context, eng.Store)
		if err != nil {
			return err
		}
		eng.Landing = &engine.RunLanding{LandOptions: o}
	}
	if err := e.lookAfter(c, eng, id); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, e.lookAfter(c, eng, id)) }()
	calls, err := e.foresee(c, eng, id)
	if err != nil {
		return err
	}
	state, did, err := e.runEngine(c, eng, id)
	if eng.Landing != nil && err != nil {
		return e.sayLanded(eng.Landing.Done, err)
	}
	if err != nil || did && state.Root().Status != plan.StatusDone {
		return err
	}
	snap, err := eng.Store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	x, err := e.explain(c.Context, eng, snap)
	if err != nil {
		return err
	}
	if e.json {
		x.Describe()
	}
	if x.Finished() {
		x.Then = e.mayFollow(c, eng.Store, snap)
	}
	if calls.Spent, err = eng.Spent(c.Context, snap, nil); err != nil {
		return err
	}
	if calls.Spent.Calls > 0 && !e.json && !c.Bool("quiet") {
		fmt.Fprintln(e.stderr, "spent so far:", calls.Spent)
	}
	if err := e.print("outcome", struct {
		*readmodel.Plan
		runCalls
	}{x, calls}); err != nil {
		return err
	}
	if eng.Landing != nil {
		if err := e.sayLanded(eng.Landing.Done, nil); err != nil {
			return err
		}
	}
	return runResult(x)
}

// lookAfter looks after what the plan has proposed, as git wf land --prs does: for a person, with a connection.
func (e *env) lookAfter(c *cli.Context, eng *engine.Engine, id plan.ID) error {
	offline, _, err := eng.Store.Config(c.Context, "wf.offline")
	o, optionsErr := landOptions(c.Context, eng.Store)
	if err = cmp.Or(err, optionsErr); err != nil || e.offline || offline == "true" ||
		e.caller().Kind == caller.Agent {
		return err
	}
	o.Propose, o.Watch = true, true
	done, err := eng.Land(c.Context, id, o)
	if err != nil {
		fmt.Fprintln(e.stderr, plain.Line("warning: proposals are not looked after: "+fault.Line(err)))
	} else if !e.json && len(done.Tasks)+len(done.Notes) > 0 {
		return e.print("landed", done)
	}
	return nil
}

// runCalls is how many calls of agents a run may come to, and what the plan has taken in the end.
type runCalls struct {
	Usual int          `json:"usual_calls"`
	Most  int          `json:"most_calls"`
	Spent engine.Spent `json:"spent"`
}

// foresee says beforehand how many calls of agents are to come, where there are any.
func (e *env) foresee(c *cli.Context, eng *engine.Engine, id plan.ID) (calls runCalls, err error) {
	snap, err := eng.Store.Snapshot(c.Context, id)
	if err != nil {
		return calls, err
	}
	s := snap.State()
	b := workflow.BoundsOf(snap.Plan, func(t *plan.Task) (makes, judges bool) {
		if ts := s.Tasks[t.TaskID]; ts.Status != plan.StatusDone && ts.Status != plan.StatusAbandoned {
			return eng.Asks(s, ts)
		}
		return false, false
	})
	calls.Usual, calls.Most = b.Usual, b.Most
	if b.Usual > 0 && !e.json && !c.Bool("quiet") {
		then := ""
		if len(snap.Plan.Grafts) == 0 {
			then = ", to plan; then usually 2 for each task"
		}
		fmt.Fprintf(e.stderr, "%s of agents expected, at most %d%s\n", plain.Count(b.Usual, "call"), b.Most, then)
	}
	return calls, nil
}

// runEngine has the engine run or, with --step, do one thing, and shows what happens; did says that it was done.
func (e *env) runEngine(c *cli.Context, eng *engine.Engine, id plan.ID) (s *plan.State, did bool, err error) {
	shown, line := c.Context, func(string) {}
	if !c.Bool("quiet") && !e.json {
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
	if size := e.sizeOf(e.stderr); size != nil {
		view := progress.NewLive(e.stderr, size, e.now, wantColour(e.stderr, e.getenv("NO_COLOR"), e.getenv("TERM")))
		line, end, eng.Watch = view.Line, view.Close, view.Watch
		shown = gitstore.WithProgress(ctx, view.Step)
	} else {
		line = e.lines()
	}
	eng.Report = e.report(line)
	return shown, line, end
}

// watched has the engine do something, and shows it unless the command is quiet or prints a document.
func (e *env) watched(c *cli.Context, eng *engine.Engine, do func(context.Context) error) error {
	if e.json || c.Bool("quiet") {
		return do(c.Context)
	}
	shown, _, end := e.showWork(c.Context, eng)
	defer end()
	return do(shown)
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

// printNextOf says with which commands the plan goes on after something was recorded in it, unless the command prints
// a document.
func (e *env) printNextOf(ctx context.Context, eng *engine.Engine, id plan.ID) error {
	if e.json {
		return nil
	}
	x, err := e.explainNow(ctx, eng, id)
	if err != nil {
		return err
	}
	return e.render(e.stdout, "next", x)
}

// runResult is the exit code of a run that has stopped.
func runResult(x *readmodel.Plan) error {
	if x.Finished() {
		return nil
	}
	if err := waitingResult(x.Waits); err != nil {
		return err
	}
	if err := x.State.MayBegin(); err != nil {
		return err // somebody paused it meanwhile
	}
	for _, c := range x.Claims {
		if c.Holds {
			return fault.Waiting("git wf next --explain", "%s is in work elsewhere: %s", c.Task, c.Owner())
		}
	}
	return fault.Refused("git wf next --explain", "nothing can go on in %s", x.PlanID)
}

// metered is the command's context, and on a terminal one under which long work on files is shown, in one line as git's
// own commands have it; end takes the line away. It must be called before anything else is printed.
func (e *env) metered(c *cli.Context) (ctx context.Context, end func()) {
	m := e.meter(c)
	if m == nil {
		return c.Context, func() {}
	}
	return gitstore.WithProgress(c.Context, m.Step), m.Wait()
}

// meter is the line of progress of a command, nil where nobody would see it.
func (e *env) meter(c *cli.Context) *progress.Meter {
	size := e.sizeOf(e.stderr)
	if size == nil || c.Bool("quiet") || e.json {
		return nil
	}
	return progress.NewMeter(e.stderr, size, e.getenv("GIT_PROGRESS_DELAY"))
}
