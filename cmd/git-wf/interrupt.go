package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/process"
)

// oneInterrupt is how long signals are one interrupt: Ctrl-C reaches git and us, and git passes its own on to us.
const oneInterrupt = 300 * time.Millisecond

// untilInterrupted is a context that also ends when the terminal goes away, unless that signal is ignored (nohup). When
// a signal ends it, said is called; the next signal kills the started processes and ends the program at once.
func untilInterrupted(ctx context.Context, said func()) (context.Context, func()) {
	stop := func() {}
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	ctx, kill := process.Killable(ctx)
	again, ended := make(chan os.Signal, 1), make(chan struct{})
	over := context.AfterFunc(ctx, func() {
		said()
		select {
		case <-time.After(oneInterrupt):
		case <-ended:
			return
		}
		signal.Notify(again, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		select {
		case <-again:
			kill()
			os.Exit(fault.ExitInterrupted)
		case <-ended:
			signal.Stop(again)
		}
	})
	return ctx, func() {
		over() // the end of the command is not an interrupt
		close(ended)
		stop()
	}
}
