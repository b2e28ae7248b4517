package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/chaostest"
)

// saved is a history in which each kind of move is made once.
var saved = []string{
	`# Dev Plan
## Milestone M1: Parser
### M1-T1: Tokens
- status: VERIFIED
- acceptance: ` + "`go test ./lex` passes" + `
- evidence: REVIEW Iteration 3

### M1-T2: Tree
- status: DONE
- acceptance:
- ` + "`go test ./parse`" + `
- at most 200 ms
- evidence: Iteration 4 DEV

### M1-T3: Errors
- status: DOING
- acceptance: each error has a line
- evidence:
## Notes
- status: none of a task
## M2: Printer
### M2-T1: Print
- **status**: TODO
- acceptance: what was parsed is printed
- evidence:
### M2-T2: Widths
- status: TODO
- acceptance: no line is too long
- evidence:
### M2-T3: Colours
- status: TODO
- acceptance: errors are red
- evidence:
`,
	`# Dev Plan
### M1-T1: Tokens
- status: VERIFIED
- acceptance: ` + "`go test ./lex` passes" + `
- evidence: REVIEW Iteration 3, as everybody knows
### M1-T2: Tree
- status: TODO
- acceptance:
- ` + "`go build ./parse`" + `
- evidence: Iteration 4 DEV
### M1-T3: Errors
- status: VERIFIED
- acceptance: each error has a line
- evidence: looks fine
### M2-T1: Print everything
- status: VERIFIED
- acceptance: what was parsed is printed
- evidence: looks fine
### M2-T3: Colours
- status: TODO
- acceptance: errors are red, or blue
- evidence:
`,
}

func plans(t *testing.T) []devPlan {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"plan__20260102-1__a.md", "plan__20260103-1__a.md", "plan__20260101-1__b.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(saved[i%2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all, err := readDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCount(t *testing.T) {
	c := count(plans(t))
	byKind := map[kind]string{}
	for _, m := range c.moves {
		byKind[m.kind] += " " + m.before.id
	}
	for k, want := range map[kind]string{
		skipped: " M1-T3 M2-T1", changed: " M1-T2 M2-T3", dropped: " M2-T2", undone: " M1-T2", retitled: " M2-T1",
		rewritten: " M1-T1",
	} {
		if byKind[k] != want {
			t.Errorf("%s: is%s, expected%s", k, byKind[k], want)
		}
	}
	if c.plans != 3 || c.runs != 2 || c.pairs != 1 || c.toVerified != 2 || c.commands != 1 || c.begun != 1 {
		t.Errorf("counted %+v", c)
	}
	var b strings.Builder
	c.show(&b)
	if !strings.Contains(b.String(), "     2  acceptance changed, of which 1 in its commands, 1 after work began\n") {
		t.Error(b.String())
	}
}

// TestHistory reads from the history of a repository what was in a directory.
func TestHistory(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	r := &chaostest.Repo{Lab: &chaostest.Lab{Env: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com")}, Dir: dir}
	git := func(args ...string) {
		t.Helper()
		if _, err := r.Git(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	for _, text := range saved {
		if err := os.WriteFile(filepath.Join(dir, "dev_plan.md"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "-q", "-m", "next")
	}
	git("rm", "-q", "dev_plan.md")
	git("commit", "-q", "-m", "gone")
	all, err := readHistory(ctx, dir, "*dev_plan.md")
	if err != nil {
		t.Fatal(err)
	}
	if c := count(all); c.plans != 2 || len(c.moves) != 8 {
		t.Errorf("counted %+v", c)
	}
}

// TestReplay tries each kind of move once, by every way.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("builds git-wf and starts a few hundred processes")
	}
	c := count(plans(t))
	var b strings.Builder
	if err := replay(context.Background(), &b, c, t.TempDir(), ""); err != nil {
		t.Fatal(err, b.String())
	}
	for _, k := range wrong {
		if !strings.Contains(b.String(), string(k)) {
			t.Errorf("%s was not tried:\n%s", k, b.String())
		}
	}
}
