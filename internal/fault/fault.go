// Package fault says how a command ends because of an error: with which exit code, and with which hint. The error
// itself knows both, where it is made; the command line only prints them.
//
// docs/format.md lists the exit codes.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
)

// The exit codes.
const (
	ExitDone         = 0
	ExitRefused      = 1   // the gate said no, a task failed
	ExitUsage        = 2   // wrong usage, bad input
	ExitWaiting      = 3   // a person has to act
	ExitPerson       = 4   // a person decides this, and it was no person who tried
	ExitNoRepository = 128 // as git itself
	ExitInterrupted  = 130
)

// UpgradeHint says what to do about what a newer program has written.
const UpgradeHint = "install a newer git wf (git wf --version says which this is)"

// Fault is an error that knows how the command ends because of it.
type Fault interface {
	error
	// Exit returns the exit code and the command that mends it, "" if there is none.
	Exit() (code int, hint string)
}

// Error is a Fault with nothing in it that a program would ask for.
type Error struct {
	Code int
	Hint string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Exit returns the fields.
func (e *Error) Exit() (int, string) { return e.Code, e.Hint }

// Usage is the error of a command that was called wrongly or given bad input. The text is made as by fmt.Errorf.
func Usage(hint, format string, args ...any) error {
	return &Error{ExitUsage, hint, fmt.Errorf(format, args...)}
}

// Refused is the error of what must not be done, or has failed.
func Refused(hint, format string, args ...any) error {
	return &Error{ExitRefused, hint, fmt.Errorf(format, args...)}
}

// Waiting is the error of a command that can't go on without a person.
func Waiting(hint, format string, args ...any) error {
	return &Error{ExitWaiting, hint, fmt.Errorf(format, args...)}
}

// Line is the text of an error, with what mends it.
func Line(err error) string {
	text := err.Error()
	if f, ok := errors.AsType[Fault](err); ok {
		_, hint := f.Exit()
		text += ": " + hint
	}
	return text
}

// Reason is an error without the name of a file, which the message has.
func Reason(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
