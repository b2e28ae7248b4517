package backend

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/repotest/tool"
	"gitwf/internal/shell"
	"gitwf/internal/wiretest"
)

// agent is a vendor's real program under test, against a local server that speaks its vendor's protocol.
type agent struct {
	kind  string
	model string
	path  string // of the base URL
	write func(file, content string) wiretest.Call
	read  func(file string) wiretest.Call
	env   []string
	setUp func(t *testing.T, home string)
}

var agents = []agent{
	{
		kind: KindClaude, model: "claude-sonnet-4-5",
		write: func(file, content string) wiretest.Call {
			return call("Write", map[string]any{"file_path": file, "content": content})
		},
		read: func(file string) wiretest.Call { return call("Read", map[string]any{"file_path": file}) },
	},
	{
		kind: KindCodex, model: "gpt-5", path: "/v1",
		write: func(file, content string) wiretest.Call {
			return call("exec_command", map[string]any{"cmd": "printf %s " + shell.Quote(content) + " > " + shell.Quote(file)})
		},
		read: func(file string) wiretest.Call {
			return call("exec_command", map[string]any{"cmd": "cat " + shell.Quote(file)})
		},
	},
	{
		kind: KindGemini, model: "gemini-2.5-pro",
		write: func(file, content string) wiretest.Call {
			return call("write_file", map[string]any{"file_path": file, "content": content})
		},
		read: func(file string) wiretest.Call { return call("read_file", map[string]any{"file_path": file}) },
		// It honours a base URL only together with an explicit way to log in.
		setUp: func(t *testing.T, home string) {
			dir := filepath.Join(home, ".gemini")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			settings := `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true},"privacy":{"usageStatisticsEnabled":false}}`
			if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	},
	{
		kind: KindOpencode, model: "m-1", path: "/v1",
		write: func(file, content string) wiretest.Call {
			return call("write", map[string]any{"filePath": file, "content": content})
		},
		read: func(file string) wiretest.Call { return call("read", map[string]any{"filePath": file}) },
		env:  []string{"OPENCODE_DISABLE_MODELS_FETCH=1"}, // there may be no network
	},
}

func call(name string, input map[string]any) wiretest.Call {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return wiretest.Call{Name: name, Input: data}
}

// needs returns the path of an agent's program, or skips the test and says why.
func needs(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: a real agent takes seconds for each question")
	}
	path := findProgram(name, nil)
	if dir := os.Getenv("GIT_WF_TEST_TOOLS"); dir != "" {
		path = cmp.Or(findProgram(filepath.Join(dir, "node_modules", ".bin", name), nil), path)
	}
	if why := tool.Broken(path); path == "" || why != "" {
		t.Skipf("skipped: %s works neither on PATH nor in $GIT_WF_TEST_TOOLS/node_modules/.bin; `.ci/tools DIR` installs it",
			name)
	}
	return path
}

// real is a vendor's program at work with a script.
type real struct {
	agent
	server *wiretest.Server
	b      Backend
	env    []string
}

func (a agent) start(t *testing.T, turns ...wiretest.Turn) *real {
	t.Helper()
	path := needs(t, a.kind)
	server := wiretest.Start(t, turns...)
	// codex keeps the helper of its sandbox in the home directory, and its sandbox hides the one for temporary files.
	home := elsewhere(t)
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "LANG=C.UTF-8",
		"MY_KEY=" + testKey}, a.env...)
	if a.setUp != nil {
		a.setUp(t, shell.Getenv(env, "HOME"))
	}
	b := made(t, Config{Kind: a.kind, Command: path, Model: a.model, BaseURL: server.URL + a.path, KeyEnv: "MY_KEY"}, env)
	return &real{a, server, b, env}
}

// ask asks, in a new directory if the request names none.
func (r *real) ask(t *testing.T, q Request) (Reply, error) {
	t.Helper()
	if q.Dir == "" {
		q.Dir = t.TempDir()
	}
	q.Environ = r.env
	if q.Timeout == 0 {
		q.Timeout = 10 * time.Minute // enough on a busy machine
	}
	return r.b.Ask(t.Context(), q)
}

// bodies are the requests that the script has answered.
func (r *real) bodies() []string {
	var out []string
	for _, q := range r.server.Requests() {
		if q.Turn >= 0 {
			out = append(out, string(q.Body))
		}
	}
	return out
}

