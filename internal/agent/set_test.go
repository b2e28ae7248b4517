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
		return Settings{Agents: map[string]Config{"bot": {Config: backend.Config{Name: "bot", Kind: "command",
			Command: "cat"}}}, Executor: "bot"}, nil
	}, nil)
	if a, err := set.Lookup("exec"); a != (Exec{}) || err != nil {
		t.Errorf("exec: %v, %v", a, err)
	}
	if _, err := set.Lookup("manual"); !errors.Is(err, ErrManual) {
		t.Errorf("manual: %v", err)
	}
	if set.Knows("exec") || set.Knows("manual") || set.Knows("") || loads > 0 {
		t.Errorf("the settings were read %d times for built-in names", loads)
	}
	if !set.Knows("bot") || !set.Knows("claude") || set.Knows("robot") || set.Read().Executor != "bot" || loads != 1 {
		t.Errorf("after %d loads: %v", loads, set.Names())
	}
	if _, err := set.Lookup("bot"); err != nil {
		t.Error(err)
	}
	var unknown *UnknownError
	if _, err := set.Lookup("robot\n"); !errors.As(err, &unknown) ||
		err.Error() != `unknown agent "robot\n"; known are exec, manual, bot, claude, codex, gemini, opencode` {
		t.Errorf("robot: %v", err)
	}
	if j, err := set.Model("exec", nil); err == nil {
		t.Errorf("exec judges: %v", j)
	}
}

// Unusable settings stop only the work that needs them.
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
	settings := func(pairs ...string) (all [][2]string) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, [2]string{pairs[i], pairs[i+1]})
		}
		return all
	}
	tests := []struct {
		name     string
		settings [][2]string
		want     map[string]Config
	}{
		{"nothing", nil, map[string]Config{}},
		{"a command", settings("wf.agent.my.bot.kind", "command", "wf.agent.my.bot.command", "cat -",
			"wf.agent.my.bot.timeout", "90", "wf.strict", "true"),
			map[string]Config{"my.bot": {Config: backend.Config{Name: "my.bot", Kind: "command", Command: "cat -",
				Timeout: 90 * time.Second}}}},
		{"the kind of its name", settings("wf.agent.claude.model", "opus"),
			map[string]Config{"claude": {Config: backend.Config{Name: "claude", Kind: "claude", Model: "opus"}}}},
		{"a service", settings("wf.agent.local.kind", "openai", "wf.agent.local.model", "m", "wf.agent.local.baseurl",
			"http://127.0.0.1:1/v1", "wf.agent.local.timeout", "2m", "wf.agent.local.fallback", "claude, codex",
			"wf.agent.local.trustcommands", "true"),
			map[string]Config{"local": {Config: backend.Config{Name: "local", Kind: "openai", Model: "m",
				BaseURL: "http://127.0.0.1:1/v1", Timeout: 2 * time.Minute, Fallback: []string{"claude", "codex"}},
				TrustCommands: true}}},
		{"the last value counts", settings("wf.agent.a.kind", "comand", "wf.agent.a.command", "x", "wf.agent.a.timeout",
			"late", "wf.agent.a.timeout", "9", "wf.agent.a.kind", "command"),
			map[string]Config{"a": {Config: backend.Config{Name: "a", Kind: "command", Command: "x",
				Timeout: 9 * time.Second}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ParseConfig(tt.settings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An unusable setting affects only its agent, and the error says what would mend it.
func TestParseConfigWrong(t *testing.T) {
	tests := []struct {
		name      string
		settings  []string
		agent     string
		err, mend string
	}{
		{"no kind", []string{"wf.agent.bot.model", "m"}, "bot",
			"wf.agent.bot.kind: is not set; kinds are command, claude", "git config wf.agent.bot.kind KIND"},
		{"a wrong kind", []string{"wf.agent.bot.kind", "robot"}, "bot", "wf.agent.bot.kind: robot is no kind",
			"git config --replace-all wf.agent.bot.kind KIND"},
		{"a wrong key", []string{"wf.agent.a b.knd", "x"}, "a b", "wf.agent.a b.knd: unknown",
			"git config --unset-all 'wf.agent.a b.knd'"},
		{"a wrong time", []string{"wf.agent.a.kind", "command", "wf.agent.a.timeout", "soon"}, "a",
			"wf.agent.a.timeout: soon is no time", "git config --replace-all wf.agent.a.timeout 10m"},
		{"a built-in name", []string{"wf.agent.exec.kind", "command"}, "exec",
			"wf.agent.exec: the name belongs to an agent that needs no setting up", "git config --remove-section wf.agent.exec"},
		{"a reviewer's name", []string{"wf.agent.person.kind", "command"}, "person",
			"wf.agent.person: the name stands for something else in plans", "git config --remove-section wf.agent.person"},
		{"a wrong flag", []string{"wf.agent.a.trustcommands", "maybe"}, "a",
			"wf.agent.a.trustcommands: maybe is neither true nor false",
			"git config --replace-all wf.agent.a.trustcommands false"},
		{"a wrong workspace", []string{"wf.agent.a.kind", "claude", "wf.agent.a.workspace", "home"}, "a",
			"home is neither scratch nor worktree", "git config --replace-all wf.agent.a.workspace scratch"},
		{"no command", []string{"wf.agent.a.kind", "command"}, "a", "wf.agent.a.command: missing",
			"git config wf.agent.a.command COMMAND"},
		{"no address", []string{"wf.agent.a.kind", "openai", "wf.agent.a.model", "m", "wf.agent.a.baseurl", "ftp:"}, "a",
			"wf.agent.a.baseurl: not an http", "git config --replace-all wf.agent.a.baseurl URL"},
		{"an unknown fallback", []string{"wf.agent.a.kind", "claude", "wf.agent.a.fallback", "codex",
			"wf.agent.a.fallback", "nobody"}, "a",
			"wf.agent.a.fallback: no agent that could be fallen back upon is called nobody",
			"git config --replace-all wf.agent.a.fallback AGENT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			settings := [][2]string{{"wf.agent.good.kind", "command"}, {"wf.agent.good.command", "cat"}}
			for i := 0; i < len(tt.settings); i += 2 {
				settings = append(settings, [2]string{tt.settings[i], tt.settings[i+1]})
			}
			got := ParseConfig(settings)
			var wrong *ConfigError
			if !errors.As(got[tt.agent].Wrong, &wrong) || !strings.Contains(wrong.Error(), tt.err) || wrong.Mend() != tt.mend {
				t.Errorf("got %v", got[tt.agent].Wrong)
			}
			set := NewSet(func() (Settings, error) { return Settings{Agents: got}, nil }, nil)
			if _, err := set.Lookup("good"); err != nil {
				t.Errorf("good: %v", err)
			}
			settled := isBuiltIn(tt.agent) || isReserved(tt.agent)
			if now, _ := set.Settings(); settled != (len(now.Ignored) == 1) || set.Knows(tt.agent) == settled {
				t.Errorf("ignored are %v", now.Ignored)
			}
			if _, err := set.Lookup(tt.agent); !settled && !errors.As(err, &wrong) {
				t.Errorf("%s: %v", tt.agent, err)
			}
		})
	}
}
