package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/readmodel"
	"gitwf/internal/terminal"
)

// texts are the templates of what commands print of the largest models.
//
//go:embed text
var texts embed.FS

// safe is text that may be printed as it is. Any other value of a template becomes one line of plain text.
type safe string

// print prints a command's result: with --json the document, else the template of this name.
func (p printer) print(name string, document any) error { return p.printAs(name, document, document) }

// printAs is print for a template that shows other data.
func (p printer) printAs(name string, document, data any) error {
	var failed error
	err := p.out(document, func(w io.Writer) { failed = p.render(w, name, data) })
	return errors.Join(err, failed)
}

// loneActions are the lines of a template that hold an action and print nothing themselves.
var loneActions = pattern.Compile(
	`(?m)^(\{\{(?:(?:range|if|else|with|define|template)\b[^{}\n]*|end|\$\w+ :?= [^{}\n]*|/\*.*\*/)\}\})\n`)

// render writes a template of text/, or a part that several have.
func (st style) render(w io.Writer, name string, data any) error {
	t, err := st.template(name)
	if err != nil {
		return err
	}
	if err := t.ExecuteTemplate(w, name, data); err != nil {
		return fmt.Errorf("print %s: %w", name, err)
	}
	return nil
}

// template reads the template of a name and the parts, and no others.
func (st style) template(name string) (*template.Template, error) {
	t := template.New("").Funcs(st.functions())
	for _, file := range []string{"parts", name} {
		if t.Lookup(file) != nil {
			break // it is one of the parts
		}
		text, err := texts.ReadFile("text/" + file + ".txt")
		if err != nil {
			return nil, err
		}
		if _, err := t.New(file).Parse(loneActions.Get().ReplaceAllString(string(text), "$1")); err != nil {
			return nil, err
		}
	}
	for _, one := range t.Templates() {
		shield(one.Root)
	}
	return t, nil
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
		"shown": shown,
		"after": func(text string) []safe {
			_, rest, _ := strings.Cut(text, "\n")
			return linesOf(rest)
		},
		"answer":  originText,
		"archive": gitstore.ArchiveRefName,
		"both":    func(a, b []engine.Wait) []engine.Wait { return slices.Concat(a, b) },
		"changes": changeLines,
		"claim":   claimLine,
		"clock":   clock,
		"count":   plain.Count,
		"commit":  func(id plan.OID) safe { return safe(st.paint("33", fmt.Sprintf("%-8.8s", cmp.Or(id, "-")))) },
		"span": func(ranges [][2]int) (n int) {
			for _, r := range ranges {
				n += r[1] - r[0] + 1
			}
			return n
		},
		"dollars": dollars,
		"first": func(most int, list any) any {
			v := reflect.ValueOf(list)
			return v.Slice(0, min(most, v.Len())).Interface()
		},
		"form": func(m engine.Missing) string {
			return strings.TrimSpace(m.Kind + " " + strings.Join(append(m.Formats, m.Options...), "|"))
		},
		"ids":       plan.JoinIDs,
		"known":     func(v any) bool { return v != nil },
		"nocommits": func() string { return gate.NoCommits },
		"oneline":   func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ↵ ") },
		"param":     paramText,
		"ref":       gitstore.RefName,
		"row":       func(format string, values ...any) safe { return safe(fmt.Sprintf(format, values...)) },
		"seconds": func(n any) time.Duration {
			return time.Duration(reflect.ValueOf(n).Convert(reflect.TypeFor[int64]()).Int()) * time.Second
		},
		"session":  sessionNotes,
		"signers":  export.Signers,
		"stale":    staleClaims,
		"tree":     treeRows,
		"trimdot":  func(s string) string { return strings.TrimSuffix(plain.Line(s), ".") },
		"undo":     func() plan.TaskID { return engine.UndoTask },
		"unique":   func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) },
		"unlanded": unlanded,
		"verdict":  verdictWord,
		"widest":   widest,
		"mark":     func(s plan.Status) safe { return safe(st.mark(s)) },
		"status":   func(s plan.Status) safe { return safe(st.status(s)) },
		"bold":     func(v any) safe { return safe(st.paint("1", string(shown(v)))) },
		"heading":  func(text string) safe { return safe("\n" + st.paint("1", text)) },
		"text":     func(s string) safe { return safe(plain.Text(s)) },
		"lines":    linesOf,
		"clip":     func(n int, v any) safe { return safe(terminal.Clip(string(shown(v)), n)) },
		"pad":      func(n int, v any) safe { return safe(padded(string(shown(v)), n)) },
		"more":     func(all, most int) int { return max(all-most, 0) },
		"join":     func(list []string) string { return strings.Join(list, ", ") },
		"date":     date,
		"version":  plan.VersionID,
		"changed":  plandoc.ChangedFiles,
		"rated":    readmodel.Rated,
		"maker":    makerOf,
		"names": func(spec *plan.DeliverableSpec) []string {
			names := slices.Concat([]string{spec.Filename}, spec.Files, spec.Paths)
			return slices.DeleteFunc(names, func(s string) bool { return s == "" })
		},
		"judged": judgementText,
	}
}

// linesOf are the lines of a text, without the space around it.
func linesOf(text string) (all []safe) {
	for line := range strings.Lines(plain.Text(strings.TrimSpace(text))) {
		all = append(all, safe(strings.TrimRight(line, "\n")))
	}
	return all
}

// widest is how many columns a field of a list takes, or what a method without arguments returns.
func widest(list any, field string) (columns int) {
	for _, v := range reflect.ValueOf(list).Seq2() {
		f := reflect.Indirect(v).FieldByName(field)
		if m := v.MethodByName(field); m.IsValid() {
			f = m.Call(nil)[0]
		}
		columns = max(columns, terminal.Cells(string(shown(f.Interface()))))
	}
	return columns
}

// padded fills a text up to a number of columns.
func padded(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-terminal.Cells(s), 0))
}

// unlanded is how many changes of a plan have not landed yet.
func unlanded(s *plan.State) int {
	_, _, open := export.Kinds(s)
	return len(open)
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
		text += ": " + terminal.Clip(plain.Line(j.Why), 400)
	}
	return safe(text)
}
