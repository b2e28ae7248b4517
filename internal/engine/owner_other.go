//go:build !linux && !darwin && !windows

package engine

// processStart can't tell when a process began.
func processStart(pid int) (string, processState) {
	if exists(pid) {
		return "", unknown
	}
	return "", ended
}
