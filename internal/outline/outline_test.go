package outline

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestGolden reads every outline of testdata and compares what was understood with the golden file beside it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d outlines in testdata, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".md"), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := golden(t, filepath.Base(f), data)
			name := strings.TrimSuffix(f, ".md") + ".golden.json"
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("not what the golden file says (-want +got):\n%s", diff)
			}
		})
	}
}

// golden is what a reader of the outline gets to see: the outline, or why it was refused.
func golden(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	o, fs := Parse(name, data)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if o != nil {
		_, fs = o.Plan()
	}
	var v any = o
	if len(fs) > 0 {
		v = map[string]any{"findings": fs}
	}
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if len(fs) == 0 {
		checkPlan(t, o)
	}
	return b.Bytes()
}

// checkPlan holds the plan of an outline against the rules and against the outline itself.
func checkPlan(t *testing.T, o *Outline) {
	t.Helper()
	doc, fs := o.Plan()
	if len(fs) > 0 {
		t.Fatalf("no plan:\n%v", fs)
	}
	p, err := plandoc.ParseValid(o.File, doc, policy.Floors{})
	if err != nil {
		t.Fatalf("the plan is refused: %v\n%s", err, doc)
	}
	have := map[plan.TaskID]*plan.Task{}
	for _, task := range p.Tasks {
		have[task.TaskID] = task
	}
	o.Walk(func(task *Task) {
		got := have[task.ID]
		if got == nil {
			t.Errorf("%s is not in the plan", task.ID)
			return
		}
		if closes := have["ACCEPT-"+task.ID]; len(task.Tasks) > 0 && closes != nil {
			got = closes
		}
		for _, c := range task.Acceptance {
			if c.Command == "" {
				continue
			}
			found := false
			for _, pc := range got.AcceptanceCriteria {
				found = found || strings.Contains(pc.Run, c.Command) || pc.Manual() &&
					strings.Contains(pc.Statement, plain.Line(c.Command)) && strings.Contains(pc.Statement, c.Expect)
			}
			if !found {
				t.Errorf("%s: no criterion of the plan runs %q, or has a person run it", task.ID, c.Command)
			}
		}
	})
}
