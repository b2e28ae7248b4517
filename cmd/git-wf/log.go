package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
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
	l := logPrinter{printer: e.printer, w: bufio.NewWriter(e.stdout), separator: "[\n  "}
	show := func(entry gitstore.LogEntry) bool {
		said, mine := talk(entry, plan.TaskID(task))
		if !mine {
			return true
		}
		n++
		l.print(entry, said)
		if n == 1 {
			l.flush() // somebody waits for the first line
		}
		return l.err == nil && (most <= 0 || n < most)
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
	if l.json {
		if n == 0 {
			fmt.Fprint(l.w, "[")
		}
		fmt.Fprint(l.w, "\n]\n")
	}
	l.flush()
	return errors.Join(err, l.err)
}

// waiverEvents are the policy's waivers of paths in the plan's bundle, as events of the plan's log; if a task is named,
// only those of its files.
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
