package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/backend"
	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Config is how a user has set up one agent, under wf.agent.NAME in their git config.
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

// ParseConfig reads the agents that a user has set up, from keys of git's configuration, in lower case, and their
// values. An agent without a kind has the kind of its name, if there is one. An agent with an unusable setting is
// included, with a *ConfigError as its Wrong: it stops only what needs it.
func ParseConfig(settings [][2]string) map[string]Config {
	agents, wrong := map[string]Config{}, map[string][]*ConfigError{}
	for _, kv := range settings {
		rest, ok := strings.CutPrefix(kv[0], "wf.agent.")
		dot := strings.LastIndexByte(rest, '.')
		if !ok || dot <= 0 {
			continue
		}
		name, key := rest[:dot], rest[dot+1:]
		c := agents[name]
		// The last setting of a key counts.
		wrong[name] = slices.DeleteFunc(wrong[name], func(e *ConfigError) bool { return e.Key == key })
		if why := c.set(key, kv[1]); why != "" {
			wrong[name] = append(wrong[name], &ConfigError{Name: name, Key: key, Value: kv[1], Reason: why})
		}
		agents[name] = c
	}
	for name, c := range agents {
		if c.Kind == "" && slices.Contains(backend.Kinds(), name) {
			c.Kind = name
		}
		c.Name = name
		agents[name] = c
	}
	for name, c := range agents {
		if wrong := append(wrong[name], c.check(agents)...); len(wrong) > 0 {
			c.Wrong = wrong[0]
		}
		agents[name] = c
	}
	return agents
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
	known := each.Of(settings[:], func(s setting) string { return s.key })
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
	Scope     string // which git configuration: local, global, system; "" if unknown
}

// Setting is the setting as its user knows it.
func (e *ConfigError) Setting() string {
	key := e.Name
	if e.Key != "" {
		key += "." + e.Key
	}
	return visible("wf.agent." + key)
}

func (e *ConfigError) Error() string { return e.Setting() + ": " + e.Reason }

// Exit returns the command that mends the setting.
func (e *ConfigError) Exit() (int, string) { return fault.ExitUsage, e.Mend() }

// Mend is the command that mends the setting, where it stands.
func (e *ConfigError) Mend() string {
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
