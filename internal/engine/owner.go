package engine

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"gitwf/internal/plan"
)

// owner is this process, as its claims name it.
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

// processName tells a process from others with the same number: on the same machine before a reboot, in another
// container with the same host name, or later, when the number is reused. It has four parts, "-" for those that a
// system lacks: the machine, its boot, the PID namespace, and the time when the process began.
func processName(start string) string {
	return strings.Join([]string{machine(), boot(), pidSpace(), start}, ":")
}

// owns reports whether a claim belongs to this very process.
func (o owner) owns(c plan.Claim) bool {
	return c.Host == o.host && c.PID == o.pid && c.Process == o.process
}

// find says whether the process of a claim lives, which only that of a process of this machine can be
// known.
func (o owner) find(c plan.Claim) processState {
	if c.Host != o.host || c.PID <= 0 {
		return unknown
	}
	theirs, ours := strings.Split(c.Process, ":"), strings.Split(o.process, ":")
	if len(theirs) != 4 || len(ours) != 4 { // written by a system that can't tell more
		if exists(c.PID) {
			return unknown
		}
		return ended
	}
	switch {
	case theirs[1] != ours[1]:
		// Another boot: this machine before a reboot, unless it is another machine of that name. Containers can be
		// copies of one image, so a machine's id is unique only outside of them.
		if theirs[0] == ours[0] && ours[0] != "-" && theirs[2] == firstPidSpace && ours[2] == firstPidSpace {
			return ended
		}
		return unknown
	case theirs[2] != ours[2]:
		return unknown // in another container, whose processes we can't see
	}
	start, state := processStart(c.PID)
	if state == alive && start != theirs[3] {
		return ended
	}
	return state
}

// What is known of a process.
type processState int

const (
	unknown processState = iota // it may belong to another user, or the system does not say
	alive
	ended
)

// exists looks for a process in the way that every system supports.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // Windows finds no process that has ended
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
