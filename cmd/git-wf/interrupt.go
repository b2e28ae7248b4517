package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"gitwf/internal/fault"
	"gitwf/internal/process"
)

// untilInterrupted is a context that ends, too, when the terminal goes away, unless that is ignored (nohup). said is
// called when it ends by a signal. Once it has, any further signal kills what has been started and ends the program, at
// once.
func untilInterrupted(ctx context.Context, said func()) (context.Context, func()) {
	stop := func() {}
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	ctx, kill := process.Killable(ctx)
	again, ended := make(chan os.Signal, 1), make(chan struct{})
	over := context.AfterFunc(ctx, func() {
		signal.Notify(again, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		said()
		select {
		case <-again:
			kill()
			os.Exit(fault.ExitInterrupted)
		case <-ended:
			signal.Stop(again)
		}
	})
	return ctx, func() {
		over() // the end of the command is no interrupt
		close(ended)
		stop()
	}
}
