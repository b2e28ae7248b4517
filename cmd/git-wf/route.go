package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/expand"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
	"gitwf/internal/workflow"
	"gitwf/templates"
)

// howToPlan says how what was asked for is planned: by an agent, or from a workflow, whose plan is made.
func (e *env) howToPlan(c *cli.Context, eng *engine.Engine, task string) (planner string, made *madePlan, err error) {
	name := workflow.Free
	if c.IsSet("workflow") {
		name = c.String("workflow")
	} else if !c.IsSet("planner") {
		name, err = e.route(c, eng.Store, task)
	}
	if err == nil && name == workflow.Free {
		planner, err = e.sentencePlanner(c, eng, task)
		return planner, nil, err
	}
	settings, wrong := eng.Agents.Settings()
	if err = cmp.Or(err, wrong); err == nil && settings.Planner+settings.Executor == "" && len(settings.Roles) == 0 {
		_, err = e.plannerOf(c, eng, "git wf plan --workflow "+shell.Word(name)+" "+shell.Word(task))
	}
	if err != nil {
		return "", nil, err
	}
	if made, err = e.makeWorkflow(c, eng, name, task); err == nil {
		e.printMade(made)
	}
	return "", made, err
}

// route is the workflow that a sentence is for, or workflow.Free, and says why. Where several are close, the user says.
func (e *env) route(c *cli.Context, store *gitstore.Store, task string) (string, error) {
	known := workflow.Guides(templates.Routes)
	all := []workflow.Candidate{known[workflow.Free].Candidate(workflow.Free, task, nil)}
	for _, name := range e.workflowNames(store) {
		w, err := e.loadWorkflow(store, name)
		if err != nil {
			fmt.Fprintf(e.stderr, "warning: the workflow %s is left out: git wf workflow show %[1]s says what is "+
				"wrong\n", plain.Line(name))
			continue
		}
		guide, facts := known[name], map[string]bool{}
		if w.Guide().Route != nil { // the user's own
			guide = w.Guide()
			if facts, err = expand.Facts(c.Context, store, w.Facts()); err != nil {
				return "", err
			}
		}
		all = append(all, guide.Candidate(name, task, facts))
	}
	close := all[:workflow.Choose(all)]
	if len(close) == 1 {
		text := all[0].String()
		if len(all) > 1 && all[1].Points > 0 {
			text += "; next " + all[1].String()
		}
		fmt.Fprintln(e.stderr, plain.Line(text))
		return all[0].Name, nil
	}
	var names, points []string
	for _, c := range close {
		names, points = append(names, c.Name), append(points, c.String())
	}
	fmt.Fprintln(e.stderr, plain.Line("close: "+strings.Join(points, "; ")))
	names = each.Add(names, workflow.Free)
	if e.asks() {
		name, err := e.askOne(c.Context, "Which workflow, or none, a plan without one:", names)
		if err == nil || c.Context.Err() != nil {
			return name, err
		}
	}
	for _, name := range names {
		fmt.Fprintln(e.stdout, e.again(c, name, task))
	}
	return "", fault.Waiting(e.again(c, names[0], task)+", or another of them; git wf workflow show NAME says what "+
		"it does", "the words fit several ways of working, and which is meant is yours to say")
}

// again is git wf do with the same words, a workflow, and the params that it lacks.
func (e *env) again(c *cli.Context, name, task string, lacks ...plan.Finding) string {
	text := "git wf do --workflow " + shell.Word(name)
	for _, f := range lacks {
		if f.Code == workflow.CodeMissingParam {
			text += " " + f.Example
		}
	}
	for _, flag := range []string{"set", "attach", "from"} {
		for _, value := range c.StringSlice(flag) {
			text += " --" + flag + " " + shell.Word(value)
		}
	}
	return text + " " + shell.Word(task)
}

// mayFollow are commands for what may follow a plan that is done, as its workflow says, if that is here.
func (e *env) mayFollow(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) (commands []string) {
	w, err := expand.Of(c.Context, store, snap)
	if err != nil {
		return nil
	}
	for _, name := range slices.Concat(w.Guide().Then, workflow.Guides(templates.Routes)[w.Name()].Then) {
		text := fmt.Sprintf("git wf plan --workflow %s --from %s 'what is to be made'", name, snap.ID)
		if slices.Contains(e.workflowNames(store), name) && !slices.Contains(commands, text) {
			commands = append(commands, text)
		}
	}
	return commands
}
