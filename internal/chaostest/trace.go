package chaostest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// ErrNoTrace says that this program can't stop another one at each of its calls here.
var ErrNoTrace = errors.New("calls of the system can't be traced here: that needs Linux on amd64, and the right to")

// Victim says which processes to kill at a call.
type Victim int

// Which processes to kill. If only the program dies its children go on, as after a `kill -9` of one process; everybody
// dies at once when the machine runs out of memory or loses power.
const (
	Nobody    Victim = iota
	Everybody        // the program and all that it started
	Program          // the program, without its children
	Caller           // the process that makes the call, possibly a child
)

func (v Victim) String() string {
	return [...]string{"nobody", "everybody", "program", "caller"}[v]
}

// Call is a system call that changes files, or makes a change durable, before it happens. Calls that only read are left
// out: the disk does not change between the others.
type Call struct {
	N     int      // from 1, over all processes
	PID   int      // of the process, not of the thread
	Main  bool     // made by the program itself, not by a child
	Name  string   // the system's name of the call, without the variants that take a directory
	Paths []string // its files; for a descriptor, the file behind it
	Waits bool     // sync_file_range: waits until the data is written
	Err   syscall.Errno
}

// String formats the call for people.
func (c Call) String() string {
	who := "child"
	if c.Main {
		who = "program"
	}
	s := fmt.Sprintf("%d: %s %s(%s)", c.N, who, c.Name, strings.Join(c.Paths, ", "))
	if c.Err != 0 {
		s += ": " + c.Err.Error()
	}
	return s
}

// Fate is what happens instead of a call: processes die, or the call fails. With the zero Fate it happens normally.
type Fate struct {
	Kill Victim
	Fail syscall.Errno
}

// Traced is a program to run under trace. This process must wait for no other one meanwhile: the system reports the end
// of any child to the tracing thread.
type Traced struct {
	Path           string
	Args           []string // without the program's name
	Dir            string
	Env            []string
	Stdout, Stderr io.Writer
	Below          []string         // trace only calls on files below one of these
	Decide         func(*Call) Fate // called before each call; may be nil
	Timeout        time.Duration    // after it everybody is killed and Run fails
}

// Observed is how the traced program ended.
type Observed struct {
	Exit  int // the exit code, or -1 if it was killed
	Calls []*Call
}
