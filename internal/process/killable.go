package process

import (
	"context"
	"sync"
)

// killable is what the commands of one context have in common: that somebody may want all of them gone at once.
type killable struct {
	now     chan struct{} // closed when they are to be killed
	once    sync.Once
	running sync.WaitGroup
}

type killableKey struct{}

// Killable is a context whose commands die at once, with all that they started, when kill is called: for the user who
// asks a second time. Those of a cancelled context are asked to end first and have the grace period for it. kill returns when
// they are gone.
func Killable(ctx context.Context) (_ context.Context, kill func()) {
	k := &killable{now: make(chan struct{})}
	return context.WithValue(ctx, killableKey{}, k), func() {
		k.once.Do(func() { close(k.now) })
		k.running.Wait()
	}
}

// enter counts a command that begins; the function that it returns counts it out. killed is nil where nobody may want that.
func enter(ctx context.Context) (killed <-chan struct{}, leave func()) {
	k, ok := ctx.Value(killableKey{}).(*killable)
	if !ok {
		return nil, func() {}
	}
	k.running.Add(1)
	return k.now, k.running.Done
}
