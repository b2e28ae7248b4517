package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const mcpPlan = `title: Greeting
tasks:
  - task_id: CODE-1
    title: The script
    description: A script that says hello.
    estimated_person_days: 1
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria: [{id: A1, statement: It says hello., run: "sh src/hello.sh | grep -q hello"}]
  - task_id: SLOW-1
    title: What is slow to check
    description: A word.
    estimated_person_days: 1
    deliverable_spec: {filename: slow.txt}
    acceptance_criteria: [{id: A1, statement: It has 1 line., run: "grep -q slow slow.txt && { test -e MARK || sleep 100; }"}]
  - task_id: TEXT-1
    title: The text
    description: Write three words.
    estimated_person_days: 1
    deliverable_spec: {filename: text.txt}
    acceptance_criteria: [{id: A1, statement: It has 3 words.}]
`

// mcpClient is a client of git wf mcp that is not ours: the official SDK's.
type mcpClient struct {
	*mcp.ClientSession
	t      *testing.T
	mu     sync.Mutex
	heard  []string // the progress of calls
	stderr strings.Builder
}

func (c *mcpClient) progress() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.heard, "\n")
}

// call calls a tool and returns its texts.
func (c *mcpClient) call(ctx context.Context, tool string, args map[string]any) (string, bool) {
	c.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(tool)
	result, err := c.CallTool(ctx, params)
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, args, err)
	}
	var texts []string
	for _, part := range result.Content {
		texts = append(texts, part.(*mcp.TextContent).Text)
	}
	return strings.Join(texts, "\n"), result.IsError
}

func (c *mcpClient) succeeds(tool string, args map[string]any, wants ...string) string {
	c.t.Helper()
	got, failed := c.call(c.t.Context(), tool, args)
	for _, want := range wants {
		if failed || !strings.Contains(got, want) {
			c.t.Errorf("%s %v: failed: %v; want %q in\n%s", tool, args, failed, want, got)
		}
	}
	return got
}

func (c *mcpClient) fails(tool string, args map[string]any, want string) {
	c.t.Helper()
	if got, failed := c.call(c.t.Context(), tool, args); !failed || !strings.Contains(got, want) {
		c.t.Errorf("%s %v: failed: %v; want %q in\n%s", tool, args, failed, want, got)
	}
}

