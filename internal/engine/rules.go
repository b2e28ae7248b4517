package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
	"gitwf/internal/rule"
)

// What a project knows is a register of rules, each of which is a task. The user's own rules are files.

// RulesID is the id of the register of rules here.
func (e *Engine) RulesID() plan.ID { return e.named("WFS-rules") }

// Rules are the rules that there are here.
type Rules struct {
	Used      []rule.Rule `json:"rules"`     // the project's that are trusted, then the user's own
	Untrusted []rule.Rule `json:"untrusted"` // by somebody else: nobody is told them
	Wrong     []string    `json:"wrong"`     // what can't be used, and why
}

const (
	mostRules = 10_000 // that are looked at
	jobRule   = "rule" // of a text that is to be trusted, and is no command line
)

// Rules reads them.
func (e *Engine) Rules(ctx context.Context) (Rules, error) {
	all := Rules{Used: []rule.Rule{}, Untrusted: []rule.Rule{}, Wrong: []string{}}
	sort := func(r rule.Rule, wrong error, trusted bool) {
		switch {
		case wrong != nil:
			all.Wrong = append(all.Wrong, plain.Line(wrong.Error()))
		case trusted:
			all.Used = append(all.Used, r)
		default:
			all.Untrusted = append(all.Untrusted, r)
		}
	}
	_, tasks, err := e.ruleTasks(ctx)
	for _, t := range tasks {
		r, wrong := rule.OfTask(t)
		sort(r, wrong, e.Trust.hasEntry(ruleEntry(r)))
	}
	own := os.DirFS(e.OwnRules)
	files, _ := fs.Glob(own, "*.md") // the pattern is sound
	for _, name := range files[:min(len(files), mostRules)] {
		data, unread := fs.ReadFile(own, name)
		r, wrong := rule.Parse(name, data, map[string]any{"scope": rule.Global})
		r.ID = name
		sort(r, cmp.Or(unread, wrong), true)
	}
	return all, err
}

// ruleTasks are the register of rules, nil if there is none, and its tasks that hold the rules in force.
func (e *Engine) ruleTasks(ctx context.Context) (snap *gitstore.Snapshot, all []*plan.Task, err error) {
	snap, err = e.Store.Snapshot(ctx, e.RulesID())
	if errors.Is(err, gitstore.ErrNoPlan) {
		return nil, nil, nil
	}
	if err != nil || !snap.Plan.Register {
		return snap, nil, err
	}
	s := snap.State()
	for _, t := range s.Plan.Tasks {
		if t.NodeType == plan.Action && !t.Planning() && !s.Tasks[t.TaskID].Status.Gone() && len(all) < mostRules {
			all = append(all, t)
		}
	}
	return snap, all, nil
}

// ruleEntry stands in the set of what is trusted for all that a rule says. It is no hash, so no line can have it.
func ruleEntry(r rule.Rule) string { return agentEntry(jobRule, string(r.Markdown())) }

// newRules are the rules of the register that nobody has trusted here, as lines to be shown.
func (e *Engine) newRules(ctx context.Context, snap *gitstore.Snapshot) (lines []plandoc.CommandLine, err error) {
	if snap.ID != e.RulesID() {
		return nil, nil
	}
	all, err := e.Rules(ctx)
	for _, r := range all.Untrusted {
		lines = append(lines, plandoc.CommandLine{Line: string(r.Markdown()), TaskID: plan.TaskID(r.ID), Path: r.Title,
			Job: jobRule})
	}
	return lines, err
}

// Unused says which rules nobody is told, and why.
func (e *Engine) Unused(all Rules) []string {
	said := plain.Some(all.Wrong, 10, func(text string) string { return "a rule can't be used: " + text })
	if n := len(all.Untrusted); n > 0 {
		said = append(said, fmt.Sprintf("%s by others, which nobody is told before git wf trust --plan %s",
			plain.Count(n, "rule"), e.RulesID()))
	}
	return said
}

