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
		Usage:       "show everything once, in a throwaway repository",
		Description: "Needs no network and no agent. The repository stays, for you to look around in.",
		Action:      func(c *cli.Context) error { return e.demo(c.Context) },
	}
}

// demoSteps play the main job with the real commands: a plan is approved, its tasks are done, a version is rejected and
// redone, the bundle lands, and a file that nobody approved does not. Each is a line of shell, and what is said of it;
// its output is shown.
var demoSteps = [][2]string{
	{"git init --quiet && git commit --quiet --allow-empty -m 'first commit' && wf init >/dev/null",
		"A new repository, set up with: git wf init"},
	{"wf plan -f plan.yaml 2>&1 | grep WFS-",
		"A plan of four tasks is read, reviewed and accepted: git wf plan -f plan.yaml"},
	{`out=$(wf run 2>&1) && echo "$out" | grep -e ' approved ' -e REJECTED | cut -c10-`,
		"Its tasks are carried out and every version is checked: git wf run"},
	{":", "TEXT-1 v1 was rejected by a real check; its agent read REJECTED.md and made v2"},
	{"wf export --commit 2>&1", "What was approved is exported and committed: git wf export --commit"},
	{"echo '<h1>buy now</h1>' > $file && git add $file && ! git commit -m 'sneak it in' 2>&1",
		"Then somebody changes a file and commits it. The hook refuses: git commit"},
	{"git restore --staged --worktree $file", "The approved file is restored, and the history holds it all"},
}

func (e *env) demo(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "git-wf-demo-")
	if err != nil {
		return err
	}
	data, err := templates.FS.ReadFile("demo/plan.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), data, 0o666); err != nil {
		return err
	}
	// The user's environment, without what points into another repository, and with a name to commit under for a machine
	// on which git was never set up.
	environ := process.Environ(e.environ, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@git-wf.invalid",
		"GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@git-wf.invalid")
	set := "file=deliverables/WFS-greeting-card/bundle/The_card_CARD-1/index.html; wf() { " +
		shell.Quote(e.program) + " \"$@\"; }; "
	for n, step := range demoSteps {
		var out bytes.Buffer
		res, err := process.Run(ctx, process.Command{Line: set + step[0], Dir: dir, Env: environ, Output: &out})
		text := strings.TrimRight(out.String(), "\n")
		if err == nil && res.ExitCode != 0 {
			err = fmt.Errorf("%s: exit %d: %s", step[0], res.ExitCode, text)
		}
		if err != nil {
			return fmt.Errorf("demo in %s: %w", dir, err)
		}
		fmt.Fprintf(e.stdout, "%2d. %s\n", n+1, step[1])
		for line := range strings.Lines(text) {
			fmt.Fprintf(e.stdout, "      %s\n", strings.TrimRight(line, "\n"))
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
	res, err := process.Run(ctx, process.Command{Line: "command -v git-wf", Dir: dir, Env: e.environ})
	if err != nil || res.ExitCode != 0 {
		fmt.Fprintf(e.stdout, "(git finds \"wf\" once git-wf is on your PATH: sh install.sh)\n")
	}
	return nil
}
