package outline

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// The examples of docs/markdown.md are true: what stands below each is what is read out of it. With -update they are
// written again.
func TestDocument(t *testing.T) {
	const name = "../../docs/markdown.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	example := regexp.MustCompile("(?s)(`{3,4})markdown\n(.*?)\n(`{3,4})\n```text\n(.*?)```\n")
	want := example.ReplaceAllStringFunc(string(data), func(s string) string {
		n++
		m := example.FindStringSubmatch(s)
		return m[1] + "markdown\n" + m[2] + "\n" + m[3] + "\n```text\n" + readOut(t, m[2]) + "```\n"
	})
	if n < 10 {
		t.Errorf("%d examples", n)
	}
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(string(data), want); diff != "" {
		t.Errorf("not what is read (-document +read):\n%s", diff)
	}
}

// readOut is what is read in Markdown, a line for each fact.
func readOut(t *testing.T, src string) string {
	t.Helper()
	var b strings.Builder
	o, fs := Parse("x.md", []byte(src+"\n"))
	for _, f := range fs {
		fmt.Fprintf(&b, "refused, line %d: %s\n", f.Line, f.Message)
	}
	if o == nil {
		return b.String()
	}
	if doc, fs := o.Plan(); len(fs) > 0 {
		t.Errorf("no plan: %v\n%s", fs, doc)
	}
	fmt.Fprintf(&b, "title %s\n", o.Title)
	if o.TopTask != o.Title {
		fmt.Fprintf(&b, "top task %s\n", o.TopTask)
	}
	for _, q := range o.Requirements {
		fmt.Fprintf(&b, "%s %s\n", q.ID, q.Text)
	}
	depth := map[*Task]int{}
	o.Walk(func(task *Task) {
		in := strings.Repeat("  ", depth[task])
		kind := "task"
		if task.Goal {
			kind = "goal"
		}
		fmt.Fprintf(&b, "%s%s %s %s: %s", in, kind, task.ID, task.Title, task.Status.State)
		if task.Status.Word != "" && !strings.EqualFold(task.Status.Word, string(task.Status.State)) {
			fmt.Fprintf(&b, " (%s)", task.Status.Word)
		}
		if task.EstimateDays > 0 {
			b.WriteString(", " + strconv.FormatFloat(task.EstimateDays, 'f', -1, 64) + " days")
		}
		for i, d := range task.DependsOn {
			b.WriteString([]string{", after ", ", "}[min(i, 1)] + string(d))
		}
		b.WriteString("\n")
		facts := func(name string, all ...string) {
			for _, s := range all {
				if s != "" {
					fmt.Fprintf(&b, "%s  %s %s\n", in, name, strings.ReplaceAll(s, "\n", " "))
				}
			}
		}
		facts("about", task.Description)
		facts("delivers", task.Deliverables...)
		facts("covers", task.Covers...)
		for _, c := range task.Acceptance {
			_, decided := shellLine(c.Command, c.Expect)
			switch {
			case c.Command == "":
				facts("criterion", c.Text)
			case !decided:
				facts("criterion", c.judged())
			default:
				facts("run", strings.TrimPrefix(c.Before+"; "+c.Command, "; ")+" -> "+cmp.Or(c.Expect, "exit 0"))
			}
		}
		facts("evidence", task.Evidence...)
		for _, kid := range task.Tasks {
			depth[kid] = depth[task] + 1
		}
	})
	for _, f := range o.Unread {
		fmt.Fprintf(&b, "line %d %s: %s\n", f.Line, f.Message, f.Found)
	}
	return b.String()
}
