package agent

import (
	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/shell"
)

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
