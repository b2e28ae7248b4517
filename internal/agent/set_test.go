package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/backend"
)

func TestLookup(t *testing.T) {
	loads := 0
	set := NewSet(func() (Settings, error) {
		loads++
		return Settings{Agents: map[string]Config{"bot": {Config: backend.Config{Name: "bot", Kind: "command", Command: "cat"}}}, Executor: "bot"}, nil
	}, nil)
	if a, err := set.Lookup("exec"); a != (Exec{}) || err != nil {
		t.Errorf("exec: %v, %v", a, err)
	}
	if _, err := set.Lookup("manual"); !errors.Is(err, ErrManual) {
		t.Errorf("manual: %v", err)
	}
	if set.Knows("exec") || set.Knows("manual") || set.Knows("") || !set.Knows("outline") || loads > 0 {
		t.Errorf("the settings were read %d times for built-in names", loads)
	}
	if !set.Knows("bot") || !set.Knows("claude") || set.Knows("robot") || set.Executor() != "bot" || loads != 1 {
		t.Errorf("after %d loads: %v", loads, set.Names())
	}
	if _, err := set.Lookup("bot"); err != nil {
		t.Error(err)
	}
	var unknown *UnknownError
	if _, err := set.Lookup("robot\n"); !errors.As(err, &unknown) || err.Error() != `unknown agent "robot\n"; known are exec, manual, outline, bot, claude, codex, gemini, opencode` {
		t.Errorf("robot: %v", err)
	}
	if j, err := set.Judge("exec"); err == nil {
		t.Errorf("exec judges: %v", j)
	}
}

// Settings that can't be used stop the work that needs them, and no other.
func TestBrokenSettings(t *testing.T) {
	set := NewSet(func() (Settings, error) { return Settings{}, errors.New("no good") }, nil)
	if _, err := set.Lookup("exec"); err != nil {
		t.Error(err)
	}
	if !set.Knows("bot") {
		t.Error("what can't be read might know bot")
	}
	if _, err := set.Lookup("bot"); err == nil || err.Error() != "no good" {
		t.Error(err)
	}
}

func TestParseConfig(t *testing.T) {
	settings := func(pairs ...string) (all []Setting) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, Setting{pairs[i], pairs[i+1]})
		}
		return all
	}
	tests := []struct {
		name, yaml string
		settings   []Setting
		want       map[string]Config
		err        string
	}{
		{"nothing", "", nil, map[string]Config{}, ""},
		{"git config", "", settings("wf.agent.my.bot.kind", "command", "wf.agent.my.bot.command", "cat -", "wf.agent.my.bot.timeout", "90", "wf.strict", "true"),
			map[string]Config{"my.bot": {Config: backend.Config{Name: "my.bot", Kind: "command", Command: "cat -", Timeout: 90 * time.Second}}}, ""},
		{"the kind of its name", "", settings("wf.agent.claude.model", "opus"), map[string]Config{"claude": {Config: backend.Config{Name: "claude", Kind: "claude", Model: "opus"}}}, ""},
		{"a file", "local:\n  kind: openai\n  model: m\n  baseurl: http://127.0.0.1:1/v1\n  timeout: 2m\n  fallback: [claude, codex]\n  trustCommands: true\n", nil,
			map[string]Config{"local": {Config: backend.Config{Name: "local", Kind: "openai", Model: "m", BaseURL: "http://127.0.0.1:1/v1", Timeout: 2 * time.Minute, Fallback: []string{"claude", "codex"}}, TrustCommands: true}}, ""},
		{"git config wins", "a: {kind: command, command: x, fallback: b}\n", settings("wf.agent.a.command", "y", "wf.agent.a.fallback", "c, d"),
			map[string]Config{"a": {Config: backend.Config{Name: "a", Kind: "command", Command: "y", Fallback: []string{"c", "d"}}}}, ""},
		{"no kind", "", settings("wf.agent.bot.model", "m"), nil, "wf.agent.bot.kind: is not set; kinds are command, claude"},
		{"a wrong kind", "", settings("wf.agent.bot.kind", "robot"), nil, "robot is no kind"},
		{"a wrong key", "a: {knd: x}\n", nil, nil, "agents.yaml: a.knd: unknown; known are kind, command"},
		{"a wrong time", "", settings("wf.agent.a.kind", "command", "wf.agent.a.timeout", "soon"), nil, "wf.agent.a.timeout: soon is no time"},
		{"a built-in name", "", settings("wf.agent.exec.kind", "command"), nil, "wf.agent.exec.kind: the name belongs to an agent that needs no setting up"},
		{"a reviewer's name", "", settings("wf.agent.person.kind", "command"), nil, "wf.agent.person.kind: the name stands for something else in plans"},
		{"no YAML", "a: [", nil, nil, "agents.yaml: yaml: line 1"},
		{"a wrong flag", "", settings("wf.agent.a.trustcommands", "maybe"), nil, "wf.agent.a.trustcommands: maybe is neither true nor false"},
		{"a wrong workspace", "", settings("wf.agent.a.kind", "claude", "wf.agent.a.workspace", "home"), nil, "home is neither scratch nor worktree"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseConfig("agents.yaml", []byte(tt.yaml), tt.settings)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
