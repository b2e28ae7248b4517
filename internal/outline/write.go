package outline

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"gitwf/internal/plan"
)

// write puts the plan down as YAML. All text is quoted, so that nothing in it can be taken for anything else.
func (w *planner) write() []byte {
	var y yamlWriter
	y.text(0, "title", short(w.o.Title, 200))
	y.text(0, "top_task", plan.Printable(w.o.TopTask))
	if limit := plan.DefaultConfig().MaxDecompositionDepth; w.depth > limit {
		y.line(0, fmt.Sprintf("config: {max_decomposition_depth: %d}", min(w.depth, 50)))
	}
	if len(w.roots) > 0 {
		y.line(0, "root_acceptance_criteria:")
		for _, c := range w.roots {
			y.line(1, "- id: "+c.ID)
			y.text(2, "statement", c.Statement)
		}
	}
	y.line(0, "tasks:")
	for _, t := range w.o.Tasks {
		w.task(&y, t, 1)
	}
	return []byte(y.b.String())
}

func (w *planner) task(y *yamlWriter, t *Task, depth int) {
	y.line(depth, "- task_id: "+string(t.ID))
	in := depth + 1
	y.text(in, "title", t.Title)
	if t.Description != "" {
		y.text(in, "description", t.Description)
	}
	if len(t.DependsOn) > 0 {
		ids := make([]string, len(t.DependsOn))
		for i, d := range t.DependsOn {
			ids[i] = string(d)
		}
		y.line(in, "depends_on: ["+strings.Join(ids, ", ")+"]")
	}
	w.meta(y, t, in)
	if len(t.Tasks) > 0 {
		y.line(in, "tasks:")
		for _, kid := range t.Tasks {
			w.task(y, kid, in+1)
		}
		return
	}
	if w.d.Agent != "" {
		y.text(in, "agent", w.d.Agent)
	}
	days := t.EstimateDays
	if days == 0 {
		days = w.d.EstimateDays
	}
	y.line(in, "estimated_person_days: "+strconv.FormatFloat(days, 'f', -1, 64))
	files, declared := t.spec()
	y.line(in, "deliverable_spec:")
	if len(files) == 1 {
		y.text(in+1, "filename", files[0])
		if !strings.Contains(files[0], ".") || strings.HasSuffix(files[0], "."+plan.FormatPlan) {
			y.line(in+1, "format: text")
		}
	} else {
		y.line(in+1, "format: files")
		y.line(in+1, "files:")
		for _, f := range files {
			y.line(in+2, "- "+quoteYAML(f))
		}
	}
	y.text(in+1, "description", describeSpec(t, declared))
	y.line(in, "acceptance_criteria:")
	for _, c := range t.criteria(files, declared) {
		w.criterion(y, c, in+1)
	}
	if ids := w.covers[t]; len(ids) > 0 {
		y.line(in, "covers: ["+strings.Join(ids, ", ")+"]")
	}
}

func describeSpec(t *Task, declared bool) string {
	if declared {
		return "What the task asks for: " + t.Title
	}
	return "A report on the work that the task asks for: " + t.Title
}

func (w *planner) criterion(y *yamlWriter, c criterion, depth int) {
	y.line(depth, "- id: "+c.id)
	y.text(depth+1, "statement", c.statement)
	if c.run != "" {
		y.text(depth+1, "run", c.run)
		y.line(depth+1, "check_method: "+plan.StaticCheck)
	}
	if c.should {
		y.line(depth+1, "severity: "+plan.Should)
	}
}

// meta keeps what the source claims: nothing of it counts.
func (w *planner) meta(y *yamlWriter, t *Task, depth int) {
	y.line(depth, "meta:")
	y.line(depth+1, "line: "+strconv.Itoa(t.Line))
	if t.SourceID != "" {
		y.text(depth+1, "source_id", t.SourceID)
	}
	y.text(depth+1, "status", string(t.Status.State))
	if t.Status.Word != "" {
		y.text(depth+1, "status_word", t.Status.Word)
	}
	if len(t.Evidence) > 0 {
		y.line(depth+1, "evidence:")
		for _, e := range t.Evidence {
			y.line(depth+2, "- "+quoteYAML(e))
		}
	}
	if t.Needs != "" {
		y.text(depth+1, "needs", t.Needs)
	}
}

type yamlWriter struct{ b strings.Builder }

func (y *yamlWriter) line(depth int, s string) {
	y.b.WriteString(strings.Repeat("  ", depth))
	y.b.WriteString(s)
	y.b.WriteByte('\n')
}

func (y *yamlWriter) text(depth int, key, value string) { y.line(depth, key+": "+quoteYAML(value)) }

// quoteYAML writes text in double quotes. What YAML does not take as it stands is escaped.
func quoteYAML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsGraphic(r) && r != '\u00a0' && r != '\ufeff':
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
