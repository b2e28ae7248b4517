package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// watch stays and shows how the plan changes: on a terminal it redraws the status; for a program or a file it prints
// one block, or one JSON document on a line of its own, after each change.
func (e *env) watch(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) (err error) {
	ctx, stop := untilInterrupted(c.Context, func() {})
	defer stop()
	c.Context = ctx
	if size := e.sizeOf(e.stdout); size != nil && !e.json {
		err = e.watchScreen(c, store, snap.ID, progress.NewBlock(e.stdout, size))
	} else {
		err = e.watchLines(c, store, snap.ID)
	}
	if ctx.Err() != nil {
		return context.Canceled // by a signal, whatever else went wrong because of it
	}
	return err
}

// watchScreen redraws the status when the plan changes, and each second as long as somebody works.
func (e *env) watchScreen(c *cli.Context, store *gitstore.Store, id plan.ID, block *progress.Block) error {
	defer block.Leave()
	moved := gitstore.Changes(c.Context, func() gitstore.Pulse { return store.Pulse(id) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var at *readmodel.Plan
	var last []string
	for read := true; ; {
		if read {
			var err error
			if at, err = e.readNow(c, store, id); err != nil {
				return err
			}
		}
		var text strings.Builder
		err := errors.Join(e.render(&text, "status", at), e.render(&text, "work", workOf(at, e.now())))
		if err != nil {
			return err
		}
		_, rows := block.Size()
		lines := someRows(strings.Split(strings.TrimRight(text.String(), "\n"), "\n"), rows)
		if !slices.Equal(lines, last) {
			if err := block.Draw(lines); err != nil {
				return err
			}
			last = lines
		}
		began := time.Now()
		select {
		case <-c.Context.Done():
			return nil
		case <-moved:
			read = true
		case <-tick.C:
			read = false
		}
		if time.Since(began) > 3*time.Second { // it was stopped, and the shell has written below the block
			block.Leave()
			last = nil
		}
	}
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

// watchLines prints the status, and again whenever it changes.
func (e *env) watchLines(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	moved := gitstore.Changes(c.Context, func() gitstore.Pulse { return store.Pulse(id) })
	var last []byte
	for {
		text, err := e.statusText(c, store, id)
		if err != nil {
			return err
		}
		if !bytes.Equal(text, last) {
			last = text
			if !e.json {
				text = fmt.Appendf(nil, "== %s\n%s\n", e.now().Local().Format(time.DateTime), text)
			}
			if _, err := e.stdout.Write(text); err != nil {
				return err
			}
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-moved:
		}
	}
}

// statusText is what git wf status prints now; as JSON, on one line.
func (e *env) statusText(c *cli.Context, store *gitstore.Store, id plan.ID) ([]byte, error) {
	p, err := e.readNow(c, store, id)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if e.json {
		err = writeJSON(&out, "", p)
	} else {
		err = e.render(&out, "status", p)
	}
	return out.Bytes(), err
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
