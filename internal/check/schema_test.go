package check

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// A file of the candidate is held against a criterion's schema, whatever the file and the schema are.
func TestSchemaCheck(t *testing.T) {
	object := map[string]any{"type": "object", "required": []any{"n"}}
	for _, tt := range []struct {
		name, file, content string
		schema              map[string]any
		want                string // of the evidence; "" passes
	}{
		{"JSON", "a.json", `{"n": 1}`, object, ""},
		{"JSON that does not fit", "a.json", `{"m": 1}`, object, `/: expected the fields "n", found none of that name`},
		{"no JSON", "a.json", `{"n": 1`, object, "a.json: line 1: "},
		{"two documents", "a.json", `{"n": 1}{}`, object, "a.json: line 1: "},
		{"a field twice", "a.json", `{"n": 1, "n": 2}`, object, "a.json: line 1: "},
		{"another name", "a.txt", `{"n": 1}`, object, ""},
		{"YAML", "a.yml", "n: 1\n", object, ""},
		{"an alias bomb", "a.yaml", bomb(), object, "a.yaml: "},
		{"many levels", "a.json", strings.Repeat("[", 200) + strings.Repeat("]", 200), object, "a.json: line 1: "},
		{"a large number", "a.json", `{"n": 1e999999999}`, object, "a.json: line 1: "},
		{"Markdown", "a.md", "---\nn: 1\n---\n# T\n", object, ""},
		{"Markdown of Windows", "a.MD", "\ufeff---\r\nn: 1\r\n---\r\n", object, ""},
		{"Markdown without a head", "a.md", "# T\n---\nn: 1\n---\n", object, "does not begin with a head"},
		{"a head without an end", "a.md", "---\nn: 1\n", object, "does not begin with a head"},
		{"a large file", "a.json", `"` + strings.Repeat("a", maxDocument) + `"`, object, "more than 4194304 bytes"},
		{"nothing", "", "", object, "there is no file"},
		{"a schema that is none", "a.json", "{}", map[string]any{"$ref": "https://example.com"}, "the schema can't be used"},
		{"a schema with terms that double", "a.json", "1", doubling(), "too complex"},
		{"what would escape", "a.json", `{"n": "` + `\u001b[31m` + `"}`, map[string]any{"properties": map[string]any{
			"n": map[string]any{"type": "integer"}}}, "/n: expected integer, found "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Setup{Scratch: t.TempDir(), Candidate: func(_ context.Context, dir string) error {
				if tt.file == "" {
					return nil
				}
				return os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.content), 0o666)
			}}
			began := time.Now()
			got, err := Run(t.Context(), []plan.Criterion{{ID: "A1", CheckMethod: plan.SchemaCheck, Schema: tt.schema}}, s)
			if err != nil || len(got) != 1 || got[0].Passed() != (tt.want == "") || !strings.Contains(got[0].Evidence, tt.want) {
				t.Errorf("%+v, %v; want %q", got, err, tt.want)
			}
			if len(got) == 1 && (len(got[0].Evidence) > maxEvidence || strings.ContainsRune(got[0].Evidence, 0x1b)) {
				t.Errorf("the evidence is not fit to be shown: %d bytes", len(got[0].Evidence))
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func bomb() string {
	text := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	last := "a"
	for _, n := range strings.Split("bcdefghij", "") {
		text += n + ": &" + n + " [" + strings.TrimSuffix(strings.Repeat("*"+last+", ", 9), ", ") + "]\n"
		last = n
	}
	return text
}

func doubling() map[string]any {
	defs := map[string]any{"z": map[string]any{}}
	last := "z"
	for _, n := range strings.Split("abcdefghijklmnopqrstuvwxy", "") {
		ref := map[string]any{"$ref": "#/$defs/" + last}
		defs[n] = map[string]any{"allOf": []any{ref, ref}}
		last = n
	}
	return map[string]any{"$ref": "#/$defs/y", "$defs": defs}
}

// A link of the candidate leads nowhere outside of it.
func TestSchemaCheckLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(outside, []byte(`{"n": 1}`), 0o666); err != nil {
		t.Fatal(err)
	}
	s := Setup{Scratch: t.TempDir(), Candidate: func(_ context.Context, dir string) error {
		return os.Symlink(outside, filepath.Join(dir, "a.json"))
	}}
	got, err := Run(t.Context(), []plan.Criterion{{ID: "A1", CheckMethod: plan.SchemaCheck, File: "a.json",
		Schema: map[string]any{}}}, s)
	if err != nil || got[0].Passed() {
		t.Errorf("%+v, %v", got, err)
	}
}
