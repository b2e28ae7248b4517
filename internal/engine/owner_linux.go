package engine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// processStart is when a process began, in ticks since the boot. A zombie has ended; only its parent has not noticed.
func processStart(pid int) (string, processState) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if exists(pid) { // /proc may hide the processes of others
			return "", unknown
		}
		return "", ended
	}
	// The second field, the name in parentheses, may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const state, start = 0, 19 // counted from the third
	if len(fields) <= start {
		return "", unknown
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", ended
	}
	return fields[start], alive
}
