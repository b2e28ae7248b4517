package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/backend"
	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// Exec is the agent that runs the task's own run line.
type Exec struct{}

// Limits of what a run line may print: bytes that the log keeps, and bytes after which it is stopped.
const (
	maxLog   = 1 << 20
	maxPrint = 256 << 20
)

// Run runs the line in job.Dir, with the environment that docs/format.md promises to commands. The result is an
// artifact if the line exits with 0 and job.Out has something in it.
func (Exec) Run(ctx context.Context, job Job) (Result, error) {
	if job.Task.Run == "" {
		err := fmt.Errorf("%s: the agent %s needs a run line, and the task has none", job.Task.TaskID, NameExec)
		return Result{Kind: Error, Message: err.Error(), ExitCode: -1}, err
	}
	job.Access = backend.MayWrite // its user has trusted the line, and it has no other way to deliver
	timeout := job.Timeout
	if timeout <= 0 {
		timeout = time.Duration(plan.DefaultConfig().TimeoutSeconds) * time.Second
	}
	ran, err := process.Run(ctx, process.Command{
		Line: job.Task.Run, Dir: job.Dir, Env: job.environ(), Timeout: timeout,
		Output: job.Log, MaxOutput: maxLog, MaxTotal: maxPrint,
	})
	res := Result{Kind: Error, ExitCode: ran.ExitCode, Duration: ran.Duration, LogTail: ran.Tail}
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", job.Task.TaskID, err)
		res.Message = err.Error()
		return res, err
	case ran.Reason == process.Interrupted:
		res.Message = message(ran, "interrupted")
		return res, fmt.Errorf("%s: interrupted: %w", job.Task.TaskID, context.Cause(ctx))
	case ran.Reason != process.Exited || ran.ExitCode != 0:
		res.Message = message(ran, failure(ran, timeout))
	case !wrote(job.Out):
		res.Kind = Noop
		res.Message = message(ran, "exit status 0, but no file was written to the directory that WF_OUT names")
	default:
		res.Kind = Artifact
	}
	return res, nil
}

// failure says how a failed command ended, and where its limit is set if it ran into one.
func failure(ran process.Result, timeout time.Duration) string {
	after := ran.Duration.Round(time.Millisecond)
	switch ran.Reason {
	case process.TimedOut:
		return fmt.Sprintf("stopped because it still ran after %s (timeout_seconds of the task or of the plan's "+
			"config sets the limit)", timeout)
	case process.OutputLimit:
		return fmt.Sprintf("stopped after %s because it had printed more than %d MiB", after, maxPrint>>20)
	case process.Signaled:
		return fmt.Sprintf("ended by a signal (%s) after %s", ran.Signal, after)
	}
	return fmt.Sprintf("exit status %d after %s", ran.ExitCode, after)
}

func message(ran process.Result, what string) string {
	text := "run line: " + what
	if ran.OutputErr != nil {
		text += fmt.Sprintf("; its log is incomplete: %v", ran.OutputErr)
	}
	if tail := strings.TrimSpace(ran.Tail); tail != "" {
		text += "\nend of its output:\n" + tail
	}
	return text
}

// environ is the environment of a command that works for us.
func (j Job) environ() []string { return append(process.Environ(j.Environ), j.vars()...) }

// vars are the variables that describe the job. One without a value is not set.
func (j Job) vars() []string {
	var vars []string
	if j.Access != backend.MayWrite {
		j.Out, j.Tmp = "", ""
	}
	if j.Access == backend.MayAnswer {
		j.Repo = ""
	}
	for _, v := range []struct{ name, value string }{
		{"PWD", j.Dir},
		{"TMPDIR", j.Tmp},
		{"WF_OUT", j.Out},
		{"WF_IN", j.In},
		{"WF_CONTEXT", j.Context},
		{"WF_FEEDBACK", j.Feedback},
		{"WF_PROMPT", j.Prompt},
		{"WF_ROLE", j.Role.Env()},
		{"WF_REPO", j.Repo},
		{"WF_PLAN", string(j.PlanID)},
		{"WF_TASK", string(j.Task.TaskID)},
		{"WF_ATTEMPT", strconv.Itoa(j.Attempt)},
	} {
		if v.value != "" {
			vars = append(vars, v.name+"="+v.value)
		}
	}
	return vars
}

// wrote reports whether out has anything but empty directories, readable or not: Collect says what is wrong with it.
func wrote(out string) bool {
	err := walk(out, func(*os.Root, string, fs.FileInfo) error { return errFound })
	return err != nil
}

// errFound ends a walk at the first file.
var errFound = errors.New("found")
