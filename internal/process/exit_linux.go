package process

import "golang.org/x/sys/unix"

// awaitExit returns when the main process has ended, and does not reap it: while it is a zombie the system can't reuse
// its pid, which is also the group's, so kill can't hit an unrelated process.
func (g *group) awaitExit() {
	for {
		err := unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// reap removes the zombie and reads its status. The error repeats the status.
func (g *group) reap() { _ = g.cmd.Wait() }
