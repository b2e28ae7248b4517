package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/process"
	"gitwf/internal/readmodel"
)

func (e *env) split(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	return e.replan(c, eng, snap, t.TaskID)
}

// replan splits a leaf or, without one, amends the plan, with a person's file or by the planner.
func (e *env) replan(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, leaf plan.TaskID) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	r := engine.Replanning{Leaf: leaf, Agent: plan.AgentManual, Reason: c.String("message"), Person: person}
	command := amendFromFile
	if leaf != "" {
		command = "git wf split " + string(leaf) + " -f FILE"
	}
	if name := c.String("file"); name != "" {
		data, err := e.readInput(name, maxPlanFile)
		if err != nil {
			return unreadable(fileWord(name), err, command)
		}
		return mendFile(e.handInPlan(c, eng, snap.ID, r, fileWord(name), data, command),
			"mend "+fileWord(name)+", then "+command)
	}
	if c.Bool("dry-run") {
		return fault.Usage(command+" --dry-run", "--dry-run needs the file: an agent's plan exists only "+
			"once it is made")
	}
	if r.Agent, err = e.plannerOf(c, eng, command); err != nil {
		return err
	}
	if _, err := eng.Replan(c.Context, snap.ID, r); err != nil {
		return err
	}
	return e.makePlan(c, eng, snap.ID)
}

// The commands that hand in a plan, and a changed one.
const (
	planFromFile  = "git wf plan -f FILE"
	amendFromFile = "git wf plan --amend -f FILE"
)

// handInPlan tries a person's file and records it as a planning task's next version. again hands in a mended one.
func (e *env) handInPlan(c *cli.Context, eng *engine.Engine, id plan.ID, r engine.Replanning,
	name string, data []byte, again string) error {
	snap, err := eng.Store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	task, err := eng.HandedIn(c.Context, snap, r, data)
	if err != nil {
		return err
	}
	if task != "" && !c.Bool("dry-run") {
		return e.planOutcome(c, eng, snap.State(), task, again)
	}
	d, err := eng.DraftFor(c.Context, id, r, name, data)
	if err != nil {
		return err
	}
	if r.Leaf != "" {
		if fields := d.Plan.Ignored(); len(fields) > 0 {
			fmt.Fprintln(e.stderr, "warning: "+engine.Ignored(fields))
		}
	}
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, d, again)
	}
	return e.handInDraft(c, eng, id, r, d, again)
}

// handInDraft records what DraftFor has read.
func (e *env) handInDraft(c *cli.Context, eng *engine.Engine, id plan.ID, r engine.Replanning,
	d engine.Draft, again string) error {
	if err := e.tryLines(c, eng, d); err != nil {
		return err
	}
	if !e.json {
		if err := e.render(e.stdout, "redo", d.Redo); err != nil {
			return err
		}
	}
	task, err := eng.Replan(c.Context, id, r)
	if err != nil {
		return err
	}
	s, err := eng.HandInPlan(c.Context, id, task, d)
	if err != nil {
		return err
	}
	return e.planOutcome(c, eng, s, task, again)
}

// editPlan hands in what the user makes, in an editor, of the plan that awaits approval or else is in force.
func (e *env) editPlan(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	r := engine.Replanning{Agent: plan.AgentManual, Reason: c.String("message"), Person: person}
	before, err := planText(c, eng, snap)
	if err != nil {
		return err
	}
	after, err := e.edit(c, eng.Store, string(snap.ID)+".yaml", before)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(after)) == 0 || bytes.Equal(before, after) {
		fmt.Fprintln(e.stdout, "nothing changed; the plan is as it was")
		return nil
	}
	err = e.handInPlan(c, eng, snap.ID, r, "the edited plan", after, amendFromFile)
	if err != nil || c.Bool("dry-run") {
		next := map[bool]string{true: "mend it, then git wf plan --amend -f",
			false: "git wf plan --amend -f"}[err != nil]
		kept := filepath.Join(eng.Store.GitDir(), "WF_EDITPLAN.yaml")
		if writeErr := os.WriteFile(kept, after, 0o666); writeErr != nil {
			fmt.Fprintf(e.stderr, "what you wrote could not be kept: %v\n%s", writeErr, plain.Text(string(after)))
		} else {
			fmt.Fprintf(e.stderr, "what you wrote is kept in %s: %s %[1]s\n", kept, next)
		}
	}
	return err
}

