package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/repotest"
	"gitwf/internal/wiretest"
)

// programs are the coding agents that people sit in front of, each begun in its normal mode where no screen is. MODEL
// stands for the model's address.
var programs = []struct {
	kind        string
	lead, space string // what its names of the server's tools begin with, and what they are in
	has         string // what a request has whose model may call them
	shell, key  string // its tool for command lines, and what that calls one
	args, env   []string
	files       map[string]string // below HOME: what its user has answered it; REPO is the repository
	edit        func(file, was, text string) []wiretest.Call
}{
	{kind: "claude", lead: "mcp__git-wf__", has: "Takes the next task that is free", shell: "Bash", key: "command",
		args: []string{"-p", "do the next task"},
		env: []string{"ANTHROPIC_BASE_URL=MODEL", "ANTHROPIC_API_KEY=key", "ANTHROPIC_MODEL=claude-sonnet-4-5",
			"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		files: map[string]string{".claude.json": `{"projects":{"REPO":{"hasTrustDialogAccepted":true}}}`},
		edit: func(file, was, text string) []wiretest.Call {
			return []wiretest.Call{toolCall("Read", m{"file_path": file}),
				toolCall("Edit", m{"file_path": file, "old_string": was, "new_string": text})}
		}},
	{kind: "codex", space: "mcp__git_wf", has: "tool_search", shell: "exec_command", key: "cmd", // which finds them
		args: []string{"exec", "do the next task", "-c", `model="gpt-5.5"`, "-c", `model_provider="local"`,
			"-c", `model_providers.local={name="local",base_url="MODEL/v1",env_key="WF_KEY",wire_api="responses"}`},
		files: map[string]string{".codex/config.toml": "[projects.\"REPO\"]\ntrust_level = \"trusted\"\n"},
		edit: func(file, was, text string) []wiretest.Call {
			return []wiretest.Call{toolCall("apply_patch",
				"*** Begin Patch\n*** Update File: "+file+"\n@@\n-"+was+"+"+text+"*** End Patch\n")}
		}},
	{kind: "gemini", lead: "mcp_git-wf_", has: "Takes the next task that is free", shell: "run_shell_command",
		key: "command", args: []string{"-p", "do the next task", "--model", "gemini-2.5-pro"},
		env: []string{"GEMINI_API_KEY=key", "GOOGLE_GEMINI_BASE_URL=MODEL", "GEMINI_CLI_NO_RELAUNCH=true"},
		files: map[string]string{".gemini/trustedFolders.json": `{"REPO":"TRUST_FOLDER"}`,
			".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},` +
				`"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false}}`},
		edit: func(file, was, text string) []wiretest.Call {
			return []wiretest.Call{toolCall("replace",
				m{"file_path": file, "old_string": was, "new_string": text, "instruction": "as asked"})}
		}},
	{kind: "opencode", lead: "git-wf_", has: "Takes the next task that is free", shell: "bash", key: "command",
		args: []string{"run", "do the next task", "--model", "local/m-1"},
		env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
			`OPENCODE_CONFIG_CONTENT={"provider":{"local":{"npm":"@ai-sdk/openai-compatible",` +
				`"options":{"baseURL":"MODEL/v1","apiKey":"key"},"models":{"m-1":{"name":"m-1"}}}}}`},
		edit: func(file, was, text string) []wiretest.Call {
			return []wiretest.Call{toolCall("read", m{"filePath": file}),
				toolCall("edit", m{"filePath": file, "oldString": was, "newString": text})}
		}},
}

const threeChanges = `title: Greeting
tasks:
  - task_id: IMPL-1
    title: A dear greeting
    description: It greets a dear one.
    estimated_person_days: 0.5
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria:
      - {id: A1, statement: It says dear, run: "sh src/greet.sh | grep -q dear"}
      - {id: A2, statement: It reads well}
  - task_id: IMPL-2
    title: A friend
    description: Who is greeted is a friend.
    depends_on: [IMPL-1]
    estimated_person_days: 0.5
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria:
      - {id: A1, statement: It says friend, run: "sh src/greet.sh | grep -q 'dear friend'"}
      - {id: A2, statement: It reads well}
  - task_id: IMPL-3
    title: A farewell
    description: Says goodbye.
    estimated_person_days: 0.5
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria:
      - {id: A1, statement: It says goodbye, run: "sh src/bye.sh | grep -q goodbye"}
      - {id: A2, statement: It reads well}
`

