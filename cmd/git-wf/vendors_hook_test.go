package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/repotest"
	"gitwf/internal/wiretest"
)

// hookedVendors are programs that run hooks of ours, in the form in which each has them. HOOK stands for git-wf
// agent-hook, SERVER for the address of the model.
var hookedVendors = []struct {
	kind, tool, key, path string
	settings, config      string // a file below the home, and what is in it
	args, env             []string
}{
	{kind: "claude", tool: "Bash", key: "command", settings: ".claude/settings.json",
		config: `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "HOOK session-start --vendor claude"}]}],
			"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "HOOK later --vendor claude"}, {"type": "command", "command": "HOOK pre-tool --vendor claude"}]}],
			"Stop": [{"hooks": [{"type": "command", "command": "HOOK stop --vendor claude"}]}]}}`,
		args: []string{"-p", "do the next task", "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"},
		env: []string{"ANTHROPIC_BASE_URL=SERVER", "ANTHROPIC_API_KEY=key", "DISABLE_AUTOUPDATER=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=3"}},
	{kind: "codex", tool: "exec_command", key: "cmd", path: "/v1", settings: ".codex/hooks.json",
		config: `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "HOOK session-start --vendor codex"}]}],
			"PreToolUse": [{"hooks": [{"type": "command", "command": "HOOK later --vendor codex"}, {"type": "command", "command": "HOOK pre-tool --vendor codex"}]}],
			"Stop": [{"hooks": [{"type": "command", "command": "HOOK stop --vendor codex"}]}]}}`,
		args: []string{"exec", "--dangerously-bypass-hook-trust", "--sandbox", "danger-full-access", "--model", "gpt-5",
			"-c", `model_provider="test"`, "-c", `model_providers.test={name="test",base_url="SERVER",wire_api="responses",` +
				`request_max_retries=2,stream_max_retries=2,env_key="WF_KEY"}`, "do the next task"}},
	{kind: "gemini", tool: "run_shell_command", key: "command", settings: ".gemini/settings.json",
		config: `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": true},
			"privacy": {"usageStatisticsEnabled": false},
			"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "HOOK session-start --vendor gemini"}]}],
			"BeforeTool": [{"hooks": [{"type": "command", "command": "HOOK later --vendor gemini"}, {"type": "command", "command": "HOOK pre-tool --vendor gemini"}]}],
			"AfterAgent": [{"hooks": [{"type": "command", "command": "HOOK stop --vendor gemini"}]}]}}`,
		args: []string{"-p", "do the next task", "--skip-trust", "--approval-mode", "yolo"},
		env:  []string{"GEMINI_API_KEY=key", "GOOGLE_GEMINI_BASE_URL=SERVER", "GEMINI_MODEL=gemini-2.5-pro"}},
}

// A real program begins with the brief, is refused a commit around the gate, is sent back with what its checks say when
// it stops, and hands in what holds. A hook that this version does not know ends with 1 and stops no call.
func TestHooksOfVendors(t *testing.T) {
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	if testing.Short() {
		t.Skip("skipped: a real agent takes seconds for each question")
	}
	bin := t.TempDir() // built before the tests have an environment of their own, without the caches
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "git-wf"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, v := range hookedVendors {
		r := repotest.New(t)
		t.Run(v.kind, func(t *testing.T) {
			program := vendorTool(t, tools, v.kind)
			home := t.TempDir()
			call := func(line string) []wiretest.Call {
				input, err := json.Marshal(map[string]string{v.key: line, "description": "a step"})
				if err != nil {
					t.Fatal(err)
				}
				return []wiretest.Call{{Name: v.tool, Input: input}}
			}
			work := "cd .worktrees/impl-1-1 && mkdir -p src && " // gemini runs no substitutions
			server := wiretest.Start(t,
				wiretest.Turn{Match: "do the next task", Tools: call("git commit --allow-empty --no-verify -m sneaked")},
				wiretest.Turn{Match: "do the next task", Tools: call("git wf next --claim --worktree")},
				wiretest.Turn{Match: "do the next task", Tools: call(work + "echo hello friend >src/hello.txt")},
				wiretest.Turn{Match: "do the next task", Text: "It is done."},
				wiretest.Turn{Match: "A1 failed", Tools: call(work + "echo hello dear friend >src/hello.txt && " +
					"git wf submit IMPL-1 --claim 1 --worktree")},
				wiretest.Turn{Match: "A1 failed", Text: "It is handed in."},
				wiretest.Turn{Text: "{}", Times: -1},
			)
			url := server.URL + v.path
			fill := strings.NewReplacer("HOOK", filepath.Join(bin, "git-wf")+" agent-hook", "SERVER", url)
			w := newVendorRun(t, r, nil, home)
			writeFile(t, filepath.Join(home, v.settings), fill.Replace(v.config))
			writeFile(t, filepath.Join(home, "plan.yaml"), strings.NewReplacer("{filename: hello.txt}",
				"{format: change, paths: ['src/**']}", "hello.txt has 3 words and no more}",
				"src/hello.txt has 3 words, run: 'test $(wc -w <src/hello.txt) -eq 3 || { echo too few words; exit 1; }'}").
				Replace(vendorPlan))
			// codex runs commands in a login shell, which has a PATH of its own
			writeFile(t, filepath.Join(home, ".bash_profile"), "PATH="+bin+":$PATH\n")
			w.run("init")
			w.run("plan", "-f", filepath.Join(home, "plan.yaml"))
			w.run("trust", "--code", "--yes")

			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var args []string
			for _, a := range v.args {
				args = append(args, fill.Replace(a))
			}
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Dir, cmd.WaitDelay = r.Dir, 5*time.Second
			cmd.Env = append(w.environ, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			for _, e := range v.env {
				cmd.Env = append(cmd.Env, fill.Replace(e))
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", v.kind, err, out)
			}
			var said strings.Builder
			for _, q := range server.Requests() {
				fmt.Fprintf(&said, "%s\n", q.Body)
			}
			wants := []string{"Plan WFS-", "--no-verify skips the hooks", "A1 failed", "too few words"}
			for _, want := range wants {
				if !strings.Contains(said.String(), want) {
					t.Errorf("the model was not told %q; the program said:\n%s", want, out)
				}
			}
			if log := r.Git("log", "--format=%s", "--all", "--", "."); strings.Contains(log, "sneaked") {
				t.Errorf("what the hook refused was committed:\n%s", log)
			}
			if status := w.run("show", "IMPL-1"); !strings.Contains(status, "v1") {
				t.Errorf("nothing was handed in:\n%s\n%s", status, out)
			}
			if t.Failed() {
				t.Logf("%.12000s", said.String())
			}
		})
	}
}
