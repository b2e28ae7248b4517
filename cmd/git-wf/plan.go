package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func (e *env) plan(c *cli.Context) error {
	if c.Bool("schema") {
		_, err := e.stdout.Write(plandoc.Schema())
		return err
	}
	file, sentence := c.String("file"), strings.TrimSpace(strings.Join(c.Args().Slice(), " "))
	var data []byte
	if n := c.String("issue"); n != "" {
		file = "-" // as if it came from there
		if err := e.onEngine(func(c *cli.Context, eng *engine.Engine) (err error) {
			data, err = eng.Issue(c.Context, n)
			return err
		})(c); err != nil {
			return err
		}
	}
	if c.IsSet("workflow") && sentence == "" {
		return fault.Usage("git wf plan --workflow "+plain.Line(c.String("workflow"))+" 'what is to be made'",
			"nothing says what is to be made")
	}
	change := c.Bool("amend") || c.Bool("edit")
	level := plan.Complexity(c.String("complexity"))
	imports := importing(c)
	switch {
	case c.IsSet("complexity") && !level.Valid():
		return usage("--complexity: expected simple, medium or complex, found %q", level)
	case sentence != "" && imports != "":
		return usage("--%s belongs to a plan that is there: -f PATH", imports)
	case c.Bool("amend") && sentence != "":
		return usage("--amend takes the change as -m TEXT or as -f FILE, and no arguments")
	case c.Bool("amend") && !c.Bool("edit") && file == "" && strings.TrimSpace(c.String("message")) == "":
		return fault.Usage("git wf plan --amend -m 'what is to change' has the planner do it; git wf plan --edit, "+
			"or --amend -f FILE, does it yourself",
			"nothing says what is to change in the plan")
	case change:
		return e.onEnginePlan(wholePlan, func(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
			if c.Bool("edit") {
				return e.editPlan(c, eng, snap)
			}
			return e.replan(c, eng, snap, "")
		})(c)
	case imports != "" && file == "":
		file = "."
	case file == "" && sentence == "":
		return fault.Usage("git wf plan -f FILE, or git wf plan 'what is to be made'", "no plan was given")
	case file == "" && c.Args().Len() == 1 && isPlanFile(sentence):
		return fault.Usage("git wf plan -f "+sentence, "%s is a file, not something to be made", sentence)
	case file == "" && sentence != "" && c.String("message") != "":
		return usage("-m says why a plan is amended; what is to be made is said without it")
	case file != "" && sentence != "":
		return usage("a plan is made from a sentence or from a file, not from both; what belongs to a sentence " +
			"goes into --attach FILE")
	}
	if file != "" {
		info, err := os.Stat(e.absolute(file))
		isDir := err == nil && info.IsDir()
		if !isDir && data == nil {
			if data, err = e.readInput(file, maxPlanFile); err != nil {
				return unreadable("the plan "+fileWord(file), err, planFromFile)
			}
		}
		kind := kindOf(file, data)
		words := kind == aForeign && c.IsSet("planner") && imports == ""
		if !words && (isDir || imports != "" || kind == aForeign) {
			return e.importPlan(c, file, data)
		}
	}
	return e.onEngine(func(c *cli.Context, eng *engine.Engine) error {
		switch {
		case c.IsSet("workflow"):
			return e.planWorkflow(c, eng, c.String("workflow"), sentence)
		case sentence != "":
			return e.planSentence(c, eng, sentence)
		}
		return e.planFile(c, eng, file, data)
	})(c)
}

// planSentence has an agent plan what was asked for.
func (e *env) planSentence(c *cli.Context, eng *engine.Engine, task string) error {
	if c.Bool("dry-run") {
		return fault.Usage("git wf plan -f FILE --dry-run, with a plan in YAML, JSON or Markdown",
			"--dry-run needs a plan: an agent's plan exists only once it is made")
	}
	if _, err := eng.Store.Head(c.Context); err != nil {
		return err
	}
	name, err := e.sentencePlanner(c, eng, task)
	if err != nil {
		return err
	}
	id, err := e.beginPlan(c, eng, "", task, name)
	if err != nil {
		return err
	}
	return e.makePlan(c, eng, id)
}

// sentencePlanner is the agent that plans what was asked for, and can.
func (e *env) sentencePlanner(c *cli.Context, eng *engine.Engine, task string) (string, error) {
	if !utf8.ValidString(task) {
		return "", usage("what is to be made is not UTF-8")
	}
	if _, err := eng.Store.Person(c.Context); err != nil {
		return "", err
	}
	return e.plannerOf(c, eng, planFromFile)
}

