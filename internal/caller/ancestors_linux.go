package caller

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Look reads a process and the number of its parent. The environment of another user's can't be read.
func Look(pid int) (p Process, parent int, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return p, 0, err
	}
	// The second field, the name in parentheses, may hold anything.
	text := string(stat)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, 0, fmt.Errorf("%sstat has no name", dir)
	}
	const state, ppid, start = 0, 1, 19 // counted from behind the name
	fields := strings.Fields(text[end+1:])
	if len(fields) <= start {
		return p, 0, fmt.Errorf("%sstat is too short", dir)
	}
	parent, err = strconv.Atoi(fields[ppid])
	p = Process{PID: pid, Name: text[open+1 : end], Args: readList(dir + "cmdline"), Environ: readList(dir + "environ"),
		Start: fields[start], Ended: strings.Contains("ZX", fields[state])}
	return p, parent, err
}

// readList reads a file whose entries end with a zero byte; nil if it can't be read.
func readList(name string) []string {
	data, err := os.ReadFile(name)
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
