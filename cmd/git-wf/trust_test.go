package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/repotest"
)

// Another system's plan is carried on with three commands at a terminal: trust asks about the lines and about the code
// that they run.
func TestTrustAsksAboutCode(t *testing.T) {
	r := repotest.New(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("tasks.md", "# Tasks: greet\n\n## Phase 1: Setup\n\n- [x] T001 Make README.md\n- [ ] T002 Greet in hello.txt\n")
	r.Git("add", ".")
	r.Git("commit", "--quiet", "-m", "first")
	r.Git("config", "wf.agent.maker.kind", "command")
	r.Git("config", "wf.agent.maker.command", `echo hello > hello.txt; echo '{"schema_version": 1, "result_type": "ARTIFACT"}'`)
	r.Git("config", "wf.executor", "maker")
	run := func(answers, line string) (code int, out, errOut string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		e := &env{stdin: strings.NewReader(answers), printer: printer{stdout: &stdout, stderr: &stderr}, dir: r.Dir,
			now: time.Now, user: user{os.Environ()}, interactive: true, origin: aPerson}
		code = e.run(t.Context(), strings.Split(line, " "))
		return code, stdout.String(), stderr.String()
	}
	code, out, errOut := run("", "plan -f tasks.md --check test${IFS}-f${IFS}hello.txt")
	if code != fault.ExitDone || !strings.HasSuffix(out, "next: git wf trust\n") {
		t.Fatalf("plan: code %d\n%s\n%s", code, out, errOut)
	}
	for _, c := range []struct{ answers, want string }{
		{"n\n", ""},
		{"y\nn\n", "next: git wf trust --code\n"},
		{"n\n", "next: git wf trust --code\n"}, // the lines are trusted by now
		{"y\n", "allowed in this repository"},
		{"", "every command line of the plan is trusted already\n"},
	} {
		_, out, errOut := run(c.answers, "trust")
		if asked := strings.Count(errOut, "[y/N]"); !strings.Contains(out, c.want) || asked != strings.Count(c.answers, "\n") {
			t.Errorf("answers %q: asked %d times\n%s\n%s", c.answers, asked, out, errOut)
		}
	}
	if _, out, errOut := run("", "run"); !strings.Contains(errOut, "ran 2 checks on v1, 0 failed") || strings.Contains(out+errOut, "trust") {
		t.Errorf("run:\n%s\n%s", out, errOut)
	}
}
