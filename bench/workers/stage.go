//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/chaostest"
	"gitwf/internal/plan"
)

const (
	planRef  = "refs/workflow/WFS-load"
	claimRef = "refs/workflow-claims/WFS-load/"
)

// stage is a shared plan, and what workers would hand in of it.
type stage struct {
	*chaostest.Repo        // of whoever has shared the plan
	server, served  string // its name and its directory
	trust           string
	tip             string
	handIns         []string // newest events of single tasks, each on the plan's tip
	claims, again   []string // objects that claim the same tasks; those of again are not at the server
	plain           []string // a chain of commits
}

// newStage shares a plan of tasks that do not depend on each other. Of run, {} is the number of the task.
func (b *bench) newStage(ctx context.Context, tasks int, run string) (*stage, error) {
	b.copies++
	s := &stage{server: fmt.Sprintf("plan%d.git", b.copies)}
	var err error
	if s.Repo, err = b.NewRepo(ctx); err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString("title: Load\ntasks:\n")
	for i := range tasks {
		fmt.Fprintf(&text, "  - {task_id: T-%d, title: Make it, estimated_person_days: 1, deliverable_spec: "+
			"{filename: t.txt}, run: '%s', acceptance_criteria: [{id: A1, statement: It is there., "+
			"run: test -s t.txt}]}\n",
			i+1, strings.ReplaceAll(run, "{}", fmt.Sprint(i+1)))
	}
	file, err := b.write("load.yaml", text.String(), 0o600)
	if err != nil {
		return nil, err
	}
	s.served = filepath.Join(b.file("served"), s.server)
	_, err = s.Git(ctx, "init", "-q", "--bare", s.served)
	for _, args := range [][]string{{"remote", "add", "origin", s.served}, {"push", "-q", "origin", "HEAD"}} {
		if err == nil {
			_, err = s.Git(ctx, args...)
		}
	}
	steps := [][]string{{"init"}, {"plan", "-f", file}, {"trust", "--yes"}, {"share"}}
	if b.hook {
		steps = append([][]string{{"init", "--server", s.served}}, steps...)
	}
	for _, args := range steps {
		if err == nil {
			_, err = s.Must(ctx, args...)
		}
	}
	s.trust = filepath.Join(s.Dir, ".git/wf/trust")
	if err == nil {
		s.tip, err = s.Git(ctx, "rev-parse", planRef)
	}
	return s, err
}

// prepare makes hand-ins like the one that a run makes of a first task: a version with its review.
func (s *stage) prepare(ctx context.Context, n int) error {
	draft, err := s.Copy()
	if err != nil {
		return err
	}
	defer draft.Remove()
	if _, err := draft.Git(ctx, "remote", "remove", "origin"); err != nil { // it would push what it makes
		return err
	}
	for range 2 {
		if _, err := draft.Must(ctx, "run", "--step", "-q"); err != nil {
			return err
		}
	}
	type file struct{ path, text string }
	var steps [2][]file
	var heads [2]string
	for i, rev := range []string{planRef + "~1", planRef} {
		names, err := draft.Git(ctx, "diff-tree", "-r", "--name-only", "--no-commit-id", rev)
		if err != nil {
			return err
		}
		for name := range strings.FieldsSeq(names) {
			text, err := draft.Git(ctx, "cat-file", "blob", rev+":"+name)
			if err != nil {
				return err
			}
			steps[i] = append(steps[i], file{name, text + "\n"})
		}
		if heads[i], err = draft.Git(ctx, "cat-file", "commit", rev); err != nil {
			return err
		}
	}
	var in strings.Builder
	blob := func(text string) { fmt.Fprintf(&in, "data %d\n%s\n", len(text), text) }
	commit := func(ref, head, from string) {
		lines, message, _ := strings.Cut(head, "\n\n")
		fmt.Fprintf(&in, "commit %s\n", ref)
		for line := range strings.Lines(lines + "\n") {
			if strings.HasPrefix(line, "author ") || strings.HasPrefix(line, "committer ") {
				in.WriteString(line)
			}
		}
		blob(message + "\n")
		if from != "" { // else from the commit before, on that ref
			fmt.Fprintf(&in, "from %s\n", from)
		}
	}
	for k := 1; k <= n; k++ {
		id := plan.TaskID(fmt.Sprintf("T-%d", k))
		other := strings.NewReplacer(plan.TaskID("T-1").Dir()+"/", id.Dir()+"/", "T-1", string(id))
		for i, from := range []string{s.tip, ""} {
			commit(fmt.Sprintf("refs/made/%d", k), other.Replace(heads[i]), from)
			for _, f := range steps[i] {
				fmt.Fprintf(&in, "M 100644 inline %s\n", other.Replace(f.path))
				blob(other.Replace(f.text))
			}
		}
		commit("refs/plain", heads[0], map[bool]string{true: "refs/heads/main^0"}[k == 1])
		in.WriteString("M 100644 inline file\n")
		blob(fmt.Sprint(k))
		for i, list := range []string{"claims", "again"} {
			fmt.Fprintf(&in, "blob\nmark :%d\n", 2*k+i)
			blob(fmt.Sprintf(`{"task_id":"%s","agent":"exec","session":"%s","host":"vm","pid":1,`+
				`"started":"2026-01-01T00:00:00Z","expires":"2036-01-01T00:00:00Z","number":1}`, id, list))
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir, ".git/made"), []byte(in.String()), 0o600); err != nil {
		return err
	}
	if _, err := s.Git(ctx, "-c", "core.hooksPath=/dev/null", "-c",
		"alias.in=!git fast-import --quiet --export-marks=.git/marks <.git/made",
		"in"); err != nil {
		return err
	}
	marks, err := os.ReadFile(filepath.Join(s.Dir, ".git/marks"))
	if err != nil {
		return err
	}
	s.claims, s.again = make([]string, n), make([]string, n)
	for line := range strings.Lines(string(marks)) {
		var mark int
		var oid string
		fmt.Sscanf(line, ":%d %s", &mark, &oid)
		if mark%2 == 0 {
			s.claims[mark/2-1] = oid
		} else {
			s.again[mark/2-1] = oid
		}
	}
	s.handIns = make([]string, n)
	made, err := s.Git(ctx, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/made/")
	for line := range strings.Lines(made) {
		var k int
		var oid string
		fmt.Sscan(line, &k, &oid)
		s.handIns[k-1] = oid
	}
	if err != nil {
		return err
	}
	out, err := s.Git(ctx, "rev-list", "--reverse", "refs/plain", "^refs/heads/main")
	s.plain = strings.Fields(out)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir, ".git/made"), []byte(strings.Join(s.claims, "\n")+"\n"), 0o600)
	}
	if err == nil {
		_, err = s.Git(ctx, "-c", "alias.pack=!git pack-objects -q "+
			filepath.Join(s.served, "objects/pack/pack")+" <.git/made", "pack")
	}
	return err
}
