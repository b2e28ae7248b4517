package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gitwf/internal/fault"
)

// claude answers as the vendor's program does, and plans a letter with one command line.
const claude = `#!/bin/sh
cat > /dev/null
case $WF_ROLE in
plan) reply='{\"schema_version\": 1, \"result_type\": \"ARTIFACT\", \"files\": [{\"path\": \"plan.yaml\", \"content\": \"title: A letter\\nroot_acceptance_criteria: [{id: R1, statement: There is a letter.}]\\ntasks:\\n  - task_id: LETTER-1\\n    title: The letter\\n    description: A letter.\\n    estimated_person_days: 1\\n    covers: [R1]\\n    deliverable_spec: {filename: letter.txt}\\n    acceptance_criteria: [{id: A1, statement: letter.txt says Dear., run: grep Dear letter.txt}]\\n\"}]}' ;;
feasibility) reply='{\"schema_version\": 1, \"result_type\": \"FEASIBILITY\", \"estimates\": []}' ;;
check)
	criteria=A1
	test "$WF_TASK" = LETTER-1 || criteria='observable coverage completeness dependencies wording'
	for id in $criteria; do list="$list${list:+, }{\\\"id\\\": \\\"$id\\\", \\\"pass\\\": true, \\\"evidence\\\": \\\"line 1\\\"}"; done
	reply='{\"schema_version\": 1, \"result_type\": \"REVIEW\", \"verdict\": \"APPROVED\", \"score\": 95, \"criteria\": ['$list']}' ;;
*) reply='{\"schema_version\": 1, \"result_type\": \"ARTIFACT\", \"files\": [{\"path\": \"letter.txt\", \"content\": \"Dear you\\n\"}]}' ;;
esac
printf '%s\n' '{"type": "result", "subtype": "success", "is_error": false, "session_id": "s-'$WF_TASK'", "result": "'"$reply"'"}'
`

// silent is somebody who interrupts instead of an answer: a terminal does not end then.
type silent struct{ interrupt func() }

func (s silent) Read([]byte) (int, error) {
	s.interrupt()
	select {}
}

// On a terminal, git wf do asks whether the plan's command lines may run, and goes on.
func TestDoAsks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts")
	}
	isolateGit(t)
	tools, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "claude"), []byte(claude), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	run := func(ctx context.Context, stdin io.Reader) (code int, out string) {
		var both bytes.Buffer
		e := &env{stdin: stdin, printer: printer{stdout: &both, stderr: &both}, dir: dir, now: time.Now,
			user: user{os.Environ()}, interactive: true, origin: aPerson}
		code = e.run(ctx, []string{"do", "write", "a", "letter"})
		return code, both.String()
	}
	for name, stdin := range map[string]io.Reader{"declined": strings.NewReader("n\n"), "left": strings.NewReader("")} {
		if code, out := run(t.Context(), stdin); code != fault.ExitWaiting || !strings.Contains(out, "grep Dear letter.txt") ||
			!strings.Contains(out, "hint: git wf trust") || strings.Contains(out, "LETTER-1     started") {
			t.Errorf("%s: code %d\n%s", name, code, out)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	if code, out := run(ctx, silent{interrupt}); code != fault.ExitInterrupted || !strings.Contains(out, "\ninterrupted\nhint: ") {
		t.Errorf("interrupted: code %d\n%s", code, out)
	}
	if code, out := run(t.Context(), strings.NewReader("y\n")); code != fault.ExitDone ||
		!strings.Contains(out, "done, 1 of 1 done") || !strings.Contains(out, "next: git wf export --commit") {
		t.Errorf("accepted: code %d\n%s", code, out)
	}
}

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
			t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
			var stderr bytes.Buffer
			e := &env{stdin: strings.NewReader(tt.answers), printer: printer{stdout: &stderr, stderr: &stderr}, dir: dir,
				now: time.Now, user: user{append(os.Environ(), "CLAUDE_CODE_MAX_RETRIES=0")}, interactive: true, origin: aPerson}
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
