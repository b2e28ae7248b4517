// Package shell writes text so that a POSIX shell takes it as one word, whatever is in it: names of files and of refs
// come from anywhere. How the shell's text is read is internal/plan's part, docs/tasks.md says as what.
package shell

import "strings"

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
