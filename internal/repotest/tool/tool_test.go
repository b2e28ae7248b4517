package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is on the PATH and does not work is not there: a manager without a toolchain, a stub, a compiler that fails.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{
		"cargo": "echo 'error: no default is configured' >&2; exit 1", "python3": "echo 'Python was not found'; exit 9",
		"cc": "exit 0", "works": "echo 1.0",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, want := range map[string]string{
		"cargo": "no default is configured", "python3": "Python was not found", "cc": "does not work here", "works": "",
		"nothing-of-the-kind": "is not here",
	} {
		if got := Broken(name); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
