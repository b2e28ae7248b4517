//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopTime is longer than it takes until a process that has been told to stop does.
const stopTime = 100 * time.Millisecond

func notifyJobs(c chan<- os.Signal) {
	signal.Notify(c, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH)
}

// Stops reports whether a signal of Jobs is the one to stop.
func Stops(s os.Signal) bool { return s == syscall.SIGTSTP }

// Continues reports whether a signal of Jobs says that the program goes on.
func Continues(s os.Signal) bool { return s == syscall.SIGCONT }

// stopJob stops this job, all of it: git may have started the program, and waits for it. The group of the session's leader
// has no shell that could go on with it, and is not stopped. SIGSTOP, because the runtime would not let SIGTSTP stop
// a program that has once asked to hear of it.
func stopJob() error {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return err
	}
	if err := unix.Kill(0, unix.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(stopTime) // the stop comes within it
	return nil
}
