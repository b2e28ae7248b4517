package prompt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"gitwf/internal/contract"
	"gitwf/templates"
)

func layersWith(name, content string) fs.FS {
	mine := fstest.MapFS{name: &fstest.MapFile{Data: []byte(content)}}
	return Layers(Layer{"/home/ann/.git/wf/templates", mine}, Layer{"/home/ann/none", os.DirFS("/does/not/exist")},
		Layer{"", templates.FS})
}

func TestVet(t *testing.T) {
	if err := Vet(templates.FS); err != nil {
		t.Error(err)
	}
	if err := Vet(Layers(Layer{"", templates.FS})); err != nil {
		t.Error(err)
	}
}

func TestOverride(t *testing.T) {
	const mine = "/home/ann/.git/wf/templates/"
	tests := []struct{ name, file, content, want string }{
		{"plain", "prompts/check.md", "Judge {{.Task.ID}}.\n{{.Task.Description}}\nover", ""},
		{"with its own block", "prompts/check.md",
			`{{define "x"}}{{.Title}}{{end}}{{template "x" .}}{{template "criteria" .}}`, ""},
		{"variables and functions", "prompts/check.md",
			`{{$t := .Task}}{{range $i, $c := $t.Criteria}}{{$i}}{{$c.ID}}{{quoted $c.Covers}}{{end}}{{with $x := .Rejected}}{{$x.Score}}{{$.Title}}{{end}}`, ""},
		{"an index that only some data has", "prompts/check.md",
			"{{if gt (len .Notes) 100}}{{index .Notes 100}}{{else}}{{.Title}}{{end}}", ""},
		{"does not parse", "prompts/check.md", "one\n{{if}}\n", mine + "prompts/check.md:2: "},
		{"not closed", "prompts/check.md", "one\n{{if .Title}}\nthree\n", mine + "prompts/check.md:4: unexpected EOF"},
		{"unknown function", "prompts/check.md", "{{upper .Title}}", mine +
			`prompts/check.md:1: function "upper" not defined`},
		{"unknown field", "prompts/check.md", "one\n\n{{.Summary}}", mine +
			"prompts/check.md:3:2: ... field Summary"},
		{"unknown field, not reached", "prompts/check.md", "{{if .Current}}\n{{.Task.Titel}}{{end}}", mine +
			"prompts/check.md:2:7: ... field Titel"},
		{"unknown field of an element", "prompts/check.md",
			"{{range .Leaves}}{{range $.Notes}}\n\n{{.Body}}{{end}}{{end}}", mine +
				"prompts/check.md:3:2: ... field Body"},
		{"unknown field of a variable", "prompts/check.md", "{{with $r := .Rejected}}\n{{$r.Who}}{{end}}", mine +
			"prompts/check.md:2:4: ... field Who"},
		{"unknown field in a condition", "prompts/check.md", "{{if and .Title (eq .Task.Size 1)}}{{end}}",
			"can't evaluate field Size"},
		{"unknown field in a block", "prompts/parts.md", "{{define \"material\"}}\n{{.Summary}}{{end}}", mine +
			"prompts/parts.md:2:2: ... field Summary"},
		{"unknown block", "prompts/check.md", "\n{{template \"story\" .}}", mine + "prompts/check.md:2:11: ... template \"story\" not defined"},
		{"field of a text", "prompts/check.md", "{{.Title.Length}}", "can't evaluate field Length"},
		{"empty", "prompts/check.md", "\n", mine + "prompts/check.md:1: the template is empty"},
		{"fails when it runs", "prompts/check.md", "\n{{index .Notes 100}}", mine + "prompts/check.md:2:2: "},
		{"a part of a text", "prompts/check.md", "{{slice .Task.Description 1}}", "print it whole"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(layersWith(tt.file, tt.content), contract.RoleCheck, sample(contract.RoleCheck), DefaultBudget)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			}
			for part := range strings.SplitSeq(tt.want, " ... ") {
				if part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
			}
			var wrong *TemplateError
			if err != nil && (!errors.As(err, &wrong) || !strings.HasSuffix(wrong.File, tt.file)) {
				t.Errorf("the template that is wrong is %+v", wrong)
			}
		})
	}
}

// TestOverrideOfOne: the other roles keep their templates, and one role's mistake does not affect another.
func TestOverrideOfOne(t *testing.T) {
	files := layersWith("prompts/check.md", "mine: {{.Task.ID}}")
	p, err := Build(files, contract.RoleCheck, sample(contract.RoleCheck), DefaultBudget)
	if err != nil || p.Text != "mine: IMPL-3\n" || len(p.Dropped) > 0 {
		t.Errorf("got %q, %v, %v", p.Text, p.Dropped, err)
	}
	if p, err = Build(files, contract.RolePlan, sample(contract.RolePlan), DefaultBudget); err != nil ||
		!strings.Contains(p.Text, "# Plan: Shop") {
		t.Errorf("got %q, %v", p.Text, err)
	}
	if err := Vet(layersWith("prompts/split.md", "{{.X}}")); err == nil || !strings.Contains(err.Error(), "split.md:1") {
		t.Errorf("Vet says %v", err)
	}
}

// TestOverrideUnreadable: an unreadable file does not fall back to the next layer.
func TestOverrideUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "prompts", "check.md"), 0o777); err != nil {
		t.Fatal(err)
	}
	files := Layers(Layer{dir, os.DirFS(dir)}, Layer{"", templates.FS})
	if _, err := Build(files, contract.RoleCheck, sample(contract.RoleCheck), DefaultBudget); err == nil ||
		!strings.Contains(err.Error(), dir+"/prompts/check.md") {
		t.Errorf("got %v", err)
	}
	if _, err := Build(Layers(), contract.RoleCheck, sample(contract.RoleCheck), DefaultBudget); err == nil ||
		!strings.Contains(err.Error(), "prompts/parts.md") {
		t.Errorf("without layers: %v", err)
	}
}

// TestForgedPlaceholder: nothing that others wrote can stand for another text.
func TestForgedPlaceholder(t *testing.T) {
	d := sample(contract.RoleAction)
	d.Title, d.Contract, d.Notes[0].Text = "\x000\x00", "\x001\x00", "\x002\x00"
	p := build(t, contract.RoleAction, d, DefaultBudget)
	if strings.Count(p.Text, "One page with all products.") != 1 || !strings.Contains(p.Text, `"0"`) {
		t.Error(p.Text)
	}
}

// TestTwice: a text that a template prints twice counts twice.
func TestTwice(t *testing.T) {
	d := Data{Notes: []Note{{1, "a", "", Text(strings.Repeat("x", 3000))}}}
	files := layersWith("prompts/check.md", "{{range .Notes}}{{.Text}}{{.Text}} and {{.Text}}!{{end}}")
	for budget := 700; budget < 10_000; budget += 100 {
		p, err := Build(files, contract.RoleCheck, d, budget)
		if err != nil || len(p.Text) > budget {
			t.Fatalf("budget %d: %d bytes, %v", budget, len(p.Text), err)
		}
		if !strings.Contains(p.Text, "\nand \n") {
			t.Fatal(p.Text)
		}
	}
}
