package main

import (
	"fmt"
	"strings"

	"gitwf/internal/plan"
)

// taskLine is one task, as both sides are given it.
type taskLine struct {
	id         plan.TaskID
	run, check string
	spec       string // the deliverable_spec, in YAML
	statement  string // of its criterion
}

func taskLines(n int) []taskLine {
	lines := make([]taskLine, n)
	for i := range lines {
		lines[i] = taskLine{
			id:        plan.TaskID(fmt.Sprintf("IMPL-%d", i+1)),
			run:       fmt.Sprintf(`echo "part %d" >"$WF_OUT/out.txt"`, i+1),
			check:     "test -s out.txt",
			spec:      "{format: txt, filename: out.txt, single_file: true}",
			statement: statement,
		}
	}
	return lines
}

// pageLines are tasks of several files each, as many as make the number of files; the last one may have fewer.
func pageLines(files, each int) []taskLine {
	var lines []taskLine
	for n := 1; files > 0; n++ {
		var pages []string
		for i := range min(files, each) {
			pages = append(pages, fmt.Sprintf("page%d.txt", i))
		}
		files -= len(pages)
		lines = append(lines, taskLine{
			id: plan.TaskID(fmt.Sprintf("IMPL-%d", n)),
			run: fmt.Sprintf(`for p in %s; do for i in 1 2 3 4 5 6 7 8 9; do echo "part %d, $p, line $i"; done >"$WF_OUT/$p"; done`,
				strings.Join(pages, " "), n),
			check:     "cat " + strings.Join(pages, " "),
			spec:      "{format: txt, files: [" + strings.Join(pages, ", ") + "]}",
			statement: "Each page contains at least 1 line.",
		})
	}
	return lines
}

const statement = "out.txt contains at least 1 line."

// planFile is the plan for git wf plan -f.
func planFile(lines []taskLine) string {
	var b strings.Builder
	b.WriteString(planHead(len(lines)))
	for _, l := range lines {
		b.WriteString(l.yaml())
	}
	return b.String()
}

func planHead(tasks int) string {
	return fmt.Sprintf(`title: Bench
top_task: Make many small files.
config: {max_leaf_tasks: %d}
root_acceptance_criteria:
  - {id: R1, statement: Each file contains at least 1 line.}
tasks:
`, tasks)
}

func (l taskLine) yaml() string {
	return fmt.Sprintf(`  - task_id: %s
    title: Part %[1]s
    description: One of the many parts.
    estimated_person_days: 0.1
    covers: [R1]
    deliverable_spec: %s
    run: '%s'
    acceptance_criteria:
      - {id: A1, statement: %s, check_method: static_check, severity: MUST, covers: [R1], run: '%s'}
`, l.id, l.spec, l.run, l.statement, l.check)
}

// scriptFile is the same for the script: directory, task id, command, check, in columns. The directory's name is given
// because sh would need another process for it.
func scriptFile(lines []taskLine) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", l.id.Dir(), l.id, l.run, l.check)
	}
	return b.String()
}
