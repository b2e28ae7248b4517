package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"gitwf/internal/caller"
	"gitwf/internal/plan"
)

// owner is this process, as its claims name it.
type owner struct {
	host string
	pid  int
	// process tells it from others with the same number: on the same machine before a reboot, in another container with
	// the same host name, or later, when the number is reused. It has four parts, "-" for those that a system lacks, as
	// all but Linux lack most: the machine, its boot, the PID namespace, and when the process began.
	process string
}

func thisOwner() owner {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	o := owner{host: name, pid: os.Getpid()}
	if start, ok := processStart(o.pid); ok == alive && start != "" {
		boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
		space, _ := os.Readlink("/proc/self/ns/pid")
		space = strings.TrimSuffix(strings.TrimPrefix(space, "pid:["), "]")
		o.process = strings.Join([]string{machine(), cmp.Or(string(bytes.TrimSpace(boot)), "-"), cmp.Or(space, "-"),
			start}, ":")
	}
	return o
}

// firstPidSpace is the number of the PID namespace outside all containers, on Linux.
const firstPidSpace = "4026531836"

// machine is derived from /etc/machine-id, which itself is confidential.
func machine() string {
	id, err := os.ReadFile("/etc/machine-id")
	if id = bytes.TrimSpace(id); err != nil || len(id) == 0 {
		return "-"
	}
	sum := sha256.Sum256(append([]byte("git wf "), id...))
	return hex.EncodeToString(sum[:6])
}

// owns reports whether a claim belongs to this very process.
func (o owner) owns(c plan.Claim) bool {
	return c.Host == o.host && c.PID == o.pid && c.Process == o.process
}

// find says whether the process of a claim lives, as far as that can be known: of one of this machine.
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

// processStart is when a process began. /proc may hide those of others, and some systems say nothing of any.
func processStart(pid int) (string, processState) {
	switch p, _, err := caller.Look(pid); {
	case err == nil && !p.Ended:
		return p.Start, alive
	case err != nil && exists(pid):
		return "", unknown
	}
	return "", ended
}

// exists looks for a process in the way that every system supports.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // Windows finds no process that has ended
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// sightings are the misdated claims that a run has seen. Their times mean nothing here; what counts is how long they
// have not been renewed, by the clock of the run.
type sightings struct {
	mu    sync.Mutex
	first map[plan.TaskID]sighting
}

type sighting struct {
	claim plan.Claim
	at    time.Time // when we first saw it unchanged
}

// note records the current claims.
func (s *sightings) note(claims plan.Claims, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.first, func(id plan.TaskID, old sighting) bool { return claims[id] != old.claim })
	for id, c := range claims {
		if _, known := s.first[id]; !known && c.Misdated(now) {
			s.first[id] = sighting{c, now}
		}
	}
}

// overdue reports whether we have seen a claim unchanged for longer than its owner can go without renewing it.
func (s *sightings) overdue(c plan.Claim, now time.Time, lease time.Duration) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.first[c.Task]
	longest := max(lease, min(c.Expires.Sub(c.Started), plan.MaxLease)) // the owner's lease may differ from ours
	return ok && seen.claim == c && now.Sub(seen.at) > longest
}
