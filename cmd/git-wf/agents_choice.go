package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/agent"
	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/shell"
)

// choice is who takes the parts that nobody is set up for: settings, of which the first is wf.planner.
type choice [][2]string

// chooseAgents sets up who makes plans where nobody is: the one vendor's agent that is here or, of several, the one
// that the user takes. What nobody is set up for besides goes with it.
func (e *env) chooseAgents(c *cli.Context, store *gitstore.Store, set *agent.Set, otherwise string) error {
	names := each.Pick(set.Found(), func(f agent.Found) (string, bool) {
		// one of the worktree's own files may be what the repository has brought
		return f.Name, store.WorkTree() == "" || !hooks.Within(store.WorkTree(), f.Path)
	})
	if len(names) == 0 {
		return fault.Usage("install one, or git config wf.planner AGENT, or --planner AGENT (git wf agents "+
			"lists them); or "+
			otherwise, "nobody is set up who makes plans, and no coding agent that git wf knows is on PATH")
	}
	name := names[0]
	if len(names) > 1 {
		var err error
		if name, err = e.askAgent(c, set, names, otherwise); err != nil {
			return err
		}
	}
	ch, err := choose(set, names, name)
	if err != nil {
		return err
	}
	for _, kv := range ch {
		if _, err := store.Git(c.Context, "config", "--local", kv[0], kv[1]); err != nil {
			return err
		}
	}
	fmt.Fprintln(e.stderr, plain.Line(ch.String()))
	return nil
}

// askAgent asks which of several agents makes plans and does the work. An empty answer takes the first.
func (e *env) askAgent(c *cli.Context, set *agent.Set, names []string, otherwise string) (string, error) {
	list := strings.Join(names, ", ")
	if !e.asks() || e.json {
		ch, err := choose(set, names, names[0])
		if err != nil {
			return "", err
		}
		return "", fault.Usage(ch.commands()+"; or --planner AGENT for this once; or "+otherwise,
			"nobody is set up who makes plans; %s are here, and which of them does is yours to say", plain.Line(list))
	}
	name, err := e.askOne(c.Context, "Which agent makes plans and does the work:", names)
	if err != nil && c.Context.Err() == nil {
		err = fault.Waiting("--planner AGENT", "nobody says which agent makes plans")
	}
	return name, err
}

// askOne asks for one of several names. An empty answer takes the first.
func (e *env) askOne(ctx context.Context, question string, names []string) (string, error) {
	for {
		fmt.Fprintf(e.stderr, "%s %s? [%s] ", question, plain.Line(strings.Join(names, ", ")), plain.Line(names[0]))
		line, err := e.readLine(ctx)
		if err != nil {
			fmt.Fprintln(e.stderr)
			return "", err
		}
		if line = cmp.Or(line, names[0]); slices.Contains(names, line) {
			return line, nil
		}
	}
}

// choose gives the parts that nobody is set up for to an agent, and the review to another program if one is here.
func choose(set *agent.Set, names []string, name string) (choice, error) {
	settings, err := set.Settings()
	if err != nil {
		return choice{}, err
	}
	ch := choice{{"wf.planner", name}}
	if settings.Executor == "" {
		ch = append(ch, [2]string{"wf.executor", name})
	}
	if settings.Reviewer == "" {
		maker := cmp.Or(settings.Executor, name)
		other := slices.IndexFunc(names, func(n string) bool { return !set.SameProgram(n, maker) })
		if other >= 0 {
			name = names[other]
		}
		ch = append(ch, [2]string{"wf.reviewer", name})
	}
	return ch, nil
}

// commands are those that make the settings.
func (ch choice) commands() string {
	all := each.Of(ch, func(kv [2]string) string { return "git config " + kv[0] + " " + shell.Word(kv[1]) })
	return strings.Join(all, " && ")
}

// String says who does what, and how that is changed.
func (ch choice) String() string {
	var does, keys []string
	for _, kv := range ch {
		does, keys = append(does, kv[1]+map[string]string{"wf.planner": " makes plans", "wf.executor": " does the work",
			"wf.reviewer": " reviews"}[kv[0]]), append(keys, kv[0])
	}
	text := strings.Join(does, ", ")
	if len(ch) == 3 && ch[2][1] == ch[0][1] {
		text += ", in sessions of its own as no other agent is here"
	}
	return text + " (" + strings.Join(keys, ", ") + " in this repository's git config; git config " +
		keys[len(keys)-1] +
		" AGENT sets another)"
}
