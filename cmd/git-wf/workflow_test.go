package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gitwf/internal/fault"
)

// On a terminal the params that no flag sets are asked for, with the suggestion marked: an empty answer takes it, and a
// wrong one is asked again.
func TestWorkflowAsksForParams(t *testing.T) {
	isolateGit(t)
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	run := func(answers string, args ...string) (code int, out, errOut string) {
		var stdout, stderr bytes.Buffer
		e := &env{stdin: strings.NewReader(answers), printer: printer{stdout: &stdout, stderr: &stderr}, dir: dir,
			now: time.Now, user: user{os.Environ()}, interactive: true, origin: aPerson}
		code = e.run(t.Context(), append([]string{"plan", "--workflow", "brainstorm", "--dry-run", "a novel architecture"}, args...))
		return code, stdout.String(), stderr.String()
	}
	code, out, errOut := run("\n\n")
	if code != fault.ExitDone || !strings.Contains(errOut, "How thorough? [quick/deep/full*] Which angles? (technical, product") ||
		!strings.Contains(out, "IDEA-3") {
		t.Errorf("suggestions: code %d\n%s\n%s", code, out, errOut)
	}
	code, out, errOut = run("slow\nquick\nrisk\n")
	if code != fault.ExitDone || strings.Count(errOut, "How thorough?") != 2 || !strings.Contains(errOut, "mode=quick, angles=risk") ||
		strings.Contains(out, "EVAL-1") {
		t.Errorf("answers: code %d\n%s\n%s", code, out, errOut)
	}
	code, _, errOut = run("\n", "--set", "angles=risk")
	if code != fault.ExitDone || strings.Contains(errOut, "Which angles?") {
		t.Errorf("a flag: code %d\n%s", code, errOut)
	}
	if code, _, errOut = run(""); code == fault.ExitDone || !strings.Contains(errOut, "--set mode=VALUE") {
		t.Errorf("nobody answers: code %d\n%s", code, errOut)
	}
}
