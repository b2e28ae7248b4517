package main

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// benchStatus compares git wf status with a plain listing of the same ref, with and without its cache. It imports the
// plan into a pack: carrying it out would take an hour.
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
		title: fmt.Sprintf("status: a plan of %d tasks, all done; medians of %d", z.planTasks, z.statuses),
		rows:  []*contestant{list, cold, cached},
		ratios: []ratio{
			compare("status, no cache / ls-tree", 6, cold, list),
			compare("status, cached / ls-tree", 2, cached, list),
		},
	}, nil
}

// allDone checks that the program understands the imported plan: reading nothing is fast, too.
func (l *lab) allDone(ctx context.Context, dir string, tasks int) error {
	out, err := l.output(ctx, dir, nil, l.gitWF, "status", "--plan", string(longID))
	if want := fmt.Sprintf("done, %d of %[1]d done", tasks); err == nil && !strings.Contains(out, want) {
		err = fmt.Errorf("git wf status does not say %q of the imported plan:\n%.400s", want, out)
	}
	return err
}

const (
	longID  plan.ID = "WFS-long"
	longRef         = "refs/workflow/" + string(longID)
)

// longPlan returns a git fast-import stream with a plan of n tasks. The first are done, the next few are ready, and the
// rest wait for a file that nobody hands in.
func longPlan(n, done, ready int) (string, error) {
	p := &plan.Plan{
		SchemaVersion: 1, PlanID: longID, Title: "Long", TopTask: "Make many parts.", RootTaskID: "GOAL-1",
		Config: plan.Config{MaxLeafTasks: n},
		Tasks: []*plan.Task{{
			TaskID: "GOAL-1", NodeType: plan.Goal, Title: "Long",
			FinalDeliverableSpec:   &plan.FinalDeliverableSpec{Mode: plan.PassThrough},
			RootAcceptanceCriteria: []plan.RootCriterion{{ID: "R1", Statement: "Each part contains at least 1 line."}},
		}},
	}
	var files strings.Builder
	lines := graphLines(n)
	known := byName(lines)
	for _, g := range goals(lines) {
		p.Tasks = append(p.Tasks, &plan.Task{TaskID: g.id, NodeType: plan.Goal, Title: "Goal " + string(g.id),
			ParentTaskID: cmp.Or(g.parent, "GOAL-1")})
		if g.split == 0 {
			continue
		}
		made := taskLine{id: plan.TaskID(fmt.Sprintf("PLAN-%d", g.split+1))} // PLAN-1 would be the plan itself
		split := made.action()
		split.Title, split.Run, split.SplitTargetTaskID, split.Covers = "Split "+string(g.id), "", g.id, nil
		split.DeliverableSpec = &plan.DeliverableSpec{Format: plan.FormatPlan, Filename: "plan.yaml", SingleFile: true}
		p.Tasks = append(p.Tasks, split, made.review())
		p.Grafts = append(p.Grafts, plan.Graft{TaskID: made.id, ArtifactID: "v1"})
		for _, f := range made.records(nil) {
			files.WriteString(importFile(made.id.Dir()+"/"+f[0], f[1]))
		}
	}
	for i, l := range lines {
		task := l.action()
		if i >= done+ready {
			task.Requires = []plan.Requirement{{Name: "later"}}
		}
		p.Tasks = append(p.Tasks, task, l.review())
		if i >= done {
			continue
		}
		for _, f := range l.records(l.inputs(known)) {
			files.WriteString(importFile(l.id.Dir()+"/"+f[0], f[1]))
		}
	}
	data, err := plandoc.Encode(p)
	if err != nil {
		return "", err
	}
	return importCommit(longRef) + importFile("plan.json", string(data)) + files.String(), nil
}

func (l taskLine) action() *plan.Task {
	return &plan.Task{
		TaskID: l.id, NodeType: plan.Action, Title: "Part " + string(l.id), ParentTaskID: cmp.Or(l.parent, "GOAL-1"),
		DependsOn:   l.after,
		Description: "One of the many parts that the whole is made of, described at the usual length.",
		Agent:       plan.AgentExec, Run: l.run, EstimatedPersonDays: 0.1, Covers: []string{"R1"},
		DeliverableSpec: &plan.DeliverableSpec{Format: "txt", Filename: "out.txt", SingleFile: true},
		AcceptanceCriteria: []plan.Criterion{{
			ID: "A1", Statement: statement, CheckMethod: plan.StaticCheck, Run: l.check, Severity: plan.Must,
			Covers: []string{"R1"},
		}},
	}
}

