package gitstore

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// child is a long-running git that answers requests.
type child struct {
	packed os.FileInfo // the packed-refs file at the start; nil if there was none, or nobody asked

	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    bytes.Buffer
	started time.Time
	done    chan struct{} // closed when the process has ended
}

// startChild starts git with the arguments, in a process group of its own. Ctrl-C at the terminal reaches only this
// program, which then finishes what it began; git must not die in the middle of that.
func startChild(dir string, args ...string) (*child, error) {
	cmd := exec.Command("git", args...)
	// else a list is written line by line
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), gitEnv...), "GIT_FLUSH=0")
	cmd.SysProcAttr = ownGroup()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), done: make(chan struct{})}
	cmd.Stderr = &c.errs
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	c.started = time.Now()
	return c, nil
}

// lasting is a child that resolves refs and serves as long as packed-refs is the file that it found.
type lasting struct {
	s  *Store
	mu sync.Mutex
	c  *child // nil before the first request
}

// start starts the child unless it runs already.
func (l *lasting) start(args ...string) error {
	if l.c != nil {
		return nil
	}
	packed := lstat(l.s.packedRefs()) // before git reads it
	c, err := startChild(l.s.dir, args...)
	if err == nil {
		c.packed, l.c = packed, c
	}
	return err
}

func (l *lasting) drop() {
	if l.c != nil {
		l.c.stop()
		l.c = nil
	}
}

func (l *lasting) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

// outdated reports whether another git has replaced packed-refs since the child started. Git caches the file and
// compares only whole seconds, size and inode number: two replacements within a second can match in all three. Git then
// sees, and moves, a ref from its old value.
func (l *lasting) outdated() bool { return !sameFile(l.c.packed, lstat(l.s.packedRefs())) }

// sameFile reports whether two stats, nil for no file, describe the same unchanged file.
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

// stop ends the child, which ends when its input does. Killing one that hangs leaves its lock files.
func (c *child) stop() {
	c.in.Close()
	go func() {
		// Wait closes the pipe, so first read what is left in it.
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

// interrupt asks the child to stop its current work.
func (c *child) interrupt() { c.cmd.Process.Signal(os.Interrupt) }

// failure describes why the child, which has ended, stopped answering.
func (c *child) failure(err error) error {
	return &GitError{Args: c.cmd.Args[1:], Stderr: c.errs.String(), ExitCode: c.cmd.ProcessState.ExitCode(), Err: err}
}
