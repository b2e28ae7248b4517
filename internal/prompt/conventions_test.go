package prompt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"gitwf/internal/contract"
	"gitwf/templates"
)

func TestConventions(t *testing.T) {
	long := strings.Repeat("x ", mostConvention)
	tests := []struct {
		name  string
		files map[string]string
		dirs  []string
		known string
		want  string // path: text, one a line
	}{
		{"none", map[string]string{"README.md": "hello\n"}, nil, "", ""},
		{"one file that names the other", map[string]string{"AGENTS.md": "Tabs.\n", "CLAUDE.md": "@AGENTS.md\n"}, nil, "",
			"AGENTS.md: Tabs."},
		{"a link to the other", map[string]string{"AGENTS.md": "Tabs.\n", "CLAUDE.md": "AGENTS.md", "GEMINI.md": "AGENTS.md"},
			nil, "", "AGENTS.md: Tabs."},
		{"the same text", map[string]string{"AGENTS.md": "Tabs.\n", "CLAUDE.md": "Tabs.\n"}, nil, "", "AGENTS.md: Tabs."},
		{"imports", map[string]string{"CLAUDE.md": "See @docs/style.md, (@./a.md).\n", "docs/style.md": "@../b.md\nBrief.\n",
			"a.md": "A.\n", "b.md": "B.\n"}, nil, "",
			"CLAUDE.md: See `docs/style.md`, (`a.md`).|docs/style.md: `b.md`\nBrief.|b.md: B.|a.md: A."},
		{"a circle", map[string]string{"AGENTS.md": "One @b.md\n", "b.md": "Two @AGENTS.md @b.md\n"}, nil, "",
			"AGENTS.md: One `b.md`|b.md: Two `AGENTS.md` `b.md`"},
		{"nothing outside, no addresses, no code", map[string]string{
			"AGENTS.md": "@../secret @/etc/passwd @~/x a@b.md `@b.md`\n```\n@b.md\n```\n@b.md", "b.md": "B.\n"}, nil, "",
			"AGENTS.md: @../secret @/etc/passwd @~/x a@b.md `@b.md`\n```\n@b.md\n```\n`b.md`|b.md: B."},
		{"no text, or too much", map[string]string{"AGENTS.md": "a\x00b", "CLAUDE.md": long, "GEMINI.md": "@AGENTS.md G.\n"}, nil, "",
			"GEMINI.md: @AGENTS.md G."},
		{"what it knows", map[string]string{"AGENTS.md": "Tabs.\n", "CLAUDE.md": "@AGENTS.md Claude.\n", "GEMINI.md": "AGENTS.md"},
			nil, "GEMINI.md", "CLAUDE.md: `AGENTS.md` Claude."},
		{"directories", map[string]string{"AGENTS.md": "Top.\n", "web/AGENTS.md": "Web @x.md\n", "web/x.md": "X.\n", "x.md": "no"},
			[]string{"web", "web/src"}, "", "AGENTS.md: Top.|web/AGENTS.md: Web `web/x.md`|web/x.md: X."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			read := func(name string) (string, bool) {
				text, ok := tt.files[name]
				return text, ok
			}
			var got []string
			for _, c := range ConventionsOf(read, append([]string{""}, tt.dirs...), tt.known) {
				got = append(got, c.Path+": "+strings.TrimSpace(string(c.Text)))
			}
			if diff := gocmp.Diff(tt.want, strings.Join(got, "|")); diff != "" {
				t.Error(diff)
			}
		})
	}
	// Imports are followed so deep, and no further; there are so many files, and no more.
	chain := func(name string) (string, bool) { return "x @a" + name + "\n", true }
	if got := ConventionsOf(chain, []string{""}, ""); len(got) != 3*(deepestImport+1) {
		t.Errorf("%d files in three chains of imports", len(got))
	}
	var all strings.Builder
	for i := range 100 {
		fmt.Fprintf(&all, "@f%d.md\n", i)
	}
	many := func(name string) (string, bool) {
		return map[bool]string{true: all.String() + "me", false: name + " "}[name == "AGENTS.md"], true
	}
	if got := ConventionsOf(many, []string{""}, ""); len(got) != mostConventions {
		t.Errorf("%d files", len(got))
	}
}

// Conventions begin the prompt, as Head; where the rest needs the room they are left out, which is said. Somebody's own
// blocks without one for them tell none.
func TestConventionsGiveWay(t *testing.T) {
	d := sample(contract.RoleAction)
	p := build(t, contract.RoleAction, d, DefaultBudget)
	if !strings.HasPrefix(p.Text, p.Head) || !strings.Contains(p.Head, "Be brief.") || strings.Contains(p.Head, "IMPL-3") {
		t.Errorf("the prompt begins with %q", p.Head)
	}
	least := d
	least.Conventions = nil
	p, err := Build(templates.FS, contract.RoleAction, least, 1)
	var tooLong *BudgetError
	if !errors.As(err, &tooLong) {
		t.Fatalf("got %v, %v", p, err)
	}
	p = build(t, contract.RoleAction, d, tooLong.Need+200) // with a section that says so
	if p.Head != "" || !strings.Contains(p.Text, "- conventions of the repository: 1 text") ||
		!slices.ContainsFunc(p.Dropped, func(x Dropped) bool {
			return x.What == "the conventions of the repository" && x.Bytes > 0
		}) {
		t.Errorf("with room for the rest alone, it begins with %q and lacks %v", p.Head, p.Dropped)
	}
	mine := fstest.MapFS{"prompts/parts.md": {Data: []byte(`{{define "mine"}}{{end}}x`)},
		"prompts/action.md": {Data: []byte("Work.\n")}}
	if p, err := Build(mine, contract.RoleAction, d, DefaultBudget); err != nil || p.Text != "Work.\n" || p.Head != "" {
		t.Errorf("got %q, %v", p.Text, err)
	}
}
