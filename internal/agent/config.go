package agent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"gitwf/internal/backend"
	"gitwf/internal/document"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
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

// setting is one key of an agent's configuration.
type setting struct {
	key     string
	example string                               // a plausible value or a placeholder; "" if every value is right
	set     func(c *Config, value string) string // stores a value, or says what is wrong with it
}

// settings is the table of keys, in the order of messages.
var settings = [...]setting{
	{"kind", "KIND", func(c *Config, v string) string { c.Kind = v; return "" }},
	{"command", "COMMAND", func(c *Config, v string) string { c.Command = v; return "" }},
	{"args", "", func(c *Config, v string) string { c.Args = append(c.Args, v); return "" }},
	{"model", "MODEL", func(c *Config, v string) string { c.Model = v; return "" }},
	{"baseurl", "URL", func(c *Config, v string) string { c.BaseURL = v; return "" }},
	{"keyenv", "", func(c *Config, v string) string { c.KeyEnv = v; return "" }},
	{"timeout", "10m", func(c *Config, v string) string { return duration(v, &c.Timeout) }},
	{"fallback", "AGENT", func(c *Config, v string) string {
		c.Fallback = append(c.Fallback, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
		return ""
	}},
	{"workspace", WorkspaceScratch, func(c *Config, v string) string { c.Workspace = v; return "" }},
	{"shell", "false", func(c *Config, v string) string { return flag(v, &c.Shell) }},
	{"trustcommands", "false", func(c *Config, v string) string { return flag(v, &c.TrustCommands) }},
	{"budget", "196608", func(c *Config, v string) string {
		n, err := strconv.Atoi(v)
		if err != nil || n <= 0 {
			return visible(v) + " is no number of bytes"
		}
		c.Budget = n
		return ""
	}},
}

// settingOf returns the row of a key, nil if there is none.
func settingOf(key string) *setting {
	i := slices.IndexFunc(settings[:], func(s setting) bool { return s.key == key })
	if i < 0 {
		return nil
	}
	return &settings[i]
}

// set applies one setting and says what is wrong with it, "" for nothing.
func (c *Config) set(key, value string) string {
	if s := settingOf(key); s != nil {
		return s.set(c, value)
	}
	var known []string
	for _, s := range settings {
		known = append(known, s.key)
	}
	return "unknown; known are " + strings.Join(known, ", ")
}

func duration(value string, into *time.Duration) string {
	d, err := time.ParseDuration(value)
	if seconds, atoiErr := strconv.Atoi(value); atoiErr == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d <= 0 {
		return fmt.Sprintf("%s is no time: expected seconds, or a number with a unit, such as 10m", visible(value))
	}
	*into = d
	return ""
}

func flag(value string, into *bool) string {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		*into = true
	case "false", "no", "off", "0":
		*into = false
	default:
		return visible(value) + " is neither true nor false"
	}
	return ""
}

// ConfigError says which setting of which agent can't be used, and what would mend it.
type ConfigError struct {
	Name, Key string // Key is "" if the name itself can't be used
	Value     string // "" if it is not set
	Reason    string
	File      string // "" for git's configuration
	Scope     string // which git configuration: local, global, system; "" if unknown
}

// Setting is the setting as its user knows it.
func (e *ConfigError) Setting() string {
	key := e.Name
	if e.Key != "" {
		key += "." + e.Key
	}
	if e.File != "" {
		return visible(e.File + ": " + key)
	}
	return visible("wf.agent." + key)
}

func (e *ConfigError) Error() string { return e.Setting() + ": " + e.Reason }

// Exit returns the command that mends the setting.
func (e *ConfigError) Exit() (int, string) { return fault.ExitUsage, e.Mend() }

// Mend is the command that mends the setting, where it stands.
func (e *ConfigError) Mend() string {
	if e.File != "" {
		return "mend " + visible(e.Name+"."+e.Key) + " in " + visible(e.File)
	}
	command := "git config "
	if e.Scope == "global" || e.Scope == "system" || e.Scope == "worktree" {
		command += "--" + e.Scope + " "
	}
	key := shell.Word(plain.Line("wf.agent." + e.Name + "." + e.Key))
	s := settingOf(e.Key)
	switch {
	case e.Key == "":
		return command + "--remove-section " + shell.Word(plain.Line("wf.agent."+e.Name))
	case s == nil || s.example == "":
		return command + "--unset-all " + key
	case e.Value != "":
		command += "--replace-all "
	}
	return command + key + " " + s.example
}
