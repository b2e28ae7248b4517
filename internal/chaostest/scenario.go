package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// planID is the plan of the scenario.
const (
	planID  = "WFS-chaos"
	planRef = "refs/workflow/" + planID
	bundle  = "deliverables/" + planID + "/bundle"
)

// planText has a task for each kind of event: two that are simply made, one that a person makes and reviews, one that
// needs a file, one that fails until something outside it changes, and one with a criterion to waive. Each delivers the
// same every time.
const planText = `title: Chaos
top_task: Write six files, whatever happens.
root_acceptance_criteria: [{id: R1, statement: Six files are there.}]
tasks:
  - task_id: MAKE-1
    title: One
    description: A file with one line.
    estimated_person_days: 1
    covers: [R1]
    deliverable_spec: {format: txt, filename: one.txt}
    run: echo one > "$WF_OUT/one.txt"
    acceptance_criteria: [{id: A1, statement: one.txt has the line one., run: grep -x one one.txt}]
  - task_id: MAKE-2
    title: Two
    description: A file with two lines.
    estimated_person_days: 1
    depends_on: [MAKE-1]
    covers: [R1]
    deliverable_spec: {format: txt, filename: two.txt}
    run: cat "$WF_IN/MAKE-1/one.txt" > "$WF_OUT/two.txt" && echo two >> "$WF_OUT/two.txt"
    acceptance_criteria: [{id: A1, statement: two.txt has the line two., run: grep -x two two.txt}]
  - task_id: HAND-1
    title: Three
    description: A file by a person.
    estimated_person_days: 1
    covers: [R1]
    deliverable_spec: {format: txt, filename: three.txt}
    acceptance_criteria: [{id: A1, statement: three.txt has the line three., check_method: manual_review}]
  - task_id: ASK-1
    title: Four
    description: A copy of what is handed in.
    estimated_person_days: 1
    covers: [R1]
    requires: [{name: source, kind: file, description: the text, count: 1}]
    deliverable_spec: {format: txt, filename: four.txt}
    run: find "$WF_IN" -type f -exec cat {} + > "$WF_OUT/four.txt"
    acceptance_criteria: [{id: A1, statement: four.txt has the line four., run: grep -x four four.txt}]
  - task_id: LATER-1
    title: Five
    description: A file that can only be made later.
    estimated_person_days: 1
    covers: [R1]
    deliverable_spec: {format: txt, filename: five.txt}
    run: test -e "$WF_REPO/.git/go" && echo five > "$WF_OUT/five.txt"
    acceptance_criteria: [{id: A1, statement: five.txt has the line five., run: grep -x five five.txt}]
  - task_id: WAIVE-1
    title: Six
    description: A file of which one criterion can't be met.
    estimated_person_days: 1
    covers: [R1]
    deliverable_spec: {format: txt, filename: six.txt}
    run: echo six > "$WF_OUT/six.txt"
    acceptance_criteria:
      - {id: A1, statement: six.txt has the line six., run: grep -x six six.txt}
      - {id: A2, statement: six.txt has the line seven., run: grep -x seven six.txt}
`

// Step is one command of the scenario.
type Step struct {
	Name   string
	Args   []string
	Event  string // beginning of its event's subject; "" if it makes none of its own
	Person bool   // only a person does it
	Exits  []int  // exit codes that are no failure
}

// Steps returns the scenario's commands in order. Each makes one kind of event, the run at the end several.
func (l *Lab) Steps() []Step {
	ok := []int{0}
	return []Step{
		{"init", []string{"init"}, "", true, ok},
		{"plan", []string{"plan", "-f", l.file("plan.yaml")}, "PLAN-1: graft v1", true, ok},
		{"artifact", []string{"run", "--step"}, "MAKE-1: v1 by exec", false, ok},
		{"review-by-checks", []string{"run", "--step"}, "MAKE-1: approve v1", false, ok},
		{"run-to-rest", []string{"run"}, "", false, []int{1, 3}},
		{"answer", []string{"answer", "ASK-1", "--for", "source", "-f", l.file("four.txt")}, "ASK-1: 1 file handed in", true,
			ok},
		{"submit", []string{"submit", "HAND-1", l.file("three.txt")}, "HAND-1: v1 by Ada", true, ok},
		{"review", []string{"review", "HAND-1", "--approve"}, "HAND-1: approve v1", true, ok},
		{"retry", []string{"retry", "LATER-1"}, "LATER-1: retry", true, ok},
		{"waive", []string{"waive", "WAIVE-1", "--criterion", "A2", "--message", "not today"}, "WAIVE-1: waive A2", true, ok},
		{"run", []string{"run"}, "", false, ok},
		{"export", []string{"export"}, "", true, ok},
		{"export-commit", []string{"export", "--commit"}, "", true, ok},
	}
}

// allow lets LATER-1 succeed from now on.
func (r *Repo) allow() error { return os.WriteFile(filepath.Join(r.Dir, ".git", "go"), nil, 0o666) }

// Stages holds the repository before each step, by the step's name, and the result of all steps without a fault.
type Stages struct {
	Lab    *Lab
	Before map[string]*Repo
	Want   Result
}

// NewStages carries the scenario out once, without a fault.
func NewStages(ctx context.Context, l *Lab) (*Stages, error) {
	s := &Stages{Lab: l, Before: map[string]*Repo{}}
	r, err := l.NewRepo(ctx)
	if err != nil {
		return nil, err
	}
	for _, step := range l.Steps() {
		if step.Name == "retry" {
			if err := r.allow(); err != nil {
				return nil, err
			}
		}
		if s.Before[step.Name], err = r.Copy(); err != nil {
			return nil, err
		}
		o, err := r.WF(ctx, step.Args...)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(step.Exits, o.Exit) {
			return nil, fmt.Errorf("without a fault, step %s: expected exit %d of %s", step.Name, step.Exits, o)
		}
	}
	s.Want, err = r.Result(ctx)
	return s, err
}

// Step finds a step by its name.
func (s *Stages) Step(name string) Step {
	for _, step := range s.Lab.Steps() {
		if step.Name == name {
			return step
		}
	}
	panic("no step " + name)
}

// Result is the outcome of a plan: the approved tree of each task, and the bundle's files in HEAD except the manifest,
// which contains times.
type Result struct {
	Approved map[string]string
	Bundle   string
}

// Equal compares two results.
func (a Result) Equal(b Result) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// Result reads what is in HEAD.
func (r *Repo) Result(ctx context.Context) (Result, error) {
	text, err := r.Git(ctx, "show", "HEAD:"+bundle+"/manifest.json")
	if err != nil {
		return Result{}, err
	}
	var m struct {
		Complete bool
		Items    []struct {
			TaskID string `json:"task_id"`
			Tree   string
		}
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Result{}, fmt.Errorf("manifest: %w", err)
	}
	if !m.Complete {
		return Result{}, fmt.Errorf("the bundle in HEAD is not complete")
	}
	res := Result{Approved: map[string]string{}}
	for _, i := range m.Items {
		res.Approved[i.TaskID] = i.Tree
	}
	files, err := r.Git(ctx, "ls-tree", "-r", "HEAD", "--", bundle)
	if err != nil {
		return Result{}, err
	}
	lines := slices.DeleteFunc(strings.Split(files, "\n"), func(line string) bool {
		return strings.HasSuffix(line, "/manifest.json")
	})
	res.Bundle = strings.Join(lines, "\n")
	return res, nil
}
