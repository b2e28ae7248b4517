package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// teller finds out what an event says, and whether it belongs to a task, "" for any.
type teller func(entry gitstore.LogEntry, task plan.TaskID) (said []export.Said, belongs bool)

// teller reads the events of a plan with roles as a conversation. Of any other plan, and of one whose records can't be
// read, they say what their subjects say.
func (p printer) teller(ctx context.Context, store *gitstore.Store, id plan.ID) (teller, error) {
	about := func(e gitstore.LogEntry, task plan.TaskID) bool {
		return task == "" || e.Trailers["Wf-Task"] == string(task) || e.Trailers["Wf-Event"] == plan.EventPolicy
	}
	subjects := func(e gitstore.LogEntry, task plan.TaskID) ([]export.Said, bool) { return nil, about(e, task) }
	snap, err := store.Snapshot(ctx, id)
	if err != nil {
		return subjects, ctx.Err() // the log is what is read to find out why
	}
	talk := export.TalkOf(ctx, store, snap)
	if talk == nil {
		return subjects, nil
	}
	var commits []plan.OID
	if err := store.LogFrom(ctx, id, snap.Commit, func(e gitstore.LogEntry) bool {
		commits = append(commits, e.Commit)
		return true
	}); err != nil {
		return nil, err
	}
	added, err := store.Added(ctx, commits)
	return func(e gitstore.LogEntry, task plan.TaskID) ([]export.Said, bool) {
		said := talk.Tell(e, added[e.Commit])
		if !about(e, task) {
			said = slices.DeleteFunc(said, func(s export.Said) bool { return s.Task != task })
		}
		return said, len(said) > 0
	}, err
}

// logPrinter prints the events of a log as they are found.
type logPrinter struct {
	printer
	w         *bufio.Writer
	separator string // before the next element
	err       error
}

// mostSaid is how many columns of what somebody said a line shows.
const mostSaid = 200

func (l *logPrinter) print(e gitstore.LogEntry, said []export.Said) {
	if l.json {
		data, err := json.Marshal(eventDocument{e.Commit, e.Author.Name, e.Time, e.Subject, e.Trailers, said})
		l.err = errors.Join(l.err, err)
		fmt.Fprintf(l.w, "%s%s", l.separator, data)
		l.separator = ",\n  "
		return
	}
	begin := fmt.Sprintf("%s %s ", l.paint("33", fmt.Sprintf("%.8s", e.Commit)), date(e.Time))
	if said == nil {
		_, err := fmt.Fprintf(l.w, "%s%-12s %s\n", begin, clip(plain.Line(e.Author.Name), 12), plain.Line(e.Subject))
		l.err = errors.Join(l.err, err)
	}
	for _, s := range said {
		_, err := fmt.Fprintf(l.w, "%s%s\n", begin, clip(s.String(), mostSaid))
		l.err = errors.Join(l.err, err)
		begin = strings.Repeat(" ", len("01234567 2006-01-02 15:04 "))
	}
}

func (l *logPrinter) flush() { l.err = errors.Join(l.err, l.w.Flush()) }
