package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"gitwf/internal/estimate"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/readmodel"
)

// texts are the templates of what commands print of the largest models.
//
//go:embed text
var texts embed.FS

// safe is text that may be printed as it is. Any other value of a template becomes one line of plain text, whether the
// template says so or not.
type safe string

// render writes a template of text/. It reads it only then, so that no other command pays for it.
func (st style) render(w io.Writer, name string, data any) error {
	t, err := template.New(name).Funcs(st.functions()).ParseFS(texts, "text/*.txt")
	if err != nil {
		return err
	}
	for _, one := range t.Templates() {
		shield(one.Root)
	}
	if err := t.Execute(w, data); err != nil {
		return fmt.Errorf("print %s: %w", name, err)
	}
	_, err = fmt.Fprintln(w)
	return err
}

// shield has every value of a template pass through shown, as html/template has it escaped.
func shield(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand,
					Args: []parse.Node{parse.NewIdentifier("shown")}})
			}
		case *parse.IfNode:
			shield(n.List)
			shield(n.ElseList)
		case *parse.RangeNode:
			shield(n.List)
			shield(n.ElseList)
		case *parse.WithNode:
			shield(n.List)
			shield(n.ElseList)
		}
	}
}

func shown(v any) safe {
	if s, ok := v.(safe); ok {
		return s
	}
	return safe(plain.Line(fmt.Sprint(v)))
}

func (st style) functions() template.FuncMap {
	return template.FuncMap{
		"shown":   shown,
		"mark":    func(s plan.Status) safe { return safe(st.mark(s)) },
		"status":  func(s plan.Status) safe { return safe(st.status(s)) },
		"bold":    func(v any) safe { return safe(st.paint("1", string(shown(v)))) },
		"heading": func(text string) safe { return safe("\n" + st.paint("1", text)) },
		"text":    func(s string) safe { return safe(plain.Text(s)) },
		"lines":   linesOf,
		"clip":    func(n int, v any) safe { return safe(clip(string(shown(v)), n)) },
		"pad":     func(n int, v any) safe { return safe(fmt.Sprintf("%-*s", n, shown(v))) },
		"more":    func(all, most int) int { return all - most },
		"join":    func(list []string) string { return strings.Join(list, ", ") },
		"date":    date,
		"version": plan.VersionID,
		"changed": plandoc.ChangedFiles,
		"rated":   readmodel.Rated,
		"maker":   makerOf,
		"names": func(spec *plan.DeliverableSpec) []string {
			names := slices.Concat([]string{spec.Filename}, spec.Files, spec.Paths)
			return slices.DeleteFunc(names, func(s string) bool { return s == "" })
		},
		"width": func(all []plan.CriterionResult) (n int) {
			for _, c := range all {
				n = max(n, len(c.ID))
			}
			return n
		},
		"judged": judgementText,
		"note": func(n plan.Note) safe {
			var b strings.Builder
			st.printNote(&b, n, "  ")
			return safe(strings.TrimSuffix(b.String(), "\n"))
		},
	}
}

// linesOf are the lines of a text, without the space around it.
func linesOf(text string) (all []safe) {
	for line := range strings.Lines(plain.Text(strings.TrimSpace(text))) {
		all = append(all, safe(strings.TrimRight(line, "\n")))
	}
	return all
}

// judgementText is what one source said of how large a task is; j may be nil.
func judgementText(j *estimate.Judgement) safe {
	if j == nil {
		return "said nothing"
	}
	text := fmt.Sprintf("%g person-days", j.Days)
	if j.OneShotPass != nil {
		text += map[bool]string{true: ", can be done in one go", false: ", can't be done in one go"}[*j.OneShotPass]
	}
	if j.Why != "" {
		text += ": " + clip(plain.Line(j.Why), 400)
	}
	return safe(text)
}