func (l taskLine) review() *plan.Task {
	return &plan.Task{
		TaskID: l.id.CheckID(), NodeType: plan.Check, Title: "Review " + string(l.id),
		ParentTaskID:       cmp.Or(l.parent, "GOAL-1"),
		ReviewTargetTaskID: l.id, ReviewOutputSpec: plan.ReviewOutput,
	}
}

// records returns the files of a done task, with their content. A status reads only their names.
func (l taskLine) records(inputs []plan.Input) [][2]string {
	if l.approved() == 1 {
		return l.version(1, plan.Approved, 100, inputs)
	}
	return append(l.version(1, plan.Rejected, 0, inputs), l.version(2, plan.Approved, 100, inputs)...)
}

// approved returns the number of the approved version.
func (l taskLine) approved() int {
	if l.isRejected {
		return 2
	}
	return 1
}

// byName maps what a task can depend on, an id or a part, to its lines.
func byName(lines []taskLine) map[plan.TaskID][]taskLine {
	all := map[plan.TaskID][]taskLine{}
	for i, l := range lines {
		all[l.id] = []taskLine{l}
		all[partID(i)] = append(all[partID(i)], l)
	}
	return all
}

// inputs returns the approved versions of a task's dependencies, which are all done.
func (l taskLine) inputs(known map[plan.TaskID][]taskLine) []plan.Input {
	all := []plan.Input{}
	for _, d := range l.after {
		for _, in := range known[d] {
			v := in.approved()
			all = append(all, plan.Input{TaskID: in.id, ArtifactID: plan.VersionID(v), Tree: in.tree(v)})
		}
	}
	return all
}

// content returns the content of out.txt in a version.
func (l taskLine) content(version int) string { return fmt.Sprintf("part %s v%d\n", l.id, version) }

// tree returns the id of the tree that contains only out.txt.
func (l taskLine) tree(version int) plan.OID {
	text := l.content(version)
	blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
	entry := "100644 out.txt\x00" + string(blob[:])
	return plan.OID(fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "tree %d\x00%s", len(entry), entry))))
}

func (l taskLine) version(n int, verdict plan.Verdict, score int, inputs []plan.Input) [][2]string {
	made, review := fmt.Sprintf("artifacts/v%d/", n), fmt.Sprintf("reviews/r%d-v%[1]d-%d-checks/", n, score)
	at, task, text := time.Unix(1700000000, 0).UTC(), l.action(), l.content(n)
	result := plan.ResultPass
	if verdict == plan.Rejected {
		result = plan.ResultFail
	}
	blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
	return [][2]string{
		{made + "artifact.json", string(plan.Document(plan.Artifact{
			TaskID: l.id, ArtifactID: plan.VersionID(n), Tree: l.tree(n), Agent: plan.AgentExec, Inputs: inputs, CreatedAt: at,
			Size: int64(len(text)), Files: []plan.FileInfo{{
				Path: "out.txt", Mode: "100644", OID: plan.OID(fmt.Sprintf("%x", blob)), Size: int64(len(text)),
				SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
			}},
		}))},
		{made + "files/out.txt", l.content(n)},
		{review + verdict.File(), fmt.Sprintf("# %s: %s v%d\n", verdict, l.id, n)},
		{review + "review.json", string(plan.Document(plan.Review{
			ReviewID: fmt.Sprintf("r%d", n), TaskID: l.id, ReviewedArtifactID: plan.VersionID(n), Tree: l.tree(n),
			Reviewer: plan.ReviewerChecks, Verdict: verdict, Score: score, CreatedAt: at, CheckTaskID: l.id.CheckID(),
			MinScore: 90, SpecHash: task.SpecHash(), Criteria: []plan.CriterionResult{{
				ID: "A1", Statement: statement, Severity: plan.Must, Result: result, By: plan.ReviewerChecks,
			}},
		}))},
	}
}