// tellRules gives a prompt the rules of its task. Rules that others wrote and nobody trusts stop no work, so that
// nobody can stop it by writing some: it is done without them, and a line says so.
func (e *Engine) tellRules(ctx context.Context, w *workDir, d *prompt.Data) error {
	w.rules = nil // a prompt may be written again
	all, err := e.Rules(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := e.Unused(all)
	if err != nil {
		said = append(said, "the rules can't be read: "+err.Error())
	}
	words := rule.Words(d.Task.Title, string(d.Task.Description), string(d.TopTask),
		strings.Join(plandoc.TouchedPaths(w.task.Task), " "))
	chosen, dropped := rule.Choose(all.Used, stageOf(w), words, rule.Budget)
	for _, x := range dropped {
		if x.Rule.ReadMode == rule.Required {
			said = append(said, fmt.Sprintf("the required rule %s is left out: %s (git wf rules check)",
				x.Rule.ID, x.Why))
		}
	}
	for _, text := range said {
		if _, before := e.said.LoadOrStore(text, true); !before {
			e.report(w.task.TaskID, text)
		}
	}
	mask := e.Secrets()
	for _, r := range chosen {
		w.rules = append(w.rules, r.ID+"@"+lineHash(string(r.Markdown()))[:12])
		d.Rules = append(d.Rules, prompt.Rule{ID: r.ID, Title: mask.Text(r.Title),
			Required: r.ReadMode == rule.Required, Text: prompt.Text(mask.Text(r.Text))})
	}
	return nil
}

// stageOf is the stage of the work on a task, its review included.
func stageOf(w *workDir) string {
	switch kind := w.task.MetaType(); {
	case w.task.Planning(), kind == rule.Planning:
		return rule.Planning
	case w.task.Changes():
	case w.snap.Plan.Roles[w.task.Role].ReadOnly(), kind == "research", kind == "analysis", kind == rule.Exploration:
		return rule.Exploration
	}
	return rule.Execution
}

// AddedRule says what became of a rule that was to be added.
type AddedRule struct {
	ID       plan.TaskID `json:"id"`
	Title    string      `json:"title"`
	Status   string      `json:"status"` // added, replaced or there
	Replaces plan.TaskID `json:"replaces,omitempty"`

	task *plan.Task // that holds it
}

// AddRules adds rules to the register, which it makes at first. One that says what another says is there already; one
// with the title of another replaces it, which is closed. trust trusts them here.
func (e *Engine) AddRules(ctx context.Context, add []rule.Rule, trust bool) ([]AddedRule, error) {
	snap, had, err := e.ruleTasks(ctx)
	if err != nil {
		return nil, err
	}
	if snap != nil && !snap.Plan.Register {
		return nil, fault.Refused("git wf plans", "%s is a plan, and no register of rules", snap.ID)
	}
	var done []AddedRule
	var tasks []*plan.Task
	var entries []string
	for _, r := range add {
		r.Title, r.Text = e.Secrets().Text(r.Title), e.Secrets().Text(r.Text)
		a := addedBeside(r, slices.Concat(had, tasks))
		if _, err := rule.OfTask(a.task); err != nil {
			return nil, fault.Usage("mend it, and add it again", "%w", err)
		}
		if a.Status != "there" {
			tasks = append(tasks, a.task)
		}
		done, entries = append(done, a), append(entries, ruleEntry(r))
	}
	if len(tasks) > 0 {
		if err := e.AddToRegister(ctx, snap, e.RulesID(), "RULE-", tasks); err != nil {
			return nil, err
		}
	}
	for i, a := range done {
		done[i].ID = a.task.TaskID
		if a.Replaces != "" && err == nil {
			err = e.closeItem(ctx, e.RulesID(), a.Replaces, string(a.task.TaskID)+", which replaces it")
		}
	}
	if err == nil && trust {
		err = e.Trust.add(entries)
	}
	return done, err
}

// addedBeside says what becomes of a rule beside those that tasks hold.
func addedBeside(r rule.Rule, tasks []*plan.Task) AddedRule {
	done := AddedRule{Title: r.Title, Status: "added", task: &plan.Task{NodeType: plan.Action, Title: r.Title,
		Description: r.Text, Meta: r.Meta(),
		DeliverableSpec: &plan.DeliverableSpec{Filename: "rule.md", Format: "md", SingleFile: true},
		AcceptanceCriteria: []plan.Criterion{{ID: "A1", Severity: plan.Must, CheckMethod: plan.ManualReview,
			Statement: fmt.Sprintf("what is made here keeps %q", r.Title)}}}}
	for _, t := range tasks {
		old, _ := rule.OfTask(t) // one that can't be used has its title
		replaces := r.Replaces(old)
		switch there := r.SaysAs(old); {
		case there && !replaces:
			return AddedRule{Title: r.Title, Status: "there", task: t}
		case there && ruleEntry(r) == ruleEntry(old):
			done.task, done.Status = t, "there" // and an older one, if whoever added it was killed
		case replaces && t.TaskID != "":
			done.Replaces = t.TaskID
		}
	}
	if done.Replaces != "" && done.Status == "added" {
		done.Status = "replaced"
	}
	return done
}
