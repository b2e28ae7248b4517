package engine

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// processStart is when a process began, in microseconds. A zombie has ended; only its parent has not noticed.
func processStart(pid int) (string, processState) {
	const zombie = 5 // SZOMB
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		if exists(pid) {
			return "", unknown
		}
		return "", ended
	}
	if info.Proc.P_stat == zombie {
		return "", ended
	}
	t := info.Proc.P_starttime
	return strconv.FormatInt(int64(t.Sec)*1e6+int64(t.Usec), 10), alive
}
