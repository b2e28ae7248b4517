package prepare

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"gitwf/internal/plandoc"
)

// maxVariable is the size of one variable's value, in bytes. Beyond a system's limit no program starts: 128 KiB on
// Linux, 32,767 characters on Windows.
func maxVariable() int {
	if runtime.GOOS == "windows" {
		return 30_000
	}
	return 120_000
}

// maxVariables is the size of all of them.
const maxVariables = 480_000

// variables are the values of a line's references, and all earlier outputs for programs that read them. A value that is
// too long lacks its middle; the file next to it is whole.
func (r *runner) variables(referred map[string]string) []string {
	all := maps.Clone(referred)
	for name, text := range r.outputs {
		if v := plandoc.VarName(name); all[v] == "" {
			all[v] = text
		}
	}
	env := slices.Clone(r.files)
	left := maxVariables
	if runtime.GOOS == "windows" {
		left = maxVariable()
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := shortened(strings.ReplaceAll(all[name], "\x00", ""), min(left, maxVariable()))
		left -= len(value)
		env = append(env, name+"="+value)
	}
	return env
}

// shortened is a text of at most the given length. A line in place of its middle says what is missing.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	mark := fmt.Sprintf("\n[... %d bytes left out ...]\n", len(s))
	keep := most - len(mark)
	if keep <= 0 {
		return ""
	}
	head, tail := keep/2, len(s)-(keep-keep/2)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + fmt.Sprintf("\n[... %d bytes left out ...]\n", tail-head) + s[tail:]
}
