package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// benchWorkflow compares git wf run of a plan that a workflow compiled to with one that a person wrote: the same tasks
// with the same commands and criteria, each after the one before its last, judged by the same checks.
func benchWorkflow(ctx context.Context, l *lab, z sizes) (report, error) {
	file := func(name string) string { return filepath.Join(l.dir, name) }
	byHand, compiled := chainFiles(z.flow)
	for path, text := range map[string]string{"hand.yaml": byHand, "chain.yaml": compiled} {
		if err := os.WriteFile(file(path), []byte(text), 0o666); err != nil {
			return report{}, err
		}
	}
	round := 0
	fresh := func(name string, plan ...string) *contestant {
		c := &contestant{name: name, args: []string{l.gitWF, "run", "--quiet", "--jobs", "1"}}
		c.before = func(ctx context.Context) (err error) {
			round++
			if c.dir, err = l.repo(ctx, fmt.Sprintf("flow%d", round), ""); err != nil {
				return err
			}
			return l.steps(ctx, c.dir, []string{l.gitWF, "trust", "--code", "--yes"}, append([]string{l.gitWF, "plan"}, plan...))
		}
		return c
	}
	hand := fresh("written by hand", "-f", file("hand.yaml"))
	flow := fresh("compiled", "--workflow", file("chain.yaml"), "Make a chain of files.")
	if err := l.measure(ctx, z.flows, hand, flow); err != nil {
		return report{}, err
	}
	gits := func(c *contestant) (int, error) {
		trace := file("trace")
		if err := c.before(ctx); err != nil {
			return 0, err
		}
		counted := &contestant{name: c.name, dir: c.dir, args: c.args, env: []string{"GIT_TRACE2_EVENT=" + trace}}
		defer os.Remove(trace)
		if err := l.once(ctx, counted); err != nil {
			return 0, err
		}
		data, err := os.ReadFile(trace)
		return strings.Count(string(data), `"event":"start"`), err
	}
	for _, c := range []*contestant{hand, flow} {
		n, err := gits(c)
		if err != nil {
			return report{}, err
		}
		if done, err := l.output(ctx, c.dir, nil, l.gitWF, "status"); err != nil ||
			strings.Count(done, "v1 approved") < z.flow {
			return report{}, fmt.Errorf("%s: is not carried out: %w\n%s", c.name, err, done)
		}
		c.name = fmt.Sprintf("git wf run of a plan %s, %d gits", c.name, n)
	}
	return report{
		title:  fmt.Sprintf("workflow: %d tasks, one check each; rounds: %d", z.flow, z.flows),
		rows:   []*contestant{hand, flow},
		ratios: []ratio{compare("git wf run of a plan compiled / by hand", 1.1, flow, hand)},
	}, nil
}

// chainFiles are the same tasks, as a plan and as a workflow.
func chainFiles(tasks int) (byHand, compiled string) {
	var hand, flow strings.Builder
	hand.WriteString(planHead(tasks))
	flow.WriteString("workflow: chain\nversion: 1\nabout: a chain of files\nroles:\n  maker: {text: Makes files.}\n" +
		"criteria:\n  - {id: R1, statement: Each file contains at least 1 line.}\ntasks:\n")
	for i := range tasks {
		const make, check = `echo text > "$WF_OUT/out.txt"`, "test -s out.txt"
		after := ""
		if i > 1 {
			after = fmt.Sprintf("IMPL-%d", i-1)
		}
		fmt.Fprintf(&hand, `  - {task_id: IMPL-%d, title: Part, description: One of the parts., estimated_person_days: 1, covers: [R1], depends_on: [%s],
     deliverable_spec: {filename: out.txt}, run: '%s', acceptance_criteria: [{id: A1, statement: %s, run: %s}]}
  - {task_id: CHECK-IMPL-%[1]d, node_type: CHECK, title: Review, review_target_task_id: IMPL-%[1]d, reviewers: [checks]}
`, i+1, after, make, statement, check)
		fmt.Fprintf(&flow, `  - {id: IMPL-%d, title: Part, text: One of the parts., role: maker, covers: [R1], needs: [%s], make: out.txt, run: '%s',
     criteria: [{id: A1, statement: %s, run: %s}], review: {by: [checks]}}
`, i+1, after, make, statement, check)
	}
	return hand.String(), flow.String()
}
