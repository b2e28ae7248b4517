package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/outline"
	"gitwf/internal/plain"
)

// planOutline makes a plan from a person's Markdown.
func (e *env) planOutline(c *cli.Context, store *gitstore.Store, eng *engine.Engine, file string, data []byte) error {
	file = fileWord(file)
	o, findings := outline.Parse(file, data)
	if len(findings) > 0 {
		return mendOutline(file, findings)
	}
	text, findings := o.Plan()
	if len(findings) > 0 {
		return mendOutline(file, findings)
	}
	d, err := draft("the plan made from "+file, text, eng.Policy.Floors)
	if err != nil {
		return mendOutline(file, err)
	}
	if err := beginType(c, eng, d); err != nil {
		return mendOutline(file, err)
	}
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, d, o, planFromFile)
	}
	return e.createPlan(c, store, eng, d)
}

// mendOutline adds a hint to what is wrong with Markdown.
func mendOutline(file string, err error) error {
	return mendFile(err, "mend "+file+"; git wf plan -f FILE --dry-run shows what is read in it; --planner AGENT has an agent plan it instead, --partial takes it as a candidate")
}

// outlineReads refuses what the outline planner can't read: it gives the same answer to the same text every time.
func (e *env) outlineReads(task string, attached []string) error {
	name, data := "what is to be made", []byte(task)
	for _, file := range attached {
		if !isMarkdown(file) {
			continue
		}
		var err error
		if data, err = e.readInput(file, maxPlanFile); err != nil {
			return unreadable(plain.Line(file), err, "git wf plan --attach FILE")
		}
		name = plain.Line(file)
		break
	}
	if _, findings := agent.Outline(name, data); len(findings) > 0 {
		return fault.Usage("the planner outline reads Markdown with headings and lists of tasks: mend it, or have an agent plan it with --planner AGENT (git wf agents lists them)",
			"%w", findings)
	}
	return nil
}

// printOutline shows what was read in a Markdown file: each task with its claimed status, which counts for nothing, its
// acceptance commands, and the lines that were not read.
func (st style) printOutline(w io.Writer, o *outline.Outline) {
	st.heading(w, "Read in "+plain.Line(o.File))
	o.Walk(func(t *outline.Task) {
		said := string(t.Status.State)
		if t.Status.Word != "" && !strings.EqualFold(t.Status.Word, said) {
			said += " (" + plain.Line(t.Status.Word) + ")"
		}
		fmt.Fprintf(w, "  line %-4d %-12s %s  %s\n", t.Line, t.ID, said, plain.Line(t.Title))
		for _, c := range t.Acceptance {
			if c.Command == "" {
				continue
			}
			expect := c.Expect
			if expect == "" {
				expect = "exit 0"
			}
			fmt.Fprintf(w, "       %-4d   $ %s  -> %s\n", c.Line,
				clip(plain.Line(strings.ReplaceAll(c.Command, "\n", " ↵ ")), 100), plain.Line(expect))
		}
	})
	for _, f := range o.Unread {
		fmt.Fprintf(w, "  line %-4d %s: %s\n", f.Line, f.Message, clip(f.Found, 80))
	}
}
