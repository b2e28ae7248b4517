package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// printJSON prints the one document of a run with --json.
func (p printer) printJSON(v any) error {
	w := bufio.NewWriter(p.stdout)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return w.Flush()
}

// say prints a document with --json, else a line of text.
func (p printer) say(c *cli.Context, document any, format string, args ...any) error {
	if c.Bool("json") {
		return p.printJSON(document)
	}
	_, err := fmt.Fprintf(p.stdout, format+"\n", args...)
	return err
}

// paint colours a text on a terminal.
func (st style) paint(colour, text string) string {
	if !st.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (st style) status(s plan.Status) string {
	return st.paint(graph.ClassOf(s).Colour(), string(s))
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
