package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/caller"
	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) hooksInstall(c *cli.Context, store *gitstore.Store) error {
	return e.printHookActions(e.setup(store).Install(c.Context, c.Bool("force")))
}

func (e *env) hooksUninstall(c *cli.Context, store *gitstore.Store) error {
	return e.printHookActions(e.setup(store).Uninstall(c.Context))
}

// printHookActions says what was done, also before something failed.
func (p printer) printHookActions(r hooks.Report, err error) error {
	if len(r.Actions) == 0 && err == nil {
		fmt.Fprintln(p.stdout, "nothing to do")
	}
	for _, a := range r.Actions {
		fmt.Fprintf(p.stdout, "%s: %s\n", a.Path, a.Did)
	}
	return err
}

func (e *env) hooksStatus(c *cli.Context, store *gitstore.Store) error {
	o, err := e.setup(store).Options(c.Context, false)
	if err != nil {
		return err
	}
	all, err := hooks.Status(c.Context, o)
	if err != nil {
		return err
	}
	if err := e.print("hooks", all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(h hooks.HookStatus) bool { return !h.Active }) {
		return fault.Refused("git wf hooks install", "some hooks do not run the gate")
	}
	return nil
}

func (e *env) hook(c *cli.Context, store *gitstore.Store) error {
	g, err := gateOf(c.Context, store)
	if err != nil {
		return err
	}
	var report *gate.Report
	var moves []gate.Move
	var pushed []byte
	name := c.Args().First()
	switch name {
	case "pre-commit", "pre-merge-commit":
		report, err = g.Index(c.Context, g.Merging(name, e.environ)...)
	case "post-merge":
		report, err = g.Merged(c.Context)
	case "pre-push":
		if pushed, err = io.ReadAll(e.stdin); err == nil {
			report, err = g.Push(c.Context, bytes.NewReader(pushed), c.Args().Get(1))
		}
	case "reference-transaction", "pre-receive":
		if moves, err = gate.ReadMoves(e.stdin); err == nil {
			report, err = g.Moves(c.Context, moves, name == "pre-receive")
		}
	default:
		return usage("no hook is called %q", name)
	}
	if err != nil {
		return err
	}
	// Only a client may be set to warn: a server's owner removes the hook instead.
	enforce, _, err := store.Config(c.Context, "wf.enforce")
	if err != nil {
		return err
	}
	aside := "" // why nothing is refused, and what to do
	switch {
	case name == "post-merge":
		aside = "git reset --hard ORIG_HEAD undoes the merge; pre-push will refuse what it brought"
	case enforce == "warn" && name != "pre-receive":
		aside = "nothing was refused, because wf.enforce is warn: git config --unset wf.enforce"
	}
	if err := e.noteShared(c.Context, store, g, name, report); err != nil {
		return err
	}
	err = e.printFindings(report, aside)
	if err == nil && name == "pre-push" {
		err = e.withPlans(c.Context, g, report, c.Args().Get(1), string(pushed), enforce != "warn")
	}
	if err == nil && name == "reference-transaction" {
		err = e.expectPolicy(c.Context, store, moves)
	}
	if who := e.caller(); err != nil && who.Kind == caller.Agent { // which may undo it, and say nothing
		tried := plain.Some(report.Findings, 1, func(f gate.Finding) string { return f.Path + ": " + f.Message })
		err = errors.Join(err, e.noteTry(store, name+" refused "+who.Name, who.Session, strings.Join(tried, ", ")))
	}
	branch := func(m gate.Move) bool { return strings.HasPrefix(m.Ref, "refs/heads/") }
	if err != nil && (name != "reference-transaction" || slices.ContainsFunc(moves, branch)) {
		e.printWayBack(name, store, report)
	}
	return err
}

// expectPolicy tells the hooks of a policy that is about to arrive without git wf.
func (e *env) expectPolicy(ctx context.Context, store *gitstore.Store, moves []gate.Move) error {
	for _, m := range moves {
		if m.Ref != gitstore.PolicyRef || m.New == "" {
			continue
		}
		failed, err := e.setup(store).Expect(ctx, m.New)
		if err != nil {
			return err
		}
		if failed != nil {
			fmt.Fprintf(e.stderr, "warning: the hooks don't know the new policy's directories: %s\n"+
				"hint: git wf hooks install\n", plain.Line(failed.Error()))
		}
	}
	return nil
}

// noteShared reports, in one line, commits that pass only because a remote-tracking branch already has them. In strict
// mode it does so when the branch moves: after the merge was judged, and before post-merge asks.
func (e *env) noteShared(ctx context.Context, store *gitstore.Store, g *gate.Gate, hook string, r *gate.Report) error {
	if len(r.Shared) == 0 {
		return nil
	}
	if hook != "reference-transaction" {
		if strict, err := e.setup(store).Strict(ctx); err != nil || strict {
			return err
		}
	}
	first := r.Shared[0]
	commits := each.Set(r.Shared, func(f gate.Finding) plan.OID { return f.Commit })
	where := "a remote-tracking branch"
	if ref, err := g.SharedIn(ctx, first.Commit); err == nil && first.Commit != "" && ref != "" {
		where = ref
	}
	fmt.Fprintln(e.stderr, plain.Line(fmt.Sprintf("note: %s already has %s that the gate would refuse: %s: %s",
		where, plain.Count(len(commits), "commit"), first.Path, first.Message)))
	if first.Code == "no-plan" || first.Code == "foreign-commit" { // it may be right, and only its plan is missing here
		fmt.Fprintln(e.stderr, "hint: "+plain.Line(first.Hint))
	}
	return nil
}

// withPlans refuses a push that leaves behind a plan that proves its bundles.
func (p printer) withPlans(ctx context.Context, g *gate.Gate, r *gate.Report, remote, pushed string,
	refuse bool) error {
	command, err := g.Lacking(ctx, r, remote, pushed)
	switch {
	case err != nil || command == "":
		return err
	case refuse:
		return fault.Refused(command, "%s lacks the plan that proves these bundles",
			plain.Line(remote))
	}
	fmt.Fprintln(p.stderr, "hint: "+plain.Line(remote)+" lacks the plan that proves these bundles: "+command)
	return nil
}

// printWayBack says how to restore the state before, unless a hint begins with that. No ref has moved, but git has
// already changed the index and the worktree.
func (p printer) printWayBack(hook string, store *gitstore.Store, r *gate.Report) {
	abort := gate.Unfinished(store.GitDir())
	begins := func(f gate.Finding) bool { return strings.HasPrefix(f.Hint, abort) }
	if hook == "pre-merge-commit" {
		abort = "git merge --abort" // git writes MERGE_HEAD only after this hook
	}
	switch {
	case hook != "pre-commit" && hook != "pre-merge-commit" && hook != "reference-transaction":
	case abort != "" && slices.ContainsFunc(r.Findings, begins):
	case abort != "":
		fmt.Fprintln(p.stderr, "hint: "+abort+" restores what was there before")
	case hook == "reference-transaction":
		// A refused commit left everything as it was, and the command would drop what is staged: so say when to use it.
		fmt.Fprintln(p.stderr, "hint: after a fast-forward, pull, checkout or reset: "+
			"git reset --merge HEAD restores what was there before")
	}
}
