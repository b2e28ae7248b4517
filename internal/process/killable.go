package process

import (
	"context"
	"sync"
)

// killable is the state that lets somebody kill all commands of one context at once.
type killable struct {
	now     chan struct{} // closed to kill them
	once    sync.Once
	running sync.WaitGroup
}

type killableKey struct{}

// Killable returns a context whose commands die at once, with all that they started, when kill is called: for the user
// who interrupts twice. When a context is cancelled, its commands are first asked to end and get the grace period. kill
// returns when they are dead.
func Killable(ctx context.Context) (_ context.Context, kill func()) {
	k := &killable{now: make(chan struct{})}
	return context.WithValue(ctx, killableKey{}, k), func() {
		k.once.Do(func() { close(k.now) })
		k.running.Wait()
	}
}

// enter counts a command that starts; the returned function counts it out. killed is nil if the context is not
// Killable.
func enter(ctx context.Context) (killed <-chan struct{}, leave func()) {
	k, ok := ctx.Value(killableKey{}).(*killable)
	if !ok {
		return nil, func() {}
	}
	k.running.Add(1)
	return k.now, k.running.Done
}
