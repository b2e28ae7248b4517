package process

import "golang.org/x/sys/unix"

// awaitExit returns when the main process has ended, and leaves it unreaped: as long as it is a zombie its number, which
// is also the group's, can't be given to others, so that kill can't hit a stranger.
func (g *group) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// reap takes the zombie away and learns its status. The error says the same as the status.
func (g *group) reap() { _ = g.cmd.Wait() }
