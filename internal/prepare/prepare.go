package prepare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/process"
	"gitwf/internal/shell"
)

// Setup is what the steps of one attempt run on.
type Setup struct {
	Task    *plan.Task // with what it inherits
	Plan    plan.ID
	Dir     string            // where command lines run, and what Read and Search see
	Results string            // an existing directory, which gets each output under its name
	Environ []string          // of the command lines
	Timeout time.Duration     // of a step that has none of its own
	Answers map[string]string // by step name: a person's answer after it failed
	Retried map[string]bool   // by step name: it failed in an earlier attempt, so retry_once is used up
}

// Limits of a step's output, in bytes.
const (
	MaxOutput   = 1 << 20   // of one step, kept for later steps and the agent
	maxPrinted  = 256 << 20 // more than this stops a command
	maxRecorded = 16 << 10  // of one step in the record of the attempt
	maxRecords  = 128 << 10 // of all of them
)

// Outcome is the result of the steps.
type Outcome struct {
	Steps  []Result
	Failed *Result // the step that ended the preparation, nil if all are done
	Ask    bool    // a person has to say how to go on
}

// Result is one step that was taken.
type Result struct {
	plandoc.Step
	Record plan.Prepared
	Output string   // fit to be shown, at most MaxOutput
	File   string   // below Setup.Results, "" for a step without output
	Advice []string // what the agent is to do itself
}

// Records are the steps as the attempt's record has them.
func (o Outcome) Records() []plan.Prepared {
	var all []plan.Prepared
	left := maxRecords
	for _, s := range o.Steps {
		r := s.Record
		r.Output = shortened(s.Output, min(left, maxRecorded))
		left -= len(r.Output)
		all = append(all, r)
	}
	return all
}

// Run takes the steps of a task in order, up to the first failure that must not be skipped. Every command line must be
// trusted. An error means that the preparation itself broke off, because of ctx or an unwritable directory, and says
// nothing about the task.
func Run(ctx context.Context, s Setup) (Outcome, error) {
	r := &runner{Setup: s, outputs: map[string]string{}}
	var out Outcome
	for i, s := range plandoc.Steps(s.Task) {
		res, err := r.take(ctx, s)
		if err != nil {
			return out, fmt.Errorf("step %s: %w", plain.Line(s.Name), err)
		}
		if res.Record.Result != plandoc.StepGiven {
			if err := r.keep(i, &res); err != nil {
				return out, err
			}
		}
		out.Steps = append(out.Steps, res)
		if res.Record.Result == plandoc.StepFailed {
			out.Failed, out.Ask = &out.Steps[len(out.Steps)-1], s.OnError == plandoc.ManualIntervention
			return out, nil
		}
	}
	return out, nil
}

// runner carries outputs from one step to the next.
type runner struct {
	Setup
	outputs map[string]string // by output_to
	files   []string          // WF_FILE_<name>=path for each output
}

// take does one step as often as it may be tried.
func (r *runner) take(ctx context.Context, s plandoc.Step) (Result, error) {
	res := Result{Step: s, Record: plan.Prepared{Step: s.Name, OutputTo: s.OutputTo}}
	for _, c := range s.Commands {
		if c.Form == plandoc.StepAdvice {
			res.Advice = append(res.Advice, c.Written)
		}
	}
	if !s.Runs() {
		res.Record.Result = plandoc.StepGiven
		if len(s.Commands) == 0 && s.Action != "" {
			res.Advice = []string{s.Action}
		}
		return res, nil
	}
	tries := 1
	var failed error
	if s.OnError == plandoc.RetryOnce {
		tries = 2
		if r.Retried[s.Name] {
			tries = 0
			failed = fmt.Errorf("it has failed twice, in an earlier attempt, and is not run again before git wf "+
				"retry %s", r.Task.TaskID)
		}
	}
	began := time.Now()
	for n := 1; n <= tries; n++ {
		res.Record.Tries = n
		if failed = r.try(ctx, &res); failed == nil || ctx.Err() != nil {
			break
		}
	}
	res.Record.DurationMS = time.Since(began).Milliseconds()
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	res.Record.Result = plandoc.StepDone
	if failed != nil {
		r.settle(&res, failed)
	}
	return res, nil
}

// settle decides the result of a failed step.
func (r *runner) settle(res *Result, failed error) {
	res.Record.Problem = plain.Text(failed.Error())
	answer, answered := r.Answers[res.Name]
	switch {
	case res.OnError == plandoc.SkipOptional:
		res.Record.Result = plandoc.StepSkipped
		if tail := strings.TrimSpace(shortened(res.Output, problemTail)); tail != "" {
			res.Record.Problem += "\n" + tail
		}
		res.Output = ""
	case res.OnError == plandoc.ManualIntervention && answered:
		res.Record.Result, res.Output = plandoc.StepAnswered, answer
	default:
		res.Record.Result = plandoc.StepFailed
	}
}

// problemTail is how much of a skipped step's output its record keeps, in bytes.
const problemTail = 1000