// From setup to three changes that a person has reviewed and landed: each program does the next task in its normal
// mode, told nothing else and asking nobody, and edits the worktree with its own tool. One version is rejected and made
// again.
func TestVendorsThreeChanges(t *testing.T) {
	t.Setenv("TMPDIR", "") // not in memory: codex's sandbox hides what is below /dev
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	self, err := exec.LookPath("git-wf")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range programs {
		r := repotest.New(t) // sets variables, which a parallel test must not do
		t.Run(v.kind, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("skipped: a real agent takes seconds for each question")
			}
			program := vendorTool(t, tools, v.kind)
			home := t.TempDir()
			write := func(dir, name, text string) { writeFile(t, filepath.Join(dir, name), text) }
			write(home, "tmp/none", "") // codex's sandbox does not start below the directory for temporary files
			write(home, ".gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.com\n")
			write(home, ".profile", "PATH='"+filepath.Dir(self)+"':$PATH\n") // of codex's login shell
			for name, text := range v.files {
				write(home, name, strings.ReplaceAll(text, "REPO", r.Dir))
			}
			write(r.Dir, "src/greet.sh", "echo hello\n")
			write(r.Dir, "src/bye.sh", "echo bye\n")
			w := newVendorRun(t, r, []string{"PWD=" + r.Dir, "TMPDIR=" + filepath.Join(home, "tmp")}, home)
			w.run("init")
			w.run("setup", v.kind, "--yes")
			if v.kind == "gemini" { // which takes no policies from a repository
				w.run("setup", v.kind, "--user", "--yes")
			}
			r.Git("add", ".")
			r.Git("commit", "-qm", "Greet, with agents")
			if v.kind == "opencode" { // what it fetches at its first start
				for _, dir := range []string{r.Dir + "/.opencode", home + "/.config/opencode"} {
					write(dir, "node_modules/@opencode-ai/plugin/package.json", "{}")
					write(dir, "package-lock.json", `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`)
				}
			}
			write(home, "plan.yaml", threeChanges)
			w.run("plan", "-f", filepath.Join(home, "plan.yaml"))
			w.run("trust", "--code", "--yes")
			for n, step := range []struct {
				task          plan.TaskID
				claim         int
				file          string
				was, text     string
				told, verdict string
			}{
				{"IMPL-1", 1, "greet.sh", "echo hello\n", "echo hello dear\n", "It says dear", "--approve"},
				{"IMPL-2", 1, "greet.sh", "echo hello dear\n", "echo hello dear friend\n", "says friend", "--reject"},
				{"IMPL-2", 2, "greet.sh", "echo hello dear\n", "echo hello, dear friend\n", "a comma", "--approve"},
				{"IMPL-3", 1, "bye.sh", "echo bye\n", "echo goodbye\n", "It says goodbye", "--approve"},
			} {
				line := func(line string) wiretest.Call {
					return toolCall(v.shell, m{v.key: line, "description": "as the skill has it"})
				}
				tool := func(name string, args m) wiretest.Call {
					c := toolCall(v.lead+name, args)
					c.Namespace = v.space
					return c
				}
				dir := filepath.Join(r.Dir, ".worktrees", strings.ToLower(fmt.Sprintf("%s-%d", step.task, step.claim)))
				take, has := tool("claim", m{}), v.has
				hand := tool("submit", m{"task": step.task, "claim": step.claim, "worktree": true})
				if n == 0 {
					take, has = line("git wf next --claim --worktree"), `"`+v.shell+`"`
					hand = line("git wf submit IMPL-1 --claim 1 --worktree")
				}
				var turns []wiretest.Turn
				edit := v.edit(filepath.Join(dir, "src", step.file), step.was, step.text)
				for _, call := range slices.Concat([]wiretest.Call{take}, edit, []wiretest.Call{hand}) {
					turns = append(turns, wiretest.Turn{Body: has, Tools: []wiretest.Call{call}})
				}
				wait := toolCall("WaitForMcpServers", m{}) // claude begins before its servers are there
				server := wiretest.Start(t, append(turns,
					wiretest.Turn{Match: "do the next task", Body: "WaitForMcpServers", Tools: []wiretest.Call{wait}},
					wiretest.Turn{Text: "It awaits a review.", Times: -1})...)
				filled := func(all []string) []string {
					return strings.Split(strings.ReplaceAll(strings.Join(all, "\x00"), "MODEL", server.URL), "\x00")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, program, filled(v.args)...)
				cmd.Dir, cmd.Env, cmd.WaitDelay = r.Dir, append(slices.Clip(w.environ), filled(v.env)...), 5*time.Second
				said, err := cmd.CombinedOutput()
				var all strings.Builder
				for _, q := range server.Requests() {
					all.Write(q.Body)
				}
				shown := w.run("show", string(step.task))
				if err != nil || !strings.Contains(shown, "awaiting review") ||
					!strings.Contains(shown, "by "+v.kind) ||
					!strings.Contains(all.String(), dir) || !strings.Contains(all.String(), step.told) {
					t.Fatalf("start %d: %v\n%s\n%s\n%s", n+1, err, said, shown, all.String()[max(0, all.Len()-20000):])
				}
				if step.verdict == "--reject" {
					w.run("review", string(step.task), "--reject", "-m", "a comma is missing")
				} else {
					w.run("review", string(step.task), "--approve")
					w.run("land")
				}
			}
			w.run("verify", "HEAD")
			log := r.Git("log", "-3", "--reverse", "--format=%s")
			files := r.Git("show", "HEAD:src/greet.sh", "HEAD:src/bye.sh")
			if log != "A dear greeting\nA friend\nA farewell" || files != "echo hello, dear friend\necho goodbye" {
				t.Errorf("landed:\n%s\n%s", log, files)
			}
			if status := w.run("status"); !strings.Contains(status, "3 of 3 done") {
				t.Errorf("status:\n%s", status)
			}
			if left := r.Git("status", "--porcelain", "--untracked-files=no", ":!opencode.json"); left != "" {
				t.Errorf("it changed beside the worktree:\n%s", left)
			}
		})
	}
}
