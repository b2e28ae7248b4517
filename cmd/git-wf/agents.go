package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/estimate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
	"gitwf/templates"
)

func executorFlag() cli.Flag {
	return &cli.StringFlag{Name: "executor", Usage: "the `AGENT` of tasks that name none and have no run line", DefaultText: "wf.executor"}
}

func reviewerFlag() cli.Flag {
	return &cli.StringFlag{Name: "reviewer", Usage: "the `AGENT` that judges what no list of reviewers gives to somebody", DefaultText: "wf.reviewer"}
}

func plannerFlag() cli.Flag {
	return &cli.StringFlag{Name: "planner", Usage: "the `AGENT` that makes the plan", DefaultText: "wf.planner"}
}

func (e *env) agentsCommand() *cli.Command {
	list := func(c *cli.Context) error {
		if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
			return err
		}
		return e.withStore(c.Context, func(store *gitstore.Store) error { return e.listAgents(c, store) })
	}
	return &cli.Command{
		Name:  "agents",
		Usage: "list the agents of this machine, which are usable, and why not",
		Description: "Agents are set up in your git config (wf.agent.NAME.kind, .command, .model, .baseurl, .keyenv, .timeout,\n" +
			".fallback) or under the same keys in ~/.config/git-wf/agents.yaml; a repository can't set up any.",
		Flags:  []cli.Flag{jsonFlag()},
		Action: list,
		Subcommands: []*cli.Command{{
			Name:   "list",
			Usage:  "list the agents of this machine, which are usable, and why not",
			Flags:  []cli.Flag{jsonFlag()},
			Action: list,
		}, {
			Name:  "schema",
			Usage: "print the JSON Schema of what an agent replies",
			Action: func(c *cli.Context) error {
				if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
					return err
				}
				_, err := e.stdout.Write(contract.Schema())
				return err
			},
		}, {
			Name:      "test",
			Usage:     "make one real round trip to an agent",
			ArgsUsage: "AGENT",
			Flags:     []cli.Flag{jsonFlag()},
			Action: func(c *cli.Context) error {
				if err := wantArgs(c, 1, 1, "the name of an agent"); err != nil {
					return err
				}
				return e.withStore(c.Context, func(store *gitstore.Store) error { return e.testAgent(c, store) })
			},
		}},
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
}

func (e *env) listAgents(c *cli.Context, store *gitstore.Store) error {
	set := e.agentSet(c, store)
	settings, err := set.Settings()
	if err != nil {
		return err
	}
	var lines []agentLine
	for _, name := range set.Names() {
		l := agentLine{Name: name, Kind: "built in", Usable: true}
		if a, ok := set.Config(name); ok {
			l.Kind, l.Model, l.Command = a.Kind, a.Model, a.Command
		}
		for _, r := range []struct{ role, name string }{{"planner", settings.Planner}, {"executor", settings.Executor}, {"reviewer", settings.Reviewer}} {
			if r.name == name {
				l.Roles = append(l.Roles, r.role)
			}
		}
		if err := set.Usable(c.Context, name); err != nil {
			l.Usable, l.WhyNot = false, plan.OneLine(err.Error())
		}
		lines = append(lines, l)
	}
	if c.Bool("json") {
		return e.printJSON(lines)
	}
	for _, l := range lines {
		state := "usable"
		if !l.Usable {
			state = "not usable: " + l.WhyNot
		}
		about := strings.TrimSpace(l.Kind + " " + l.Model)
		if len(l.Roles) > 0 {
			about += ", " + strings.Join(l.Roles, ", ")
		}
		fmt.Fprintf(e.stdout, "%-12s %-24s %s\n", plan.OneLine(l.Name), plan.OneLine(about), state)
	}
	return nil
}

