package caller

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Look reads a process and the number of its parent. What another user runs, or what the system protects, shows neither
// its command line nor its environment.
func Look(pid int) (p Process, parent int, err error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return p, 0, fmt.Errorf("there is no process %d: %v", pid, err)
	}
	const zombie = 5 // SZOMB
	t := info.Proc.P_starttime
	p = Process{PID: pid, Name: unix.ByteSliceToString(info.Proc.P_comm[:]), Ended: info.Proc.P_stat == zombie,
		Start: strconv.FormatInt(int64(t.Sec)*1e6+int64(t.Usec), 10)}
	if data, err := unix.SysctlRaw("kern.procargs2", pid); err == nil {
		p.Args, p.Environ = parseProcargs(data)
	}
	return p, int(info.Eproc.Ppid), nil
}
