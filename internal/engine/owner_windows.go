package engine

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// processStart is when a process began, in units of 100 nanoseconds.
func processStart(pid int) (string, processState) {
	const stillActive = 259
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return "", ended
	}
	if err != nil {
		return "", unknown
	}
	defer windows.CloseHandle(h)
	var code uint32
	if err := windows.GetExitCodeProcess(h, &code); err == nil && code != stillActive {
		return "", ended
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", unknown
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), alive
}
