//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// group is a command and every descendant that stayed in its process group.
//
// It does not use Pdeathsig, which would end the command when we are killed: Linux sends that signal when the thread
// that started the child ends, and the Go runtime decides when that is.
type group struct {
	cmd *exec.Cmd
}

// shell returns the command for a line. The shell's path is fixed, so no directory in PATH can replace it.
func shell(line string) (*exec.Cmd, error) {
	return exec.Command("/bin/sh", "-c", line), nil
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd}, nil
}

// terminate asks every process of the group to end.
func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill kills every process of the group.
func (g *group) kill() { g.signal(syscall.SIGKILL) }

// signal ignores errors: usually the group is already empty, and nothing can be done about the others, such as a
// descendant that runs as another user.
func (g *group) signal(s syscall.Signal) {
	_ = syscall.Kill(-g.cmd.Process.Pid, s)
}

// status returns the main process's exit code and the name of the signal that ended it. Only valid after reap.
func (g *group) status() (int, string) {
	if g.cmd.ProcessState == nil {
		return -1, ""
	}
	if w, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), w.Signal().String()
	}
	return g.cmd.ProcessState.ExitCode(), ""
}
