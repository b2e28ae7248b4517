package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
)

// firstPidSpace is the number of the PID namespace outside all containers.
const firstPidSpace = "4026531836"

// machine is derived from /etc/machine-id, which itself is confidential.
func machine() string {
	id, err := os.ReadFile("/etc/machine-id")
	if id = bytes.TrimSpace(id); err != nil || len(id) == 0 {
		return "-"
	}
	sum := sha256.Sum256(append([]byte("git wf "), id...))
	return hex.EncodeToString(sum[:6])
}

func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id = bytes.TrimSpace(id); err != nil || len(id) == 0 {
		return "-"
	}
	return string(id)
}

func pidSpace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	number, ok := strings.CutPrefix(link, "pid:[")
	if err != nil || !ok {
		return "-"
	}
	return strings.TrimSuffix(number, "]")
}

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
