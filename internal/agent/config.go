package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"gitwf/internal/backend"
	"gitwf/internal/plan"
)

// Config is how a user has set up one agent, under wf.agent.NAME in their git config or under NAME in agents.yaml.
type Config struct {
	backend.Config
	TrustCommands bool // command lines in the plans that it makes may run unseen
	Budget        int  // of a prompt, in bytes; zero means the default
}

// Where an agent works.
const (
	WorkspaceScratch  = "scratch"  // an empty directory
	WorkspaceWorktree = "worktree" // a linked working tree of the repository
)

// ConfigError says which setting of which agent can't be used.
type ConfigError struct {
	Name, Key, Reason string
	File              string // "" for git's configuration
}

func (e *ConfigError) Error() string {
	key := "wf.agent." + e.Name + "." + e.Key
	if e.File != "" {
		key = e.File + ": " + e.Name + "." + e.Key
	}
	return visible(key) + ": " + e.Reason
}

// Setting is one line of git's configuration: wf.agent.NAME.KEY and its value. Git gives keys in lower case.
type Setting struct{ Key, Value string }

// ParseConfig reads the agents that a user has set up: first agents.yaml, which may be empty, then git's settings, which
// win. An agent without a kind has the kind of its name, if there is such a kind.
func ParseConfig(file string, data []byte, settings []Setting) (map[string]Config, error) {
	agents := map[string]Config{}
	if err := parseYAML(file, data, agents); err != nil {
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
		c := agents[name]
		if key == "fallback" && !lists[name] {
			c.Fallback, lists[name] = nil, true
		}
		if err := c.set(name, key, s.Value); err != nil {
			return nil, err
		}
		agents[name] = c
	}
	for name, c := range agents {
		if c.Kind == "" && slices.Contains(backend.Kinds(), name) {
			c.Kind = name
		}
		c.Name = name
		if err := c.check(); err != nil {
			return nil, err
		}
		agents[name] = c
	}
	return agents, nil
}

// parseYAML reads agents.yaml: a mapping from names to the same keys as git's.
func parseYAML(file string, data []byte, agents map[string]Config) error {
	var doc map[string]map[string]yaml.Node
	err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		c := agents[name]
		for _, key := range slices.Sorted(maps.Keys(doc[name])) {
			node := doc[name][key]
			values := []string{node.Value}
			if node.Kind == yaml.SequenceNode {
				values = nil
				for _, n := range node.Content {
					values = append(values, n.Value)
				}
			}
			for _, v := range values {
				if err := c.set(name, strings.ToLower(key), v); err != nil {
					err.File = file
					return err
				}
			}
		}
		agents[name] = c
	}
	return nil
}

// set takes up one setting.
func (c *Config) set(name, key, value string) *ConfigError {
	bad := func(reason string) *ConfigError { return &ConfigError{Name: name, Key: key, Reason: reason} }
	switch key {
	case "kind":
		c.Kind = value
	case "command":
		c.Command = value
	case "model":
		c.Model = value
	case "baseurl":
		c.BaseURL = value
	case "keyenv":
		c.KeyEnv = value
	case "workspace":
		c.Workspace = value
	case "timeout":
		d, err := time.ParseDuration(value)
		if seconds, atoiErr := strconv.Atoi(value); atoiErr == nil {
			d, err = time.Duration(seconds)*time.Second, nil
		}
		if err != nil || d <= 0 {
			return bad(fmt.Sprintf("%s is no time: expected seconds, or a number with a unit, such as 10m", visible(value)))
		}
		c.Timeout = d
	case "fallback":
		c.Fallback = append(c.Fallback, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })...)
	case "trustcommands":
		return c.flag(name, key, value, &c.TrustCommands)
	case "shell":
		return c.flag(name, key, value, &c.Shell)
	case "args":
		c.Args = append(c.Args, value)
	case "budget":
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return bad(fmt.Sprintf("%s is no number of bytes", visible(value)))
		}
		c.Budget = n
	default:
		return bad("unknown; known are kind, command, args, model, baseurl, keyenv, timeout, fallback, workspace, shell, trustcommands, budget")
	}
	return nil
}

func (c *Config) flag(name, key, value string, into *bool) *ConfigError {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		*into = true
	case "false", "no", "off", "0":
		*into = false
	default:
		return &ConfigError{Name: name, Key: key, Reason: fmt.Sprintf("%s is neither true nor false", visible(value))}
	}
	return nil
}

// check finds settings that do not go together.
func (c Config) check() error {
	bad := func(key, reason string) error { return &ConfigError{Name: c.Name, Key: key, Reason: reason} }
	switch {
	case isBuiltIn(c.Name):
		return bad("kind", "the name belongs to an agent that needs no setting up")
	case c.Name == plan.ReviewerChecks || c.Name == plan.ReviewerPlan || c.Name == plan.ReviewerPerson:
		return bad("kind", "the name stands for something else in plans")
	case c.Kind == "":
		return bad("kind", "is not set; kinds are "+strings.Join(backend.Kinds(), ", "))
	case !slices.Contains(backend.Kinds(), c.Kind):
		return bad("kind", visible(c.Kind)+" is no kind; kinds are "+strings.Join(backend.Kinds(), ", "))
	case c.Workspace != "" && c.Workspace != WorkspaceScratch && c.Workspace != WorkspaceWorktree:
		return bad("workspace", visible(c.Workspace)+" is neither "+WorkspaceScratch+" nor "+WorkspaceWorktree)
	}
	return nil
}
