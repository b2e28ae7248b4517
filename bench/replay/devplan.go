package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
)

// The statuses of a development plan.
const (
	todo     = "TODO"
	doing    = "DOING"
	blocked  = "BLOCKED"
	done     = "DONE"
	verified = "VERIFIED"
)

// task is one task of a development plan.
type task struct {
	id, title                    string
	status, acceptance, evidence string
}

// devPlan is one saved version of a development plan.
type devPlan struct {
	name  string // of the file
	run   string // whose plan it is
	order string // among the versions of the run
	tasks []task
}

// of finds a task by its id.
func (p devPlan) of(id string) (task, bool) {
	if i := slices.IndexFunc(p.tasks, func(t task) bool { return t.id == id }); i >= 0 {
		return p.tasks[i], true
	}
	return task{}, false
}

var (
	taskHeading = regexp.MustCompile(`^#{2,4} (M\w*-T[\w.]+)[:：]?(.*)$`)
	taskField   = regexp.MustCompile(`^- ?(?:\*\*)?([a-z_]+)(?:\*\*)?\s*[:：](.*)$`)
	savedName   = regexp.MustCompile(`^(.+?)__([0-9-]+)__([0-9a-f-]+)$`) // PREFIX__TIME__RUN
)

// parse reads a development plan. Whatever is no task, and no field of one, is left out.
func parse(name, text string) devPlan {
	p := devPlan{name: name}
	if m := savedName.FindStringSubmatch(strings.TrimSuffix(name, filepath.Ext(name))); m != nil {
		p.order, p.run = m[2], m[3]
	}
	var at *task
	var field *string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := taskHeading.FindStringSubmatch(line); m != nil {
			p.tasks = append(p.tasks, task{id: m[1], title: strings.TrimSpace(m[2])})
			at, field = &p.tasks[len(p.tasks)-1], nil
			continue
		}
		if strings.HasPrefix(line, "#") || at == nil {
			at, field = nil, nil
			continue
		}
		if m := taskField.FindStringSubmatch(line); m != nil {
			fields := map[string]*string{"status": &at.status, "acceptance": &at.acceptance, "evidence": &at.evidence}
			if f := fields[m[1]]; f != nil {
				field, line = f, m[2]
			}
		}
		if field != nil {
			*field = strings.TrimSpace(*field + "\n" + strings.TrimSpace(line))
		}
	}
	return p
}

// inOrder puts the plans in the order in which they were written, the runs one after the other.
func inOrder(plans []devPlan) []devPlan {
	first := map[string]string{}
	for _, p := range plans {
		if at, ok := first[p.run]; !ok || p.order < at {
			first[p.run] = p.order
		}
	}
	slices.SortStableFunc(plans, func(a, b devPlan) int {
		return cmp.Or(cmp.Compare(first[a.run], first[b.run]), cmp.Compare(a.run, b.run), cmp.Compare(a.order, b.order))
	})
	return plans
}

// readDir reads the Markdown files of a directory; names that don't say what run they are of go by themselves.
func readDir(dir string) ([]devPlan, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	var plans []devPlan
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		plans = append(plans, parse(filepath.Base(name), string(text)))
	}
	return inOrder(plans), nil
}

// readHistory reads every version of the files that a repository has had.
func readHistory(ctx context.Context, repository, pathspec string) ([]devPlan, error) {
	r := &chaostest.Repo{Lab: &chaostest.Lab{Env: os.Environ()}, Dir: repository}
	log, err := r.Git(ctx, "log", "--all", "--reverse", "--topo-order", "--no-renames", "--diff-filter=AM", "--name-only",
		"--format=%x00%H", "--", pathspec)
	if err != nil {
		return nil, err
	}
	var plans []devPlan
	seen := map[string]bool{}
	for commit := range strings.SplitSeq(log, "\x00") {
		id, names, _ := strings.Cut(commit, "\n")
		for name := range strings.FieldsFuncSeq(names, func(r rune) bool { return r == '\n' }) {
			text, err := r.Git(ctx, "cat-file", "blob", id+":"+name)
			if err != nil {
				return nil, err
			}
			if version := name + "\x00" + text; !seen[version] { // a branch may bring what another had
				seen[version] = true
				plans = append(plans, parse(filepath.Base(name), text))
			}
		}
	}
	return inOrder(plans), nil
}
