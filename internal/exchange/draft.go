package exchange

import (
	"bytes"
	"fmt"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Draft is a plan that was read as a plan file in YAML, or in JSON where it has characters that YAML can't hold. With
// comments, the YAML says at each task what is still missing. It fails with Findings if the plan does not fit the form
// of a plan file, which no plan of Read does.
func (i *Imported) Draft(comments bool) ([]byte, error) {
	exact, err := plandoc.Encode(i.Plan)
	if err != nil {
		return nil, err
	}
	want, err := stored(i.Path, exact)
	if err != nil {
		return nil, err
	}
	data := exact
	if text, err := plandoc.WriteYAML(i.Plan); err == nil {
		if comments {
			text = i.comment(text)
		}
		if got, err := stored(i.Path, text); err == nil && bytes.Equal(want, got) {
			data = text
		}
	}
	if len(data) > plandoc.MaxFileBytes {
		return nil, plan.Findings{{Code: "too-large", File: i.Path,
			Message: fmt.Sprintf("the plan has more than %d MiB", plandoc.MaxFileBytes>>20)}}
	}
	return data, nil
}

// stored is what plan.json would be if the file were handed in.
func stored(name string, data []byte) ([]byte, error) {
	p, err := plandoc.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return plandoc.Encode(p)
}

// gapExamples show what would fill a gap.
var gapExamples = map[string]string{
	"deliverable_spec":    "deliverable_spec: {format: md, filename: report.md}",
	"acceptance_criteria": "acceptance_criteria: [{id: A1, statement: report.md has a summary, run: grep -q Summary report.md}]",
}

// comment puts what is missing as comments behind the line that begins a task.
func (i *Imported) comment(data []byte) []byte {
	missing := map[string][]string{}
	for _, t := range i.Plan.Tasks {
		if m := missingOf(t); len(m) > 0 {
			missing[string(t.TaskID)] = m
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Imported from %s (%s).\n", plain.Line(i.Path), i.Format)
	if len(missing) > 0 {
		fmt.Fprintf(&b, "# %s what a plan needs; the comments say what. Then: git wf plan -f FILE\n", lacks(len(missing)))
	} else {
		b.WriteString("# Nothing is missing. Look it through, then: git wf plan -f FILE\n")
	}
	const list, begin = "tasks:\n", "  - task_id: " // nothing inside of a text begins in the first column
	inside := false
	for line := range strings.Lines(string(data)) {
		b.WriteString(line)
		inside = inside || line == list
		if line[0] != ' ' && line[0] != '\n' && line != list {
			inside = false
		}
		id, ok := strings.CutPrefix(line, begin)
		if !inside || !ok {
			continue
		}
		for _, m := range missing[strings.Trim(strings.TrimSpace(id), `"'`)] {
			fmt.Fprintf(&b, "    # missing: %s\n", gapExamples[m])
		}
	}
	return []byte(b.String())
}

func lacks(n int) string {
	if n == 1 {
		return "1 task lacks"
	}
	return fmt.Sprintf("%d tasks lack", n)
}
