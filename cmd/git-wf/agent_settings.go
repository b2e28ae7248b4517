package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/each"
	"gitwf/internal/estimate"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/process"
	"gitwf/internal/prompt"
	"gitwf/internal/secret"
)

// agentSet knows the agents that the user has set up. It reads the settings when it needs them.
func (u user) agentSet(c *cli.Context, store *gitstore.Store) *agent.Set {
	return agent.NewSet(func() (agent.Settings, error) {
		s, err := u.agentSettings(c.Context, store)
		for flag, role := range defaultAgents(&s) {
			if name := c.String(flag); name != "" {
				*role = name
			}
		}
		return s, err
	}, u.environ)
}

// defaultAgents are the agents of a plan's work that no role names, by their flags.
func defaultAgents(s *agent.Settings) map[string]*string {
	return map[string]*string{"planner": &s.Planner, "executor": &s.Executor, "reviewer": &s.Reviewer}
}

// agentSettings reads git's configuration.
func (u user) agentSettings(ctx context.Context, store *gitstore.Store) (agent.Settings, error) {
	var s agent.Settings
	settings, err := store.Settings(ctx, "wf.")
	if err != nil {
		return s, err
	}
	for _, kv := range settings {
		if name := defaultAgents(&s)[strings.TrimPrefix(kv[0], "wf.")]; name != nil {
			*name = kv[1]
		}
		s.SetRole(kv[0], kv[1])
	}
	s.Agents = agent.ParseConfig(settings)
	for _, a := range s.Agents {
		var wrong *agent.ConfigError
		if errors.As(a.Wrong, &wrong) {
			wrong.Scope = settingScope(ctx, store, "wf.agent."+wrong.Name+"."+wrong.Key)
		}
	}
	return s, nil
}

// settingScope is where the last setting is set that begins with the key: local, global or system; "" if git can't
// say.
func settingScope(ctx context.Context, store *gitstore.Store, key string) string {
	out, err := store.Git(ctx, "config", "--show-scope", "--name-only", "--get-regexp", "^"+regexp.QuoteMeta(key))
	if err != nil {
		return ""
	}
	scope, _, _ := strings.Cut(out[strings.LastIndexByte(out, '\n')+1:], "\t")
	return scope
}

// configDir is where the user's own files for git wf are.
func (u user) configDir() string {
	if dir := u.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "git-wf")
	}
	return filepath.Join(u.getenv("HOME"), ".config", "git-wf")
}

// layers are the places of the user's own templates, those of the repository first. store is nil outside of one.
func (u user) layers(store *gitstore.Store) []prompt.Layer {
	dirs := []string{filepath.Join(u.configDir(), "templates")}
	if store != nil {
		dirs = append([]string{filepath.Join(store.CommonDir(), "wf", "templates")}, dirs...)
	}
	return each.Of(dirs, func(dir string) prompt.Layer { return prompt.Layer{Name: dir, FS: os.DirFS(dir)} })
}

func (u user) templates(store *gitstore.Store) fs.FS {
	return prompt.Layers(append(u.layers(store), programLayer())...)
}

// readTable has a table of that name read from each layer which has it, the user's own last. own is what there is
// without those.
func (u user) readTable(store *gitstore.Store, name, own string, read func(file string, data []byte) error) error {
	for _, layer := range slices.Backward(append(u.layers(store), programLayer())) {
		data, err := fs.ReadFile(layer.FS, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		file := filepath.Join(layer.Name, name)
		if err := read(file, data); err != nil {
			return fault.Usage("mend "+file+", or remove it to get the "+own, "%w", err)
		}
	}
	return nil
}

// weights are those of the program, overridden by the user's own tables.
func (u user) weights(store *gitstore.Store) (w estimate.Weights, err error) {
	err = u.readTable(store, estimate.File, "built-in weights", func(file string, data []byte) (err error) {
		w, err = estimate.ParseWeights(file, bytes.TrimSpace(data), w)
		return err
	})
	return w, err
}

// assignment is the table of who does which kind of task, the user's own in the place of the program's.
func (u user) assignment(store *gitstore.Store) (table agent.Assignment, err error) {
	err = u.readTable(store, agent.AssignFile, "built-in table", func(file string, data []byte) (err error) {
		table, err = agent.ParseAssignment(file, data)
		return err
	})
	return table, err
}

// envKey is the setting that names variables which a plan's command lines get besides the usual ones.
const envKey = "wf.env"

// commandEnv is the part of the user's environment that a plan's command lines get.
func (u user) commandEnv(ctx context.Context, store *gitstore.Store) ([]string, error) {
	settings, err := store.Settings(ctx, envKey)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, kv := range settings {
		if kv[0] != envKey {
			continue
		}
		for _, name := range strings.FieldsFunc(kv[1], func(r rune) bool { return r == ',' || r == ' ' }) {
			if strings.ContainsAny(strings.TrimSuffix(name, "*"), "=*$\t\n") {
				return nil, fault.Usage("git config --edit",
					"%s: %s is no name of a variable", envKey, plain.Line(name))
			}
			names = append(names, name)
		}
	}
	return process.Allowed(u.environ, names), nil
}

// mask hides the user's keys: variables that are named like one, and those that agents take theirs from.
func (u user) mask(agents *agent.Set) secret.Mask {
	settings, _ := agents.Settings() // without settings no agent is asked
	var names []string
	for _, a := range settings.Agents {
		if a.KeyEnv != "" {
			names = append(names, a.KeyEnv)
		}
	}
	return secret.NewMask(u.environ, names...)
}
