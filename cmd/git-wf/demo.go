package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/process"
	"gitwf/internal/shell"
	"gitwf/templates"
)

// play is a demo. Each step is a line of shell, and what is said of it; its output is shown.
type play struct {
	plan     string // a file of templates/demo
	id, task string // to look at afterwards
	set      string // shell, before each step
	steps    [][2]string
	look     []string // commands for afterwards, before the common ones
}

// demoPlay plays the main job with the real commands: a plan is approved, its tasks are done, a version is rejected and
// redone, the bundle lands, and a file that nobody approved does not.
var demoPlay = play{
	plan: "plan.yaml", id: "WFS-throwaway--greeting-card", task: "TEXT-1",
	set:  "file=deliverables/WFS-throwaway--greeting-card/bundle/The_card_CARD-1/index.html; ",
	look: []string{"git log --oneline workflow/WFS-throwaway--greeting-card"},
	steps: [][2]string{
		{"git init --quiet && git commit --quiet --allow-empty -m 'first commit' && wf init --throwaway >/dev/null",
			"A new repository, set up with: git wf init --throwaway"},
		{"wf plan -f plan.yaml 2>&1 | grep WFS-",
			"A plan of four tasks is read, reviewed and accepted: git wf plan -f plan.yaml"},
		{`out=$(wf run 2>&1) && echo "$out" | grep -e ' approved ' -e REJECTED | cut -c10-`,
			"Its tasks are carried out and every version is checked: git wf run"},
		{":", "TEXT-1 v1 was rejected by a real check; its agent read REJECTED.md and made v2"},
		{"wf export --commit 2>&1", "What was approved is exported and committed: git wf export --commit"},
		{"echo '<h1>buy now</h1>' > $file && git add $file && ! git commit -m 'sneak it in' 2>&1",
			"Then somebody changes a file and commits it. The hook refuses: git commit"},
		{"git restore --staged --worktree $file", "The approved file is restored, and the history holds it all"},
	},
}

// codePlay has a task change code: its first version fails a test, the next one is approved and lands on the branch.
var codePlay = play{
	plan: "code.yaml", id: "WFS-throwaway--prices", task: "PERCENT-1",
	look: []string{"git log main", "git wf diff PERCENT-1 v1 v2", "git wf show PERCENT-1 --review"},
	steps: [][2]string{
		{`git init --quiet -b main && mkdir test &&
printf '# Prices in cents\nsum() { echo $(($1 + $2)); }\n' >price.sh &&
printf '. ./price.sh\ntest "$(sum 1 2)" = 3\n' >test/sum.sh && git add -- price.sh test &&
git commit --quiet -m 'Add prices' && wf init --throwaway >/dev/null && ls price.sh test/*`,
			"A repository with code and a test, set up with: git wf init --throwaway"},
		{"wf plan -f code.yaml 2>&1 | grep WFS-",
			"A plan with a task that changes the code is read, reviewed and accepted: git wf plan -f code.yaml"},
		{"wf trust --code",
			"Its test will run code that nobody has reviewed, so a person allows that once: git wf trust --code"},
		{`out=$(wf run 2>&1) && echo "$out" | grep -e ' by exec' -e ' approved ' -e REJECTED | cut -c10-`,
			"The task works in a checkout of its own; its test runs in a clean one: git wf run"},
		{`wf show PERCENT-1 | grep 'A1 *fail '`,
			"v1 was rejected by the test, which fails without the change, too; the agent read why and made v2"},
		{"git status --short --untracked-files=no && git log --oneline main",
			"Until now the branch, the index and the files are as they were"},
		{"wf diff PERCENT-1", "What was approved: git wf diff PERCENT-1"},
		{"wf land 2>&1", "It lands as one commit: git wf land"},
		{"git log -1 --format='%s%n%n%(trailers)' main", "The commit says which review approved it: git log"},
		{"sh test/reduced.sh && . ./price.sh && reduced 2000 25", "And the code works: reduced 2000 25"},
	},
}

func (e *env) demo(c *cli.Context) error {
	p, ctx := demoPlay, c.Context
	if c.Bool("code") {
		p = codePlay
	}
	dir, err := os.MkdirTemp("", "git-wf-demo-")
	if err != nil {
		return err
	}
	data, err := templates.FS.ReadFile("demo/" + p.plan)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, p.plan), data, 0o666); err != nil {
		return err
	}
	// The user's environment, without what points into another repository, and with a name to commit under.
	environ := process.Environ(e.environ, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@git-wf.invalid",
		"GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@git-wf.invalid")
	set := p.set + "wf() { " + shell.Quote(e.program) + " \"$@\"; }; "
	for n, step := range p.steps {
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
	fmt.Fprintf(e.stdout, "\nLook around:\n  cd %s\n", dir)
	for _, command := range append(p.look, "git wf status", "git wf show "+p.task,
		"git show workflow/"+p.id+":plan.json") {
		fmt.Fprintf(e.stdout, "  %s\n", command)
	}
	if process.Find("git-wf") == "" {
		fmt.Fprintf(e.stdout, "(git finds \"wf\" once git-wf is on your PATH: sh install.sh)\n")
	}
	return nil
}
