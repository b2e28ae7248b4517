// Package tool asks whether a program that a test needs works here. A name on the PATH says little: it may be a
// manager without the tool that it manages, a stub that offers to install it, or a compiler without a library.
//
// It is apart from repotest so that the tests of gitstore, on which repotest stands, can ask too.
package tool

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// probes are shell lines that a program which works gets through, in an empty directory. Any other program has to say
// its version. A $ stands for the program's path.
var probes = map[string]string{
	"bwrap":      `"$" --ro-bind / / --unshare-pid true`,
	"cc":         `echo 'int main(void) { return 0; }' >a.c && "$" -o a a.c && ./a`,
	"dash":       `"$" -c :`,
	"dot":        `echo 'digraph { a }' | "$" -Tjson0`,
	"git-shell":  `"$" -c 'git-upload-pack x' 2>&1 | grep -q fatal`, // it looks for the repository
	"go":         `"$" version`,
	"ksh":        `"$" -c :`,
	"mandoc":     `echo '.TH A 1' | "$"`,
	"mkfifo":     `"$" a`,
	"mktemp":     `"$" aXXXXXX`,
	"mksh":       `"$" -c :`,
	"node":       `"$" --test --test-reporter=spec --version`,
	"python3":    `"$" -c 'import unittest'`,
	"setpriv":    `"$" true`,
	"setsid":     `"$" true`,
	"sh":         `"$" -c :`,
	"ssh-keygen": `"$" -q -t ed25519 -N '' -C '' -f a && echo a | "$" -Y sign -f a -n git`,
	"busybox":    `"$" sh -c :`,
}

// Broken says why a program can't be used here, "" if it works. The program is a name to be looked up or a path.
func Broken(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Sprintf("%s is not here", name)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	line := cmp.Or(probes[filepath.Base(name)], `"$" --version`)
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "$", path))
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(string(out), "\n")
		return fmt.Sprintf("%s does not work here: %v: %s", path, err, first)
	}
	return ""
}

// Need returns the path of a program that works, or skips the test and says why.
func Need(t testing.TB, name string) string {
	t.Helper()
	if why := Broken(name); why != "" {
		t.Skip("skipped: " + why)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