// TestMCP carries a plan out with the tools of git wf mcp.
func TestMCP(t *testing.T) {
	if testing.Short() {
		t.Skip("a -short test does not build git-wf")
	}
	l, err := newLab(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(l.dir, "repository")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(l.dir, "plan.yaml")
	mark := filepath.Join(l.dir, "mark") // while it is missing, the check takes its time
	if err := os.WriteFile(plan, []byte(strings.ReplaceAll(mcpPlan, "MARK", mark)), 0o666); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		if args[0] == "wf" {
			cmd = exec.CommandContext(t.Context(), l.gitWF, args[1:]...)
		}
		cmd.Dir, cmd.Env = dir, l.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first commit")
	git("wf", "init")
	git("wf", "plan", "-f", plan)
	git("wf", "trust", "--code")

	c := &mcpClient{t: t}
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.heard = append(c.heard, r.Params.Message)
		}})
	cmd := exec.CommandContext(t.Context(), l.gitWF, "mcp")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, l.env, &c.stderr
	if c.ClientSession, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		t.Fatal(err)
	}
	if r := c.InitializeResult(); r.ServerInfo.Name != "git-wf" || !strings.Contains(r.Instructions, "claim") {
		t.Errorf("%+v", r)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(list)
	if t.Logf("tools/list has %d bytes", len(text)); len(list.Tools) > 8 || len(text)/4 > 2000 {
		t.Errorf("%d tools in %d bytes", len(list.Tools), len(text))
	}
	for _, tool := range list.Tools {
		reads := tool.Name == "next" || tool.Name == "show" || tool.Name == "status"
		if tool.Annotations == nil || tool.Annotations.ReadOnlyHint != reads {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}

	// A change: its worktree is inside of the repository, and nothing shows it.
	c.succeeds("next", nil, "CODE-1", "A script that says hello.")
	claim := c.succeeds("claim", nil, `"agent":"sdk"`, `"number":1`, "with claim 1")
	worktree := filepath.Join(dir, ".worktrees", "code-1-1")
	if !strings.Contains(claim, worktree) {
		t.Errorf("%s is not in\n%s", worktree, claim)
	}
	c.fails("submit", map[string]any{"task": "CODE-1", "claim": 1, "worktree": true}, "changes nothing")
	if err := os.MkdirAll(filepath.Join(worktree, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(worktree, "src", "hello.sh"), []byte("echo hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := git("status", "--porcelain"); got != "" {
		t.Errorf("git status: %s", got)
	}
	c.succeeds("submit", map[string]any{"task": "CODE-1", "claim": 1, "worktree": true}, "CODE-1: v1 by sdk")
	if got := c.progress(); !strings.Contains(got, "v1 approved by checks") {
		t.Errorf("progress: %s", got)
	}

	// A cancelled call ends at once; its version stands, and the server goes on.
	c.succeeds("claim", map[string]any{"task": "SLOW-1"}, "with claim 1")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	began := time.Now()
	slow := &mcp.CallToolParams{Name: "submit", Arguments: map[string]any{"task": "SLOW-1", "claim": 1,
		"files": []map[string]string{{"path": "slow.txt", "content": "slow\n"}}}}
	if _, err := c.CallTool(ctx, slow); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	c.succeeds("note", map[string]any{"note": "issues are many"}, "learnings")
	c.succeeds("show", map[string]any{"task": "SLOW-1"}, "awaiting review", "v1")
	if time.Since(began) > 50*time.Second {
		t.Errorf("what was cancelled went on: %s", time.Since(began))
	}
	if err := os.WriteFile(mark, nil, 0o666); err != nil {
		t.Fatal(err)
	}

	// A question goes to a person, and the task waits.
	c.succeeds("claim", map[string]any{"task": "TEXT-1"}, "with claim 1")
	c.fails("ask", map[string]any{"task": "TEXT-1", "claim": 1, "needs": []map[string]any{{"name": "a", "question": "Which?",
		"kind": "choice"}}}, "$.needs[0].options")
	c.succeeds("ask", map[string]any{"task": "TEXT-1", "claim": 1, "needs": []map[string]any{{"name": "tone",
		"question": "Which tone?", "kind": "text"}}}, "TEXT-1: asks 1 question")
	c.succeeds("status", nil, "asks: Which tone?", "2 of 3 done")
	git("wf", "answer", "TEXT-1", "dear")
	c.succeeds("claim", map[string]any{"task": "TEXT-1"}, "dear", "with claim 2")
	c.succeeds("claim", map[string]any{"task": "TEXT-1", "release": 2}, "given back")
	c.succeeds("claim", map[string]any{"task": "TEXT-1"}, "with claim 3")
	c.succeeds("submit", map[string]any{"task": "TEXT-1", "claim": 3, "files": []map[string]string{{"path": "text.txt",
		"content": "hello dear friend\n"}}}, "TEXT-1: v1 by sdk")

	// Of what an agent plans, a person trusts the command lines.
	c.fails("plan", map[string]any{"text": "A page for our club"}, "expected a plan")
	c.succeeds("plan", map[string]any{"text": strings.NewReplacer("Greeting", "Another", "grep", "grep -e").Replace(mcpPlan)}, "2 command lines, not trusted here")

	if err := c.Close(); err != nil {
		t.Errorf("%v\n%s", err, c.stderr.String())
	}
	git("wf", "review", "TEXT-1", "--approve", "--plan", "greeting")
	git("wf", "land", "CODE-1", "--plan", "greeting")
	if got := git("show", "--name-only", "--format=%s", "HEAD"); !strings.Contains(got, "src/hello.sh") {
		t.Errorf("what landed:\n%s", got)
	}
}