// try runs the step's commands once. The step's output is what they print, including a command that fails and ends it.
func (r *runner) try(ctx context.Context, res *Result) error {
	limit := r.Timeout
	if res.TimeoutSeconds > 0 {
		limit = time.Duration(res.TimeoutSeconds) * time.Second
	}
	work, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ends := time.Now().Add(limit)
	var all bytes.Buffer
	res.Record.ExitCode = nil
	var failed error
	for _, c := range res.Commands {
		if all.Len() > 0 && !bytes.HasSuffix(all.Bytes(), []byte("\n")) {
			all.WriteByte('\n')
		}
		switch c.Form {
		case plandoc.StepAdvice:
			continue
		case plandoc.StepShell:
			failed = r.shell(ctx, c, time.Until(ends), &all, res)
		default:
			failed = r.look(work, c, &all)
		}
		if failed == nil && work.Err() != nil || errors.Is(failed, context.DeadlineExceeded) {
			failed = fmt.Errorf("stopped because it still ran after %s (timeout_seconds of the step sets the limit)",
				limit)
		}
		if failed != nil {
			break
		}
	}
	res.Record.Bytes = int64(all.Len())
	res.Output = shortened(process.Printable(all.Bytes()), MaxOutput)
	return failed
}

// shell runs a command line.
func (r *runner) shell(ctx context.Context, c plandoc.StepCommand, limit time.Duration, out *bytes.Buffer,
	res *Result) error {
	values, err := r.values(c.Line)
	if err != nil {
		return err
	}
	x, err := plandoc.Expand(c.Line, values)
	if err != nil {
		return err
	}
	if limit <= 0 {
		return context.DeadlineExceeded
	}
	line := x.Line
	if c.Bash {
		line = inBash(line)
	}
	ran, err := process.Run(ctx, process.Command{
		Line: line, Dir: r.Dir, Env: append(append(slices.Clone(r.Environ), "PWD="+r.Dir), r.variables(x.Vars)...),
		Timeout: limit,
		Output:  out, MaxOutput: MaxOutput, MaxTotal: maxPrinted,
	})
	if err != nil {
		return err
	}
	res.Record.ExitCode = &ran.ExitCode
	switch ran.Reason {
	case process.Exited:
		if ran.ExitCode == 0 {
			return nil
		}
		return fmt.Errorf("exit status %d", ran.ExitCode)
	case process.TimedOut:
		return context.DeadlineExceeded
	case process.OutputLimit:
		return fmt.Errorf("stopped because it had printed more than %d MiB", maxPrinted>>20)
	case process.Interrupted:
		return ctx.Err()
	}
	return fmt.Errorf("ended by a signal (%s)", ran.Signal)
}

// inBash is a line that bash runs if installed: bash(...) marks a line as bash.
func inBash(line string) string {
	return "wf_line=" + shell.Quote(line) + "\n" +
		"if command -v bash >/dev/null 2>&1; then exec bash -c \"$wf_line\"; fi\nexec sh -c \"$wf_line\""
}

// values are what a line's references stand for: outputs of earlier steps and properties of the task.
func (r *runner) values(line string) (map[string]plandoc.Value, error) {
	values := make(map[string]plandoc.Value, len(r.outputs))
	for name, text := range r.outputs {
		values[name] = plandoc.Value{Text: text}
	}
	for _, name := range plandoc.WholeReferences(line, plandoc.IsProperty) {
		v, ok := plandoc.Property(r.Task, r.Plan, name)
		if !ok && !v.Many {
			return nil, &plandoc.ReferenceError{Name: name,
				Reason: "stands for nothing: neither the task nor one above it has that"}
		}
		values[name] = v
	}
	return values, nil
}

// keep puts a step's output where later steps and the agent find it.
func (r *runner) keep(i int, res *Result) error {
	res.Output = strings.TrimRight(res.Output, "\n")
	name := res.OutputTo
	if name == "" {
		name = fmt.Sprintf("step_%d", i+1)
	}
	res.File = plan.EscapeName(name)
	at := filepath.Join(r.Results, res.File)
	if err := os.WriteFile(at, []byte(res.Output), 0o666); err != nil {
		return fmt.Errorf("keep the output of step %s: %w", plain.Line(res.Name), err)
	}
	if res.OutputTo != "" {
		r.outputs[res.OutputTo] = res.Output
		r.files = append(r.files, strings.Replace(plandoc.VarName(res.OutputTo), "WF_VAR_", "WF_FILE_", 1)+"="+at)
	}
	return nil
}

// maxVariable is the size of one variable's value, in bytes. Beyond a system's limit no program starts: 128 KiB on
// Linux, 32,767 characters on Windows.
func maxVariable() int {
	if runtime.GOOS == "windows" {
		return 30_000
	}
	return 120_000
}

// maxVariables is the size of all of them.
const maxVariables = 480_000

// variables are the values of a line's references, and all earlier outputs for programs that read them. A value that is
// too long lacks its middle; the file next to it is whole.
func (r *runner) variables(referred map[string]string) []string {
	all := maps.Clone(referred)
	for name, text := range r.outputs {
		if v := plandoc.VarName(name); all[v] == "" {
			all[v] = text
		}
	}
	env := slices.Clone(r.files)
	left := maxVariables
	if runtime.GOOS == "windows" {
		left = maxVariable()
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := shortened(strings.ReplaceAll(all[name], "\x00", ""), min(left, maxVariable()))
		left -= len(value)
		env = append(env, name+"="+value)
	}
	return env
}

// shortened is a text of at most the given length, without its middle or, where there is no room for both ends, empty.
func shortened(s string, most int) string {
	const mark = 60 // bytes, for the line that says how much is missing
	if len(s) <= most {
		return s
	}
	if most <= mark {
		return ""
	}
	s, _ = plain.Shortened(s, most-mark)
	return s
}
