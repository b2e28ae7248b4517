package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

func (e *env) landOrMerge(c *cli.Context) error {
	if c.String("merge") != "" {
		return e.onStore(e.landMerge)(c)
	}
	return e.onEnginePlan(wholePlan, e.land)(c)
}

// landMerge makes the merge commit that is legal: what git merges, with the protected code as the gate merges it.
func (e *env) landMerge(c *cli.Context, store *gitstore.Store) error {
	ctx, branch := c.Context, c.String("merge")
	if c.NArg() > 0 || store.WorkTree() == "" {
		return usage("--merge takes no task, and needs a working tree")
	}
	head, err := store.Head(ctx)
	if err != nil {
		return err
	}
	theirs, err := store.CommitOf(ctx, branch)
	if err == nil && theirs == "" {
		err = fault.Usage("git branch -a", "%s is no commit here", plain.Quote(branch))
	}
	if err != nil {
		return err
	}
	if have, err := store.IsAncestor(ctx, theirs, head); err != nil || have {
		if err == nil {
			fmt.Fprintln(e.stdout, "already up to date")
		}
		return err
	}
	g, err := gateOf(ctx, store)
	if err != nil {
		return err
	}
	m, err := g.Merge(ctx, head, theirs)
	if err != nil {
		return err
	}
	hint := ""
	for _, u := range m.Unmet {
		fmt.Fprintln(e.stderr, "error: "+plain.Line(fmt.Sprintf("%s of %s can't be merged: %s", u.Task, u.Plan, u.Why)))
		hint += u.Mend + " && "
	}
	if len(m.Unmet) > 0 {
		return fault.Refused(hint+"git wf land --merge "+shell.Word(branch), "nothing was merged")
	}
	conflicts, err := store.BeginMerge(ctx, branch, m.Files, g.Protects)
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return fault.Refused("resolve them, git add them, git commit", "conflicts in files that are not protected: %s",
			plain.Line(strings.Join(plain.Some(conflicts, 5, func(p string) string { return p }), ", ")))
	}
	if err := store.CommitMerge(ctx); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, plain.Line("merged "+branch))
	return nil
}

func (e *env) land(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	tasks, err := findTasks(snap.State(), c.Args().Slice())
	if err != nil {
		return err
	}
	o, err := landOptions(c.Context, eng.Store)
	if err != nil {
		return err
	}
	o.Tasks, o.Branch, o.One, o.Push = tasks, c.String("branch"), c.Bool("one"), c.Bool("push")
	if c.Bool("no-verify") {
		for _, name := range []string{"pre-commit", "commit-msg"} {
			if own, err := o.Hook(c.Context, name); err != nil || own != "" {
				fmt.Fprintf(e.stderr, "%s is skipped: --no-verify\n", name)
			}
		}
		o.Hook = nil
	}
	o.Propose, o.Watch, o.Auto = c.Bool("pr") || c.Bool("prs"), c.Bool("prs"), c.Bool("auto")
	ctx, end := e.metered(c)
	done, err := eng.Land(ctx, snap.ID, o)
	end()
	if err == nil && done.After == "" {
		return fault.Refused("git wf land --pr", "nothing of %s is proposed", snap.ID)
	}
	return e.sayLanded(done, err)
}

// landOptions are those of landing everything, by who runs the program and with their hooks.
func landOptions(ctx context.Context, store *gitstore.Store) (o engine.LandOptions, err error) {
	o.Person, err = store.Person(ctx)
	o.Hook = func(ctx context.Context, name string) (string, error) { return hooks.Own(ctx, store.Git, name) }
	return o, err
}

// sayLanded says what became of each change.
func (e *env) sayLanded(done engine.Landed, err error) error {
	if done.After == "" {
		return err
	}
	if err == nil || len(done.Tasks)+len(done.Notes) > 0 {
		err = errors.Join(err, e.print("landed", done))
	}
	if err != nil {
		return err
	}
	for _, l := range done.Tasks {
		if text, command := l.Asks(); text != "" {
			return fault.Waiting(command, "%s waits for you: %s", l.TaskID, text)
		}
		if l.Commit == "" && l.Head == "" {
			hint := "git wf show " + string(l.TaskID)
			for _, r := range l.Criteria {
				if r.Result == plan.ResultFail {
					hint = cmp.Or(engine.GiveUp(r.ID), hint)
				}
			}
			return fault.Refused(hint, "not everything landed on %s", done.Branch)
		}
	}
	return nil
}

// undoneIn is wholePlan, but the plan before where a killed undo of the task has made its own plan active.
func undoneIn(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
	snap, err := wholePlan(c, store, id)
	if err != nil || c.IsSet("plan") || !strings.HasPrefix(snap.Plan.TopTask, "Take back "+c.Args().First()+" ") {
		return snap, err
	}
	if id, err = store.Former(c.Context); err != nil {
		return snap, nil //nolint:nilerr // there was none
	}
	return wholePlan(c, store, id)
}

func (e *env) undo(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	ctx := c.Context
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	u, err := eng.Undo(ctx, snap, t, c.String("branch"))
	if err != nil {
		return err
	}
	d, err := draft("undo.json", u.Document(), eng.Policy.Floors)
	if err != nil {
		return err
	}
	d.Author, d.Source = person, u.Tip
	id, state, err := eng.CreatePlan(ctx, d)
	if err != nil {
		return err
	}
	if err := eng.Store.SetActive(ctx, id); err != nil {
		return err
	}
	u.Plan = id
	later := !state.Plan.Grafted(plan.PlanTaskID) // the policy has the plan reviewed first
	ctx, end := e.metered(c)
	err = eng.HandInUndo(ctx, u, person, later)
	end()
	if err != nil {
		return err
	}
	if later {
		if u.Commit != "" {
			fmt.Fprintf(e.stderr,
				"when the plan is approved and git wf run waits for %[1]s: git wf submit %[1]s --commit %.12[2]s\n",
				engine.UndoTask, u.Commit)
		}
		return e.planOutcome(c, eng, state, plan.PlanTaskID, planFromFile)
	}
	for _, id := range u.Builds {
		if !e.json {
			fmt.Fprintf(e.stderr, "warning: %s builds on %s\n", id, u.Task)
		}
	}
	if err := e.print("undoing", u); err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, u.Plan)
}