// beginPlan records what was asked for as the active plan, of this id or, without one, the next of its title.
func (e *env) beginPlan(c *cli.Context, eng *engine.Engine, id plan.ID, task,
	planner string) (plan.ID, error) {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return "", err
	}
	m, err := e.material(c, eng.Store)
	if err != nil {
		return "", err
	}
	id, err = eng.BeginPlan(c.Context, engine.Asked{
		ID: id, TopTask: task, Material: m, Planner: planner, Person: person,
		Type: c.String("type"), Complexity: plan.Complexity(c.String("complexity")),
	})
	if err != nil {
		return "", err
	}
	return id, eng.Store.SetActive(c.Context, id)
}

// material is what --attach and --from name.
func (e *env) material(c *cli.Context, store *gitstore.Store) (engine.Material, error) {
	m := engine.Material{Files: e.absoluteAll(c.StringSlice("attach"))}
	for _, name := range c.StringSlice("from") {
		id, err := planNamed(c.Context, store, name)
		if err != nil {
			return m, err
		}
		m.From = append(m.From, id)
	}
	return m, nil
}

// plannerOf is the agent that makes plans; otherwise says what to do without one.
func (e *env) plannerOf(c *cli.Context, eng *engine.Engine, otherwise string) (string, error) {
	settings, err := eng.Agents.Settings()
	if err == nil && settings.Planner == "" {
		if err = e.chooseAgents(c, eng.Store, eng.Agents, otherwise); err == nil {
			eng.Agents = e.agentSet(c, eng.Store)
			settings, err = eng.Agents.Settings()
		}
	}
	if err != nil {
		return "", err
	}
	name := settings.Planner
	if !eng.Agents.Knows(name) {
		_, err := eng.Agents.Lookup(name)
		if err == nil || errors.Is(err, agent.ErrManual) {
			err = fmt.Errorf("%s makes no plans", name)
		}
		return "", fault.Usage("git wf agents lists those there are; git config wf.planner AGENT, or --planner AGENT",
			"%w", err)
	}
	if _, err := eng.Agents.Lookup(name); err != nil {
		return "", err // before anything is recorded
	}
	if err := eng.Agents.Missing(name, nil); err != nil {
		return "", fault.Usage("git wf agents says what each agent lacks; --planner AGENT takes another", "%w", err)
	}
	return name, nil
}

// makePlans works on the tasks that make plans, and shows it.
func (e *env) makePlans(c *cli.Context, eng *engine.Engine, id plan.ID) (s *plan.State, err error) {
	err = e.watched(c, eng, func(ctx context.Context) error {
		s, err = eng.Plan(ctx, id)
		return err
	})
	return s, err
}

// makePlan works on the planning tasks until they are done or wait for a person.
func (e *env) makePlan(c *cli.Context, eng *engine.Engine, id plan.ID) error {
	s, err := e.makePlans(c, eng, id)
	if err != nil {
		return err
	}
	if err := e.planned(c, eng, id, s); err != nil {
		return err
	}
	if len(s.Plan.Grafts) > 0 {
		return e.printNextOf(c.Context, eng, id)
	}
	return nil
}

// planned says how far planning has come, and what it waits for.
func (e *env) planned(c *cli.Context, eng *engine.Engine, id plan.ID, s *plan.State) error {
	x, err := e.explainNow(c.Context, eng, id)
	if err != nil {
		return err
	}
	var waits []engine.Wait // of planning
	for _, w := range x.Waits {
		if s.Subject(w.Task).Planning() || len(w.Questions) > 0 {
			waits = append(waits, w)
		}
	}
	if err := e.printAs("planned", x.Describe(), struct {
		PlanID plan.ID
		Word   string
		Waits  []engine.Wait
	}{id, planWord(s), waits}); err != nil {
		return err
	}
	return waitingResult(waits)
}

// waitingResult is the error with which a command ends that has said what waits for a person.
func waitingResult(waits []engine.Wait) error {
	switch {
	case slices.ContainsFunc(waits, func(w engine.Wait) bool { return w.Failed }):
		return errSaid
	case len(waits) > 0:
		return errWaiting
	}
	return nil
}

// planWord says how far planning has come.
func planWord(s *plan.State) string {
	if open := s.PlanningOf(""); open != nil && open.TaskID != plan.PlanTaskID {
		return fmt.Sprintf("%s is %s", open.TaskID, s.Tasks[open.TaskID].Status)
	}
	for _, g := range slices.Backward(s.Plan.Grafts) {
		if t := s.Tasks[g.TaskID]; t != nil && t.SplitTargetTaskID == "" { // a plan may need splits, which follow it
			return fmt.Sprintf("%s %s approved, %s", planName(g.TaskID), g.ArtifactID,
				plain.Count(len(s.Leaves(s.Plan.RootTaskID)), "task"))
		}
	}
	return "the plan is " + s.Tasks[plan.PlanTaskID].Status.String()
}

// planName is the deliverable of a planning task in words: the plan, or the task that changes it.
func planName(task plan.TaskID) string {
	if task == plan.PlanTaskID {
		return "plan"
	}
	return string(task)
}
