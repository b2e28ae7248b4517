package chaostest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// ErrNoTrace says that there is no way, or none that is known here, to stop a program at each of its calls.
var ErrNoTrace = errors.New("calls of the system can't be traced here: that needs Linux on amd64, and the right to")

// Victim is who is killed at a call.
type Victim int

// Who is killed. A program that is killed alone leaves its children behind, which go on as after an `kill -9` of one
// process; everybody dies at once when the machine runs out of memory, or out of power.
const (
	Nobody    Victim = iota
	Everybody        // the program and all that it started
	Program          // the program that was started, and not its children
	Caller           // the process that makes the call, which may be a child
)

func (v Victim) String() string {
	return [...]string{"nobody", "everybody", "program", "caller"}[v]
}

// Call is one system call that changes files, or makes a change durable, before it is carried out. Those that only
// read are left out: what is on disk does not change between them.
type Call struct {
	N     int      // from 1, over all processes
	PID   int      // of the process, not of the thread
	Main  bool     // made by the program that was started, not by a child
	Name  string   // the system's name of the call, without the variants that take a directory
	Paths []string // the files it is about; of a descriptor the file behind it
	Waits bool     // sync_file_range: until the data has arrived
	Err   syscall.Errno
}

// String is the call as a person would write it down.
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

// Fate is what happens instead of a call: somebody is killed, or it fails. The zero Fate lets it happen.
type Fate struct {
	Kill Victim
	Fail syscall.Errno
}

// Traced is a program to run under observation, while this process waits for no other one: the system hands over the end
// of any child of the thread that observes.
type Traced struct {
	Path           string
	Args           []string // without the program's name
	Dir            string
	Env            []string
	Stdout, Stderr io.Writer
	Below          []string         // only calls about files below one of these are seen
	Decide         func(*Call) Fate // asked before each call; may be nil
	Timeout        time.Duration    // after which everybody is killed and Run fails
}

// Observed is how it ended.
type Observed struct {
	Exit  int // the exit code, or -1 if it was killed
	Calls []*Call
}
