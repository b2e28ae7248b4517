//go:build !linux && !darwin && !windows

package engine

const firstPidSpace = "-"

func machine() string  { return "-" }
func boot() string     { return "-" }
func pidSpace() string { return "-" }

// processStart can't tell when a process began.
func processStart(pid int) (string, processState) {
	if exists(pid) {
		return "", unknown
	}
	return "", ended
}
