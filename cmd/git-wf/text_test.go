package main

import (
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/urfave/cli/v2"
)

// TestShield shows that a value of a template stays on its line and moves no cursor, wherever the template has it.
func TestShield(t *testing.T) {
	const evil = "a\nerror: all is lost\x1b[2J"
	for _, text := range []string{"{{.}}", "{{if .}}{{.}}{{end}}", "{{range $x := slice}}{{$x}}{{end}}",
		"{{with .}}{{print . .}}{{end}}", `{{define "x"}}{{.}}{{end}}{{template "x" .}}`, "{{bold .}}", "{{clip 40 .}}"} {
		one := template.Must(template.New("").Funcs(style{}.functions()).Funcs(template.FuncMap{
			"slice": func() []string { return []string{evil} }}).Parse(text))
		for _, part := range one.Templates() {
			shield(part.Root)
		}
		var b strings.Builder
		if err := one.Execute(&b, evil); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.ContainsAny(got, "\n\x1b") || !strings.Contains(got, "a error: all is lost") {
			t.Errorf("%s prints %q", text, got)
		}
	}
}

// TestTemplates reads every template, since a command reads only its own.
func TestTemplates(t *testing.T) {
	files, err := texts.ReadDir("text")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, f := range files {
		if _, err := (style{}).template(strings.TrimSuffix(f.Name(), ".txt")); err != nil {
			t.Error(err)
		}
	}
}

// TestFlagRules holds the table of flags that exclude or need each other to the flags that the commands have.
func TestFlagRules(t *testing.T) {
	has := map[string][]string{}
	var walk func(above string, all []*cli.Command)
	walk = func(above string, all []*cli.Command) {
		for _, c := range all {
			for _, f := range c.Flags {
				has[above+c.Name] = append(has[above+c.Name], f.Names()...)
			}
			walk(above+c.Name+" ", c.Subcommands)
		}
	}
	walk("", (&env{}).app().Commands)
	for name, rules := range flagRules {
		for _, r := range rules {
			for _, flag := range strings.FieldsFunc(r.flags+"|"+r.with+"|"+r.needs, func(c rune) bool { return c == '|' }) {
				if !slices.Contains(has[name], flag) {
					t.Errorf("git wf %s has no flag --%s", name, flag)
				}
			}
		}
	}
}
