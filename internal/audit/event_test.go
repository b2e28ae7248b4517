package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

// Whoever adds a kind of event has to say what it may add: a kind without a row would make every commit of it a
// finding.
func TestEveryEventHasARule(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../plan/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), "event") || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		kind, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if known, _ := plan.EventKinds(); !slices.Contains(known, kind) && kind != plan.EventPolicy {
			t.Errorf("%s (%q) is none of the kinds of event", spec.Names[0].Name, kind)
		}
		return true
	})
	if n < 14 {
		t.Errorf("found %d kinds of event", n)
	}
}
