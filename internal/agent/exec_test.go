//go:build unix

package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/contract"
	"gitwf/internal/plan"
)

// newJob is an attempt at a task with a run line, in directories of the test.
func newJob(t *testing.T, line string) Job {
	t.Helper()
	base := t.TempDir()
	job := Job{
		Task:   &plan.Task{TaskID: "IMPL-1", NodeType: plan.Action, Run: line},
		PlanID: "WFS-shop", Attempt: 2, Role: contract.RoleAction,
		Dir: filepath.Join(base, "scratch"), Out: filepath.Join(base, "out"), In: filepath.Join(base, "in"),
		Context: filepath.Join(base, "context.json"), Prompt: filepath.Join(base, "prompt.md"),
		Repo:    filepath.Join(base, "repo"),
		Timeout: 20 * time.Second, Environ: os.Environ(),
	}
	for _, dir := range []string{job.Dir, job.Out, job.In, job.Repo} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return job
}

func TestExec(t *testing.T) {
	tests := []struct {
		name    string
		line    string
		timeout time.Duration
		kind    Kind
		message string // part of it
	}{
		{"writes a file", `echo hello >"$WF_OUT/a.txt"`, 0, Artifact, ""},
		{"writes deep down", `mkdir -p "$WF_OUT/a/b" && : >"$WF_OUT/a/b/c"`, 0, Artifact, ""},
		{"writes a symlink out", `ln -s /etc/passwd "$WF_OUT/a.txt"`, 0, Artifact, ""}, // for Collect to refuse
		{"puts a link in the place of WF_OUT", `rmdir "$WF_OUT" && ln -s /etc "$WF_OUT"`, 0, Artifact, ""},
		{"writes nothing", `echo done`, 0, Noop, "no file was written"},
		{"writes to the scratch directory only", `echo >a.txt`, 0, Noop, "no file was written"},
		{"makes a directory only", `mkdir "$WF_OUT/a"`, 0, Noop, "no file was written"},
		{"removes WF_OUT", `rmdir "$WF_OUT"`, 0, Noop, "no file was written"},
		{"fails", `echo >"$WF_OUT/a.txt"; echo out of paper >&2; exit 3`, 0, Error, "out of paper"},
		{"fails with a status", `exit 3`, 0, Error, "exit status 3"},
		{"is killed", `echo >"$WF_OUT/a.txt"; kill -9 $$`, 0, Error, "ended by a signal (killed)"},
		{"never ends", `echo >"$WF_OUT/a.txt"; echo so far; sleep 1000`, 500 * time.Millisecond, Error,
			"still ran after 500ms"},
		{"ends well when stopped", `trap 'exit 0' TERM; echo >"$WF_OUT/a.txt"; sleep 1000 & wait`, 500 * time.Millisecond,
			Error, "still ran after"},
		{"prints 1 GB", `echo >"$WF_OUT/a.txt"; head -c 1000000000 /dev/zero`, 0, Error, "more than 256 MiB"},
		{"paints the terminal", `printf '\033[31mred\033[0m\007'; exit 1`, 0, Error, "output:\nred"},
		{"leaves a child behind", `sleep 1000 & echo >"$WF_OUT/a.txt"`, 0, Artifact, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := newJob(t, tt.line)
			if tt.timeout != 0 {
				job.Timeout = tt.timeout
			}
			begin := time.Now()
			res, err := Exec{}.Run(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if res.Kind != tt.kind || !strings.Contains(res.Message, tt.message) || (res.Message == "") != (tt.message == "") {
				t.Errorf("got %s %q, want %s %q", res.Kind, res.Message, tt.kind, tt.message)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("WF_FEEDBACK", "/from/an/outer/attempt")
	job := newJob(t, `env | grep -E '^(GIT|WF|PWD)' | sort; pwd`)
	var log bytes.Buffer
	job.Log = &log
	want := strings.Join([]string{
		"PWD=" + job.Dir,
		"WF_ATTEMPT=2",
		"WF_CONTEXT=" + job.Context,
		"WF_IN=" + job.In,
		"WF_OUT=" + job.Out,
		"WF_PLAN=WFS-shop",
		"WF_PROMPT=" + job.Prompt,
		"WF_REPO=" + job.Repo,
		"WF_ROLE=action",
		"WF_TASK=IMPL-1",
		job.Dir, "",
	}, "\n")
	if _, err := (Exec{}).Run(t.Context(), job); err != nil || log.String() != want {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, log.String(), want)
	}

	log.Reset()
	job.Feedback = "/tmp/REJECTED.md"
	job.Task.Run = `printf %s "$WF_FEEDBACK"`
	if _, err := (Exec{}).Run(t.Context(), job); err != nil || log.String() != job.Feedback {
		t.Errorf("WF_FEEDBACK is %q, %v", log.String(), err)
	}
}

func TestExecNotTried(t *testing.T) {
	job := newJob(t, "")
	if res, err := (Exec{}).Run(t.Context(), job); err == nil || res.Kind != Error || res.Message == "" {
		t.Errorf("without a run line: %+v, %v", res, err)
	}
	job = newJob(t, "true")
	job.Dir += "-missing"
	if res, err := (Exec{}).Run(t.Context(), job); err == nil || res.Kind != Error || res.Message == "" {
		t.Errorf("without its directory: %+v, %v", res, err)
	}
}

func TestExecCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	res, err := Exec{}.Run(ctx, newJob(t, "sleep 1000"))
	if !errors.Is(err, context.DeadlineExceeded) || res.Kind != Error {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestName(t *testing.T) {
	tests := []struct {
		task plan.Task
		want string
	}{
		{plan.Task{Agent: "other", Run: "x"}, "other"},
		{plan.Task{Run: "x"}, "exec"},
		{plan.Task{}, "manual"},
	}
	for _, tt := range tests {
		if got := Name(&tt.task); got != tt.want {
			t.Errorf("agent %q, run %q: got %s, want %s", tt.task.Agent, tt.task.Run, got, tt.want)
		}
	}
}

func TestKindAttempt(t *testing.T) {
	for kind, want := range map[Kind]string{Artifact: "", NeedsInput: "needs_input", Noop: "noop", Error: "error",
		"": "error"} {
		if got := kind.Attempt(); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}
