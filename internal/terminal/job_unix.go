//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopTime is longer than a process takes to stop after the signal.
const stopTime = 100 * time.Millisecond

func notifyJobs(c chan<- os.Signal) {
	signal.Notify(c, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH)
}

// Stops reports whether a signal of Jobs asks the program to stop.
func Stops(s os.Signal) bool { return s == syscall.SIGTSTP }

// Continues reports whether a signal of Jobs says that the program runs again.
func Continues(s os.Signal) bool { return s == syscall.SIGCONT }

// stopJob stops the whole job: git may have started the program and wait for it. It does not stop the session leader's
// group, since no shell could continue that. It sends SIGSTOP, because the runtime does not let SIGTSTP stop a program
// that has ever registered for it.
func stopJob() error {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return err
	}
	if err := unix.Kill(0, unix.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(stopTime) // the stop happens during this sleep
	return nil
}
