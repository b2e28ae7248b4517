package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/outline"
	"gitwf/internal/plan"
)

// planOutline makes a plan from a person's Markdown.
func (e *env) planOutline(c *cli.Context, store *gitstore.Store, eng *engine.Engine, file string, data []byte) error {
	o, findings := outline.Parse(file, data)
	if len(findings) > 0 {
		return findings
	}
	text, findings := o.Plan(outline.Defaults{})
	if len(findings) > 0 {
		return findings
	}
	d, err := e.draft("the plan made from "+file, text, eng.Policy.Floors)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, d, o)
	}
	return e.createPlan(c, store, eng, d)
}

// printOutline shows what was read in a Markdown file: each task with the status that the file gives it, which nobody
// believes, and the commands by which it says that the task is accepted.
func (e *env) printOutline(o *outline.Outline) {
	e.heading(e.stdout, "Read in "+plan.OneLine(o.File))
	o.Walk(func(t *outline.Task) {
		said := string(t.Status.State)
		if t.Status.Word != "" && !strings.EqualFold(t.Status.Word, said) {
			said += " (" + plan.OneLine(t.Status.Word) + ")"
		}
		fmt.Fprintf(e.stdout, "  line %-4d %-12s %s  %s\n", t.Line, t.ID, said, plan.OneLine(t.Title))
		for _, c := range t.Acceptance {
			if c.Command == "" {
				continue
			}
			expect := c.Expect
			if expect == "" {
				expect = "exit 0"
			}
			fmt.Fprintf(e.stdout, "       %-4d   $ %s  -> %s\n", c.Line, clip(plan.OneLine(strings.ReplaceAll(c.Command, "\n", " ↵ ")), 100), plan.OneLine(expect))
		}
	})
}
