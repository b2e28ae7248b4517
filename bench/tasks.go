package main

import (
	"fmt"
	"strings"

	"gitwf/internal/plan"
)

// taskLine is one task, as both sides get it.
type taskLine struct {
	parent     plan.TaskID   // "" for the root
	after      []plan.TaskID // its dependencies, always earlier in the plan
	isRejected bool          // its first version is rejected
	id         plan.TaskID
	run, check string
	spec       string // the deliverable_spec, in YAML
	statement  string // statement of its criterion
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

// The mix in graphLines: parts of 20 tasks; of each hundred tasks, 33 that depend on one other, one that depends on a
// part, one that depends on nine others, four made by two splits, and five whose first version is rejected.
const (
	partTasks = 20
	period    = 100 // the mix repeats after that, so any hundred tasks are equal work
)

// graphLines returns the tasks of taskLines with dependencies like those of a real plan.
func graphLines(n int) []taskLine {
	lines := taskLines(n)
	for i := range lines {
		l := &lines[i]
		l.parent = partID(i)
		switch at := i % 50; {
		case at == 7 && i+1 < n:
			l.parent, l.id = l.id, l.id+".1"
		case at == 8:
			l.parent = lines[i-1].parent
			l.id = l.parent + ".2"
		}
		if i%20 == 13 {
			l.isRejected = true
			l.run = `if test "$WF_FEEDBACK"; then ` + l.run + `; else : >"$WF_OUT/out.txt"; fi`
		}
	}
	for i := range lines {
		l := &lines[i]
		switch at := i % period; {
		case at == 50:
			l.after = []plan.TaskID{partID(i - partTasks)}
		case at == period-1:
			for back := 10; back < period; back += 10 {
				l.after = append(l.after, lines[i-back].id)
			}
		case i%3 == 2:
			l.after = []plan.TaskID{lines[i-1-i*7%min(i, 40)].id}
		}
	}
	return lines
}

func partID(i int) plan.TaskID { return plan.TaskID(fmt.Sprintf("PART-%d", i/partTasks+1)) }

// goal is a task with children.
type goal struct {
	id, parent plan.TaskID
	split      int // the number of the plan's split that made it, 0 for none
}

// goals returns the goals above the lines, each before its children.
func goals(lines []taskLine) []goal {
	var all []goal
	seen := map[plan.TaskID]bool{"": true}
	splits := 0
	for i, l := range lines {
		for _, g := range []goal{{id: partID(i)}, {id: l.parent, parent: partID(i)}} {
			if l.parent == "" || seen[g.id] {
				continue
			}
			if seen[g.id] = true; g.parent != "" {
				splits++
				g.split = splits
			}
			all = append(all, g)
		}
	}
	return all
}

// pageLines returns tasks of several files each, enough for the given number of files; the last one may have fewer.
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

// planFile returns the plan for git wf plan -f.
func planFile(lines []taskLine) string {
	var b strings.Builder
	b.WriteString(planHead(len(lines)))
	for _, g := range goals(lines) {
		fmt.Fprintf(&b, "  - {task_id: %s, node_type: GOAL, title: Goal %[1]s", g.id)
		if g.parent != "" {
			fmt.Fprintf(&b, ", parent_task_id: %s", g.parent)
		}
		b.WriteString("}\n")
	}
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
	bound := ""
	if l.parent != "" {
		bound += "    parent_task_id: " + string(l.parent) + "\n"
	}
	if len(l.after) > 0 {
		bound += fmt.Sprintf("    depends_on: [%s]\n", strings.Join(texts(l.after), ", "))
	}
	return fmt.Sprintf(`  - task_id: %s
    title: Part %[1]s
    description: One of the many parts.
    estimated_person_days: 0.1
    covers: [R1]
    deliverable_spec: %s
    run: '%s'
    acceptance_criteria:
      - {id: A1, statement: %s, check_method: static_check, severity: MUST, covers: [R1], run: '%s'}
`, l.id, l.spec, l.run, l.statement, l.check) + bound
}

func texts(ids []plan.TaskID) []string {
	var all []string
	for _, id := range ids {
		all = append(all, string(id))
	}
	return all
}

// scriptFile returns the same for the script: directory, task id, command, check, in columns. It states the directory's
// name because sh would need another process for that.
func scriptFile(lines []taskLine) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", l.id.Dir(), l.id, l.run, l.check)
	}
	return b.String()
}
