//go:build unix && !linux

package process

// awaitExit returns when the main process has ended, and reaps it: there is no portable way to wait without reaping.
// Between this and kill, which follows at once, the system can reuse the group's number only if no descendant is left
// in the group.
func (g *group) awaitExit() { _ = g.cmd.Wait() }

// reap does nothing: awaitExit has reaped the process.
func (g *group) reap() {}
