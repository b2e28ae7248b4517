package caller

import "golang.org/x/sys/unix"

// readProcess reads a process and the number of its parent. What another user runs, or what the system protects, shows
// neither its command line nor its environment.
func readProcess(pid int) (p Process, parent int, err error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return p, 0, err
	}
	p = Process{PID: pid, Name: unix.ByteSliceToString(info.Proc.P_comm[:])}
	if data, err := unix.SysctlRaw("kern.procargs2", pid); err == nil {
		p.Args, p.Environ = parseProcargs(data)
	}
	return p, int(info.Eproc.Ppid), nil
}
