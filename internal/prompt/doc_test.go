package prompt

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"gitwf/internal/contract"
)

// TestDocumented compares docs/prompts.md with the code: every field, every role, the order and the limits.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/prompts.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(string(data), "\r\n", "\n")
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if !strings.Contains(doc, "`"+f.Name+"`") {
				t.Errorf("%s.%s is not documented", typ.Name(), f.Name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Data]())
	for _, r := range contract.Roles() {
		if row := fmt.Sprintf("| `%s` | `%s` |", r, templateFile(r)); !strings.Contains(doc, row) {
			t.Errorf("no row %s", row)
		}
	}
	_, order, _ := strings.Cut(doc, "| first to go |")
	for k, v := range kinds[:binding] {
		_, rest, ok := strings.Cut(order, "\n| "+v.name+" |")
		row, _, _ := strings.Cut(rest, "\n")
		if !ok || !strings.Contains(row, fmt.Sprintf("| %d KiB, ", v.limit>>10)) {
			t.Errorf("row %d of the budget is not %s with %d KiB", k, v.name, v.limit>>10)
		}
		order = rest
		if ok {
			order = "\n" + strings.SplitN(rest, "\n", 2)[1]
		}
	}
	if !strings.Contains(doc, "196,608") || DefaultBudget != 196_608 {
		t.Error("the default budget is another")
	}
}
