package caller

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"gitwf/internal/shell"
)

// Process is what can be read of a process.
type Process struct {
	PID           int
	Name          string   // as the system calls it
	Args, Environ []string // nil where they can't be read
	Start         string   // when it began, as the system counts; no other one of this number has the same
	Ended         bool     // it is a zombie; only its parent has not noticed
}

// Origin is where a command comes from.
type Origin struct {
	Environ   []string  // its own environment
	Ancestors []Process // the parent first
	Unread    string    // why there may be ancestors beyond these; "" if these are all
	Terminal  bool      // somebody could be there to answer
}

// The kinds of callers.
const (
	Unattended = iota // no agent's mark, and no terminal
	Agent
	Person
)

// Caller is who runs a command.
type Caller struct {
	Kind int
	// of an agent: its name, by what it was known, its session, and the task that it works on if a run of ours began it
	Name, Seen, Session, Task string
}

// ours is the mark of an agent that a run of ours has started; its value is the task.
const ours = "WF_TASK"

// agents are the names, programs and marks by which agents are known. The last mark says no more than that it is an
// agent's; its value is the name.
var agents = []struct {
	name, program string
	marks         []string
}{
	{"git-wf", "", []string{ours}},
	{"claude", "claude", []string{"CLAUDECODE"}},
	{"codex", "codex", []string{"CODEX_THREAD_ID", "CODEX_CI"}},
	{"gemini", "gemini", []string{"GEMINI_CLI"}},
	{"opencode", "opencode", []string{"OPENCODE"}},
	{"cursor", "cursor-agent", []string{"CURSOR_AGENT"}},
	{"", "", []string{"AI_AGENT"}},
}

// interpreters run a program that their first argument names.
var interpreters = []string{"node", "bun", "deno", "python", "python3", "ruby", "sh", "bash", "dash"}

// Marks are the variables by which agents are known.
func Marks() (all []string) {
	for _, a := range agents {
		all = append(all, a.marks...)
	}
	return all
}

// Find says who the caller is.
func (o Origin) Find() Caller {
	for i, p := range append([]Process{{Environ: o.Environ}}, o.Ancestors...) {
		where := "in its environment"
		if i > 0 {
			where = fmt.Sprintf("in the environment of process %d (%s)", p.PID, p.Name)
		}
		c := Caller{Kind: Agent, Task: p.getenv(ours),
			Session: cmp.Or(p.getenv("WF_SESSION"), p.getenv("CODEX_THREAD_ID"), p.getenv("CLAUDE_CODE_SESSION_ID"))}
		for _, a := range agents {
			for _, mark := range a.marks {
				if value := p.getenv(mark); value != "" {
					c.Name, c.Seen = cmp.Or(a.name, value), mark+" "+where
					return c
				}
			}
			if a.program != "" && p.runs(a.program) {
				c.Name, c.Seen = a.name, fmt.Sprintf("process %d is %s", p.PID, a.program)
				return c
			}
		}
	}
	if o.Terminal {
		return Caller{Kind: Person}
	}
	return Caller{}
}

func (p Process) getenv(name string) string { return shell.Getenv(p.Environ, name) }

// runs reports whether a process runs the program: by its own name, or as the script of an interpreter.
func (p Process) runs(program string) bool {
	names := []string{p.Name}
	if len(p.Args) > 0 {
		names = append(names, base(p.Args[0]))
		isFile := func(arg string) bool { return !strings.HasPrefix(arg, "-") }
		if i := slices.IndexFunc(p.Args[1:], isFile); i >= 0 && slices.Contains(interpreters, names[1]) {
			names = append(names, base(p.Args[1+i]))
		}
	}
	return slices.Contains(names, program)
}

// base is the name of a program's file, without what says of which kind it is.
func base(name string) string {
	name = path.Base(name)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".js"), ".mjs")
}

// Here is the origin of this process; terminal says that its input or output is one, which it may have besides.
func Here(environ []string, terminal bool) Origin {
	tty := "/dev/tty"
	if runtime.GOOS == "windows" {
		tty = "CONIN$"
	}
	f, err := os.OpenFile(tty, os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	o := Origin{Environ: environ, Terminal: terminal || err == nil}
	const most = 100 // a process that ends meanwhile may leave a circle of numbers
	for pid := os.Getppid(); pid > 0 && len(o.Ancestors) < most; {
		p, parent, err := Look(pid)
		if err != nil {
			o.Unread = err.Error()
			break
		}
		o.Ancestors, pid = append(o.Ancestors, p), parent
	}
	return o
}
