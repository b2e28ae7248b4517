package backend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/process"
	"gitwf/internal/secret"
	"gitwf/internal/shell"
)

// run is one program, its limits, and where its output goes.
type run struct {
	line    string // for the shell
	dir     string
	environ []string
	stdin   string
	timeout time.Duration
	log     io.Writer
	secrets secret.Mask
}

// output is what a program left.
type output struct {
	stdout []byte
	stderr string // the end of it, at most maxStderr bytes
	exit   int
}

// maxStderr is how much we read of what a program prints besides its reply.
const maxStderr = 64 << 10

// do runs the program until it ends. It keeps standard output separate, at most MaxReply bytes. An exit status is no
// error; the errors are *Error, and the context's.
func (r run) do(ctx context.Context) (output, error) {
	scratch, err := process.Scratch()
	if err != nil {
		return output{}, err
	}
	defer os.RemoveAll(scratch)
	// The shell redirects standard error, so that it does not mix with a reply.
	errFile := filepath.Join(scratch, "stderr")
	log := newLog(r.log, r.secrets)
	var stdout bytes.Buffer
	ran, err := process.Run(ctx, process.Command{
		Line: "{ " + r.line + "\n} 2>" + shell.Quote(errFile), Dir: r.dir, Env: r.environ, Stdin: r.stdin,
		Timeout: r.timeout,
		// Half of MaxOutput is kept from each end, so twice MaxTotal drops nothing.
		Output: io.MultiWriter(&stdout, log), MaxOutput: 2 * MaxReply, MaxTotal: MaxReply,
	})
	if err != nil {
		return output{}, &Error{Reason: Unavailable, Message: err.Error(), ExitCode: -1}
	}
	out := output{stdout: stdout.Bytes(), stderr: string(process.ReadEnd(errFile, maxStderr)), exit: ran.ExitCode}
	io.WriteString(log, out.stderr)
	log.Close()
	failure := &Error{ExitCode: ran.ExitCode, LogTail: out.tail()}
	switch ran.Reason {
	case process.Exited:
		return out, nil
	case process.Interrupted:
		return out, fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case process.TimedOut:
		failure.Reason, failure.Message = TimedOut, fmt.Sprintf("stopped after %s without a reply",
			r.timeout.Round(time.Millisecond))
		failure.Hint = "the agent's timeout sets the limit"
	case process.OutputLimit:
		failure.Reason, failure.Message = Malformed, "stopped because its output was "+tooLarge
	default:
		failure.Reason, failure.Message = Failed, fmt.Sprintf("ended by a signal (%s)", ran.Signal)
	}
	return out, failure
}

// tail is the end of the program's messages, or of its output if it has none, fit to be shown.
func (o output) tail() string {
	s := strings.TrimSpace(o.stderr)
	if s == "" {
		s = string(o.stdout[max(0, len(o.stdout)-process.MaxTail):])
	}
	s = strings.TrimSpace(process.Printable([]byte(s)))
	if len(s) > process.MaxTail {
		s = strings.ToValidUTF8(s[len(s)-process.MaxTail:], "")
	}
	return s
}

// failed is the error of a program that gave no reply and did not say why in its own format.
func (o output) failed(reason Reason, what string) *Error {
	e := &Error{Reason: reason, Message: fmt.Sprintf("%s, exit status %d", what, o.exit), ExitCode: o.exit,
		LogTail: o.tail()}
	if end := lastLine(o.tail()); end != "" {
		e.Message += ": " + end
	}
	return e
}

// crashed is failed of a vendor's agent, whose last words may say that its service is away.
func (o output) crashed(what string) *Error {
	e := o.failed(Failed, what)
	e.Reason = reasonOf(0, e.Message)
	return e
}

// lastLine is the last line with text: a program written for people ends with the line to show.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// line is the command line that runs a program with arguments.
func line(program string, args []string) string {
	return strings.Join(append([]string{shell.Quote(program)}, each.Of(args, shell.Quote)...), " ")
}

// logWriter passes on whole lines, without secrets and control characters, up to a number of bytes.
type logWriter struct {
	out     io.Writer
	secrets secret.Mask
	left    int
	line    []byte
	long    bool // the line is left out
}

// Limits of a log, in bytes, and of its lines. A longer line is left out: a cut through a secret would hide that.
const (
	maxLog  = 1 << 20
	maxLine = 64 << 10
)

func newLog(out io.Writer, secrets secret.Mask) *logWriter {
	return &logWriter{out: out, secrets: secrets, left: maxLog}
}

// Write never fails: a log that can't be written does not end the work.
func (w *logWriter) Write(p []byte) (int, error) {
	if w.out == nil || w.left <= 0 {
		return len(p), nil
	}
	for part := range bytes.Lines(p) {
		w.line = append(w.line, part...)
		if w.long = w.long || len(w.line) > maxLine; w.long {
			w.line = w.line[:0]
		}
		if bytes.HasSuffix(part, []byte("\n")) {
			w.Close()
		}
	}
	return len(p), nil
}

// Close ends a line, and writes it.
func (w *logWriter) Close() {
	if w.long {
		w.line = append(w.line, fmt.Sprintf("[... a line of more than %d KiB is not logged ...]\n", maxLine>>10)...)
	}
	text := process.Printable([]byte(w.secrets.Text(string(w.line))))
	if w.line, w.long = w.line[:0], false; w.out == nil || w.left <= 0 {
		return
	}
	if len(text) > w.left {
		text = strings.ToValidUTF8(text[:w.left], "") + "\n[... the rest is not logged ...]\n"
		w.left = 0
	}
	w.left -= len(text)
	io.WriteString(w.out, text)
}
