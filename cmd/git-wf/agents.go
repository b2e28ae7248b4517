package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

func (e *env) agentsCommand() *cli.Command {
	list := e.onStore(e.listAgents)
	const about = "list the agents of this machine, which are usable, and why not"
	agents := parent("agents", about, command("list", about, list, jsonFlag()),
		command("schema", "print the JSON Schema of what an agent replies", e.printSchema(contract.Schema)),
		command("test AGENT", "make one real round trip to an agent", e.onStore(e.testAgent), jsonFlag()))
	agents.Action, agents.Flags = list, []cli.Flag{jsonFlag()}
	return agents
}

// printSchema is the action of a command that prints a JSON Schema.
func (e *env) printSchema(schema func() []byte) cli.ActionFunc {
	return func(*cli.Context) error {
		_, err := e.stdout.Write(schema())
		return err
	}
}

// agentLine is one agent as git wf agents shows it.
type agentLine struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Model   string   `json:"model,omitempty"`
	Roles   []string `json:"roles,omitempty"` // that it has by default
	Usable  bool     `json:"usable"`
	WhyNot  string   `json:"why_not,omitempty"`
	Command string   `json:"command,omitempty"`
	Writes  string   `json:"writes,omitempty"`      // where it may write, and what keeps it there
	Own     bool     `json:"reviews_own,omitempty"` // it reviews what its own program makes
	Mend    string   `json:"mend,omitempty"`        // the command that mends a setting which can't be used
}

func (e *env) listAgents(c *cli.Context, store *gitstore.Store) error {
	if err := checkArgs(c); err != nil { // without a subcommand nobody else has
		return err
	}
	set := e.agentSet(c, store)
	settings, err := set.Settings()
	if err != nil {
		return err
	}
	roles := []struct{ role, name string }{{"planner", settings.Planner}, {"executor", settings.Executor},
		{"reviewer", settings.Reviewer}}
	names := set.Names()
	for _, r := range roles {
		if r.name != "" && !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	var lines []agentLine
	for _, name := range names {
		l := agentLine{Name: name, Kind: "built in", Usable: true}
		if a, ok := set.Config(name); ok {
			l.Kind, l.Model, l.Command, l.Writes = a.Kind, a.Model, a.Command, a.Confined()
		}
		for _, r := range roles {
			if r.name == name {
				l.Roles = append(l.Roles, r.role)
			}
		}
		l.Own = name == settings.Reviewer && set.SameProgram(name, settings.Executor)
		if _, err = set.Lookup(name); errors.Is(err, agent.ErrManual) { // nothing is to be set up for a person
			err = nil
		}
		l.explainUnusable(cmp.Or(err, set.Missing(name, nil)))
		lines = append(lines, l)
	}
	for _, wrong := range settings.Ignored {
		l := agentLine{Name: wrong.Name}
		l.explainUnusable(wrong)
		lines = append(lines, l)
	}
	return e.print("agents", lines)
}

// explainUnusable records why an agent is not usable, unless err is nil.
func (l *agentLine) explainUnusable(err error) {
	if err == nil {
		return
	}
	l.Usable, l.WhyNot = false, plain.Line(err.Error())
	var wrong *agent.ConfigError
	switch {
	case errors.As(err, &wrong):
		l.Mend = wrong.Mend()
	case errors.As(err, new(*agent.UnknownError)) && len(l.Roles) > 0:
		l.Kind, l.Mend = "", "git config wf."+l.Roles[0]+" AGENT"
	}
}

// About is the agent's kind, model and default roles.
func (l agentLine) About() string {
	about := strings.TrimSpace(l.Kind + " " + l.Model)
	if len(l.Roles) > 0 {
		about = strings.TrimPrefix(about+", "+strings.Join(l.Roles, ", "), ", ")
	}
	return plain.Line(about)
}

// Reason is why the agent is not usable, without its name.
func (l agentLine) Reason() string { return strings.TrimPrefix(l.WhyNot, plain.Line(l.Name)+": ") }
