package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
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
	mark, _ := class.Mark()
	return st.paint(class.Colour(), mark)
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

// heading prints the title of a section.
func (st style) heading(w io.Writer, text string) {
	fmt.Fprintf(w, "\n%s\n", st.paint("1", text))
}

func date(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// clip cuts a text to n columns of a terminal.
func clip(s string, n int) string { return terminal.Clip(s, n, "…") }
