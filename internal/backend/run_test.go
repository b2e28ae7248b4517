package backend

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// environ is the environment of a test: of the developer's own, only PATH.
func environ(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "LANG=C.UTF-8"}, more...)
}

// quick are retries that a test can wait for.
var quick = retry{tries: 3, first: time.Millisecond, most: 4 * time.Millisecond}

// made returns the backend of a configuration, with quick retries.
func made(t *testing.T, c Config, environ []string) Backend {
	t.Helper()
	if c.Name == "" {
		c.Name = "tester"
	}
	b, err := New(c, environ)
	if err != nil {
		t.Fatal(err)
	}
	b.(*asker).retry = quick
	return b
}

// wantReason checks that err is an *Error with the reason, whose text contains the words.
func wantReason(t *testing.T, err error, reason Reason, words ...string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want an *Error", err)
	}
	if e.Reason != reason {
		t.Fatalf("got reason %q (%v), want %q", e.Reason, e, reason)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("got error %q, want %q in it", e, w)
		}
	}
	return e
}

func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the programs of this test are shell scripts")
	}
}

// The program gets every argument unchanged.
func TestLine(t *testing.T) {
	unixOnly(t)
	if testing.Short() {
		t.Skip("skipped: starts hundreds of shells")
	}
	dir := t.TempDir()
	env := environ(t)
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.SliceOfN(rapid.StringMatching(`[a-z '"$`+"`"+`\\\n;&|<>*~!#%{}=-]{0,12}`), 1, 4).Draw(rt, "args")
		out, err := run{line: line("printf", append([]string{"%s\\0"}, args...)), dir: dir, environ: env}.do(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := string(out.stdout), strings.Join(args, "\x00")+"\x00"; got != want {
			rt.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestCommand(t *testing.T) {
	unixOnly(t)
	tests := []struct {
		name, command string
		reason        Reason
		want          string // the reply, or words of the error
	}{
		{"reply", `sed 's/^/you said: /'`, "", "you said: hello\n"},
		{"several commands and a comment", `cat >/dev/null; echo one; echo two # three`, "", "one\ntwo\n"},
		{"input that is not read", `echo fine`, "", "fine\n"},
		{"messages apart", `cat >/dev/null; echo noise >&2; echo reply`, "", "reply\n"},
		{"own variables", `cat >/dev/null; echo "$WF_TASK${WF_OLD-}${GIT_DIR-}"`, "", "IMPL-1\n"},
		{"failure", `echo no luck >&2; exit 3`, Failed, "exit status 3: no luck"},
		{"failure without a word", `exit 3`, Failed, "exit status 3"},
		{"not there", `no-such-program-here`, Unavailable, "exit status 127"},
		{"unavailable", `echo no licence; exit 69`, Unavailable, "no licence"},
		{"busy", `echo come back; exit 75`, Transient, "come back (tried 3 times)"},
		{"signal", `kill -9 $$`, Failed, "signal"},
		{"no end", `tr '\0' y </dev/zero`, Malformed, "longer than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := environ(t, "WF_OLD=x", "GIT_DIR=/nowhere")
			b := made(t, Config{Kind: KindCommand, Command: tt.command}, env)
			reply, err := b.Ask(t.Context(), Request{
				Prompt: "hello\n", Dir: t.TempDir(), Environ: env, Vars: []string{"WF_TASK=IMPL-1"},
			})
			if tt.reason != "" {
				wantReason(t, err, tt.reason, tt.want)
				return
			}
			if err != nil || reply.Text != tt.want {
				t.Errorf("got %q, %v, want %q", reply.Text, err, tt.want)
			}
			if reply.Agent != "tester" || reply.Usage.Known {
				t.Errorf("got %+v", reply)
			}
		})
	}
}

// A timeout ends everything that the command started, and the log keeps its output.
func TestCommandTimeout(t *testing.T) {
	unixOnly(t)
	env := environ(t)
	dir := t.TempDir()
	var log strings.Builder
	b := made(t, Config{Kind: KindCommand, Command: `echo begun >&2; sleep 600 & echo $! >pid; wait`}, env)
	begin := time.Now()
	_, err := b.Ask(t.Context(), Request{Prompt: "x", Dir: dir, Environ: env, Timeout: time.Second, Log: &log})
	e := wantReason(t, err, TimedOut, "without a reply", "timeout")
	if e.LogTail != "begun" || log.String() != "begun\n" {
		t.Errorf("got the tail %q and the log %q", e.LogTail, &log)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %s", took)
	}
	pid := strings.TrimSpace(read(t, dir, "pid"))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // fails if there is no such process
		if s := strings.TrimSpace(string(state)); s == "" || strings.HasPrefix(s, "Z") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a process that the command started lives on")
		}
	}
}

func TestInterrupted(t *testing.T) {
	unixOnly(t)
	env := environ(t)
	cause := errors.New("the user gave up")
	for _, command := range []string{"sleep 60", "exit 75"} { // at work, and between two tries
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
		b := made(t, Config{Kind: KindCommand, Command: command}, env)
		b.(*asker).retry = retry{tries: 3, first: time.Minute, most: time.Minute}
		_, err := b.Ask(ctx, Request{Prompt: "x", Dir: t.TempDir(), Environ: env})
		if !errors.Is(err, cause) || ReasonOf(err) != "" {
			t.Errorf("%s: got %v, want the cause", command, err)
		}
	}
}

func TestMissingCommand(t *testing.T) {
	unixOnly(t)
	env := environ(t)
	tests := []struct{ name, command, want string }{
		{"program", "cat -", ""},
		{"path", "/bin/cat", ""},
		{"the shell's own", "exec cat", ""},
		{"anything", `"$HOME/x"`, ""},
		{"missing", "no-such-program-here --flag", "no-such-program-here is not there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := made(t, Config{Kind: KindCommand, Command: tt.command}, env).Missing()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.want != "":
				wantReason(t, err, Unavailable, tt.want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no kind", Config{Name: "a"}, "agent a: kind:"},
		{"unknown kind", Config{Name: "a", Kind: "oracle"}, "oracle is none of command, claude"},
		{"no command", Config{Name: "a", Kind: KindCommand, Command: " "}, "agent a: command: missing"},
		{"no model", Config{Name: "a", Kind: KindOpenAI}, "agent a: model: missing"},
		{"model like a flag", Config{Name: "a", Kind: KindClaude, Model: "--dangerously-skip-permissions"},
			"looks like a flag"},
		{"no address", Config{Name: "a", Kind: KindAnthropic, Model: "m", BaseURL: "localhost"},
			"not an http or https address"},
		{"key in the address", Config{Name: "a", Kind: KindOpenAI, Model: "m", BaseURL: "http://me:hush@localhost"},
			"must not hold"},
		{"control characters", Config{Name: "a\x1b[31m", Kind: "b\x1b[0m"}, "agent a: kind: b is none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
	for _, kind := range Kinds() {
		if _, err := New(Config{Name: "a", Kind: kind, Command: "cat", Model: "m"}, nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestEmptyPrompt(t *testing.T) {
	_, err := made(t, Config{Kind: KindCommand, Command: "cat"}, nil).Ask(t.Context(), Request{Prompt: " \n"})
	wantReason(t, err, Failed, "prompt is empty")
}
