package gitstore

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// child is a git that stays and answers requests.
type child struct {
	packed os.FileInfo // the packed-refs file when it was started; nil if there was none, or nobody asked

	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    *tail
	started time.Time
	done    chan struct{} // closed when it has ended
}

// startChild starts git with the arguments. The child gets a process group of its own: a Ctrl-C at the terminal is
// for this program, which then ends what it has begun; git must not die in the middle of it.
func startChild(dir string, args ...string) (*child, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), gitEnv...)
	cmd.SysProcAttr = ownGroup()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), errs: &tail{}, done: make(chan struct{})}
	cmd.Stderr = c.errs
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	c.started = time.Now()
	return c, nil
}

// startRefChild starts a child that resolves refs for as long as the packed-refs file is the one that it found.
func startRefChild(dir, packedRefs string, args ...string) (*child, error) {
	packed := lstat(packedRefs) // before git reads it
	c, err := startChild(dir, args...)
	if err == nil {
		c.packed = packed
	}
	return c, err
}

// outdated reports whether another git has replaced packed-refs since the child was started. Git keeps the file's
// content in memory and looks at whole seconds, size and inode number to find out: two replacements within a second
// can give back all three, and a ref that has moved is then seen, and moved, from where it was.
func (c *child) outdated(packedRefs string) bool { return !sameFile(c.packed, lstat(packedRefs)) }

// sameFile reports whether two looks at a file's status, nil where there was none, saw the same file with nothing new in it.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func lstat(name string) os.FileInfo {
	st, err := os.Lstat(name)
	if err != nil {
		return nil
	}
	return st
}

// stop ends the child. Closing its input is what git takes for the end; the signals are for one that hangs, and
// killing, which would leave lock files behind, is the last resort.
func (c *child) stop() {
	c.in.Close()
	go func() {
		// Wait closes the pipe, so what is still in it has to be read first.
		io.Copy(io.Discard, c.out)
		c.cmd.Wait()
		close(c.done)
	}()
	for _, end := range []os.Signal{os.Interrupt, os.Kill} {
		select {
		case <-c.done:
			return
		case <-time.After(patience):
			c.cmd.Process.Signal(end)
		}
	}
	<-c.done
}

// interrupt asks the child to stop what it does now.
func (c *child) interrupt() { c.cmd.Process.Signal(os.Interrupt) }

// failure describes why the child stopped answering.
func (c *child) failure(err error) error {
	return &GitError{Args: c.cmd.Args[1:], Stderr: c.errs.String(), ExitCode: c.cmd.ProcessState.ExitCode(), Err: err}
}

// tail keeps the end of what a child writes to its standard error.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - most; extra > 0 {
		t.data = t.data[extra:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
