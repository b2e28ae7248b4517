package agent

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/backend"
)

// Set is the agents of this machine: the built-in ones and those that the user has set up. A name that is not set up
// but is a kind of command-line agent stands for that agent with its defaults.
type Set struct {
	load    func() (Settings, error)
	environ []string

	mu      sync.Mutex       // guards missing
	missing map[string]error // by the names of a chain
}

// Settings are what a user has set up: agents, and the defaults for each job.
type Settings struct {
	Agents   map[string]Config
	Planner  string // makes plans
	Executor string // does the tasks that name no agent and have no run line; "" leaves them to people
	Reviewer string // judges what no list of reviewers assigns; "" leaves it to people

	Roles map[string]string // who speaks for a role of a plan, by the role's name: wf.role.NAME

	Ignored []*ConfigError // settings of impossible agent names, by name
}

// vendors are the command-line agents that need no settings.
var vendors = [...]string{backend.KindClaude, backend.KindCodex, backend.KindGemini, backend.KindOpencode}

// NewSet makes the set. It loads the user's settings once, on first use: most plans name only built-in agents. It looks
// up programs and keys in environ.
func NewSet(load func() (Settings, error), environ []string) *Set {
	return &Set{environ: environ, missing: map[string]error{}, load: sync.OnceValues(func() (Settings, error) {
		s, err := load()
		all := map[string]Config{}
		for _, name := range vendors {
			all[name] = Config{Config: backend.Config{Name: name, Kind: name}}
		}
		for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
			var wrong *ConfigError
			if isBuiltIn(name) || isReserved(name) {
				if errors.As(s.Agents[name].Wrong, &wrong) {
					s.Ignored = append(s.Ignored, wrong)
				}
				continue
			}
			all[name] = s.Agents[name]
		}
		s.Agents = all
		return s, err
	})}
}

// Settings returns what the user has set up. The agents themselves report unusable settings.
func (s *Set) Settings() (Settings, error) { return s.load() }

// Read is what could be read of the settings; Lookup reports the error.
func (s *Set) Read() Settings {
	set, _ := s.load()
	return set
}

// RoleKey is the setting that names the agent of a role.
func RoleKey(role string) string { return rolePrefix + role }

const rolePrefix = "wf.role."

// SetRole takes a setting if it names the agent of a role.
func (s *Settings) SetRole(key, name string) {
	if role, ok := strings.CutPrefix(key, rolePrefix); ok && name != "" {
		if s.Roles == nil {
			s.Roles = map[string]string{}
		}
		s.Roles[role] = name
	}
}

// builtIn are the names that belong to no configuration.
var builtIn = [...]string{NameExec, NameManual}

func isBuiltIn(name string) bool { return slices.Contains(builtIn[:], name) || name == nameWorkflow }

// Names lists all agents, the built-in ones first.
func (s *Set) Names() []string {
	return append(slices.Clone(builtIn[:]), slices.Sorted(maps.Keys(s.Read().Agents))...)
}

// Found is a vendor's agent whose program is here.
type Found struct{ Name, Path string }

// Found lists the vendors' agents that can be asked here as far as it can tell at once, by name.
func (s *Set) Found() []Found {
	var all []Found
	for _, name := range s.Names() {
		c, _ := s.Config(name)
		if !slices.Contains(vendors[:], c.Kind) || c.Wrong != nil || s.Missing(name, nil) != nil {
			continue
		}
		if path := c.Program(s.environ); path != "" {
			all = append(all, Found{name, path})
		}
	}
	return all
}

// SameProgram reports whether two agents are one program, and not two that may see different things.
func (s *Set) SameProgram(a, b string) bool {
	x, xs := s.Config(a)
	y, ys := s.Config(b)
	return a == b || xs && ys && x.Kind == y.Kind && slices.Contains(vendors[:], x.Kind)
}

// Config returns an agent's settings; ok is false for the built-in ones and for unknown names.
func (s *Set) Config(name string) (Config, bool) {
	if isBuiltIn(name) || name == "" {
		return Config{}, false
	}
	c, ok := s.Read().Agents[name]
	return c, ok
}

// Chain is an agent and its fallbacks, in order. Without fallbacks, it is the agent alone.
func (s *Set) Chain(name string) []string { return backend.Chain(name, s.backendOf, nil) }

func (s *Set) backendOf(name string) (backend.Config, bool) {
	c, ok := s.Config(name)
	return c.Config, ok
}

// Knows reports whether the name is that of an agent that can be asked. If the settings can't be read, it says yes:
// asking the agent then reports why not.
func (s *Set) Knows(name string) bool {
	if name == "" || isBuiltIn(name) {
		return false
	}
	set, err := s.load()
	_, ok := set.Agents[name]
	return ok || err != nil
}

// TrustsCommandsOf reports whether the user lets the command lines of the agent's plans run without seeing them.
func (s *Set) TrustsCommandsOf(name string) bool {
	c, _ := s.Config(name)
	return c.TrustCommands
}

// WritesFiles reports whether the agent can write to WF_OUT itself, and run commands; others answer with text.
func (s *Set) WritesFiles(name string) bool {
	c, _ := s.Config(name)
	return c.Kind != backend.KindOpenAI && c.Kind != backend.KindAnthropic
}

// ReadsOwnRules reports whether an agent reads GEMINI.md in each directory that it may read; nothing turns that off.
func (s *Set) ReadsOwnRules(name string) bool {
	c, _ := s.Config(name)
	return c.Kind == backend.KindGemini
}

// Lookup finds an agent by its name. It fails with ErrManual for a person's work, so that a caller learns before it
// claims the task that there is nothing to run; with an *UnknownError for an unknown name; and with a *ConfigError for
// an agent with an unusable setting.
func (s *Set) Lookup(name string) (Agent, error) {
	switch name {
	case NameExec:
		return Exec{}, nil
	case NameManual, nameWorkflow: // whose tasks the engine does itself
		return nil, ErrManual
	}
	return s.Model(name, nil)
}

// Missing says why no agent of a chain can be asked, as far as it can tell at once: a program that is not installed, a
// key that is not set. It considers only the fallbacks that may allows; a nil function allows all. It is nil for the
// built-in agents, and if the settings are wrong, which Lookup reports.
func (s *Set) Missing(name string, may func(fallback string) bool) error {
	chain := strings.Join(backend.Chain(name, s.backendOf, may), "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	why, known := s.missing[chain]
	if !known {
		if m, err := s.Model(name, may); err == nil {
			why = m.backend.Missing()
		}
		s.missing[chain] = why
	}
	return why
}

// Model finds an agent that can review and estimate, too; only those that the user has set up can. It asks only the
// fallbacks that may allows; a nil function allows all.
func (s *Set) Model(name string, may func(fallback string) bool) (*Model, error) {
	if _, err := s.load(); err != nil {
		return nil, err
	}
	if _, ok := s.Config(name); !ok {
		return nil, &UnknownError{Name: name, Known: s.Names()}
	}
	b, err := backend.NewChain(name, s.backendOf, may, s.environ)
	if err != nil {
		return nil, err
	}
	return &Model{name: name, backend: b, writes: s.WritesFiles(name)}, nil
}
