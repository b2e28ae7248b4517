package estimate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"gitwf/internal/estimate"
	"gitwf/templates"
)

func TestParseWeightsErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "base: 1\nfles: {each: 1}", "w.yaml:2: field fles not found"},
		{"unknown key inside", "criteria: {must_rum: 1}", "w.yaml:1: field must_rum not found"},
		{"text", "files:\n  each: much", "w.yaml:2: cannot unmarshal !!str `much` into float64"},
		{"quoted number", `base: "1"`, "w.yaml:1: cannot unmarshal"},
		{"negative", "base: -1", "w.yaml: base: expected a number from 0 to 1000, found -1"},
		{"not a number", "base: .nan", "w.yaml: base: expected a number from 0 to 1000"},
		{"endless", "base: .inf", "w.yaml: base: expected a number from 0 to 1000"},
		{"list", "- 1", "w.yaml:1: cannot unmarshal !!seq into estimate.Weights"},
		{"object wanted", "files: 3", "w.yaml:1: cannot unmarshal !!int `3`"},
		{"twice", "base: 1\nbase: 2", `w.yaml:2: mapping key "base" already defined at line 1`},
		{"verbs without words", "verbs: [{name: x, factor: 1}]",
			"w.yaml: verbs[0]: a group needs a name, a factor above 0 and words"},
		{"factor zero", "verbs: [{name: x, factor: 0, words: [y]}]", "w.yaml: verbs[0]: a group needs"},
		{"empty word", "verbs: [{name: x, factor: 1, words: [a, ' ']}]", "w.yaml: verbs[0].words[1]: is empty"},
		{"verbs as object", "verbs: {}", "w.yaml:1: cannot unmarshal !!map"},
		{"two documents", "base: 1\n---\nbase: 2", "w.yaml: expected one YAML document, found a second one"},
		{"a broken second document", "base: 1\n---\n[", "w.yaml: expected one YAML document, found a second one"},
		{"no YAML", "base: [", "w.yaml:1: did not find"},
		{"escape sequence", "\"a\\e[31m\": 1", "w.yaml:1: field a\ufffd[31m not found"},
		{"large", strings.Repeat("#", 2<<20), "w.yaml: 2097152 bytes; a table of settings has at most 1048576"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := estimate.ParseWeights("w.yaml", []byte(tt.text), estimate.Weights{})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestParseWeightsKeepsWhatIsNotNamed(t *testing.T) {
	base := shipped(t)
	for _, text := range []string{"", "# nothing\n", "{}"} {
		if same, err := estimate.ParseWeights("w.yaml", []byte(text), base); err != nil || !cmp.Equal(same, base) {
			t.Errorf("%q: %v %s", text, err, cmp.Diff(base, same))
		}
	}
	want := base
	want.Files.Each = 2
	want.Verbs = []estimate.Verbs{{Name: "any", Factor: 3, Words: []string{"paint"}}}
	got, err := estimate.ParseWeights("w.json",
		[]byte(`{"files": {"each": 2}, "verbs": [{"name": "any", "factor": 3, "words": ["Paint"]}]}`), base)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

// The shipped table names every weight, so a copy shows everything that can be changed.
func TestShippedTableIsWhole(t *testing.T) {
	data, err := templates.FS.ReadFile(estimate.File)
	if err != nil {
		t.Fatal(err)
	}
	w := shipped(t)
	for name, v := range map[string]float64{
		"base": w.Base, "each": w.Files.Each, "pattern": w.Files.Pattern, "covers": w.Covers,
		"must_run": w.Criteria.MustRun, "must_manual": w.Criteria.MustManual, "should_run": w.Criteria.ShouldRun,
		"should_manual": w.Criteria.ShouldManual, "depends_on": w.Inputs.DependsOn, "requires": w.Inputs.Requires,
		"per_100_words": w.Description.Per100Words, "most": w.Description.Most,
	} {
		if v <= 0 || !strings.Contains(string(data), name+":") {
			t.Errorf("%s is %v", name, v)
		}
	}
	if len(w.Verbs) < 5 {
		t.Errorf("%d groups of verbs", len(w.Verbs))
	}
}

// FuzzParseWeights: a table that parses is usable, and parses again to the same.
func FuzzParseWeights(f *testing.F) {
	data, err := templates.FS.ReadFile(estimate.File)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("base: 1\nfiles: &a {each: 1}\ninputs: *a")
	f.Add("verbs: [{name: a, factor: .inf, words: [b]}]")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := estimate.ParseWeights("w.yaml", []byte(text), estimate.Weights{})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Fatalf("the error would move the cursor: %q", err)
			}
			return
		}
		if days := w.Estimate(action("Write it", "a, b, c, d", 3, "x.go")).Days; math.IsNaN(days) || days < estimate.Least ||
			days > estimate.Most {
			t.Fatalf("%v is no estimate", days)
		}
		var first, second any
		if yaml.Unmarshal([]byte(text), &first) == nil {
			again, err := yaml.Marshal(first)
			if err != nil || yaml.Unmarshal(again, &second) != nil {
				return
			}
			if same, err := estimate.ParseWeights("w.yaml", again, estimate.Weights{}); err == nil && !cmp.Equal(same, w) {
				t.Fatal(cmp.Diff(w, same))
			}
		}
	})
}
