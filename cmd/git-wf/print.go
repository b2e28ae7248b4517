package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/graph"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// out prints a command's result: with --json the document, else the text.
func (p printer) out(document any, text func(w io.Writer)) error {
	w := bufio.NewWriter(p.stdout)
	if !p.json {
		text(w)
		return w.Flush()
	}
	return errors.Join(writeJSON(w, "  ", document), w.Flush())
}

func writeJSON(w io.Writer, indent string, document any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(document)
}

// say is out with a line of text.
func (p printer) say(document any, format string, args ...any) error {
	return p.out(document, func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
}

// tell prints a line, unless the command prints a document.
func (p printer) tell(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.stdout, format+"\n", args...)
	}
}

// orEmpty is what JSON shows as a list, also where it is empty.
func orEmpty[T any](all []T) []T { return append([]T{}, all...) }

// paint colours a text on a terminal.
func (st style) paint(colour, text string) string {
	if !st.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (st style) status(s plan.Status) string {
	return st.paint(graph.ClassOf(s).Colour(), s.String())
}

// mark is a sign that shows a status without colour, too.
func (st style) mark(s plan.Status) string {
	class := graph.ClassOf(s)
	return st.paint(class.Colour(), class.Mark())
}

// printSome prints the first entries of a list and, by the format more, how many follow.
func printSome[T any](w io.Writer, list []T, most int, more string, one func(T)) {
	for _, v := range list[:min(len(list), most)] {
		one(v)
	}
	if rest := len(list) - most; rest > 0 {
		fmt.Fprintf(w, more, rest)
	}
}

func date(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

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
