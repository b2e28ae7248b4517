// Package shell writes text so that a POSIX shell takes it as one word, whatever is in it: names of files and of refs
// come from anywhere. How the shell's text is read is internal/plan's part, docs/tasks.md says as what. It also finds
// the variables of an environment.
package shell

import (
	"runtime"
	"slices"
	"strings"
)

// Getenv is the value of a variable in an environment, "" if it has none; the last one wins, as for a process.
func Getenv(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		k, v, ok := strings.Cut(kv, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v
		}
	}
	return ""
}

// Quote is s as one word, always in quotes.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Word is s as one word, in quotes only where it needs them.
func Word(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,=^"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return Quote(s)
}
