package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/fault"
	"gitwf/internal/repotest"
)

// decisions are the command lines that are a person's decision, each of which an agent may try.
var decisions = []string{
	"review IMPL-1 --approve", "review IMPL-1 --reject -m no", "review IMPL-1 --still-holds", "review IMPL-1",
	"answer IMPL-1 yes", "waive IMPL-1 --criterion A1 -m so", "waive a.txt -m so", "trust", "trust --yes", "trust --code",
	"land", "land IMPL-1 --push", "run --land", "run --land --jobs 2", "export --commit",
	"policy set p.json", "policy set --maintainer me", "policy key add me --ssh k", "policy key remove me",
	"policy baseline", "policy protect docs", "policy protect --changes src", "policy unprotect docs",
	"policy land.revert yes", "policy retire WFS-x", "policy prune --keep 1",
	"retry IMPL-1", "abandon IMPL-1 -m so", "undo IMPL-1", "split IMPL-1", "complete", "complete WFS-x",
	"prune", "prune --delete-archive", "ui", "ui --no-open", "hooks uninstall", "init --no-strict",
}

// Beside each decision there is something that is none: an agent may do it, or is refused for another reason.
var others = []string{
	"status", "next", "policy show", "trust --list", "hooks status", "show IMPL-1", "prune --dry-run", "export", "log",
	"review --help", "init", "verify HEAD",
}

func TestDecisions(t *testing.T) {
	r := repotest.New(t)
	r.Git("commit", "--quiet", "--allow-empty", "-m", "first")
	r.Begin(`title: A site
tasks:
  - task_id: IMPL-1
    title: The page
    description: Write it.
    estimated_person_days: 1
    deliverable_spec: {filename: index.html}
    acceptance_criteria: [{id: A1, statement: It names its 2 authors.}]
`)
	r.Git("symbolic-ref", "WORKFLOW_HEAD", repotest.Ref)
	run := func(line string, o caller.Origin) (int, string) {
		var out bytes.Buffer
		e := &env{stdin: strings.NewReader("y\n"), printer: printer{stdout: io.Discard, stderr: &out}, dir: r.Dir, now: time.Now,
			user: user{os.Environ()}, interactive: true, origin: func() caller.Origin { return o }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ui would serve for ever
		defer cancel()
		code := e.run(ctx, strings.Fields(line))
		return code, out.String()
	}
	agent := caller.Origin{Terminal: true, Ancestors: []caller.Process{{PID: 9, Name: "codex"}}}
	before := r.Git("for-each-ref")
	for _, line := range decisions {
		for name, o := range map[string]caller.Origin{"an agent": agent, "nobody": {}} {
			code, out := run(line, o)
			words := strings.Fields(line)
			if code != fault.ExitPerson || !strings.Contains(out, "\n  git -C "+r.Dir+" wf "+words[0]) ||
				!strings.Contains(out, strings.Join(words[1:], " ")) {
				t.Errorf("%s: git wf %s: exit code %d\n%s", name, line, code, out)
			}
		}
	}
	if after := r.Git("for-each-ref"); after != before {
		t.Errorf("something was recorded:\n%s\nwas\n%s", after, before)
	}
	tries, err := os.ReadFile(filepath.Join(r.Dir, ".git", "wf", "tries"))
	if n := strings.Count(string(tries), ": git -C "); err != nil || n != 2*len(decisions) {
		t.Errorf("%d tries are noted, want %d: %v", n, 2*len(decisions), err)
	}
	for _, line := range others {
		if code, out := run(line, agent); code == fault.ExitPerson {
			t.Errorf("git wf %s: exit code %d\n%s", line, code, out)
		}
	}
}

// TestRules holds the table of the rules to the commands: each entry is a command, with the flags that it names.
func TestRules(t *testing.T) {
	known := map[string][]string{}
	var walk func(above string, commands []*cli.Command)
	walk = func(above string, commands []*cli.Command) {
		for _, c := range commands {
			known[above+c.Name] = []string{}
			for _, f := range c.Flags {
				known[above+c.Name] = append(known[above+c.Name], f.Names()[0])
			}
			walk(above+c.Name+" ", c.Subcommands)
		}
	}
	walk("", (&env{}).app().Commands)
	for name, r := range rules {
		flags, ok := known[name]
		if !ok {
			t.Errorf("there is no command %q", name)
		}
		for _, w := range []when{r.outside, r.person} {
			for _, flag := range strings.Split(strings.TrimPrefix(string(w), "!"), "|") {
				if w != "" && w != "*" && !slices.Contains(flags, flag) {
					t.Errorf("git wf %s has no flag %q", name, flag)
				}
			}
		}
	}
	for name := range known {
		below, ok := strings.CutPrefix(name, "policy ")
		if _, own := rules[name]; ok && own && below != "show" && below != "log" {
			t.Errorf("git wf %s has another rule than policy", name)
		}
	}
}

func TestForPerson(t *testing.T) {
	for line, want := range map[string]bool{
		"git wf review DOC-1 --approve": true, "git wf show DOC-1; git wf retry DOC-1": true, "git wf run": false,
		"git wf run --land": true, "git wf run; git wf export --commit": true, "git wf trust --list": false, "git wf trust": true,
		"git wf trust, or git wf trust --list": true, "git commit": false, "git wf policy key add NAME --ssh FILE": true,
		"git wf policy show": false, "git wf": false, "": false, "git wf submit DOC-1 a.txt --claim 1": false,
	} {
		if got := forPerson(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
	if got := withoutPersons("git wf show DOC-1; git wf retry DOC-1"); got != "git wf show DOC-1" {
		t.Errorf("left %q", got)
	}
}
