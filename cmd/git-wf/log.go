package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) logCommand() *cli.Command {
	return &cli.Command{
		Name:  "log",
		Usage: "show the plan's history, one line for each event",
		Description: "The same as git log --format='%h %ad %an %s' workflow/<plan>, newest first, plus the waivers of paths in the plan's\n" +
			"bundle, which are events of the policy. A task selects its own events.",
		ArgsUsage: "[TASK]",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			&cli.IntFlag{Name: "max-count", Aliases: []string{"n"}, Usage: "stop after this many events", DefaultText: "all"},
		},
		Action: e.onStore(e.log),
	}
}

// eventDocument is one element of what log --json prints.
type eventDocument struct {
	Commit   plan.OID          `json:"commit"`
	Author   string            `json:"author"`
	Time     time.Time         `json:"time"`
	Subject  string            `json:"subject"`
	Trailers map[string]string `json:"trailers"`
}

func (p printer) log(c *cli.Context, store *gitstore.Store) error {
	id, err := planID(c, store)
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
	w := bufio.NewWriter(p.stdout)
	var printErr error
	separator := "[\n  "
	show := func(entry gitstore.LogEntry) bool {
		n++
		if c.Bool("json") {
			data, err := json.Marshal(eventDocument{entry.Commit, entry.Author.Name, entry.Time, entry.Subject, entry.Trailers})
			printErr = errors.Join(printErr, err)
			fmt.Fprintf(w, "%s%s", separator, data)
			separator = ",\n  "
		} else {
			_, printErr = fmt.Fprintf(w, "%s %s %-12s %s\n", p.paint("33", fmt.Sprintf("%.8s", entry.Commit)), date(entry.Time),
				clip(plain.Line(entry.Author.Name), 12), plain.Line(entry.Subject))
			if n == 1 {
				printErr = errors.Join(printErr, w.Flush()) // somebody waits for the first line
			}
		}
		return printErr == nil && (most <= 0 || n < most)
	}
	more := true
	err = readLog(c, store, id, func(entry gitstore.LogEntry) bool {
		if task != "" && entry.Trailers["Wf-Task"] != task {
			return true
		}
		for more && len(waived) > 0 && waived[0].Time.After(entry.Time) {
			more, waived = show(waived[0]), waived[1:]
		}
		more = more && show(entry)
		return more
	})
	for err == nil && more && len(waived) > 0 {
		more, waived = show(waived[0]), waived[1:]
	}
	if c.Bool("json") {
		if n == 0 {
			fmt.Fprint(w, "[")
		}
		fmt.Fprint(w, "\n]\n")
	}
	return errors.Join(err, printErr, w.Flush())
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
