package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // for mcp.json
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/mcp"
)

// mcpText has the tools, and what a client's model is told of them.
//
//go:embed mcp.json
var mcpText []byte

// toolWords are the command lines that carry the tools out. An argument is the flag of its name, but for those that
// commandLine knows.
var toolWords = map[string]string{
	"next": "next --json", "claim": "next --json --claim --worktree", "ask": "submit",
}

// toolLease is how long a tool's claim holds after the server ends, which renews it until then.
const toolLease = time.Hour

func (e *env) mcp(c *cli.Context) error { return e.serveTools(c.Context, toolLease) }

func (e *env) serveTools(ctx context.Context, lease time.Duration) error {
	s := mcp.Server{Name: "git-wf", Version: version}
	if err := json.Unmarshal(mcpText, &s); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	session := cmp.Or(e.caller().Session, rand.Text())
	var keep func(renewal []string)
	begin := func(call mcp.Call) *calledTool {
		if call.Client == "" || engine.CheckAgentName(call.Client) != "" {
			call.Client = "mcp"
		}
		// The command is an agent's, whatever else is known of who has started the server.
		as := []string{"AI_AGENT=" + call.Client, "WF_SESSION=" + session, "WF_TASK=" + e.caller().Task}
		t := &calledTool{env: *e, call: call, lease: lease, keep: keep}
		t.origin = func() caller.Origin { return caller.Origin{Environ: as} }
		t.environ, t.interactive = append(slices.Clip(e.environ), as[1]), false
		t.printer = printer{stdout: &t.out, stderr: t}
		return t
	}
	keep = func(renewal []string) {
		time.AfterFunc(lease/3, func() {
			t := begin(mcp.Call{Progress: func(string) {}})
			if t.run(ctx, renewal) == fault.ExitDone { // else the claim is over
				keep(renewal)
			}
		})
	}
	s.Call = func(ctx context.Context, call mcp.Call) mcp.Result { return begin(call).result(ctx) }
	return s.Serve(ctx, e.stdin, e.stdout)
}

// calledTool is a call that a command carries out.
type calledTool struct {
	env
	call     mcp.Call
	lease    time.Duration
	keep     func(renewal []string) // renews the claim that it took, by that command line
	mu       sync.Mutex
	out, err bytes.Buffer // what the command prints
}

// Write takes what the command says on the way.
func (t *calledTool) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call.Progress(strings.TrimSpace(string(p)))
	return t.err.Write(p)
}

// result runs the command.
func (t *calledTool) result(ctx context.Context) mcp.Result {
	words, err := t.commandLine(ctx)
	if err != nil {
		t.fail(err)
		return mcp.Said(true, t.err.String())
	}
	code := t.run(ctx, words)
	failed, brief := code != fault.ExitDone && (code != fault.ExitWaiting || t.out.Len() == 0), ""
	if d := (nextDocument{}); json.Unmarshal(t.out.Bytes(), &d) == nil {
		if k := d.Task; k != nil {
			hand := "the tool submit"
			if k.Claim != nil {
				hand = fmt.Sprintf("the tool submit, with claim %d", k.Claim.Number)
				t.keep(append(strings.Fields(k.Renew)[2:], "--lease="+t.lease.String(), "--plan="+string(d.PlanID)))
			}
			brief = strings.ReplaceAll(k.Prompt, k.Submit, hand)
			k.Prompt, k.Submit, k.Renew, k.Release = "", hand, "", ""
		}
		t.out.Reset()
		err = writeJSON(&t.out, "", d)
	}
	return mcp.Said(failed || err != nil, t.out.String(), brief, t.err.String())
}

// commandLine is the command of a call. What it reads is its standard input.
func (t *calledTool) commandLine(ctx context.Context) ([]string, error) {
	name, args, operands := t.call.Tool.Name, t.call.Arguments, []string{"--"}
	words := strings.Fields(cmp.Or(toolWords[name], name))
	if args["release"] != nil {
		words = words[:1]
	} else if name == "claim" {
		words = append(words, "--agent="+t.call.Client, "--lease="+t.lease.String())
	} else if name == "note" {
		words = append(words, "--agent="+t.call.Client)
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		text, _ := args[key].(string)
		switch key {
		case "text", "file":
			if key == "text" && kindOf("-", []byte(text)) == aSentence ||
				key == "file" && (!filepath.IsLocal(text) || !isYAML(text) && !isMarkdown(text)) {
				return nil, fault.Usage("git wf plan --schema prints the form",
					"expected a plan in text, or a .yaml, .json or .md file below the working directory")
			}
			words = append(words, "--file="+map[string]string{"text": "-", "file": text}[key])
			t.stdin = strings.NewReader(text)
		case "task", "category", "note":
			operands = append(operands, text)
		case "files", "needs":
			reply, err := json.Marshal(map[string]any{"schema_version": 1, key: args[key],
				"result_type": map[string]string{"files": "ARTIFACT", "needs": "NEEDS_INPUT"}[key]})
			if err != nil {
				return nil, err
			}
			words, t.stdin = append(words, "--reply=-"), bytes.NewReader(reply)
		case "worktree":
		default:
			words = append(words, fmt.Sprintf("--%s=%v", key, args[key]))
		}
	}
	if name != "submit" {
		return append(words, operands...), nil
	}
	store, err := gitstore.Open(ctx, t.dir)
	if err != nil {
		return nil, err
	}
	if dir := claimedWorktree(store, operands[1], args["claim"]); dir != "" {
		words, t.dir = append(words, "--worktree"), dir
	} else if args["worktree"] == true {
		err = fault.Refused("claim it again", "claim %v has no worktree here", args["claim"])
	}
	return append(words, operands...), errors.Join(err, store.Close())
}
