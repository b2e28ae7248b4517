package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/shell"
)

func (e *env) trustCommand() *cli.Command {
	trust := func(c *cli.Context) error {
		if c.Bool("code") && !c.Bool("list") {
			return e.onEngine(e.trustCode)(c)
		}
		return e.onEnginePlan(wholePlan, e.trust)(c)
	}
	return command("trust", "show the plan's command lines that may not run here yet, and allow them", trust,
		planFlag(), jsonFlag(),
		boolFlag("yes,y", "trust them without asking"),
		boolFlag("list,l", "only show them"),
		boolFlag("code", "let trusted lines run code that a task has just changed and nobody reviewed, as a "+
			"test does; wf.sandbox confines it"))
}

// trustCode lets trusted lines run what tasks have just changed. It is about the repository, and needs no plan.
func (e *env) trustCode(c *cli.Context, eng *engine.Engine) error {
	if err := e.allowCode(c.Context, eng); err != nil {
		return err
	}
	return e.out(map[string]bool{"code": true}, func(io.Writer) {})
}

func (e *env) allowCode(ctx context.Context, eng *engine.Engine) error {
	if err := errors.Join(eng.Trust.AddCode(), e.suggestSandbox(ctx, eng.Store)); err != nil {
		return err
	}
	e.tell("allowed in this repository: trusted lines run code that tasks have just changed, as you")
	return nil
}

func (e *env) trust(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	fresh, err := eng.NewLines(c.Context, snap)
	if err != nil {
		return err
	}
	err = e.out(orEmpty(fresh), func(w io.Writer) {
		if len(fresh) == 0 {
			fmt.Fprintln(w, "every command line of the plan is trusted already")
		}
		e.printLines(w, fresh)
	})
	switch {
	case err != nil || c.Bool("list"):
		return err
	case c.Bool("yes"):
		err := e.trustLines(eng, fresh)
		e.tellCode(eng, snap.Plan)
		return err
	case e.json:
		return nil
	case e.asks():
		return e.askTrust(c.Context, eng, snap.Plan, fresh)
	case len(fresh) == 0:
		e.tellCode(eng, snap.Plan)
		return nil
	}
	return fault.Waiting("git wf trust in a terminal; or, after git wf trust --list, git wf trust --yes",
		"%s not trusted yet, and nobody is here to ask", engine.CountUntrusted(fresh))
}

// printLines prints command lines in full, with what a reader should look at.
func (st style) printLines(w io.Writer, lines []plandoc.CommandLine) {
	for _, l := range lines {
		fmt.Fprintf(w, "%s\n%s\n", st.paint("1", plain.Line(string(l.TaskID)+" "+l.Path)), plain.Text(l.Line))
		for _, r := range l.Remarks {
			fmt.Fprintln(w, st.paint("33", "look twice: it "+r))
		}
		fmt.Fprintln(w)
	}
}

// askTrust asks whether the lines may run here and, if the plan has them judge changes, whether they may run code that
// nobody has reviewed. A no to the lines is errWaiting.
func (e *env) askTrust(ctx context.Context, eng *engine.Engine, p *plan.Plan, lines []plandoc.CommandLine) error {
	if len(lines) > 0 {
		ok, err := e.ask(ctx, fmt.Sprintf("Let %s run on this machine? [y/N] ", engine.CountUntrusted(lines)))
		if err == nil && !ok {
			err = errWaiting
		}
		if err == nil {
			err = e.trustLines(eng, lines)
		}
		if err != nil {
			return err
		}
	}
	if !eng.Trust.NeedsCode(p) {
		return nil
	}
	ok, err := e.ask(ctx, "They judge changes: they run code that a task has just changed and nobody has reviewed, "+
		"as you; wf.sandbox confines it.\nAllow that in this repository? [y/N] ")
	if err != nil || !ok {
		e.tellCode(eng, p)
		return err
	}
	return e.allowCode(ctx, eng)
}

// tellCode says what keeps the lines of a plan from judging its changes.
func (p printer) tellCode(eng *engine.Engine, of *plan.Plan) {
	if eng.Trust.NeedsCode(of) {
		p.tell("the checks of its changes still wait: they run code that nobody has reviewed\n" +
			"next: git wf trust --code")
	}
}

func (p printer) trustLines(eng *engine.Engine, lines []plandoc.CommandLine) error {
	if len(lines) == 0 {
		return nil
	}
	if err := eng.Trust.Add(lines); err != nil {
		return err
	}
	p.tell("trusted on this machine: %s", engine.CountUntrusted(lines))
	return nil
}

// bubblewrap is the setting wf.sandbox for a machine that has it: all is read-only but the checkout, and a cache and
// temporary files that go with the command.
const bubblewrap = `c="${XDG_CACHE_HOME:-$HOME/.cache}"; mkdir -p "$c"; bwrap --ro-bind / / --dev /dev --proc /proc ` +
	`--tmpfs /tmp --ro-bind "$WF_REPO" "$WF_REPO" --tmpfs "$c" --ro-bind "$WF_SCRATCH" "$WF_SCRATCH" ` +
	`--bind "$PWD" "$PWD" --setenv TMPDIR /tmp --unshare-pid --die-with-parent`

// suggestSandbox says how to confine code that was just written, if nothing does yet.
func (e *env) suggestSandbox(ctx context.Context, store *gitstore.Store) error {
	_, set, err := store.Config(ctx, engine.SandboxKey)
	if err != nil || set {
		return err
	}
	text := "without wf.sandbox that code runs as you"
	if _, err := exec.LookPath("bwrap"); err == nil {
		text += "; with bubblewrap, which is here, it writes to its checkout alone:\n  git config --global " +
			engine.SandboxKey + " " + shell.Quote(bubblewrap)
	}
	fmt.Fprintln(e.stderr, text)
	return nil
}
