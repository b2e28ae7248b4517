package caller

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every way in which a command was begun when this was measured, and who that is.
func TestFind(t *testing.T) {
	shell := Process{PID: 7, Name: "bash", Args: []string{"bash"}, Environ: []string{"HOME=/home/ann", "TERM=xterm"}}
	below := func(environ ...string) []Process {
		return []Process{shell, {PID: 5, Name: "sh", Args: []string{"sh", "-c", "x"}, Environ: environ}, shell}
	}
	program := func(name string, args ...string) []Process {
		return []Process{shell, {PID: 5, Name: name, Args: args}}
	}
	for _, tt := range []struct {
		name string
		o    Origin
		want Caller
	}{
		{"a person's shell", Origin{Ancestors: []Process{shell}, Terminal: true}, Caller{Kind: Person}},
		{"an editor", Origin{Environ: []string{"GIT_EDITOR=true", "TERM_PROGRAM=vscode", "CURSOR_TRACE_ID=1"},
			Ancestors: program("cursor", "/opt/cursor/cursor"), Terminal: true}, Caller{Kind: Person}},
		{"a job", Origin{Environ: []string{"CI=true"}, Ancestors: []Process{shell}}, Caller{}},
		{"a file of that name in an editor", Origin{Ancestors: program("vim", "vim", "claude"), Terminal: true},
			Caller{Kind: Person}},
		{"an empty mark", Origin{Environ: []string{"CLAUDECODE="}, Terminal: true}, Caller{Kind: Person}},

		{"claude", Origin{Environ: []string{"CLAUDECODE=1", "AI_AGENT=x"}, Terminal: true},
			Caller{Kind: Agent, Name: "claude", Seen: "CLAUDECODE in its environment"}},
		{"codex", Origin{Environ: []string{"CODEX_THREAD_ID=0af"}},
			Caller{Kind: Agent, Name: "codex", Seen: "CODEX_THREAD_ID in its environment", Session: "0af"}},
		{"codex in CI", Origin{Environ: []string{"CODEX_CI=1"}},
			Caller{Kind: Agent, Name: "codex", Seen: "CODEX_CI in its environment"}},
		{"gemini", Origin{Environ: []string{"GEMINI_CLI=1"}},
			Caller{Kind: Agent, Name: "gemini", Seen: "GEMINI_CLI in its environment"}},
		{"opencode", Origin{Environ: []string{"OPENCODE=1"}},
			Caller{Kind: Agent, Name: "opencode", Seen: "OPENCODE in its environment"}},
		{"cursor", Origin{Environ: []string{"CURSOR_AGENT=1"}},
			Caller{Kind: Agent, Name: "cursor", Seen: "CURSOR_AGENT in its environment"}},
		{"another", Origin{Environ: []string{"AI_AGENT=amp"}},
			Caller{Kind: Agent, Name: "amp", Seen: "AI_AGENT in its environment"}},
		{"ours", Origin{Environ: []string{"CLAUDECODE=1", "WF_TASK=DOC-1", "WF_SESSION=s9"}},
			Caller{Kind: Agent, Name: "git-wf", Seen: "WF_TASK in its environment", Session: "s9", Task: "DOC-1"}},

		{"env -u, below its shell", Origin{Ancestors: below("CLAUDECODE=1"), Terminal: true},
			Caller{Kind: Agent, Name: "claude", Seen: "CLAUDECODE in the environment of process 5 (sh)"}},
		{"env -u, below codex", Origin{Ancestors: below("CODEX_THREAD_ID=0af")}, Caller{Kind: Agent, Name: "codex",
			Seen: "CODEX_THREAD_ID in the environment of process 5 (sh)", Session: "0af"}},
		{"env -u, below gemini", Origin{Ancestors: below("GEMINI_CLI=1")},
			Caller{Kind: Agent, Name: "gemini", Seen: "GEMINI_CLI in the environment of process 5 (sh)"}},
		{"env -u, below opencode", Origin{Ancestors: below("OPENCODE=1")},
			Caller{Kind: Agent, Name: "opencode", Seen: "OPENCODE in the environment of process 5 (sh)"}},
		{"env -u, in an attempt", Origin{Ancestors: below("WF_TASK=DOC-1")}, Caller{Kind: Agent, Name: "git-wf",
			Seen: "WF_TASK in the environment of process 5 (sh)", Task: "DOC-1"}},

		{"env -i, below the program", Origin{Ancestors: program("claude", "claude"), Terminal: true},
			Caller{Kind: Agent, Name: "claude", Seen: "process 5 is claude"}},
		{"below a script", Origin{Ancestors: program("node", "node", "--no-warnings", "/usr/bin/gemini", "-p", "x")},
			Caller{Kind: Agent, Name: "gemini", Seen: "process 5 is gemini"}},
		{"below a script with a kind", Origin{Ancestors: program("MainThread", "/usr/bin/node", "/opt/codex/bin/codex.js")},
			Caller{Kind: Agent, Name: "codex", Seen: "process 5 is codex"}},
		{"below a program whose arguments are hidden", Origin{Ancestors: program("codex")},
			Caller{Kind: Agent, Name: "codex", Seen: "process 5 is codex"}},
		{"below cursor's", Origin{Ancestors: program("node", "/home/ann/.local/bin/cursor-agent", "x"), Terminal: true},
			Caller{Kind: Agent, Name: "cursor", Seen: "process 5 is cursor-agent"}},

		// What can't be prevented: no mark is left, and no ancestor. Without a terminal it is nobody's word, at least.
		{"env -i setsid -f", Origin{Ancestors: []Process{{PID: 1, Name: "init"}}}, Caller{}},
		{"env -i setsid -f script", Origin{Ancestors: []Process{{PID: 9, Name: "script"}, {PID: 1, Name: "init"}},
			Terminal: true}, Caller{Kind: Person}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.o.Find(); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// What the system shows of real processes: the mark that a shell has is found below it, also where its child has
// dropped it; a child in a session of its own, whose shell has ended, is below nobody any more.
func TestHere(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not show environments")
	}
	if os.Getenv("CALLER_TEST") != "" { // the grandchild of the test
		time.Sleep(300 * time.Millisecond) // until who began it has ended
		for _, p := range Here(os.Environ(), false).Ancestors {
			os.Stdout.WriteString(strings.Join(p.Environ, " ") + "\n")
		}
		return
	}
	const mark = "CALLER_TEST_MARK=1"
	run := func(line string) string {
		cmd := exec.Command("sh", "-c", line, os.Args[0])
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "CALLER_") }), mark)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	const child = ` env -u CALLER_TEST_MARK CALLER_TEST=1 "$0" -test.run='^TestHere$'`
	if out := run(child + "; true"); !strings.Contains(out, mark) {
		t.Errorf("an ancestor's mark is not found:\n%s", out)
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid")
	}
	if out := run("setsid -f" + child); strings.Contains(out, mark) {
		t.Errorf("what has left its ancestors has them:\n%s", out)
	}
}

func TestProcargs(t *testing.T) {
	data := binary.NativeEndian.AppendUint32(nil, 2)
	data = append(data, "/usr/bin/sh\x00\x00\x00\x00sh\x00-i\x00A=1\x00CLAUDECODE=1\x00\x00stack_guard=\x00"...)
	args, environ := parseProcargs(data)
	if !slices.Equal(args, []string{"sh", "-i"}) || !slices.Equal(environ, []string{"A=1", "CLAUDECODE=1"}) {
		t.Errorf("%q %q", args, environ)
	}
	for n := range data { // whatever comes
		parseProcargs(data[:n])
	}
	parseProcargs(bytes.Repeat([]byte{255}, 8))
}
