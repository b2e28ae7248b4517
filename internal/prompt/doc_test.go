package prompt

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gitwf/internal/contract"
	"gitwf/internal/policy"
)

// TestDocumented holds docs/format/prompts.md, which follows from the program: the templates, every field that one can
// use, with the comment that it has in data.go, and what is left out first.
func TestDocumented(t *testing.T) {
	const name = "../../docs/format/prompts.md"
	var b strings.Builder
	b.WriteString("# What a prompt's template can use\n\nLook up here what you can print in a template of your own " +
		"([agents.md](../agents.md#your-own-prompts)).\nA test writes this file from the program's own tables (`go test " +
		"./internal/prompt -run Documented -update`).\n\n## Templates\n\n| role | template |\n| --- | --- |\n")
	for _, r := range contract.Roles() {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", r, templateFile(r))
	}
	fmt.Fprintf(&b, "\n## The budget\n\nBy default a prompt has at most %d bytes. These are left out in this order, "+
		"and never have more than:\n\n| text | KiB |\n| --- | --- |\n", DefaultBudget)
	for _, v := range kinds[:binding] {
		fmt.Fprintf(&b, "| %s | %d |\n", v.name, v.limit>>10)
	}
	b.WriteString("\n## Fields\n\n`Data` is the whole. A `Text` prints itself in a fence; every other string is on one " +
		"line, but for `Contract` and\n`Way`. A field that a role does not use is empty.\n\n| of | field | type | |\n| --- | --- | --- | --- |\n")
	writeFields(t, &b)
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(b.String(), strings.ReplaceAll(string(found), "\r\n", "\n")); diff != "" {
		t.Errorf("go test ./internal/prompt -run Documented -update (- in the program, + in the file): %s", diff)
	}
}

// writeFields writes a row for each field of the types in data.go.
func writeFields(t *testing.T, b *strings.Builder) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "data.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		spec := group.Specs[0].(*ast.TypeSpec)
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		of := spec.Name.Name
		for _, f := range fields.Fields.List {
			text := strings.ReplaceAll(strings.TrimSpace(cmp.Or(f.Comment.Text(), f.Doc.Text())), "\n", " ")
			var names []string
			for _, n := range f.Names {
				names = append(names, "`"+n.Name+"`")
			}
			if f.Names == nil {
				names = []string{"all of"}
			}
			fmt.Fprintf(b, "| %s | %s | `%s` | %s |\n", of, strings.Join(names, ", "), types.ExprString(f.Type), text)
			of = ""
		}
	}
	of := "policy.Floors"
	for f := range reflect.TypeFor[policy.Floors]().Fields() {
		fmt.Fprintf(b, "| %s | `%s` | `%s` | |\n", of, f.Name, f.Type)
		of = ""
	}
}
