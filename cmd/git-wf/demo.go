package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/process"
	"gitwf/internal/shell"
	"gitwf/templates"
)

func (e *env) demoCommand() *cli.Command {
	return &cli.Command{
		Name:        "demo",
		Usage:       "show the whole thing once, in a throwaway repository",
		Description: "Needs no network and no agent. The repository stays, for you to look around in.",
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			return e.demo(c.Context)
		},
	}
}

// demo plays the main job with the real commands: a plan is approved, its tasks are done, a version is rejected and
// redone, the bundle lands, and a file that nobody approved does not.
func (e *env) demo(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "git-wf-demo-")
	if err != nil {
		return err
	}
	d := &demo{env: e, ctx: ctx, dir: dir}
	for _, step := range []func() error{d.repository, d.makePlan, d.carryOut, d.land, d.tamper} {
		if err := step(); err != nil {
			return fmt.Errorf("demo in %s: %w", dir, err)
		}
	}
	fmt.Fprintf(e.stdout, `
Look around:
  cd %s
  git log --oneline workflow/WFS-greeting-card
  git wf status
  git wf show TEXT-1
  git show workflow/WFS-greeting-card:plan.json
`, dir)
	if !d.onPath() {
		fmt.Fprintf(e.stdout, "(git finds \"wf\" once git-wf is on your PATH: sh install.sh)\n")
	}
	return nil
}

type demo struct {
	*env
	ctx context.Context
	dir string
	n   int
}

// say narrates one step.
func (d *demo) say(format string, args ...any) {
	d.n++
	fmt.Fprintf(d.stdout, "%2d. %s\n", d.n, fmt.Sprintf(format, args...))
}

// environ is that of the demo's commands: the user's, without what points into another repository, and with a name to
// commit under for a machine on which git was never set up.
func (d *demo) environ() []string {
	return process.Environ(d.env.environ, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@git-wf.invalid",
		"GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@git-wf.invalid")
}

func (d *demo) onPath() bool {
	res, err := process.Run(d.ctx, process.Command{Line: "command -v git-wf", Dir: d.dir, Env: d.env.environ})
	return err == nil && res.ExitCode == 0
}

// shell runs a line in the demo's repository and returns what it printed and whether it succeeded.
func (d *demo) shell(line string) (string, bool, error) {
	var out bytes.Buffer
	res, err := process.Run(d.ctx, process.Command{Line: line, Dir: d.dir, Env: d.environ(), Output: &out})
	return strings.TrimSpace(out.String()), err == nil && res.ExitCode == 0, err
}

func (d *demo) git(line string) error {
	out, ok, err := d.shell("git " + line)
	if err == nil && !ok {
		err = fmt.Errorf("git %s: %s", line, out)
	}
	return err
}

// wf runs one of our own commands as a program of its own, the way git does.
func (d *demo) wf(line string) (string, bool, error) {
	return d.shell(shell.Quote(d.program) + " " + line)
}

func (d *demo) repository() error {
	for _, line := range []string{"init --quiet", "commit --quiet --allow-empty -m 'first commit'"} {
		if err := d.git(line); err != nil {
			return err
		}
	}
	if out, ok, err := d.wf("init"); err != nil || !ok {
		return fmt.Errorf("git wf init: %s: %w", out, err)
	}
	d.say("A new repository, set up with: git wf init")
	return nil
}

func (d *demo) makePlan() error {
	data, err := templates.FS.ReadFile("demo/plan.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.dir, "plan.yaml"), data, 0o666); err != nil {
		return err
	}
	out, ok, err := d.wf("plan -f plan.yaml 2>&1 | grep WFS-")
	if err != nil || !ok {
		return fmt.Errorf("git wf plan -f plan.yaml: %s: %w", out, err)
	}
	d.say("A plan of four tasks is read, reviewed and accepted: git wf plan -f plan.yaml")
	fmt.Fprintf(d.stdout, "      %s\n", out)
	return nil
}

func (d *demo) carryOut() error {
	out, ok, err := d.wf("run 2>&1")
	if err != nil || !ok {
		return fmt.Errorf("git wf run: %s: %w", out, err)
	}
	d.say("Its tasks are carried out and every version is checked: git wf run")
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, " approved ") || strings.Contains(line, "REJECTED") {
			fmt.Fprintf(d.stdout, "      %s\n", strings.TrimSpace(line[min(9, len(line)):]))
		}
	}
	d.say("TEXT-1 v1 was rejected by a real check; its agent read REJECTED.md and made v2")
	return nil
}

func (d *demo) land() error {
	out, ok, err := d.wf("export --commit 2>&1")
	if err != nil || !ok {
		return fmt.Errorf("git wf export --commit: %s: %w", out, err)
	}
	d.say("What was approved is exported and committed: git wf export --commit")
	for _, line := range strings.Split(out, "\n") {
		fmt.Fprintf(d.stdout, "      %s\n", line)
	}
	return nil
}

func (d *demo) tamper() error {
	const file = "deliverables/WFS-greeting-card/bundle/The_card_CARD-1/index.html"
	if err := os.WriteFile(filepath.Join(d.dir, file), []byte("<h1>buy now</h1>\n"), 0o666); err != nil {
		return err
	}
	if err := d.git("add " + file); err != nil {
		return err
	}
	out, ok, err := d.shell("git commit -m 'sneak it in'")
	switch {
	case err != nil:
		return err
	case ok:
		return fmt.Errorf("the gate let a file pass that nobody approved: %s", out)
	}
	d.say("Then somebody changes a file and commits it. The hook refuses: git commit")
	for _, line := range strings.Split(out, "\n") {
		fmt.Fprintf(d.stdout, "      %s\n", line)
	}
	if err := d.git("restore --staged --worktree " + file); err != nil {
		return err
	}
	d.say("The approved file is restored, and the history holds it all")
	return nil
}
