package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gitwf/internal/fault"
)

// Of several agents the user takes one on a terminal, and is asked once. An empty answer takes the first, another name
// is asked again; another program than that of who does the work reviews it.
func TestAsksForAgent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts")
	}
	isolateGit(t)
	tools := t.TempDir()
	for _, name := range []string{"claude", "codex"} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\nexit 1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, answers, want string }{
		{"the first", "\n", "wf.planner claude\nwf.executor claude\nwf.reviewer codex\n"},
		{"a name", "codex\n", "wf.planner codex\nwf.executor codex\nwf.reviewer claude\n"},
		{"another first", "vim\ncodex\n", "wf.planner codex\nwf.executor codex\nwf.reviewer claude\n"},
		{"nobody", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) string {
				cmd := exec.Command("git", args...)
				cmd.Dir = dir
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			git("init", "--quiet")
			git("commit", "--quiet", "--allow-empty", "-m", "first")
			var stderr bytes.Buffer
			e := &env{stdin: strings.NewReader(tt.answers), printer: printer{stdout: &stderr, stderr: &stderr}, dir: dir,
				now: time.Now, user: user{append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"),
					"CLAUDE_CODE_MAX_RETRIES=0")}, interactive: true}
			code := e.run(t.Context(), []string{"plan", "a", "letter"})
			if got := git("config", "--local", "--get-regexp", `^wf\.(planner|executor|reviewer)$`); got != tt.want {
				t.Errorf("got %q, want %q\n%s", got, tt.want, &stderr)
			}
			if asked := strings.Count(stderr.String(), "Which agent"); asked != max(strings.Count(tt.answers, "\n"), 1) {
				t.Errorf("asked %d times:\n%s", asked, &stderr)
			}
			if tt.want == "" && code != fault.ExitWaiting {
				t.Errorf("code %d\n%s", code, &stderr)
			}
		})
	}
}
