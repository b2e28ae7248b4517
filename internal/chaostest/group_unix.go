//go:build unix

package chaostest

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill kills a command that was started with ownGroup: all of its group or the program alone. Children that have a
// group of their own survive either way, as they do a real SIGKILL.
func kill(cmd *exec.Cmd, group bool) {
	pid := cmd.Process.Pid
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
}
