package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gitwf/internal/plan"
)

// printJSON prints the one document of a run with --json.
func (e *env) printJSON(v any) error {
	w := bufio.NewWriter(e.stdout)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return w.Flush()
}

// style is how a status looks: a mark that says it without colour too, and a colour.
type style struct{ mark, colour string }

var styles = map[plan.Status]style{
	plan.StatusDone:            {"✓", "32"},
	plan.StatusReady:           {"○", "36"},
	plan.StatusInProgress:      {"▶", "34"},
	plan.StatusReadyToCheck:    {"?", "33"},
	plan.StatusToBeModified:    {"✗", "31"},
	plan.StatusPending:         {"·", "90"},
	plan.StatusAbandoned:       {"-", "90"},
	plan.StatusWaitingInput:    {"!", "35"},
	plan.StatusWaitingExternal: {"!", "35"},
}

// paint colours a text on a terminal.
func (e *env) paint(colour, text string) string {
	if !e.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (e *env) status(s plan.Status) string { return e.paint(styles[s].colour, string(s)) }

func (e *env) mark(s plan.Status) string { return e.paint(styles[s].colour, styles[s].mark) }

// heading prints the title of a section.
func (e *env) heading(w io.Writer, text string) {
	fmt.Fprintf(w, "\n%s\n", e.paint("1", text))
}

func date(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// clip cuts a text to n characters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
