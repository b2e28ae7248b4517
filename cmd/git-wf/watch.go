package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/progress"
	"gitwf/internal/readmodel"
)

// watch stays and shows how the plan changes: on a terminal it redraws the status, and each second as long as somebody
// works; for a program or a file it prints one block, or one JSON document on a line of its own, after each change.
func (e *env) watch(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) (err error) {
	ctx, stop := untilInterrupted(c.Context, func() {})
	defer stop()
	c.Context = ctx
	var block *progress.Block
	if size := e.sizeOf(e.stdout); size != nil && !e.json {
		block = progress.NewBlock(e.stdout, size)
		defer block.Leave()
	}
	err = e.watchPlan(c, store, snap.ID, block)
	if ctx.Err() != nil {
		return context.Canceled // by a signal, whatever else went wrong because of it
	}
	return err
}

// watchPlan shows the status in a block of a terminal or, without one, prints it, whenever it is another.
func (e *env) watchPlan(c *cli.Context, store *gitstore.Store, id plan.ID, block *progress.Block) error {
	moved := gitstore.Changes(c.Context, func() gitstore.Pulse { return store.Pulse(id) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var at *readmodel.Plan
	last := ""
	for read := true; ; {
		if read {
			var err error
			if at, err = e.readNow(c, store, id); err != nil {
				return err
			}
		}
		text, err := e.watchText(at, block)
		if err == nil && text != last {
			err = e.showText(text, block)
		}
		if err != nil {
			return err
		}
		last = text
		began := time.Now()
		select {
		case <-c.Context.Done():
			return nil
		case <-moved:
			read = true
		case <-tick.C:
			read = false
		}
		if time.Since(began) > 3*time.Second && block != nil { // it was stopped, and the shell has written below
			block.Leave()
			last = ""
		}
	}
}

// watchText is the status as a program or a file gets it, or as there is room for it in a block, with who works.
func (e *env) watchText(at *readmodel.Plan, block *progress.Block) (string, error) {
	var out strings.Builder
	if e.json {
		err := writeJSON(&out, "", at)
		return out.String(), err
	}
	err := e.render(&out, "status", at)
	if block == nil || err != nil {
		return out.String(), err
	}
	err = e.render(&out, "work", workOf(at, e.now()))
	_, rows := block.Size()
	return strings.Join(someRows(strings.Split(strings.TrimRight(out.String(), "\n"), "\n"), rows), "\n"), err
}

func (e *env) showText(text string, block *progress.Block) (err error) {
	switch {
	case block != nil:
		return block.Draw(strings.Split(text, "\n"))
	case e.json:
		_, err = io.WriteString(e.stdout, text)
	default:
		_, err = fmt.Fprintf(e.stdout, "== %s\n%s\n", e.now().Local().Format(time.DateTime), text)
	}
	return err
}

// someRows cuts lines to at most so many. The end, which says what waits for whom, matters more than the middle.
func someRows(lines []string, most int) []string {
	out := len(lines) - most + 1
	if out <= 1 {
		return lines
	}
	const head = 3
	at := min(head+max(most-head, 0)/2, most-1)
	cut := fmt.Sprintf("  ... and %d more lines: git wf status", out)
	return slices.Concat(lines[:at], []string{cut}, lines[at+out:])
}

// work is a task that somebody works on.
type work struct {
	engine.ClaimState
	For, Title string
}

// workOf is who works on what, and for how long, the oldest first.
func workOf(at *readmodel.Plan, now time.Time) (all []work) {
	for _, c := range at.Claims {
		if t := at.State.Tasks[c.Task]; c.Holds && t != nil && t.Status == plan.StatusInProgress {
			all = append(all, work{c, progress.Elapsed(now.Sub(c.Started)), at.State.Subject(c.Task).Title})
		}
	}
	each.Sort(all, func(a, b work) int { return a.Started.Compare(b.Started) })
	return all
}

// readNow reads what is seen of a plan.
func (e *env) readNow(c *cli.Context, store *gitstore.Store, id plan.ID) (*readmodel.Plan, error) {
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return nil, err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return nil, err
	}
	return e.reader(eng).Read(c.Context, snap)
}
