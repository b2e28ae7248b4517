package process

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Command is one command line and its limits.
type Command struct {
	Line      string        // for the shell: sh -c; on Windows that of git
	Dir       string        // working directory
	Env       []string      // the complete environment, see Environ
	Stdin     string        // standard input; if empty, the null device
	Timeout   time.Duration // after it Run stops the command; zero means never
	Grace     time.Duration // between asking the group to end and killing it; zero means DefaultGrace
	Output    io.Writer     // gets standard output and standard error together, up to MaxOutput; may be nil
	MaxOutput int64         // bytes of output to keep, half from each end; zero means DefaultMaxOutput
	MaxTotal  int64         // after that many bytes of output Run stops the command; zero means DefaultMaxTotal
}

// The limits of a Command that sets none.
const (
	DefaultGrace     = 2 * time.Second
	DefaultMaxOutput = 1 << 20
	DefaultMaxTotal  = 256 << 20
)

// drainTime limits the wait for the end of the output after the group is dead. Only a process that left the group can
// use it up: the group's output is in the pipe already.
const drainTime = 500 * time.Millisecond

// Reason says why a run ended.
type Reason string

// The reasons.
const (
	Exited      Reason = "exited"
	Signaled    Reason = "ended by a signal" // one that Run did not send
	TimedOut    Reason = "timed out"
	OutputLimit Reason = "printed too much"
	Interrupted Reason = "interrupted" // the context was cancelled
	NotStarted  Reason = "not started"
)

// Result is the outcome of a Command.
type Result struct {
	ExitCode  int           // of the main process; 128 + the signal's number if a signal ended it, -1 if it never ran
	Signal    string        // the signal that ended the main process, such as "killed"; "" if it exited
	Duration  time.Duration // until the whole group was dead
	Reason    Reason
	Tail      string // the end of the output, at most MaxTail bytes, printable: see Printable
	Dropped   int64  // bytes of output that Output did not get
	OutputErr error  // the first error of Output; it did not disturb the command
}

// Run runs the command and returns when it and everything in its process group are dead. It returns an error only if
// the command could not start; every other end is a Result. Output gets the first half of the log while the command
// runs, the rest after it ends.
func Run(ctx context.Context, c Command) (Result, error) {
	if ctx.Err() != nil {
		return Result{Reason: Interrupted, ExitCode: -1}, nil
	}
	killed, leave := enter(ctx)
	defer leave()
	begin := time.Now()
	r, err := c.start()
	if err != nil {
		return Result{Reason: NotStarted, ExitCode: -1}, fmt.Errorf("start %.80q: %w", c.Line, err)
	}
	reason := r.wait(ctx, killed, c.Timeout)
	if reason != Exited {
		r.stop(cmp.Or(c.Grace, DefaultGrace), killed)
	}
	r.finish()
	res := Result{Reason: reason, Duration: time.Since(begin), OutputErr: r.output.err}
	res.ExitCode, res.Signal = r.group.status()
	if reason == Exited {
		switch {
		case r.output.total > r.output.limit: // the end was seen before the output was read
			res.Reason = OutputLimit
		case res.Signal != "":
			res.Reason = Signaled
		}
	}
	res.Tail, res.Dropped = r.output.tail(), r.output.dropped
	return res, nil
}

// running is a command that has been started.
type running struct {
	group  *group
	output *capture
	pipe   *os.File      // the read end of its output
	stdin  *os.File      // the write end of its input, nil if it has none
	exited chan struct{} // closed when the main process has ended
	eof    chan struct{} // closed when nobody holds the output open, or nobody reads it
}

func (c Command) start() (*running, error) {
	cmd, err := shell(c.Line)
	if err != nil {
		return nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, w, w
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean our own environment, with every GIT_* variable
	}
	var in *os.File // the write end of its input
	if c.Stdin != "" {
		if cmd.Stdin, in, err = os.Pipe(); err != nil {
			out.Close()
			return nil, err
		}
	}
	g, err := startGroup(cmd)
	if in != nil {
		cmd.Stdin.(*os.File).Close()
	}
	if err != nil {
		out.Close()
		if in != nil {
			in.Close()
		}
		return nil, err
	}
	r := &running{
		group: g, pipe: out, stdin: in, exited: make(chan struct{}), eof: make(chan struct{}),
		output: newCapture(c.Output, cmp.Or(c.MaxOutput, DefaultMaxOutput),
			cmp.Or(c.MaxTotal, DefaultMaxTotal)),
	}
	go func() {
		defer close(r.eof)
		r.output.readAll(out)
	}()
	go func() {
		defer close(r.exited)
		g.awaitExit()
	}()
	if in != nil {
		go func() {
			io.WriteString(in, c.Stdin) // a command need not read its input
			in.Close()
		}()
	}
	return r, nil
}

// wait returns when the main process has ended or there is a reason to stop it.
func (r *running) wait(ctx context.Context, killed <-chan struct{}, timeout time.Duration) Reason {
	var timer <-chan time.Time
	if timeout > 0 {
		timer = time.After(timeout)
	}
	select {
	case <-r.exited:
		return Exited
	case <-ctx.Done():
		return Interrupted
	case <-killed:
		return Interrupted
	case <-timer:
		return TimedOut
	case <-r.output.over:
		return OutputLimit
	}
}

// stop asks the group to end and waits until it has ended, the grace period is over, or it must be killed. The group
// counts as ended when its main process has ended and nobody holds the output open: the signal ends a shell at once
// while the program that it runs may still clean up.
func (r *running) stop(grace time.Duration, killed <-chan struct{}) {
	r.group.terminate()
	patience := time.After(grace)
	for _, done := range []chan struct{}{r.exited, r.eof} {
		select {
		case <-done:
		case <-patience:
			return
		case <-killed:
			return
		}
	}
}

// finish kills the rest of the group and collects the rest of the output.
func (r *running) finish() {
	r.group.kill()
	<-r.exited
	r.group.reap()
	if r.stdin != nil {
		r.stdin.Close() // ends a write that nobody reads
	}
	// Pipes have no deadlines on Windows; there every descendant is in the job and dead, so the output ends anyway.
	_ = r.pipe.SetReadDeadline(time.Now().Add(drainTime))
	<-r.eof
	r.pipe.Close()
	r.output.close()
}

// killable is the state that lets somebody kill all commands of one context at once.
type killable struct {
	now     chan struct{} // closed to kill them
	once    sync.Once
	running sync.WaitGroup
}

type killableKey struct{}

// Killable returns a context whose commands die at once, with all that they started, when kill is called: for the user
// who interrupts twice. When a context is cancelled, its commands are first asked to end and get the grace period. kill
// returns when they are dead.
func Killable(ctx context.Context) (_ context.Context, kill func()) {
	k := &killable{now: make(chan struct{})}
	return context.WithValue(ctx, killableKey{}, k), func() {
		k.once.Do(func() { close(k.now) })
		k.running.Wait()
	}
}

// enter counts a command that starts; the returned function counts it out. killed is nil if the context is not
// Killable.
func enter(ctx context.Context) (killed <-chan struct{}, leave func()) {
	k, ok := ctx.Value(killableKey{}).(*killable)
	if !ok {
		return nil, func() {}
	}
	k.running.Add(1)
	return k.now, k.running.Done
}

// Scratch makes a temporary directory for work outside any repository. Package gitstore makes those for work on a
// repository.
func Scratch() (string, error) { return os.MkdirTemp("", "git-wf-") }
