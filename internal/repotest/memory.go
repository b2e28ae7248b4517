package repotest

import (
	"fmt"
	"os"
	"testing"
)

// InMemory runs a package's tests with their temporary directories in memory, where the machine has room for that: most
// of a repository's life in a test is files that are made and removed again. TMPDIR, if it is set, has the last word.
// The packages that test what a disk does (gitstore, the order of chaostest) don't use it.
type InMemory struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (m InMemory) Run() (code int) {
	if os.Getenv("TMPDIR") != "" {
		return m.M.Run()
	}
	dir := memory()
	if dir == "" {
		return m.M.Run()
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	os.Setenv("TMPDIR", dir)
	return m.M.Run()
}
