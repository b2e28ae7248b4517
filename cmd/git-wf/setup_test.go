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
	"gitwf/templates"
)

// At a terminal it asks, and only a yes writes.
func TestSetupAsks(t *testing.T) {
	r := repotest.New(t)
	for answer, want := range map[string]int{"n\n": fault.ExitWaiting, "": fault.ExitWaiting, "y\n": fault.ExitDone} {
		var out, errs bytes.Buffer
		e := &env{stdin: strings.NewReader(answer), printer: printer{stdout: &out, stderr: &errs}, dir: r.Dir, now: time.Now,
			user: user{os.Environ()}, program: "git-wf", interactive: true, origin: aPerson}
		if code := e.run(t.Context(), []string{"setup", "cursor"}); code != want || !strings.Contains(errs.String(), "? [y/N] ") {
			t.Errorf("%q: exit code %d, expected %d\n%s", answer, code, want, errs.String())
		}
		name := filepath.Join(r.Dir, ".cursor", "mcp.json")
		if _, err := os.Stat(name); (err == nil) != (want == fault.ExitDone) {
			t.Errorf("%q: %v", answer, err)
		}
		if want == fault.ExitDone {
			if code := e.run(t.Context(), []string{"setup", "cursor", "--remove", "--yes"}); code != fault.ExitDone {
				t.Errorf("--remove: exit code %d\n%s", code, errs.String())
			}
		}
	}
}

// What a person decides, an agent's program does not run without asking.
func TestSetupDenies(t *testing.T) {
	data, err := templates.FS.ReadFile("setup/claude/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range rules {
		if r.person == "*" && name != "policy" && !strings.Contains(string(data), `"Bash(git wf `+name+`:*)"`) {
			t.Errorf("git wf %s is a person's, and not denied", name)
		}
	}
	for _, c := range (&env{}).policyCommand().Subcommands {
		if rules["policy "+c.Name].person == "" && !strings.Contains(string(data), `"Bash(git wf policy `+c.Name+`:*)"`) &&
			c.Name != "show" && c.Name != "log" {
			t.Errorf("git wf policy %s is a person's, and not denied", c.Name)
		}
	}
}
