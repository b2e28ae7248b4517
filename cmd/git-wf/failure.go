package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// usage is the error of wrong usage that needs no hint.
func usage(format string, args ...any) error { return fault.Usage("", format, args...) }

// errWaiting ends a command that did what it could and now needs a person. It prints nothing.
var errWaiting = fault.Waiting("", "waiting for a person")

// errSaid ends a command with code 1 when what is wrong has been printed already.
var errSaid = fault.Refused("", "refused")

// errUnusable is errSaid for an input that can't be used: code 2.
var errUnusable = fault.Usage("", "unusable")

// explain returns the exit code and the hint of the outermost fault in err. Any other error is a refusal without a
// hint, unless the command was interrupted or the system refused a file. A *fault.Error is a verdict, which an
// interrupt does not change; an interrupt may have caused other faults.
func explain(err error) (code int, hint string) {
	var verdict *fault.Error
	var f fault.Fault
	switch {
	case errors.As(err, &verdict):
		return verdict.Exit()
	case errors.Is(err, context.Canceled):
		return fault.ExitInterrupted, "the same command goes on from there; git wf status shows where"
	case errors.As(err, &f):
		return f.Exit()
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault.ExitUsage, "look at who owns the directory, and who may write there"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EMFILE):
		return fault.ExitRefused, "df shows what room there is, ulimit -a the limits; then the same command again"
	}
	return fault.ExitRefused, ""
}

// fail prints an error the way git does and returns the exit code.
func (p printer) fail(err error) int {
	code, hint := explain(err)
	if errors.Is(err, errWaiting) || errors.Is(err, errSaid) || errors.Is(err, errUnusable) {
		return code
	}
	prefix := "error: "
	if code == fault.ExitNoRepository {
		prefix = "fatal: "
	}
	text := plain.Text(err.Error())
	if code == fault.ExitInterrupted {
		prefix, text = "", "interrupted"
	}
	for line := range strings.Lines(text) {
		fmt.Fprintln(p.stderr, prefix+strings.TrimRight(line, "\n"))
	}
	if hint != "" {
		fmt.Fprintln(p.stderr, "hint: "+plain.Text(hint))
	}
	return code
}
