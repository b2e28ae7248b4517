package engine

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"gitwf/internal/plan"
)

// owner is the process that this is, as its claims name it.
type owner struct {
	host    string
	pid     int
	process string // see processName
}

func thisOwner() owner {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	o := owner{host: name, pid: os.Getpid()}
	if start, ok := processStart(o.pid); ok == alive && start != "" {
		o.process = processName(start)
	}
	return o
}

// processName tells a process from others that have the same number: on the same machine before a reboot, in another
// container that has the same host name, or later, when the number is given out again. It has four parts, of which those
// are "-" that a system does not have: the machine, its boot, the space in which process numbers count, and when the
// process began.
func processName(start string) string {
	return strings.Join([]string{machine(), boot(), pidSpace(), start}, ":")
}

// owns reports whether a claim is one of this very process.
func (o owner) owns(c plan.Claim) bool {
	return c.Host == o.host && c.PID == o.pid && c.Process == o.process
}

// gone reports whether the process that holds a claim is known to have ended: only one of this machine can be. In doubt
// it has not, and the claim holds until it expires.
func (o owner) gone(c plan.Claim) bool {
	if c.Host != o.host || c.PID <= 0 {
		return false
	}
	theirs, ours := strings.Split(c.Process, ":"), strings.Split(o.process, ":")
	if len(theirs) != 4 || len(ours) != 4 {
		return !exists(c.PID) // written by a system that can tell no more
	}
	switch {
	case theirs[1] != ours[1]:
		// Another boot: this machine before it was started again, unless it is another machine of that name. Containers
		// can be copies of one image; only outside of them is a machine's id its own.
		return theirs[0] == ours[0] && ours[0] != "-" && theirs[2] == firstPidSpace && ours[2] == firstPidSpace
	case theirs[2] != ours[2]:
		return false // in another container, whose processes can't be seen from here
	}
	start, state := processStart(c.PID)
	return state == ended || state == alive && start != theirs[3]
}

// What can be said of a process.
type processState int

const (
	unknown processState = iota // it may belong to another user, or the system does not say
	alive
	ended
)

// exists asks for a process in the way that every system knows.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // Windows finds no process that has ended
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