// testAgent asks an agent for the smallest thing that the contract knows, and shows what came back.
func (e *env) testAgent(c *cli.Context, store *gitstore.Store) error {
	name := c.Args().First()
	set := e.agentSet(c, store)
	judge, err := set.Judge(name)
	if err != nil {
		return &failure{code: exitUsage, err: err, hint: "git wf agents"}
	}
	dir, err := os.MkdirTemp("", "git-wf-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	job := agent.Job{
		Task: &plan.Task{TaskID: "TEST-1", Title: "Answer"}, PlanID: "WFS-test", Attempt: 1, Version: 1, Role: agent.RoleCheck,
		Dir: filepath.Join(dir, "work"), Out: filepath.Join(dir, "out"), In: filepath.Join(dir, "in"), Prompt: filepath.Join(dir, "prompt.md"),
		Repo: dir, Environ: e.environ, Timeout: 2 * time.Minute,
	}
	for _, d := range []string{job.Dir, job.Out, job.In} {
		if err := os.Mkdir(d, 0o777); err != nil {
			return err
		}
	}
	text := "This tries the connection. Criterion A1 is: two and two are four. Judge it.\n\nAnswer with one JSON object and nothing else, such as:\n\n" +
		string(contract.Example(contract.RoleCheck, contract.Review))
	if err := os.WriteFile(job.Prompt, []byte(text), 0o666); err != nil {
		return err
	}
	want := contract.Want{Role: contract.RoleCheck, Criteria: []plan.Criterion{{ID: "A1", Statement: "Two and two are four.", Severity: plan.Must, CheckMethod: plan.ManualReview}}}
	_, res, err := judge.Judge(c.Context, job, want)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err := e.printJSON(struct {
			Agent      string      `json:"agent"`
			Pass       bool        `json:"pass"`
			Message    string      `json:"message,omitempty"`
			DurationMS int64       `json:"duration_ms"`
			Usage      *plan.Usage `json:"usage,omitempty"`
		}{res.MadeBy(name), res.Kind == agent.Artifact, res.Message, res.Duration.Milliseconds(), res.Usage})
		if err != nil || res.Kind == agent.Artifact {
			return err
		}
		return errSaid
	}
	if res.Kind != agent.Artifact {
		return refused("git wf agents", "%s gave no answer that can be used: %s", name, res.Message)
	}
	fmt.Fprintf(e.stdout, "%s answered in %s%s\n", plan.OneLine(res.MadeBy(name)), res.Duration.Round(time.Millisecond), usageText(res.Usage))
	return nil
}

// usageText is what an agent says that its work took, after a comma; "" if it does not say.
func usageText(u *plan.Usage) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf(", %d tokens in, %d out", u.InputTokens, u.OutputTokens)
	if u.CostUSD > 0 {
		text += fmt.Sprintf(", $%.4f", u.CostUSD)
	}
	return text
}

// agentSet knows the agents that this machine's user has set up. What is set up is read when it is needed.
func (e *env) agentSet(c *cli.Context, store *gitstore.Store) *agent.Set {
	return agent.NewSet(func() (agent.Settings, error) {
		s, err := e.agentSettings(c.Context, store)
		for flag, role := range map[string]*string{"planner": &s.Planner, "executor": &s.Executor, "reviewer": &s.Reviewer} {
			if name := c.String(flag); name != "" {
				*role = name
			}
		}
		return s, err
	}, e.environ)
}

// agentSettings reads agents.yaml and git's configuration.
func (e *env) agentSettings(ctx context.Context, store *gitstore.Store) (agent.Settings, error) {
	var s agent.Settings
	settings, err := store.Settings(ctx, "wf.")
	if err != nil {
		return s, err
	}
	var own []agent.Setting
	for _, kv := range settings {
		switch kv[0] {
		case "wf.planner":
			s.Planner = kv[1]
		case "wf.executor":
			s.Executor = kv[1]
		case "wf.reviewer":
			s.Reviewer = kv[1]
		}
		own = append(own, agent.Setting{Key: kv[0], Value: kv[1]})
	}
	file := filepath.Join(e.configDir(), "agents.yaml")
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.Agents, err = agent.ParseConfig(file, data, own)
	if err != nil {
		mend := &failure{code: exitUsage, err: err, hint: "mend " + file}
		var bad *agent.ConfigError
		if errors.As(err, &bad) && bad.File == "" {
			mend.hint = "git config --show-origin --get-regexp '^wf\\.agent\\.'"
		}
		return s, mend
	}
	return s, nil
}

// configDir is where the user's own files for git wf are.
func (e *env) configDir() string {
	if dir := e.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "git-wf")
	}
	return filepath.Join(e.getenv("HOME"), ".config", "git-wf")
}

// layers are the places where templates may lie, the user's own before those of the program.
func (e *env) layers(store *gitstore.Store) []prompt.Layer {
	var layers []prompt.Layer
	for _, dir := range []string{filepath.Join(store.CommonDir(), "wf", "templates"), filepath.Join(e.configDir(), "templates")} {
		layers = append(layers, prompt.Layer{Name: dir, FS: os.DirFS(dir)})
	}
	return layers
}

func (e *env) templates(store *gitstore.Store) fs.FS {
	return prompt.Keep(prompt.Layers(append(e.layers(store), prompt.Layer{FS: templates.FS})...))
}

// weights are those of the program with what the user's own tables say else.
func (e *env) weights(store *gitstore.Store) (estimate.Weights, error) {
	data, err := fs.ReadFile(templates.FS, estimate.File)
	if err != nil {
		return estimate.Weights{}, err
	}
	w, err := estimate.ParseWeights(estimate.File, data, estimate.Weights{})
	if err != nil {
		return w, err
	}
	layers := e.layers(store)
	for i := len(layers) - 1; i >= 0; i-- {
		data, err := fs.ReadFile(layers[i].FS, estimate.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return w, err
		}
		if w, err = estimate.ParseWeights(filepath.Join(layers[i].Name, estimate.File), bytes.TrimSpace(data), w); err != nil {
			return w, &failure{code: exitUsage, err: err}
		}
	}
	return w, nil
}
