//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitwf/internal/repotest/tool"
)

// soon is the longest time of a run that does not hang, on a busy machine.
const soon = time.Minute

// begun is a time in which a command has begun and set its traps, on a busy machine.
const begun = 500 * time.Millisecond

func run(t *testing.T, c Command) Result {
	t.Helper()
	return runContext(t, t.Context(), c)
}

func runContext(t *testing.T, ctx context.Context, c Command) Result {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Env == nil {
		c.Env = Environ(os.Environ())
	}
	begin := time.Now()
	res, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > soon {
		t.Errorf("Run took %s", took)
	}
	return res
}

func TestReason(t *testing.T) {
	tests := []struct {
		name string
		c    Command
		want string // reason, exit code, signal, tail
	}{
		{"succeeds", Command{Line: "echo out; echo err >&2"}, `exited 0 "" "out\nerr\n"`},
		{"fails", Command{Line: "echo why; exit 7"}, `exited 7 "" "why\n"`},
		{"unknown command", Command{Line: "exec 2>/dev/null; no-such-command-anywhere"}, `exited 127 "" ""`},
		{"kills itself", Command{Line: "echo last; kill -9 $$"}, `ended by a signal 137 "killed" "last\n"`},
		{"reads nothing", Command{Line: "cat"}, `exited 0 "" ""`},
		{"reads its input", Command{Line: "cat", Stdin: "question"}, `exited 0 "" "question"`},
		{"leaves its input", Command{Line: "exit 0", Stdin: strings.Repeat("x", 1<<20)}, `exited 0 "" ""`},
		{"child holds the input", Command{Line: "sleep 1000 <&0 & exit 0", Stdin: strings.Repeat("x", 1<<20)},
			`exited 0 "" ""`},
		{"never ends", Command{Line: "echo begun; sleep 1000", Timeout: begun, Grace: soon},
			`timed out 143 "terminated" "begun\n"`},
		{"never ends, silent", Command{Line: "exec >&- 2>&-; sleep 1000", Timeout: begun, Grace: soon},
			`timed out 143 "terminated" ""`},
		{"ends on request", Command{Line: "trap 'echo bye; exit 0' TERM; sleep 1000 & wait", Timeout: begun, Grace: soon},
			`timed out 0 "" "bye\n"`},
		{"a child tidies up", Command{
			Line:    "exec 2>/dev/null; (trap 'sleep 0.3; echo tidy; exit' TERM; while :; do sleep 0.05; done) & wait",
			Timeout: begun, Grace: soon,
		}, `timed out 143 "terminated" "tidy\n"`},
		{"stopped", Command{Line: "kill -STOP $$", Timeout: begun, Grace: 100 * time.Millisecond},
			`timed out 137 "killed" ""`},
		{"will not end", Command{
			Line:    "trap '' TERM; for i in 1 2 3; do (while :; do sleep 1000; done) & done; while :; do sleep 1000; done",
			Timeout: begun, Grace: 200 * time.Millisecond,
		}, `timed out 137 "killed" ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := run(t, tt.c)
			if got := fmt.Sprintf("%s %d %q %q", res.Reason, res.ExitCode, res.Signal, res.Tail); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestNotStarted(t *testing.T) {
	res, err := Run(t.Context(), Command{Line: "true", Dir: filepath.Join(t.TempDir(), "missing")})
	if err == nil || res.Reason != NotStarted {
		t.Errorf("Run in a missing directory: %v, %v", res, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if res := runContext(t, ctx, Command{Line: "touch begun; sleep 1000", Dir: dir}); res.Reason != Interrupted {
		t.Errorf("reason %q", res.Reason)
	}
	if res := runContext(t, ctx, Command{Line: "touch again", Dir: dir}); res.Reason != Interrupted {
		t.Errorf("reason %q of a run that was cancelled before it began", res.Reason)
	}
	if _, err := os.Stat(filepath.Join(dir, "again")); err == nil {
		t.Error("a cancelled run was started")
	}
}

// All descendants must be dead when Run returns, whatever they do to survive.
func TestNobodyLivesOn(t *testing.T) {
	tests := []struct{ name, line string }{
		{"holds the output", "sleep 1000 & echo $! >pid"},
		{"redirected", "sleep 1000 >/dev/null 2>&1 & echo $! >pid"},
		{"ignores hangup", "nohup sleep 1000 & echo $! >pid"},
		{"ignores the request",
			"(trap '' TERM; echo >ready; while :; do sleep 1000; done) & echo $! >pid; until test -e ready; do :; done; kill -9 $$"},
		{"grandchild", "( (sleep 1000 & echo $! >pid) & wait) "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, Command{Line: tt.line, Dir: dir, Timeout: time.Minute})
			expectDead(t, filepath.Join(dir, "pid"))
		})
	}
}

func expectDead(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 { // a killed process needs a moment
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// alive reports whether the process runs; a zombie waiting for its parent does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, after, _ := bytes.Cut(stat, []byte(") "))
		return !bytes.HasPrefix(after, []byte("Z"))
	}
	return syscall.Kill(pid, 0) == nil
}

// A process with its own session escapes, but does not delay Run.
func TestSessionOfItsOwn(t *testing.T) {
	tool.Need(t, "setsid")
	dir := t.TempDir()
	res := run(t, Command{Line: "setsid sh -c 'echo $$ >pid; exec sleep 1000' & until test -s pid; do :; done; echo done",
		Dir: dir})
	if res.Reason != Exited || res.Tail != "done\n" {
		t.Errorf("%+v", res)
	}
	data, _ := os.ReadFile(filepath.Join(dir, "pid"))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestEndlessOutput(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var log bytes.Buffer
	res := run(t, Command{Line: "head -c 1000000000 /dev/zero", Output: &log})
	runtime.ReadMemStats(&after)
	if res.Reason != OutputLimit {
		t.Errorf("reason %q", res.Reason)
	}
	if log.Len() > DefaultMaxOutput+100 || len(res.Tail) > MaxTail {
		t.Errorf("log of %d bytes, tail of %d", log.Len(), len(res.Tail))
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
	res = run(t, Command{Line: "tr '\\0' y </dev/zero", MaxTotal: 1000})
	if res.Reason != OutputLimit {
		t.Errorf("yes: reason %q", res.Reason)
	}
	for range 20 { // Run may see the command's end or the limit first
		res = run(t, Command{Line: "printf %2000d 1", MaxTotal: 1000})
		if res.Reason != OutputLimit {
			t.Fatalf("2000 bytes at once: reason %q", res.Reason)
		}
	}
}

func TestLog(t *testing.T) {
	tests := []struct {
		name    string
		line    string
		keep    int64
		want    string
		dropped int64
	}{
		{"all of it", "printf 0123456789", 10, "0123456789", 0},
		{"first and last", "printf 0123456789abcdef", 10, "01234\n[... 6 bytes of output dropped ...]\nbcdef", 6},
		{"odd limit", "printf 0123456789", 5, "01\n[... 5 bytes of output dropped ...]\n789", 5},
		{"in pieces", "for i in 0 1 2 3 4 5 6 7 8 9; do printf $i; sleep 0.01; done", 4,
			"01\n[... 6 bytes of output dropped ...]\n89", 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			res := run(t, Command{Line: tt.line, Output: &log, MaxOutput: tt.keep})
			if log.String() != tt.want || res.Dropped != tt.dropped {
				t.Errorf("got %q and %d dropped, want %q and %d", log.String(), res.Dropped, tt.want, tt.dropped)
			}
		})
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestLogFails(t *testing.T) {
	res := run(t, Command{Line: "echo a; echo b; exit 3", Output: fullDisk{}})
	if res.ExitCode != 3 || !errors.Is(res.OutputErr, errFull) {
		t.Errorf("%+v", res)
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_INDEX_FILE", "x")
	t.Setenv("WF_TASK", "OUTER-1")
	t.Setenv("KEPT", "kept")
	res := run(t, Command{Line: "env | grep -E '^(GIT_|WF_|KEPT)' | sort", Env: Environ(os.Environ(), "WF_OUT=here")})
	if want := "KEPT=kept\nWF_OUT=here\n"; res.Tail != want {
		t.Errorf("got %q, want %q", res.Tail, want)
	}
	// No environment means an empty one, not ours.
	if res, err := Run(t.Context(), Command{Line: "env | grep -c ^GIT_"}); err != nil || res.Tail != "0\n" {
		t.Errorf("got %q, %v", res.Tail, err)
	}
}

// Compare Run with os/exec for the same command.
func BenchmarkRun(b *testing.B) {
	env := Environ(os.Environ())
	for b.Loop() {
		if res, err := Run(b.Context(), Command{Line: "true", Env: env, Timeout: time.Minute}); err != nil ||
			res.ExitCode != 0 {
			b.Fatal(res, err)
		}
	}
}

func BenchmarkExecCommand(b *testing.B) {
	env := Environ(os.Environ())
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "/bin/sh", "-c", "true")
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatal(string(out), err)
		}
	}
}
