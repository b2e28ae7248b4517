package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gitwf/internal/repotest"
	"gitwf/internal/wiretest"
)

const vendorChange = `title: Greeting
tasks:
  - task_id: IMPL-1
    title: A dear greeting
    description: The script greets a dear friend.
    estimated_person_days: 0.5
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria:
      - {id: A1, statement: It says dear., run: "sh src/greet.sh | grep -q dear"}
`

// edits are the tool calls with which a program is made to edit a file of its checkout, one turn each: most refuse to
// overwrite what they have not read.
var edits = map[string][]wiretest.Call{
	"claude": {toolCall("Read", map[string]any{"file_path": "src/greet.sh"}),
		toolCall("Edit", map[string]any{"file_path": "src/greet.sh", "old_string": "hello friend", "new_string": "hello dear friend"})},
	"gemini": {toolCall("read_file", map[string]any{"file_path": "src/greet.sh"}),
		toolCall("write_file", map[string]any{"file_path": "src/greet.sh", "content": "echo hello dear friend\n"})},
	"opencode": {toolCall("read", map[string]any{"filePath": "src/greet.sh"}),
		toolCall("write", map[string]any{"filePath": "src/greet.sh", "content": "echo hello dear friend\n"})},
}

func toolCall(name string, input any) wiretest.Call {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return wiretest.Call{Name: name, Input: data}
}

// shellTool is a tool that runs command lines; spareParts are what programs send with every request unless told not to.
var (
	shellTool  = regexp.MustCompile(`"name":"(Bash|exec_command|run_shell_command|bash)"`)
	spareParts = regexp.MustCompile(`# auto memory|"name":"(request_user_input|todowrite)"`)
)

// The agents that people have edit a file of the repository in their checkouts; what they made lands, and why names it.
func TestVendorsChange(t *testing.T) {
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	for _, v := range vendors {
		r := repotest.New(t) // sets variables, which a parallel test must not do
		t.Run(v.kind, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("skipped: a real agent takes seconds for each question")
			}
			program := ""
			if v.program {
				program = vendorTool(t, tools, v.kind)
			}
			var turns []wiretest.Turn
			for _, call := range edits[v.kind] {
				turns = append(turns, wiretest.Turn{Match: "# IMPL-1: ", Text: "I edit it.", Tools: []wiretest.Call{call}})
			}
			done := map[string]any{"result_type": "ARTIFACT", "summary": "It greets a dear friend."}
			// One without tools answers with the file, and so does codex: its sandbox can't start below the directory for
			// temporary files.
			if edits[v.kind] == nil {
				done["files"] = []map[string]any{{"path": "src/greet.sh", "content": "echo hello dear friend\n"}}
			}
			turns = append(turns, wiretest.Turn{Match: "# IMPL-1: ", Text: reply(done)}, wiretest.Turn{Text: "{}", Times: -1})
			server := wiretest.Start(t, turns...)
			home := t.TempDir()
			w := newVendorRun(t, r, v.env, home)
			w.configure(r, v.kind, v.model, server.URL+v.path, program)
			writeFile(t, filepath.Join(r.Dir, "src", "greet.sh"), "echo hello friend\n")
			r.Git("add", "src")
			r.Git("commit", "-q", "-m", "Greet")
			writeFile(t, filepath.Join(home, "plan.yaml"), vendorChange)
			w.run("plan", "-f", filepath.Join(home, "plan.yaml"))
			w.run("trust", "--code")
			w.run("run")
			for _, q := range server.Requests() {
				tells, runs := strings.Contains(string(q.Body), "Try each command line"), shellTool.Match(q.Body)
				if strings.Contains(q.Prompt, "# IMPL-1: ") && tells != runs {
					t.Errorf("is told to try command lines: %t; has a tool for them: %t", tells, runs)
				}
				if spare := spareParts.Find(q.Body); spare != nil {
					t.Errorf("each request has what the work does not need: %s", spare)
				}
			}
			if got := w.run("land"); !strings.Contains(got, "IMPL-1 v1 landed on ") {
				t.Errorf("land:\n%s", got)
			}
			if got := r.Git("show", "HEAD:src/greet.sh"); !strings.Contains(got, "hello dear friend") {
				t.Errorf("landed:\n%s", got)
			}
			if got := r.Git("diff", "--name-only", "HEAD~1", "HEAD"); got != "src/greet.sh" {
				t.Errorf("changed: %s", got)
			}
			if got := w.run("why", "src/greet.sh:1"); !strings.Contains(got, "v1 by bot, approved") {
				t.Errorf("why:\n%s", got)
			}
		})
	}
}
