package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/repotest"
	"gitwf/internal/wiretest"
)

// What git wf setup writes is read by the real programs: the block comes with the first request, git wf's commands run
// without a question, those of a person don't, and hooks are asked. git-wf itself is a script that notes its calls.
func TestSetupVendors(t *testing.T) {
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	for _, v := range []struct {
		name, path, shell, key string // the path of its service; its tool for commands, and what that calls them
		args, env              []string
		hooks                  string // those that have to be asked
		brief                  string // in the form that it takes
		runs                   bool   // commands that are allowed run without a screen
	}{
		{name: "claude", shell: "Bash", key: "command", runs: true, hooks: "session-start pre-tool stop",
			args: []string{"--print", "--output-format", "json", "--model", "claude-sonnet-4-5"},
			env: []string{"ANTHROPIC_BASE_URL=SERVICE", "ANTHROPIC_API_KEY=key", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}},
		{name: "codex", path: "/v1", shell: "exec_command", key: "cmd", runs: true, hooks: "session-start pre-tool stop",
			args: []string{"exec", "--json", "--dangerously-bypass-hook-trust", "--model", "gpt-5", "-c", `model_provider="own"`, "-c", `sandbox_mode="workspace-write"`,
				"-c", `model_providers.own={name="own",base_url="SERVICE",wire_api="responses",request_max_retries=1,stream_max_retries=1}`,
				"-c", "check_for_update_on_startup=false"}},
		{name: "gemini", brief: `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"BRIEF-OF-THE-TEST"}}`, shell: "run_shell_command", key: "command", runs: true, hooks: "session-start pre-tool stop",
			args: []string{"--output-format", "json", "--model", "gemini-2.5-pro", "--skip-trust"},
			env:  []string{"GEMINI_CLI_TRUST_WORKSPACE=true", "GOOGLE_GEMINI_BASE_URL=SERVICE", "GEMINI_API_KEY=key", "GEMINI_CLI_NO_RELAUNCH=true", "NO_COLOR=1"}},
		{name: "opencode", path: "/v1", shell: "bash", key: "command", runs: true, hooks: "session-start pre-tool",
			args: []string{"run", "--format", "json", "--title", "t", "--model", "own/m-1"},
			env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
				`OPENCODE_CONFIG_CONTENT={"model":"own/m-1","small_model":"own/m-1","share":"disabled","autoupdate":false,"provider":{"own":` +
					`{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"SERVICE","apiKey":"none"},"models":{"m-1":{"name":"m-1"}}}}}`}},
	} {
		if v.brief == "" {
			v.brief = "BRIEF-OF-THE-TEST"
		}
		r := repotest.New(t)
		t.Run(v.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("skipped: a real program takes seconds")
			}
			program := vendorTool(t, tools, v.name)
			home, bin := t.TempDir(), t.TempDir()
			calls := filepath.Join(home, "calls")
			stub := "#!/bin/sh\necho \"$*\" >> '" + calls + "'\ncase \"$2\" in session-start) echo '" + v.brief + "' ;; esac\n" +
				"case \"$1\" in mcp) exit 1 ;; esac\n"
			if err := os.WriteFile(filepath.Join(bin, "git-wf"), []byte(stub), 0o755); err != nil {
				t.Fatal(err)
			}
			call := func(line string) []wiretest.Call {
				input, err := json.Marshal(map[string]any{v.key: line, "description": "as asked"})
				if err != nil {
					t.Fatal(err)
				}
				return []wiretest.Call{{Name: v.shell, Input: input}}
			}
			server := wiretest.Start(t,
				wiretest.Turn{Body: `Do the next task\.(?s:.*)"` + v.shell + `"|"` + v.shell + `"(?s:.*)Do the next task\.`, Tools: call("git wf status")},
				wiretest.Turn{Body: `"` + v.shell + `"`, Tools: call("git wf land")},
				wiretest.Turn{Text: "Done.", Times: -1})
			w := newVendorRun(t, r, v.env, home)
			w.run("setup", v.name, "--yes")
			switch v.name { // what its user answers at the first start, in a home that is thrown away
			case "claude":
				writeFile(t, filepath.Join(home, ".claude.json"), `{"projects":{"`+r.Dir+`":{"hasTrustDialogAccepted":true}}}`)
			case "codex": // whose commands run in a login shell
				writeFile(t, filepath.Join(home, ".profile"), "PATH='"+bin+"':$PATH\n")
				writeFile(t, filepath.Join(home, ".codex", "config.toml"), "[projects.\""+r.Dir+"\"]\ntrust_level = \"trusted\"\n")
			case "gemini":
				writeFile(t, filepath.Join(home, ".gemini", "settings.json"),
					`{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false}}`)
				w.run("setup", "gemini", "--user", "--yes")
			}
			var args []string
			for _, a := range append(v.args, "Do the next task.") {
				args = append(args, strings.ReplaceAll(a, "SERVICE", server.URL+v.path))
			}
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Dir, cmd.WaitDelay = r.Dir, 10*time.Second
			for _, entry := range append(w.environ, "PWD="+r.Dir) { // opencode never ends where that is another directory
				name, value, _ := strings.Cut(entry, "=")
				if strings.HasPrefix(name, "CLAUDE") && !strings.HasPrefix(name, "CLAUDE_CODE_") || name == "AI_AGENT" || name == "CLAUDE_CODE_ENTRYPOINT" {
					continue
				}
				if value == "SERVICE" || name == "OPENCODE_CONFIG_CONTENT" {
					value = strings.ReplaceAll(value, "SERVICE", server.URL+v.path)
				}
				if name == "PATH" {
					value = bin + string(filepath.ListSeparator) + value
				}
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				t.Errorf("%v\n%s%s", err, out.String(), errs.String())
			}
			said := out.String() + errs.String()
			if strings.Contains(said, "nvalid") || strings.Contains(said, "nrecognized") || strings.Contains(said, "arse error") {
				t.Errorf("it does not like what it reads:\n%s", said)
			}
			data, err := os.ReadFile(calls)
			if err != nil {
				t.Errorf("git wf was never called: %v", err)
			}
			t.Logf("calls:\n%s\nsaid:\n%s", data, said)
			if len(server.Requests()) == 0 {
				t.Fatal("it asked no model")
			}
			for _, part := range []string{"only what is approved lands", "Take the next task of a git wf plan"} {
				if !strings.Contains(string(server.Requests()[0].Body), part) && !strings.Contains(string(server.Requests()[len(server.Requests())-1].Body), part) {
					t.Errorf("no request has %q", part)
				}
			}
			for _, event := range strings.Fields(v.hooks) {
				if !strings.Contains(string(data), "agent-hook "+event+" --vendor "+v.name) {
					t.Errorf("the hook %s was not called", event)
				}
			}
			if strings.Contains(v.hooks, "session-start") && !strings.Contains(string(server.Requests()[len(server.Requests())-1].Body), "BRIEF-OF-THE-TEST") {
				t.Error("the brief did not get to the model")
			}
			if ran := strings.Contains(string(data), "\nstatus") || strings.HasPrefix(string(data), "status"); ran != v.runs {
				t.Errorf("git wf status ran: %t, expected %t", ran, v.runs)
			}
			if strings.Contains(string(data), "land") {
				t.Error("git wf land ran")
			}
			if !strings.Contains(string(data), "mcp") {
				t.Error("the server was not started")
			}
		})
	}
}
