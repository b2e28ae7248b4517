package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
	"gitwf/internal/watch"
)

// untilHungUp is a context that also ends by the signals that would kill the program without restoring the terminal.
func untilHungUp(ctx context.Context) (context.Context, func()) {
	signals := []os.Signal{syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, signals...)
}

// watcher shows a plan on the whole screen. One goroutine draws and takes keys; others do what takes long, one at a
// time, and hand back a function that shows the result.
type watcher struct {
	*env
	c      *cli.Context
	store  *gitstore.Store
	id     plan.ID
	screen *terminal.Screen
	model  *watch.Model

	reading sync.Mutex  // for the store, which one goroutine uses at a time
	found   chan func() // run by the goroutine that draws
	busy    bool        // the plan is being read
	again   bool        // and has to be read once more

	deciding sync.WaitGroup
	late     string // the result of a decision that ended after the screen was left
}

func (e *env) watchScreen(c *cli.Context, store *gitstore.Store, id plan.ID, in, out *os.File) (err error) {
	ctx, stop := context.WithCancel(c.Context)
	w := &watcher{env: e, c: c, store: store, id: id, model: &watch.Model{ASCII: e.asciiAlone()}, found: make(chan func())}
	defer func() {
		stop()
		if w.deciding.Wait(); w.late != "" {
			fmt.Fprintln(e.stdout, w.late)
		}
	}()
	over, err := w.overview(ctx) // before taking the screen, so that an error can be read
	if err != nil {
		return err
	}
	w.model.Show(over)
	if w.screen, err = terminal.Open(in, out); w.screen != nil {
		defer func() {
			if closeErr := w.screen.Close(); err == nil {
				err = closeErr
			}
		}()
	}
	if err != nil {
		return err
	}
	return w.loop(ctx, terminal.Keys(in), gitstore.Changes(ctx, func() gitstore.Pulse { return store.Pulse(id) }))
}

func (w *watcher) loop(ctx context.Context, keys <-chan terminal.Key, moved <-chan struct{}) error {
	tick := time.NewTicker(time.Second) // the time that work has taken; and sizes, where no signal tells of them
	defer tick.Stop()
	for {
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case k, open := <-keys:
			if !open {
				return nil // the terminal is gone
			}
			if leave, err := w.press(ctx, k); leave || err != nil {
				return err
			}
		case s := <-w.screen.Jobs():
			if err := w.job(ctx, s); err != nil {
				return err
			}
		case f := <-w.found:
			f()
		case <-moved:
			w.refresh(ctx)
		case <-tick.C:
		}
	}
}

func (w *watcher) draw() error {
	columns, rows := w.screen.Size()
	lines := w.model.Lines(columns, rows, w.now())
	drawn := make([]string, len(lines))
	for i, l := range lines {
		drawn[i] = watch.Render(l, columns, w.colour)
	}
	return w.screen.Draw(drawn, columns, rows)
}

func (w *watcher) press(ctx context.Context, k terminal.Key) (leave bool, err error) {
	wish := w.model.Press(k)
	switch {
	case wish.Leave && k == terminal.Interrupt:
		return true, context.Canceled
	case wish.Leave:
		return true, nil
	case wish.Pause:
		return false, w.pause(ctx)
	case wish.Redraw:
		w.screen.Forget()
		w.refresh(ctx)
	case wish.Open != nil:
		w.open(ctx, *wish.Open, false)
	case wish.Decide != nil:
		w.decide(ctx, *wish.Decide)
	}
	return false, nil
}

func (w *watcher) job(ctx context.Context, s os.Signal) error {
	switch {
	case terminal.Stops(s):
		return w.pause(ctx)
	case terminal.Continues(s):
		return w.screen.Take()
	}
	return nil
}

// pause stops the program until it is continued, unless it is ending.
func (w *watcher) pause(ctx context.Context) error {
	if err := w.screen.Pause(); err != nil || ctx.Err() != nil {
		return err
	}
	return w.screen.Take()
}

// aside runs f in the background, and what f returns in the goroutine that draws. A panic moves there, too, so that the
// terminal is restored first.
func (w *watcher) aside(ctx context.Context, f func() func()) {
	go func() {
		var then func()
		func() {
			defer func() {
				if p := recover(); p != nil {
					text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
					then = func() { panic(text) }
				}
			}()
			then = f()
		}()
		select {
		case w.found <- then:
		case <-ctx.Done():
		}
	}()
}

// refresh reads the plan anew, and the pages that are open.
func (w *watcher) refresh(ctx context.Context) {
	if w.busy {
		w.again = true
		return
	}
	w.busy = true
	w.aside(ctx, func() func() {
		over, err := w.overview(ctx)
		return func() {
			w.busy = false
			if err != nil {
				w.model.Say(plain.Line(err.Error()))
			} else {
				w.model.Show(over)
				for _, want := range w.model.Wanted() {
					w.open(ctx, want, true)
				}
			}
			if w.again {
				w.again = false
				w.refresh(ctx)
			}
		}
	})
}

// open fills a page, or updates one that is there.
func (w *watcher) open(ctx context.Context, want watch.Want, there bool) {
	if want.Kind == 0 {
		return
	}
	w.aside(ctx, func() func() {
		page, err := w.page(ctx, want)
		return func() {
			switch {
			case err != nil && !there:
				w.model.Say(plain.Line(err.Error()))
			case err == nil && there:
				w.model.Update(page)
			case err == nil:
				w.model.Open(page)
			}
		}
	})
}

// decide records a review with the command of the command line. What the form says becomes part of a flag or stands
// after "--", so that nothing of it is taken for a flag. Leaving the screen meanwhile does not undo it.
func (w *watcher) decide(ctx context.Context, d watch.Decision) {
	args := []string{"review", "--plan=" + string(w.id), "--reject", "--artifact=" + d.Version}
	if d.Approve {
		args[2] = "--approve"
	}
	for _, r := range d.Rulings {
		word := r.Word
		if r.Evidence != "" {
			word += ":" + r.Evidence
		}
		args = append(args, "--criterion="+r.Criterion+"="+word)
	}
	if d.Message != "" {
		args = append(args, "--message="+d.Message)
	}
	args = append(args, "--", string(d.Task))
	w.deciding.Add(1)
	w.aside(ctx, func() func() {
		defer w.deciding.Done()
		o := w.asCommand(context.WithoutCancel(ctx), args)
		said := plain.Text(o.Output)
		if ctx.Err() != nil {
			w.late = said
		}
		return func() {
			if o.OK {
				said, _, _ = strings.Cut(said, "\n") // what comes next is to be seen
				w.model.Decided(d.Task)
			}
			w.model.Say(said)
			w.refresh(ctx)
		}
	})
}