// A real agent waits while the service is busy, writes a real file where it may and none elsewhere, even where it may
// read, reports what it did, and continues the session; in another directory, if it can. If the session is gone, it
// starts anew.
func TestAgentWorks(t *testing.T) {
	for _, a := range agents {
		t.Run(a.kind, func(t *testing.T) {
			t.Parallel()
			wfOut := elsewhere(t)
			repository := t.TempDir()
			if err := os.Mkdir(filepath.Join(repository, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			file, forbidden := filepath.Join(wfOut, "page.html"), filepath.Join(repository, "page.html")
			r := a.start(t,
				wiretest.Turn{Match: "make the page", Status: 429, Header: map[string]string{"Retry-After": "1"},
					Text: "slow down"},
				wiretest.Turn{Match: "make the page", Tools: []wiretest.Call{a.write(forbidden, "x")},
					Usage: wiretest.Usage{Input: 900, Output: 40, Cached: 300}},
				wiretest.Turn{Match: "make the page", Text: "I write it.", Tools: []wiretest.Call{a.write(file, "<p>hello</p>")},
					Usage: wiretest.Usage{Input: 1000, Output: 50, Cached: 400}},
				wiretest.Turn{Match: "make the page", Text: `{"result_type":"ARTIFACT"}`,
					Usage: wiretest.Usage{Input: 1100, Output: 60, Cached: 900}},
				wiretest.Turn{Match: "make it blue", Text: "It is blue."},
				wiretest.Turn{Match: "start again", Text: "Started."})
			var log strings.Builder
			dir := t.TempDir()
			reply, err := r.ask(t, Request{Prompt: "make the page\n", Writable: []string{wfOut},
				Readable: []string{repository}, Log: &log, Dir: dir})
			if err != nil {
				t.Fatalf("%v\n%s", err, &log)
			}
			if reply.Text != `{"result_type":"ARTIFACT"}` || reply.Session == "" || reply.Truncated || reply.Resumed {
				t.Errorf("got %+v\n%s", reply, &log)
			}
			if data, err := os.ReadFile(file); string(data) != "<p>hello</p>" {
				t.Errorf("the file holds %q, %v\n%s", data, err, &log)
			}
			if _, err := os.Lstat(forbidden); err == nil {
				t.Errorf("it wrote where it must not\n%s", &log)
			}
			const most = 48 << 10 // bytes of the first request: the agent's own instructions and the tools that it offers
			if body := r.bodies()[0]; len(body) > most {
				t.Errorf("the first request has %d bytes", len(body))
			}
			u := reply.Usage
			if !u.Known || u.InputTokens != 3000 || u.OutputTokens != 150 || u.CachedTokens != 1600 {
				t.Errorf("got usage %+v", u)
			}
			if u.Session != (a.kind == KindCodex) {
				t.Errorf("got usage %+v", u)
			}
			if strings.Contains(log.String(), testKey) {
				t.Error("the key is in the log")
			}

			if a.kind != KindOpencode { // opencode's sessions are bound to their directory
				dir = ""
			}
			next, err := r.ask(t, Request{Prompt: "make it blue\n", Session: reply.Session, SessionOf: reply.Agent, Dir: dir})
			if err != nil || next.Text != "It is blue." || !next.Resumed {
				t.Fatalf("got %+v, %v", next, err)
			}
			bodies := r.bodies()
			if body := bodies[len(bodies)-1]; !strings.Contains(body, "make the page") {
				t.Error("the session was not gone on from")
			}

			anew, err := r.ask(t, Request{Prompt: "start again\n", Session: "11111111-1111-4111-8111-111111111111",
				SessionOf: reply.Agent})
			if err != nil || anew.Text != "Started." || anew.Resumed {
				t.Errorf("after a session that is gone: got %+v, %v", anew, err)
			}
		})
	}
}

// An agent that may only read, or only answer, writes nothing, not even where it works, and answers all the same. One
// that may read can read the repository.
func TestAgentWritesNothing(t *testing.T) {
	for _, a := range agents {
		for name, access := range map[string]Access{"reads": MayRead, "answers": MayAnswer} {
			t.Run(a.kind+" "+name, func(t *testing.T) {
				t.Parallel()
				dir, repository := elsewhere(t), elsewhere(t)
				file, notes := filepath.Join(dir, "page.html"), filepath.Join(repository, "notes.txt")
				if err := errors.Join(os.Mkdir(filepath.Join(repository, ".git"), 0o755),
					os.WriteFile(notes, []byte("the seventh swan"), 0o644)); err != nil {
					t.Fatal(err)
				}
				q := Request{Prompt: "make the page\n", Dir: dir, Access: access}
				if access == MayRead {
					q.Readable = []string{repository}
				}
				r := a.start(t,
					wiretest.Turn{Match: "make the page", Tools: []wiretest.Call{a.write(file, "x")}},
					wiretest.Turn{Match: "make the page", Tools: []wiretest.Call{a.write(filepath.Join(repository, "x"), "x")}},
					wiretest.Turn{Match: "make the page", Tools: []wiretest.Call{a.read(notes)}},
					wiretest.Turn{Match: "make the page", Text: "I can't write it."})
				r.b = made(t, Config{Kind: a.kind, Command: needs(t, a.kind), Model: a.model, BaseURL: r.server.URL + a.path,
					KeyEnv: "MY_KEY", Shell: true}, r.env)
				reply, err := r.ask(t, q)
				if err != nil || reply.Text != "I can't write it." {
					t.Errorf("got %+v, %v", reply, err)
				}
				if _, err := os.Lstat(file); err == nil {
					t.Error("it wrote the file")
				}
				if _, err := os.Lstat(filepath.Join(repository, "x")); err == nil {
					t.Error("it wrote to the repository")
				}
				bodies := r.bodies()
				if read := strings.Contains(bodies[len(bodies)-1], "the seventh swan"); read != (access == MayRead) &&
					(a.kind != KindCodex || access != MayAnswer) { // its shell can read
					t.Errorf("it read the repository: %v", read)
				}
			})
		}
	}
}

// elsewhere is a directory outside the temporary directory.
func elsewhere(t *testing.T) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	dir, err := os.MkdirTemp(home, "git-wf-test-")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Each failure of the service comes out with its own reason.
func TestAgentErrors(t *testing.T) {
	for _, a := range agents {
		t.Run(a.kind, func(t *testing.T) {
			t.Parallel()
			r := a.start(t,
				wiretest.Turn{Match: "wrong key", Status: 401, Text: "no such key", Times: -1},
				wiretest.Turn{Match: "bad request", Status: 400, Text: "cannot do that", Times: -1},
				wiretest.Turn{Match: "cut", Text: "cut o", Stop: wiretest.StopLength, Times: -1})
			_, err := r.ask(t, Request{Prompt: "wrong key\n"})
			if e := wantReason(t, err, Unavailable); e.Hint == "" || strings.Contains(e.Error()+e.LogTail, testKey) {
				t.Errorf("got %v", e)
			}
			_, err = r.ask(t, Request{Prompt: "bad request\n"})
			wantReason(t, err, Failed, "cannot do that")
			if a.kind == KindOpencode || a.kind == KindCodex { // gemini does not say so, claude continues
				if reply, err := r.ask(t, Request{Prompt: "cut\n"}); err != nil || !reply.Truncated {
					t.Errorf("cut off: got %+v, %v", reply, err)
				}
			}
		})
	}
}

func TestAgentMissing(t *testing.T) {
	for _, a := range agents {
		t.Run(a.kind, func(t *testing.T) {
			t.Parallel()
			path := needs(t, a.kind)
			env := environ(t, "MY_KEY="+testKey)
			if err := made(t, Config{Kind: a.kind, Command: path, KeyEnv: "MY_KEY"}, env).Missing(); err != nil {
				t.Error(err)
			}
			err := made(t, Config{Kind: a.kind, Command: path, KeyEnv: "NO_KEY"}, env).Missing()
			wantReason(t, err, Unavailable, "NO_KEY")
		})
	}
}

// Fake programs print what no server can make the real ones print.
func TestAgentOutput(t *testing.T) {
	unixOnly(t)
	tests := []struct {
		name, script string
		reason       Reason
		want         string
	}{
		{"not JSON", "echo hello", Malformed, "can be read"},
		{"half of it", `printf '{"type":"result","res'`, Malformed, "can be read"},
		{"nothing", "exit 0", Malformed, "can be read"},
		{"exit status", "echo unknown option >&2; exit 2", Failed, "unknown option"},
		{"no end", "tr '\\0' '\\n' </dev/zero | sed 's/^/{}/'", Malformed, "longer than"},
		{"hangs", "sleep 60", TimedOut, ""},
		{"key in a message", "echo cannot use $MY_KEY >&2; exit 1", Failed, "cannot use [masked]"},
	}
	for _, a := range agents {
		for _, tt := range tests {
			t.Run(a.kind+"/"+tt.name, func(t *testing.T) {
				env := environ(t, "MY_KEY="+testKey)
				program := filepath.Join(t.TempDir(), "an agent's")
				if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				limit := time.Minute
				if tt.reason == TimedOut {
					limit = time.Second
				}
				b := made(t, Config{Kind: a.kind, Command: program, KeyEnv: "MY_KEY", Timeout: limit}, env)
				_, err := b.Ask(t.Context(), Request{Prompt: "x", Dir: t.TempDir(), Environ: env})
				e := wantReason(t, err, tt.reason, tt.want)
				if strings.Contains(e.LogTail, testKey) {
					t.Errorf("the key is in the tail: %q", e.LogTail)
				}
			})
		}
	}
}

// No argument contains a key or prompt. The prompt goes to standard input, and no part of it is a command.
func TestAgentArguments(t *testing.T) {
	unixOnly(t)
	for _, a := range agents {
		t.Run(a.kind, func(t *testing.T) {
			env := environ(t, "MY_KEY="+testKey, "CLAUDECODE=1")
			dir := t.TempDir()
			program := filepath.Join(dir, "spy")
			script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + shell.Quote(filepath.Join(dir, "args")) + "\ncat >" +
				shell.Quote(filepath.Join(dir, "input")) + "\nenv >" + shell.Quote(filepath.Join(dir, "env")) + "\n"
			if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			b := made(t, Config{Kind: a.kind, Command: program, Model: "it's; rm -rf $HOME", BaseURL: "http://127.0.0.1:1",
				KeyEnv: "MY_KEY", Args: []string{"--extra", "a b"}}, env)
			work, suffix := t.TempDir(), ""
			if vendors[a.kind].about().bound {
				suffix = boundTo(work)
			}
			_, err := b.Ask(t.Context(), Request{Prompt: "/quit $(touch x)", Dir: work, Environ: env, Session: "s-1" + suffix,
				Writable: []string{"/w"}, Readable: []string{"/r"}, Vars: []string{"WF_TASK=IMPL-1"}})
			wantReason(t, err, Malformed)
			args, input, vars := read(t, dir, "args"), read(t, dir, "input"), read(t, dir, "env")
			if strings.Contains(args, testKey) || strings.Contains(args, "quit") {
				t.Errorf("arguments: %s", args)
			}
			for _, want := range []string{"it's; rm -rf $HOME\n", "s-1", "--extra\na b\n"} {
				if !strings.Contains(args, want) {
					t.Errorf("%q is not among the arguments: %s", want, args)
				}
			}
			if input != "The request:\n\n/quit $(touch x)" {
				t.Errorf("got the input %q", input)
			}
			if !strings.Contains(vars, testKey) || !strings.Contains(vars, "WF_TASK=IMPL-1\n") ||
				strings.Contains(vars, "CLAUDECODE") {
				t.Errorf("got the environment %s", vars)
			}
		})
	}
}

// gemini gets no repository, because it could write there, and trusts no directory that has settings.
func TestGeminiDirectories(t *testing.T) {
	inputs, worktree, bare, own := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(worktree, ".git"), filepath.Join(bare, "HEAD"),
		filepath.Join(own, ".gemini")} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args, _ := gemini{}.call(Config{}, Request{Dir: own, Readable: []string{inputs, worktree, bare}})
	all := strings.Join(args, " ")
	if !strings.Contains(all, inputs) || strings.Contains(all, worktree) || strings.Contains(all, bare) ||
		strings.Contains(all, "--skip-trust") {
		t.Errorf("got %s", all)
	}
	if args, _ := (gemini{}).call(Config{}, Request{Dir: inputs}); !strings.Contains(strings.Join(args, " "),
		"--skip-trust") {
		t.Errorf("got %v", args)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
