package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/repotest"
	"gitwf/internal/wiretest"
)

// programs are the coding agents that people sit in front of, each told of git wf mcp as its users tell it, with the
// approval that it needs to call tools where nobody is asked. lead is what its names of the tools begin with.
var programs = []struct {
	kind, space, lead string
	args              []string
	env               []string          // ADDRESS is the model's
	files             map[string]string // below HOME; GIT_WF is the program
}{
	{kind: "claude", lead: "mcp__git-wf__",
		args: []string{"-p", "do the next task", "--mcp-config", "HOME/mcp.json", "--allowedTools", "mcp__git-wf"},
		env:  []string{"ANTHROPIC_BASE_URL=ADDRESS", "ANTHROPIC_API_KEY=key", "ANTHROPIC_MODEL=claude-sonnet-4-5"},
		files: map[string]string{
			"mcp.json": `{"mcpServers":{"git-wf":{"command":"GIT_WF","args":["mcp"]}}}`}},
	{kind: "codex", space: "mcp__git_wf",
		args: []string{"exec", "do the next task"},
		env:  []string{"WF_KEY=key", "CODEX_HOME=HOME/.codex"},
		files: map[string]string{".codex/config.toml": `model = "gpt-5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "ADDRESS/v1"
env_key = "WF_KEY"
wire_api = "responses"
[mcp_servers.git-wf]
command = "GIT_WF"
args = ["mcp"]
`}},
	{kind: "gemini", lead: "mcp_git-wf_",
		args: []string{"-p", "do the next task", "--skip-trust"},
		env:  []string{"GEMINI_API_KEY=key", "GOOGLE_GEMINI_BASE_URL=ADDRESS", "GEMINI_MODEL=gemini-2.5-pro"},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},
"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false},
"mcpServers":{"git-wf":{"command":"GIT_WF","args":["mcp"],"trust":true}}}`}},
	{kind: "opencode", lead: "git-wf_",
		args: []string{"run", "do the next task", "--model", "local/m-1"},
		env:  []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_CONFIG=HOME/opencode.json"},
		files: map[string]string{"opencode.json": `{"provider":{"local":{"npm":"@ai-sdk/openai-compatible",
"options":{"baseURL":"ADDRESS/v1","apiKey":"key"},"models":{"m-1":{"name":"m-1"}}}},
"mcp":{"git-wf":{"type":"local","command":["GIT_WF","mcp"],"enabled":true}}}`}},
}

// The programs that people have take a task and hand it in by the tools, told nothing but "do the next task". Who has
// made it is said as the program calls itself.
func TestVendorsMCP(t *testing.T) {
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
			call := func(name string, args map[string]any) wiretest.Turn {
				c := toolCall(v.lead+name, args)
				c.Namespace = v.space
				return wiretest.Turn{Body: "Takes the next task that is free", Tools: []wiretest.Call{c}}
			}
			wait := toolCall("WaitForMcpServers", map[string]any{}) // claude begins before its servers are there
			server := wiretest.Start(t, call("claim", map[string]any{}),
				call("submit", map[string]any{"task": "IMPL-1", "claim": 1,
					"files": []map[string]string{{"path": "hello.txt", "content": "hello dear friend\n"}}}),
				wiretest.Turn{Match: "do the next task", Body: "WaitForMcpServers", Tools: []wiretest.Call{wait}},
				wiretest.Turn{Text: "It awaits a review.", Times: -1})
			home := t.TempDir()
			fill := strings.NewReplacer("ADDRESS", server.URL, "GIT_WF", self, "HOME", home)
			for name, text := range v.files {
				writeFile(t, filepath.Join(home, name), strings.NewReplacer("ADDRESS", server.URL, "GIT_WF", self).Replace(text))
			}
			writeFile(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.com\n")
			w := newVendorRun(t, r, nil, home)
			r.Git("config", "wf.policy", "none")
			writeFile(t, filepath.Join(home, "plan.yaml"), vendorPlan)
			w.run("plan", "-f", filepath.Join(home, "plan.yaml"))
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			args := make([]string, len(v.args))
			for i, arg := range v.args {
				args[i] = fill.Replace(arg)
			}
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Dir, cmd.Env = r.Dir, append(w.environ, "PWD="+r.Dir)
			for _, kv := range v.env {
				name, value, _ := strings.Cut(kv, "=")
				cmd.Env = append(cmd.Env, name+"="+fill.Replace(value))
			}
			said, err := cmd.CombinedOutput()
			shown := w.run("show", "IMPL-1", "--json")
			if err != nil || !strings.Contains(shown, `"artifact_id": "v1"`) || !strings.Contains(shown, v.kind) ||
				!strings.Contains(w.run("status"), "IMPL-1  The greeting  awaiting review") {
				t.Errorf("%v\n%s\n%s", err, said, shown)
				for _, q := range server.Requests() {
					t.Logf("turn %d: %.2000s", q.Turn, q.Body[max(0, len(q.Body)-2000):])
				}
			}
			told := false // if it is there when the program begins
			for _, q := range server.Requests() {
				told = told || strings.Contains(string(q.Body), "Only a person approves")
			}
			t.Logf("the model is told the server's instructions: %v", told)
		})
	}
}