// planText is the plan as people write it: the newest candidate of an open planning task, else the plan in force.
func planText(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) ([]byte, error) {
	if open := snap.State().PlanningOf(""); open != nil {
		text, err := eng.Candidate(c.Context, snap, open.TaskID)
		if err != nil || text != nil {
			return text, err
		}
	}
	return plandoc.WriteYAML(snap.Plan)
}

// edit returns a text as the user has edited it.
func (e *env) edit(c *cli.Context, store *gitstore.Store, name string, text []byte) ([]byte, error) {
	dir, err := process.Scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return e.editFile(c.Context, store, filepath.Join(dir, name), text)
}

// editFile writes a file, has the user edit it in the editor that git would start, and reads it again.
func (e *env) editFile(ctx context.Context, store *gitstore.Store, file string, text []byte) ([]byte, error) {
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	editor, err := store.Git(ctx, "var", "GIT_EDITOR")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = e.stdin, e.stdout, e.stderr, e.dir, e.environ
	if err := cmd.Run(); err != nil {
		return nil, fault.Usage("git config core.editor EDITOR, or say it on the command line",
			"the editor %s failed: %w", editor, err)
	}
	return os.ReadFile(file)
}

// dryRun shows what a plan would be. It runs only trusted lines.
func (e *env) dryRun(c *cli.Context, eng *engine.Engine, d engine.Draft, again string) error {
	weights, err := eng.Weights()
	if err != nil {
		return err
	}
	review := plandoc.ReviewPlan(d.Plan, weights.Days)
	review.Suggestions = append([]plandoc.PlanSuggestion{}, review.Suggestions...) // in JSON a list, never null
	if err := lacksNoPath(c, eng, d); err != nil {
		return err
	}
	untrusted := eng.UntrustedIn(d)
	var green plan.Findings
	if len(untrusted) == 0 {
		if green, err = e.redFirst(c, eng, d); err != nil {
			return err
		}
	}
	s := d.After
	if s == nil {
		d.Plan.PlanID = cmp.Or(d.Plan.PlanID, plan.NewID(d.Plan.Title, 1)) // a session's own
		s = plan.Derive(d.Plan, plan.Records{}, nil, e.now())
	}
	doc := struct {
		*readmodel.Plan
		Review    plandoc.PlanReview    `json:"review"`
		Findings  plan.Findings         `json:"findings"`
		Untrusted []plandoc.CommandLine `json:"untrusted"`
		Redo      *engine.Redo          `json:"redo,omitempty"` // what an amendment has made again
	}{readmodel.Of(s), review, append(plan.Findings{}, green...), orEmpty(untrusted), nil}
	if d.After != nil {
		doc.Redo = &d.Redo
	}
	if err := e.out(doc, func(w io.Writer) {
		err = errors.Join(e.render(w, "plan", doc.Plan), e.render(w, "redo", d.Redo),
			e.render(w, "plan-review", review))
	}); err != nil {
		return err
	}
	if len(untrusted) > 0 && !e.json {
		fmt.Fprintln(e.stderr) // apart from the review above it
		e.showLines(untrusted, "not tried on an empty candidate because they are not trusted yet")
	}
	switch {
	case len(green) > 0:
		return fault.Usage("make the criterion fail while there is no deliverable", "%w", green)
	case review.Verdict != plan.Approved:
		return fault.Refused("mend what is marked FAIL above, then "+again,
			"the review would reject this plan (score %d)", review.Score)
	}
	return nil
}
