package workflow

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/templates"
)

var update = flag.Bool("update", false, "write the golden files")

// beside finds used workflows next to a file, or among those of the program.
func beside(dir string) func(string) (Source, error) {
	return func(name string) (Source, error) {
		if data, err := os.ReadFile(filepath.Join(dir, name+".yaml")); err == nil {
			return Source{name + ".yaml", data}, nil
		}
		data, err := templates.FS.ReadFile("workflows/" + name + ".yaml")
		return Source{name + ".yaml", data}, err
	}
}

func lintFile(t *testing.T, file string) plan.Findings {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Load(Source{filepath.Base(file), data}, beside(filepath.Dir(file)))
	var fs plan.Findings
	if err == nil {
		fs = w.Lint()
	} else if !errors.As(err, &fs) {
		t.Fatalf("%s: %v", file, err)
	}
	return fs
}

// Each mistake is found at its line, with what was expected and an example. A file is called after the code that it
// shows, or after the mistake.
func TestLint(t *testing.T) {
	files, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, f := range lintFile(t, file) {
				fmt.Fprintf(&b, "%s: %s\n", f.Code, f.Error())
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("lint differs (-want +got):\n%s", diff)
			}
			if b.Len() == 0 {
				t.Error("lint has nothing against it")
			}
		})
	}
}

// Every code that docs/workflows.md lists has a fixture that shows it.
func TestLintCodes(t *testing.T) {
	for _, code := range []string{
		"unknown-field", "unknown-name", "unknown-reference", "reference-in-run", "no-bound", "id-clash", "cycle", "use-cycle",
		"judges-what-comes-later", "judges-nothing", "delivers-what-may-be-accepted", "agree-unreachable", "weights-zero",
		"until-not-in-schema", "outcome-without-way", "too-many", "remote-reference", "result-not-measured", "decides-too-few",
		"uncovered-root-criterion", "name-clash", "bad-param", "plan-review",
	} {
		fs := lintFile(t, "testdata/lint/"+code+".yaml")
		if !fs.Has(code) {
			t.Errorf("%s.yaml is refused for other things:\n%v", code, fs)
		}
		for _, f := range fs {
			if f.File == "" || f.Line == 0 || f.Expected == "" || f.Example == "" {
				t.Errorf("%s: a finding does not say where, what was expected, or what would do: %+v", code, f)
			}
		}
	}
}
