package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// watch stays and shows how the plan changes: on a terminal as a screen with keys, for a program or a file as one
// block, or one JSON document on a line of its own, after each change.
func (e *env) watch(c *cli.Context) error {
	if c.Bool("cost") {
		return usage("--cost and --watch exclude each other")
	}
	return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
		ctx, stop := untilHungUp(c.Context)
		defer stop()
		c.Context = ctx
		var err error
		if in, out := e.wholeScreen(); in != nil && !c.Bool("json") {
			err = e.watchScreen(c, store, snap.ID, in, out)
		} else {
			err = e.watchLines(c, store, snap.ID)
		}
		if ctx.Err() != nil {
			return context.Canceled // by a signal, whatever else went wrong because of it
		}
		return err
	})
}

// wholeScreen is the terminal to take over, nil if there is none.
func (e *env) wholeScreen() (in, out *os.File) {
	in, okIn := e.stdin.(*os.File)
	out, okOut := e.stdout.(*os.File)
	if !okIn || !okOut || !e.movesCursor() || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil
	}
	return in, out
}

// asciiAlone reports whether the locale says that the terminal shows only ASCII.
func (u user) asciiAlone() bool {
	if runtime.GOOS == "windows" {
		return false // a terminal that moves its cursor there shows UTF-8
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the first that says something counts
		if value := strings.ToLower(u.getenv(name)); value != "" {
			return !strings.Contains(value, "utf-8") && !strings.Contains(value, "utf8")
		}
	}
	return true
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
			if !c.Bool("json") {
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
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return nil, err
	}
	st, err := e.standing(c, store, snap)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if c.Bool("json") {
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		err = enc.Encode(st.document())
		return out.Bytes(), err
	}
	e.printStanding(&out, st)
	return out.Bytes(), nil
}
