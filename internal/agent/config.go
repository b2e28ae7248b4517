package agent

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"gitwf/internal/backend"
	"gitwf/internal/document"
	"gitwf/internal/plan"
)

// Config is how a user has set up one agent, under wf.agent.NAME in their git config or under NAME in agents.yaml.
type Config struct {
	backend.Config
	TrustCommands bool // command lines in the plans that it makes may run without a person seeing them
	Budget        int  // of a prompt, in bytes; zero means the default
}

// Where an agent works.
const (
	WorkspaceScratch  = "scratch"  // an empty directory
	WorkspaceWorktree = "worktree" // a checkout of the repository
)

// Setting is one line of git's configuration: wf.agent.NAME.KEY and its value. Git gives keys in lower case.
type Setting struct{ Key, Value string }

// ParseConfig reads the agents that a user has set up: first agents.yaml, which may be empty, then git's settings,
// which win. An agent without a kind has the kind of its name, if there is one. An agent with an unusable setting is
// included, with a *ConfigError as its Wrong: it stops only what needs it. ParseConfig fails if it can't read the file
// as a whole.
func ParseConfig(file string, data []byte, settings []Setting) (map[string]Config, error) {
	r := configReader{agents: map[string]Config{}, wrong: map[string][]*ConfigError{}}
	if err := r.file(file, data); err != nil {
		return nil, err
	}
	lists := map[string]bool{}
	for _, s := range settings {
		rest, ok := strings.CutPrefix(s.Key, "wf.agent.")
		dot := strings.LastIndexByte(rest, '.')
		if !ok || dot <= 0 {
			continue
		}
		name, key := rest[:dot], rest[dot+1:]
		c := r.agents[name]
		if key == "fallback" && !lists[name] {
			c.Fallback, lists[name] = nil, true
		}
		r.note("", name, key, s.Value, c.set(key, s.Value))
		r.agents[name] = c
	}
	for name, c := range r.agents {
		if c.Kind == "" && slices.Contains(backend.Kinds(), name) {
			c.Kind = name
		}
		c.Name = name
		r.agents[name] = c
	}
	for name, c := range r.agents {
		wrong := append(r.wrong[name], c.check(r.agents)...)
		if len(wrong) > 0 {
			c.Wrong = wrong[0]
		}
		r.agents[name] = c
	}
	return r.agents, nil
}

// configReader collects agents, and what is wrong with them.
type configReader struct {
	agents map[string]Config
	wrong  map[string][]*ConfigError // by agent, in the order of their settings
}

// note records what is wrong with a setting, "" for nothing. It drops the verdict on an earlier setting of the same
// key: the last setting counts.
func (r *configReader) note(file, name, key, value, wrong string) {
	r.wrong[name] = slices.DeleteFunc(r.wrong[name], func(e *ConfigError) bool { return e.Key == key })
	if wrong != "" {
		r.wrong[name] = append(r.wrong[name], &ConfigError{Name: name, Key: key, Value: value, Reason: wrong,
			File: file})
	}
}

// file reads agents.yaml: a mapping from names to the same keys as git's.
func (r *configReader) file(file string, data []byte) error {
	var doc map[string]map[string]yaml.Node
	if err := document.ReadSettings(file, data, &doc); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		c := r.agents[name]
		for _, key := range slices.Sorted(maps.Keys(doc[name])) {
			node := doc[name][key]
			values := []string{node.Value}
			if node.Kind == yaml.SequenceNode {
				values = nil
				for _, n := range node.Content {
					values = append(values, n.Value)
				}
			}
			key := strings.ToLower(key)
			for _, v := range values {
				r.note(file, name, key, v, c.set(key, v))
			}
		}
		r.agents[name] = c
	}
	return nil
}

// check finds settings that conflict with each other or with the rest of the setup.
func (c Config) check(agents map[string]Config) []*ConfigError {
	bad := func(key, value, reason string) []*ConfigError {
		return []*ConfigError{{Name: c.Name, Key: key, Value: value, Reason: reason}}
	}
	switch {
	case isBuiltIn(c.Name):
		return bad("", "", "the name belongs to an agent that needs no setting up")
	case isReserved(c.Name):
		return bad("", "", "the name stands for something else in plans")
	case c.Kind == "":
		return bad("kind", "", "is not set; kinds are "+strings.Join(backend.Kinds(), ", "))
	case !slices.Contains(backend.Kinds(), c.Kind):
		return bad("kind", c.Kind, visible(c.Kind)+" is no kind; kinds are "+strings.Join(backend.Kinds(), ", "))
	case c.Workspace != "" && c.Workspace != WorkspaceScratch && c.Workspace != WorkspaceWorktree:
		return bad("workspace", c.Workspace, visible(c.Workspace)+" is neither "+WorkspaceScratch+
			" nor "+WorkspaceWorktree)
	}
	if wrong := c.Config.Check(); wrong != nil {
		values := map[string]string{"model": c.Model, "baseurl": c.BaseURL, "command": c.Command}
		return bad(wrong.Key, values[wrong.Key], wrong.Reason)
	}
	for _, name := range c.Fallback {
		if _, ok := agents[name]; !ok && !slices.Contains(vendors[:], name) {
			return bad("fallback", strings.Join(c.Fallback, " "),
				"no agent that could be fallen back upon is called "+visible(name))
		}
	}
	return nil
}

// isReserved reports whether a name stands for a reviewer that is no agent, or for an agent that there once was.
func isReserved(name string) bool {
	return name == plan.ReviewerChecks || name == plan.ReviewerPlan || name == plan.ReviewerPerson ||
		name == plan.AgentOutline
}
