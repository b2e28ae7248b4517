package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/act"
	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

func (e *env) status(c *cli.Context) error {
	switch as := c.String("as"); {
	case as != "" && as != "dev-plan":
		return usage("--as: expected dev-plan, found %s", plain.Quote(as))
	case as != "":
		return e.onReadable(wholePlan, e.showDevPlan)(c)
	case c.Bool("watch"):
		return e.watch(c)
	case c.Bool("cost"):
		return e.onReadable(warmPlan, e.showCost)(c)
	}
	return e.onReadable(warmPlan, e.showStatus)(c)
}

// showDevPlan prints the plan as a document, each task with one of five words for where it stands.
func (e *env) showDevPlan(_ *cli.Context, _ *gitstore.Store, snap *gitstore.Snapshot) error {
	_, err := io.WriteString(e.stdout, act.DevPlan(snap.State()))
	return err
}

func (e *env) showStatus(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	p, err := e.reader(eng).Read(c.Context, snap)
	if err != nil {
		return err
	}
	e.warnUnguarded(&eng.Policy)
	return e.out(p, func(w io.Writer) { e.printStatus(w, p) })
}

func (st style) printStatus(w io.Writer, p *readmodel.Plan) {
	st.printPlan(w, p)
	if len(p.Unread) > 0 {
		fmt.Fprintf(w, "\nread by nobody but their commands: %s\n", plan.JoinIDs(p.Unread))
	}
	st.printChecklist(w, p.RootCriteria)
	st.printWaits(w, slices.Concat(p.Waits, p.Asks))
	st.printHeldUp(w, p.HeldUp)
	st.printVacancies(w, p.Seats)
	st.printClaims(w, staleClaims(p.Claims))
	if _, _, open := export.Kinds(p.State); len(open) > 0 && p.Finished() {
		st.heading(w, "Next")
		for _, command := range p.Next {
			fmt.Fprintf(w, "  %s\n", command)
		}
	}
}

// printPlan prints a plan as a tree of goals and actions. A CHECK has no line of its own: its target's line shows what
// it says.
func (st style) printPlan(w io.Writer, p *readmodel.Plan) {
	fmt.Fprintf(w, "%s  %s\n%s, %d of %d done%s, %s\n", st.paint("1", string(p.PlanID)), plain.Line(p.Title),
		st.status(p.Status), p.Done, p.Total, p.State.VerifiedLine(), cmp.Or(p.Proof, "unsigned"))
	printSession(w, p.State)
	fmt.Fprintln(w)
	treePrinter{style: st, w: w, p: p, seen: map[plan.TaskID]bool{}}.task(p.State.Plan.RootTaskID, "", "")
}

// printWaits lists what only a person can do, and the commands for it.
func (st style) printWaits(w io.Writer, waits []engine.Wait) {
	if len(waits) == 0 {
		return
	}
	st.heading(w, "Waits for you")
	printSome(w, waits, mostShown, "  and %d more\n", func(wait engine.Wait) {
		fmt.Fprintf(w, "  %s: %s\n", wait.Task, plain.Line(wait.Text))
		if wait.Spent != "" {
			fmt.Fprintf(w, "    %s\n", wait.Spent)
		}
		if wait.Command != "" {
			fmt.Fprintf(w, "    %s\n", wait.Command)
		}
	})
}

// printChecklist says which items of the top task's checklist are met, and by what.
func (st style) printChecklist(w io.Writer, list []export.RootCriterion) {
	if len(list) == 0 {
		return
	}
	st.heading(w, "Checklist")
	for _, c := range list {
		mark, by := "[ ]", ""
		switch {
		case c.Met:
			mark, by = "[x]", "  ("+clip(plain.Line(strings.Join(c.MetBy, ", ")), 60)+")"
		case c.Waived():
			mark, by = "[~]", "  (waived: "+clip(plain.Line(strings.Join(c.WaivedBy, ", ")), 60)+")"
		}
		fmt.Fprintf(w, "  %s %s  %s%s\n", mark, plain.Line(c.ID), clip(plain.Line(c.Statement), 80), by)
	}
}

type treePrinter struct {
	style
	w    io.Writer
	p    *readmodel.Plan
	seen map[plan.TaskID]bool // tasks of a plan that no rule has checked may be below themselves
}

func (p treePrinter) task(id plan.TaskID, lead, under string) {
	t := p.p.Task(id)
	if t == nil || p.seen[id] {
		return
	}
	p.seen[id] = true
	fmt.Fprintf(p.w, "%s%s %s  %s  %s", lead, p.mark(t.Status), id, clip(plain.Line(t.Title), 60), p.status(t.Status))
	if t.Line != "" {
		fmt.Fprintf(p.w, "  %s", t.Line)
	}
	fmt.Fprintln(p.w)
	children := p.p.State.Children(id)
	for i, c := range children {
		if i == len(children)-1 {
			p.task(c, under+"└─ ", under+"   ")
		} else {
			p.task(c, under+"├─ ", under+"│  ")
		}
	}
}
