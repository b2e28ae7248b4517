package chaostest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer follows a program and all that it starts. Every ptrace call must come from the thread that started the
// program. A tool like strace does not help: it counts the calls of each thread separately, so "the ninth call" differs
// from run to run.
type tracer struct {
	*Traced
	main    int
	threads map[int]*thread
	calls   []*Call
	dooming bool // everybody is to die, including processes that start later

	mu   sync.Mutex
	pids map[int]bool // processes, for the watchdog
}

type thread struct {
	pid  int
	call *Call // the current one
}

// Run runs the program until it and all that it started have ended.
func (t *Traced) Run() (*Observed, error) {
	type result struct {
		o   *Observed
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		tr := &tracer{Traced: t, threads: map[int]*thread{}, pids: map[int]bool{}}
		o, err := tr.run()
		done <- result{o, err}
	}()
	r := <-done
	return r.o, r.err
}

func (t *tracer) run() (*Observed, error) {
	var outputs [2]*os.File
	for i := range outputs {
		f, err := os.CreateTemp("", "chaos-output-")
		if err != nil {
			return nil, err
		}
		defer f.Close()
		defer os.Remove(f.Name())
		outputs[i] = f
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	p, err := os.StartProcess(t.Path, append([]string{t.Path}, t.Args...), &os.ProcAttr{
		Dir: t.Dir, Env: t.Env, Files: []*os.File{null, outputs[0], outputs[1]},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if errors.Is(err, syscall.EPERM) { // in some containers
		err = fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	if err != nil {
		return nil, err
	}
	t.main = p.Pid
	late := false
	watchdog := time.AfterFunc(t.Timeout, func() {
		late = true
		t.killAll()
	})
	exit, err := t.follow()
	if !watchdog.Stop() && late {
		err = errors.Join(err, fmt.Errorf("%s %s did not end within %s", filepath.Base(t.Path), strings.Join(t.Args, " "),
			t.Timeout))
	}
	for i, w := range []io.Writer{t.Stdout, t.Stderr} {
		if w == nil {
			continue
		}
		data, readErr := os.ReadFile(outputs[i].Name())
		if readErr == nil {
			_, readErr = w.Write(data)
		}
		err = errors.Join(err, readErr)
	}
	return &Observed{Exit: exit, Calls: t.calls}, err
}

// follow resumes the program from stop to stop and returns its exit code.
func (t *tracer) follow() (exit int, err error) {
	exit = -1
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(t.main, &ws, syscall.WALL, nil); err != nil {
		return exit, fmt.Errorf("trace: %w", err)
	}
	t.know(t.main)
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK |
		syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(t.main, options); err != nil {
		return exit, fmt.Errorf("trace: %w", err)
	}
	t.resume(t.main, 0)
	for {
		// Only children of this thread: the process may have others.
		tid, err := syscall.Wait4(-1, &ws, syscall.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ECHILD):
			return exit, nil
		case err != nil:
			return exit, fmt.Errorf("trace: %w", err)
		}
		if ws.Exited() || ws.Signaled() {
			t.forget(tid)
			if tid == t.main && ws.Exited() {
				exit = ws.ExitStatus()
			}
			continue
		}
		known := t.threads[tid] != nil
		th := t.know(tid)
		if t.dooming {
			syscall.Kill(th.pid, syscall.SIGKILL)
		}
		switch sig := ws.StopSignal(); {
		case sig == syscall.SIGTRAP|0x80:
			t.atCall(tid, th)
			t.resume(tid, 0)
		case sig == syscall.SIGTRAP && ws.TrapCause() != 0, sig == syscall.SIGTRAP, sig == syscall.SIGSTOP && !known:
			t.resume(tid, 0) // a ptrace event, or the first stop of a new thread
		default:
			t.resume(tid, int(sig))
		}
	}
}

// resume lets a thread run to its next stop. If it was killed meanwhile, wait reports that.
func (t *tracer) resume(tid, sig int) { _ = syscall.PtraceSyscall(tid, sig) }

func (t *tracer) know(tid int) *thread {
	th := t.threads[tid]
	if th == nil {
		th = &thread{pid: processOf(tid)}
		t.threads[tid] = th
		t.mu.Lock()
		t.pids[th.pid] = true
		t.mu.Unlock()
	}
	return th
}

func (t *tracer) forget(tid int) {
	delete(t.threads, tid)
	t.mu.Lock()
	delete(t.pids, tid) // a process ends with its first thread
	t.mu.Unlock()
}

func (t *tracer) killAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for pid := range t.pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processOf returns the process that a thread belongs to.
func processOf(tid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return tid
	}
	_, rest, _ := strings.Cut(string(data), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return tid
	}
	return pid
}

// syscallInfo is struct ptrace_syscall_info.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	ip   uint64
	sp   uint64
	data [8]uint64 // on entry the call's number and arguments, on exit its result
}

const (
	getSyscallInfo = 0x420e
	atEntry        = 1
	atExit         = 2
)

// atCall handles a thread's entry into or exit from a call.
func (t *tracer) atCall(tid int, th *thread) {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return
	}
	switch info.op {
	case atEntry:
		t.begin(tid, th, info.data[0], info.data[1:7])
	case atExit:
		t.end(tid, th, int64(info.data[0]))
	}
}

func (t *tracer) begin(tid int, th *thread, number uint64, args []uint64) {
	c := describeCall(tid, number, args)
	if c == nil || !t.watches(c) {
		return
	}
	c.N, c.PID, c.Main = len(t.calls)+1, th.pid, th.pid == t.main
	t.calls = append(t.calls, c)
	th.call = c
	if t.Decide == nil {
		return
	}
	fate := t.Decide(c)
	if fate.Fail != 0 {
		c.Err = fate.Fail
		var regs syscall.PtraceRegs
		if syscall.PtraceGetRegs(tid, &regs) == nil {
			regs.Orig_rax = ^uint64(0) // an invalid call number
			_ = syscall.PtraceSetRegs(tid, &regs)
		}
	}
	switch fate.Kill {
	case Everybody:
		t.dooming = true
		t.killAll()
	case Program:
		syscall.Kill(t.main, syscall.SIGKILL)
	case Caller:
		syscall.Kill(th.pid, syscall.SIGKILL)
	}
}

func (t *tracer) end(tid int, th *thread, result int64) {
	c := th.call
	th.call = nil
	switch {
	case c == nil:
	case c.Err != 0:
		var regs syscall.PtraceRegs
		if syscall.PtraceGetRegs(tid, &regs) == nil {
			regs.Rax = uint64(-int64(c.Err))
			_ = syscall.PtraceSetRegs(tid, &regs)
		}
	case result < 0 && result > -4096:
		c.Err = syscall.Errno(-result)
	}
}

func (t *tracer) watches(c *Call) bool {
	for _, p := range c.Paths {
		for _, dir := range t.Below {
			if p == dir || strings.HasPrefix(p, dir+"/") {
				return true
			}
		}
	}
	return false
}
