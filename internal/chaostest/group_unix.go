//go:build unix

package chaostest

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command its own process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill kills a command started with ownGroup: its whole group or the program alone. Children with their own group
// survive either way, as they survive a real SIGKILL.
func kill(cmd *exec.Cmd, group bool) {
	pid := cmd.Process.Pid
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
}
