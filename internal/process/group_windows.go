package process

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a command and its descendants: the processes of one job object. They end when the job's handle is closed, so
// also when we are killed.
type group struct {
	cmd *exec.Cmd
	job windows.Handle
}

// shell returns the command for a line: plans are written for sh, which comes with git.
func shell(line string) (*exec.Cmd, error) {
	if sh, err := exec.LookPath("sh"); err == nil {
		return exec.Command(sh, "-c", line), nil
	}
	if git, err := exec.LookPath("git"); err == nil { // Git\cmd is on PATH, but Git\bin with the shell often is not
		if sh, err := exec.LookPath(filepath.Join(filepath.Dir(git), "..", "bin", "sh.exe")); err == nil {
			return exec.Command(sh, "-c", line), nil
		}
	}
	return nil, errors.New("there is no sh on PATH, and none beside git")
}

// startGroup starts the command suspended, so that it starts nothing before it is in the job.
func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create job object: %w", err)
	}
	g := &group{cmd, job}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("limit job object: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	if err := g.adopt(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		windows.CloseHandle(job)
		return nil, err
	}
	return g, nil
}

// adopt puts the suspended process into the job and resumes it.
func (g *group) adopt() error {
	pid := uint32(g.cmd.Process.Pid)
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("open process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(g.job, process); err != nil {
		return fmt.Errorf("assign to job object: %w", err)
	}
	return resume(pid)
}

// resume resumes the only thread of a suspended process.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open thread: %w", err)
		}
		defer windows.CloseHandle(thread)
		if _, err := windows.ResumeThread(thread); err != nil {
			return fmt.Errorf("resume thread: %w", err)
		}
		return nil
	}
	return errors.New("the started process has no thread")
}

// terminate sends the only request to end that console programs know; a program without a console does not get it.
func (g *group) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.cmd.Process.Pid))
}

// kill kills every process of the job.
func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

// awaitExit returns when the main process has ended.
func (g *group) awaitExit() { _ = g.cmd.Wait() }

// reap closes the job.
func (g *group) reap() { _ = windows.CloseHandle(g.job) }

// status returns the main process's exit code; Windows has no signals.
func (g *group) status() (int, string) {
	if g.cmd.ProcessState == nil {
		return -1, ""
	}
	return g.cmd.ProcessState.ExitCode(), ""
}
