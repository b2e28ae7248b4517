package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/plan"
)

// benchStatus compares git wf status with a plain listing of the same ref, with and without its cache. The plan is
// imported into a pack rather than carried out, which would take an hour.
func benchStatus(ctx context.Context, l *lab, z sizes) (report, error) {
	dir, err := l.repo(ctx, "status", "")
	if err != nil {
		return report{}, err
	}
	stream, err := longPlan(z.planTasks, z.planTasks, 0)
	if err != nil {
		return report{}, err
	}
	if _, err := l.git(ctx, dir, strings.NewReader(stream), "fast-import", "--quiet"); err != nil {
		return report{}, err
	}
	if err := l.steps(ctx, dir, []string{"git", "gc", "-q"}); err != nil {
		return report{}, err
	}
	if err := l.allDone(ctx, dir, z.planTasks); err != nil {
		return report{}, err
	}
	status := []string{l.gitWF, "status", "--plan", string(longID)}
	list := &contestant{name: "git ls-tree -r", dir: dir, args: []string{"git", "ls-tree", "-r", longRef}}
	cold := &contestant{name: "git wf status, no cache", dir: dir, args: status, before: func(context.Context) error {
		return os.RemoveAll(filepath.Join(dir, ".git", "wf", "cache"))
	}}
	cached := &contestant{name: "git wf status, cached", dir: dir, args: status, before: func(ctx context.Context) error {
		return l.steps(ctx, dir, status)
	}}
	if err := l.measure(ctx, z.statuses, list, cold, cached); err != nil {
		return report{}, err
	}
	return report{
		title: fmt.Sprintf("status: a plan of %d tasks, with one version and one review each; medians of %d", z.planTasks, z.statuses),
		rows:  []*contestant{list, cold, cached},
		ratios: []ratio{
			compare("status, no cache / ls-tree", 6, cold, list),
			compare("status, cached / ls-tree", 2, cached, list),
		},
	}, nil
}

// allDone checks that the program understands the plan that was imported: to read nothing is fast, too.
func (l *lab) allDone(ctx context.Context, dir string, tasks int) error {
	out, err := l.output(ctx, dir, nil, l.gitWF, "status", "--plan", string(longID))
	if want := fmt.Sprintf("DONE, %d of %[1]d done", tasks); err == nil && !strings.Contains(out, want) {
		err = fmt.Errorf("git wf status does not say %q of the imported plan:\n%.400s", want, out)
	}
	return err
}

const (
	longID  plan.ID = "WFS-long"
	longRef         = "refs/workflow/" + string(longID)
)

// longPlan is a stream for git fast-import with a plan of n tasks. The first are done, the next few are ready, and the rest
// wait for a file that nobody hands in.
func longPlan(n, done, ready int) (string, error) {
	p := &plan.Plan{
		SchemaVersion: plan.SchemaVersion, PlanID: longID, Title: "Long", TopTask: "Make many parts.", RootTaskID: "GOAL-1",
		Config: plan.Config{MaxLeafTasks: n},
		Tasks: []*plan.Task{{
			TaskID: "GOAL-1", NodeType: plan.Goal, Title: "Long", FinalDeliverableSpec: &plan.FinalDeliverableSpec{Mode: plan.PassThrough},
			RootAcceptanceCriteria: []plan.RootCriterion{{ID: "R1", Statement: "Each part contains at least 1 line."}},
		}},
	}
	var files strings.Builder
	for i, l := range taskLines(n) {
		task := l.action(i)
		if i >= done+ready {
			task.Requires = []plan.Requirement{{Name: "later"}}
		}
		p.Tasks = append(p.Tasks, task, &plan.Task{
			TaskID: l.id.CheckID(), NodeType: plan.Check, Title: "Review " + string(l.id), ParentTaskID: "GOAL-1",
			ReviewTargetTaskID: l.id, ReviewOutputSpec: plan.ReviewOutput,
		})
		if i >= done {
			continue
		}
		for _, f := range l.records() {
			files.WriteString(importFile(l.id.Dir()+"/"+f[0], f[1]))
		}
	}
	data, err := plan.Encode(p)
	if err != nil {
		return "", err
	}
	return importCommit(longRef) + importFile("plan.json", string(data)) + files.String(), nil
}

func (l taskLine) action(i int) *plan.Task {
	return &plan.Task{
		TaskID: l.id, NodeType: plan.Action, Title: fmt.Sprintf("Part %d", i+1), ParentTaskID: "GOAL-1",
		Description: "One of the many parts that the whole is made of, described at the usual length.",
		Agent:       plan.AgentExec, Run: l.run, EstimatedPersonDays: 0.1, Covers: []string{"R1"},
		DeliverableSpec: &plan.DeliverableSpec{Format: "txt", Filename: "out.txt", SingleFile: true},
		AcceptanceCriteria: []plan.Criterion{{
			ID: "A1", Statement: statement, CheckMethod: plan.StaticCheck, Run: l.check, Severity: plan.Must, Covers: []string{"R1"},
		}},
	}
}

// records are the task's files and what is in them. A status reads none of them but their names.
func (l taskLine) records() [][2]string {
	return [][2]string{
		{"artifacts/v1/artifact.json", fmt.Sprintf("{\n  \"artifact_id\": \"v1\",\n  \"task_id\": %q\n}\n", l.id)},
		{"artifacts/v1/files/out.txt", fmt.Sprintf("part %s\n", l.id)},
		{"reviews/r1-v1-100-checks/APPROVED.md", fmt.Sprintf("# APPROVED: %s v1\n", l.id)},
		{"reviews/r1-v1-100-checks/review.json", fmt.Sprintf("{\n  \"review_id\": \"r1\",\n  \"task_id\": %q\n}\n", l.id)},
	}
}
