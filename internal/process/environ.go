package process

import (
	"runtime"
	"strings"
)

// Environ is the environment of a command that works for us: base without the variables of git and of an enclosing
// attempt (GIT_*, WF_*), and extra after it. A GIT_DIR inherited from a hook would make every git command of an agent
// work on the repository that is being guarded.
func Environ(base []string, extra ...string) []string {
	env := make([]string, 0, len(base)+len(extra))
	for _, v := range base {
		if !hidden(v) {
			env = append(env, v)
		}
	}
	return append(env, extra...)
}

// hidden reports whether a variable of the base environment is kept from the command.
func hidden(variable string) bool {
	if runtime.GOOS == "windows" { // where names of variables have no case
		variable = strings.ToUpper(variable)
	}
	return strings.HasPrefix(variable, "GIT_") || strings.HasPrefix(variable, "WF_")
}
