package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	snap, err := e.rulesPlan(ctx)
	if err != nil {
		return all, err
	}
	for _, t := range ruleTasks(snap) {
		r, err := rule.OfTask(t)
		switch {
		case err != nil:
			all.Wrong = append(all.Wrong, plain.Line(fmt.Sprintf("%s: %v", t.TaskID, err)))
		case e.Trust.hasEntry(ruleEntry(r)):
			all.Used = append(all.Used, r)
		default:
			all.Untrusted = append(all.Untrusted, r)
		}
	}
	var files []string
	if e.OwnRules != nil {
		files, _ = fs.Glob(e.OwnRules, "*.md") // the pattern is sound
	}
	for _, name := range files[:min(len(files), mostRules)] {
		data, err := fs.ReadFile(e.OwnRules, name)
		var r rule.Rule
		if err == nil {
			r, err = rule.Parse(name, data, map[string]any{"scope": rule.Global})
		}
		if r.ID = name; err != nil {
			all.Wrong = append(all.Wrong, plain.Line(err.Error()))
			continue
		}
		all.Used = append(all.Used, r)
	}
	return all, nil
}

// rulesPlan is the register of rules, nil if there is none.
func (e *Engine) rulesPlan(ctx context.Context) (*gitstore.Snapshot, error) {
	snap, err := e.Store.Snapshot(ctx, e.RulesID())
	if errors.Is(err, gitstore.ErrNoPlan) {
		return nil, nil
	}
	return snap, err
}

// ruleTasks are the tasks that hold the rules in force.
func ruleTasks(snap *gitstore.Snapshot) (all []*plan.Task) {
	if snap == nil || !snap.Plan.Register {
		return nil
	}
	s := snap.State()
	for _, t := range s.Plan.Tasks {
		if t.NodeType == plan.Action && !t.Planning() && !s.Tasks[t.TaskID].Status.Gone() && len(all) < mostRules {
			all = append(all, t)
		}
	}
	return all
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

// UntrustedRules says that rules wait to be trusted, "" if none does.
func (e *Engine) UntrustedRules(all Rules) string {
	if len(all.Untrusted) == 0 {
		return ""
	}
	return fmt.Sprintf("%s by others, which nobody is told before git wf trust --plan %s",
		plain.Count(len(all.Untrusted), "rule"), e.RulesID())
}

// tellRules gives a prompt the rules of its task. Rules that others wrote and nobody trusts stop no work, so that
// nobody can stop it by writing some: it is done without them, and a line says so.
func (e *Engine) tellRules(ctx context.Context, w *workDir, d *prompt.Data) error {
	once := func(text string) {
		if _, said := e.said.LoadOrStore(text, true); text != "" && !said {
			e.report(w.task.TaskID, text)
		}
	}
	w.rules = nil // a prompt may be written again
	all, err := e.Rules(ctx)
	if err != nil {
		once("the rules can't be read: " + err.Error())
		return ctx.Err()
	}
	once(e.UntrustedRules(all))
	if len(all.Wrong) > 0 {
		once(plain.Count(len(all.Wrong), "rule") + " can't be used (git wf rules check)")
	}
	if len(all.Used) == 0 {
		return nil
	}
	words := rule.Words(d.Task.Title, string(d.Task.Description), string(d.TopTask),
		strings.Join(plandoc.TouchedPaths(w.task.Task), " "))
	chosen, dropped := rule.Choose(all.Used, stageOf(w), words, rule.Budget)
	for _, x := range dropped {
		if x.Rule.ReadMode == rule.Required {
			once(fmt.Sprintf("the required rule %s is left out: %s (git wf rules check)", x.Rule.ID, x.Why))
		}
	}
	mask := e.mask()
	for _, r := range chosen {
		w.rules = append(w.rules, r.Version())
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
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"` // added, replaced or there
	Replaces string `json:"replaces,omitempty"`
}

// AddRules adds rules to the register, which it makes at first. One that says what another says is there already; one
// with the title of another replaces it, which is closed. trust trusts them here.
func (e *Engine) AddRules(ctx context.Context, add []rule.Rule, trust bool) ([]AddedRule, error) {
	snap, err := e.rulesPlan(ctx)
	if err != nil {
		return nil, err
	}
	if snap != nil && !snap.Plan.Register {
		return nil, fault.Refused("git wf plans", "%s is a plan, and no register of rules", snap.ID)
	}
	done, is := make([]AddedRule, len(add)), make([]*plan.Task, len(add))
	var tasks []*plan.Task
	var entries []string
	for i, r := range add {
		r.Title, r.Text = e.mask().Text(r.Title), e.mask().Text(r.Text)
		done[i] = AddedRule{Title: r.Title, Status: "added"}
		entries = append(entries, ruleEntry(r))
		for _, t := range append(ruleTasks(snap), tasks...) {
			old, _ := rule.OfTask(t) // one that can't be used has its title
			same, replaces := r.SaysAs(old), r.Replaces(old)
			if same && (!replaces || string(old.Markdown()) == string(r.Markdown())) {
				done[i], is[i] = AddedRule{Title: r.Title, Status: "there"}, t
				break
			}
			if replaces && t.TaskID != "" {
				done[i].Replaces, done[i].Status = old.ID, "replaced"
			}
		}
		if is[i] == nil {
			is[i] = ruleTask(r)
			if _, err := rule.OfTask(is[i]); err != nil {
				return nil, fault.Usage("mend it, and add it again", "%s: %w", plain.Line(r.Title), err)
			}
			tasks = append(tasks, is[i])
		}
	}
	if len(tasks) > 0 {
		if err := e.AddToRegister(ctx, snap, e.RulesID(), "RULE-", tasks); err != nil {
			return nil, err
		}
	}
	person, err := e.Store.Person(ctx)
	for i := range done {
		if done[i].ID = string(is[i].TaskID); done[i].Replaces != "" && err == nil {
			why := plan.Decision{By: person.Name, CreatedAt: plan.Second(e.Now()),
				Reason: done[i].ID + ", which replaces it"}
			_, err = e.append(ctx, e.RulesID(), plan.Abandon{Task: plan.TaskID(done[i].Replaces), Closes: true,
				Author: person, Decision: why}, nil, nil)
		}
	}
	if err == nil && trust {
		err = e.Trust.add(entries)
	}
	return done, err
}

// ruleTask is a rule as a new task of the register.
func ruleTask(r rule.Rule) *plan.Task {
	return &plan.Task{NodeType: plan.Action, Title: r.Title, Description: r.Text, Meta: r.Meta(),
		DeliverableSpec: &plan.DeliverableSpec{Filename: "rule.md", Format: "md", SingleFile: true},
		AcceptanceCriteria: []plan.Criterion{{ID: "A1", Severity: plan.Must, CheckMethod: plan.ManualReview,
			Statement: fmt.Sprintf("what is made here keeps %q", r.Title)}}}
}
