package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/fault"
)

// On a terminal, git wf do asks which of several workflows is meant, and for the params that have no value.
func TestDoAsksForWorkflow(t *testing.T) {
	isolateGit(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "issues.yaml"), []byte("title: Issues\nregister: true\ntasks:\n"+
		"  - {task_id: ISSUE-1, title: Hello, description: Say hello., estimated_person_days: 0.5,\n"+
		"     deliverable_spec: {format: change, paths: [hello]}, acceptance_criteria: [{id: A1, statement: hello has 1 line}]}\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"config", "wf.policy", "none"}, {"config", "wf.role.ideator", "manual"},
		{"commit", "--quiet", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	run := func(answers string, args ...string) (int, string) {
		var both bytes.Buffer
		e := &env{stdin: strings.NewReader(answers), printer: printer{stdout: &both, stderr: &both}, dir: dir, now: time.Now,
			user: user{os.Environ()}, interactive: true, origin: aPerson}
		return e.run(t.Context(), args), both.String()
	}
	if code, out := run("", "plan", "-f", "issues.yaml"); code != fault.ExitDone {
		t.Fatalf("code %d\n%s", code, out)
	}
	for _, tt := range []struct {
		name, answers, sentence string
		code                    int
		want                    []string
	}{
		{"nobody answers", "", "Brainstorm a roadmap", fault.ExitWaiting, []string{
			"close: brainstorm: 6 points (brainstorm 6); roadmap: 6 points (roadmap 6)",
			"Which workflow, or none, a plan without one: brainstorm, roadmap, none? [brainstorm]",
			"hint: git wf do --workflow brainstorm 'Brainstorm a roadmap'"}},
		{"another name, then the first and its param", "both\n\nquick\n\n", "Brainstorm a roadmap", fault.ExitWaiting, []string{
			"How thorough?", "score 0, mode=quick", "WFS-brainstorm-a-roadmap: plan v1 approved"}},
		{"none", "none\n", "Brainstorm a new roadmap", fault.ExitUsage, []string{"nobody is set up who makes plans"}},
		{"items of a register", "\nWFS-issues\n", "Fix all open issues", fault.ExitWaiting, []string{
			"[a register, or REGISTER:TASK,...]", "issues=WFS-issues/ISSUE-1"}},
	} {
		code, out := run(tt.answers, "do", tt.sentence)
		for _, want := range tt.want {
			if code != tt.code || !strings.Contains(out, want) {
				t.Errorf("%s: code %d, no %q in\n%s", tt.name, code, want, out)
			}
		}
	}
}

// An empty directory is enough at a terminal: the repository and its first commit are offered, and nothing is made unasked.
func TestDoInAnEmptyDirectory(t *testing.T) {
	isolateGit(t)
	for _, tt := range []struct {
		name, answers string
		born          bool
		code          int
		want          string
	}{
		{"no", "n\n", false, fault.ExitNoRepository, "Make it with: git init && git commit --allow-empty -m 'first commit'? [y/N] "},
		{"yes", "y\n", false, fault.ExitUsage, "nobody is set up who makes plans"},
		{"no commit", "y\n", true, fault.ExitUsage, "the branch has no commit yet\nMake it with: git commit --allow-empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) error { return exec.Command("git", append([]string{"-C", dir}, args...)...).Run() }
			if tt.born && git("init", "--quiet") != nil {
				t.Fatal("git init failed")
			}
			var both bytes.Buffer
			e := &env{stdin: strings.NewReader(tt.answers), printer: printer{stdout: &both, stderr: &both}, dir: dir,
				now: time.Now, user: user{os.Environ()}, interactive: true, origin: aPerson}
			if code := e.run(t.Context(), []string{"do", "Write a letter"}); code != tt.code || !strings.Contains(both.String(), tt.want) {
				t.Errorf("code %d, want %d and %q\n%s", code, tt.code, tt.want, both.String())
			}
			if made := git("rev-parse", "HEAD") == nil; made != (tt.answers == "y\n") {
				t.Errorf("there is a first commit: %t\n%s", made, both.String())
			}
		})
	}
}
