package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// eventDocument is one element of what log --json prints.
type eventDocument struct {
	Commit   plan.OID          `json:"commit"`
	Author   string            `json:"author"`
	Time     time.Time         `json:"time"`
	Subject  string            `json:"subject"`
	Trailers map[string]string `json:"trailers"`
	Said     []export.Said     `json:"said,omitempty"` // of a plan with roles
}

func (e *env) log(c *cli.Context, store *gitstore.Store) error {
	id, err := e.shownPlan(c, store)
	if err != nil {
		return err
	}
	task, most, n := c.Args().First(), c.Int("max-count"), 0
	if task != "" {
		snap, err := store.Snapshot(c.Context, id)
		if err != nil {
			return err
		}
		if _, err := findTask(snap.State(), task); err != nil {
			return err
		}
	}
	waived, err := waiverEvents(c.Context, store, id, task)
	if err != nil {
		return err
	}
	talk, err := e.teller(c.Context, store, id)
	if err != nil {
		return err
	}
	w, events, failed := bufio.NewWriter(e.stdout), []eventDocument{}, error(nil)
	show := func(entry gitstore.LogEntry) bool {
		said, mine := talk(entry, plan.TaskID(task))
		if !mine {
			return true
		}
		n++
		if e.json {
			events = append(events, eventDocument{entry.Commit, entry.Author.Name, entry.Time, entry.Subject,
				entry.Trailers, said})
		} else {
			_, failed = w.WriteString(e.eventText(entry, said))
		}
		if n == 1 && failed == nil {
			failed = w.Flush() // somebody waits for the first line
		}
		return failed == nil && (most <= 0 || n < most)
	}
	more := true
	err = readLog(c, store, id, func(entry gitstore.LogEntry) bool {
		for more && len(waived) > 0 && waived[0].Time.After(entry.Time) {
			more, waived = show(waived[0]), waived[1:]
		}
		more = more && show(entry)
		return more
	})
	for err == nil && more && len(waived) > 0 {
		more, waived = show(waived[0]), waived[1:]
	}
	if e.json {
		failed = writeJSON(w, "  ", events)
	}
	return errors.Join(err, cmp.Or(failed, w.Flush()))
}

// waiverEvents are the policy's waivers of files of the plan, or of one task, as events of the plan's log.
func waiverEvents(ctx context.Context, store *gitstore.Store, id plan.ID, task string) ([]gitstore.LogEntry, error) {
	policy, err := store.Policy(ctx)
	if err != nil {
		return nil, err
	}
	all, err := audit.Waivers(ctx, store, policy.Commit)
	if err != nil {
		return nil, err
	}
	var events []gitstore.LogEntry
	for _, w := range all {
		_, inside, _ := strings.Cut(w.Path, "/bundle/")
		dir, _, _ := strings.Cut(inside, "/")
		if !export.InBundle(w.Path, id) || task != "" && dir != task && !strings.HasSuffix(dir, "_"+task) {
			continue
		}
		events = append(events, gitstore.LogEntry{
			Commit: w.Commit, Author: plan.Actor{Name: w.By}, Time: w.CreatedAt, Subject: "policy: waive " + w.String(),
			Trailers: map[string]string{"Wf-Event": plan.EventPolicy},
		})
	}
	return events, nil
}

// teller finds out what an event says, and whether it belongs to a task, "" for any.
type teller func(entry gitstore.LogEntry, task plan.TaskID) (said []export.Said, belongs bool)

// teller reads the events of a plan with roles as a conversation. Others, and unreadable ones, have their subjects.
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
	if err := store.Log(ctx, id, snap.Commit, func(e gitstore.LogEntry) bool {
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

// mostSaid is how many columns of what somebody said a line shows.
const mostSaid = 200

// eventText is an event in a line, or in one for each thing that was said.
func (st style) eventText(e gitstore.LogEntry, said []export.Said) (text string) {
	begin := fmt.Sprintf("%s %s ", st.paint("33", fmt.Sprintf("%.8s", e.Commit)), date(e.Time))
	if said == nil {
		text = fmt.Sprintf("%s%-12s %s\n", begin, terminal.Clip(plain.Line(e.Author.Name), 12), plain.Line(e.Subject))
	}
	for _, s := range said {
		text += begin + terminal.Clip(s.String(), mostSaid) + "\n"
		begin = strings.Repeat(" ", len("01234567 2006-01-02 15:04 "))
	}
	return text
}
