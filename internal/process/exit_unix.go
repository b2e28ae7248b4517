//go:build unix && !linux

package process

// awaitExit returns when the main process has ended, and reaps it: there is no portable way to wait without. Between
// this and kill, which follows at once, the group's number is free only if no descendant is left in the group.
func (g *group) awaitExit() { _ = g.cmd.Wait() }

// reap has nothing left to do.
func (g *group) reap() {}
