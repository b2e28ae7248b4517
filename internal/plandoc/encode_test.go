package plandoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"gitwf/internal/plan"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// canonical is the canonical form by another road: through encoding/json and a map, which sorts its keys.
func canonical(t testing.TB, p *plan.Plan) []byte {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if m := v.(map[string]any); m["tasks"] == nil {
		m["tasks"] = []any{}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEncodeIsCanonical(t *testing.T) {
	hostile := &plan.Plan{
		SchemaVersion: 1, Title: "<a> & \"b\" \\ \u2028\u2029 \t\r\n\b\f\x01\x7f é 字 😀 ₂",
		Tasks: []*plan.Task{{TaskID: "A-1", EstimatedPersonDays: 1e-9, Meta: map[string]any{
			"z": 1e21, "a": []any{}, "m": map[string]any{}, "n": nil, "<": true, "list": []any{int64(1), "x", 0.25, []any{nil}},
		}}},
	}
	handbook, err := Parse("handbook.yaml", readTestdata(t, "handbook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*plan.Plan{"hostile": hostile, "handbook": handbook, "zero": {},
		"large": generate(20, false)} {
		got, err := Encode(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(string(canonical(t, p)), string(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestDecodeReadsBack(t *testing.T) {
	p, err := Parse("handbook.yaml", readTestdata(t, "handbook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.Grafts = []plan.Graft{{TaskID: "PLAN-1", ArtifactID: "v2"}}
	data, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Error(diff)
	}
	again, err := Encode(back)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("encoded again: %v\n%s", err, again)
	}
	written, err := Parse("plan.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, written); diff != "" {
		t.Errorf("Parse of a stored plan changes it: %s", diff)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for name, tt := range map[string]struct{ data, want string }{
		"unknown field": {`{"schema_version":1,"colour":1}`, `plan.json:1: colour: unknown field "colour"`},
		"unknown below": {"{\"schema_version\":1,\"tasks\":[{\"task_id\":\"A-1\",\n\"Title\":\"x\"}]}",
			`plan.json:2: tasks[0].Title: A-1: unknown field "Title"; did you mean title?`},
		"duplicate field": {`{"schema_version":1,"schema_version":1}`, "stands twice"},
		"duplicate meta":  {`{"schema_version":1,"tasks":[{"meta":{"a":{"b":1,"b":2}}}]}`, "stands twice"},
		"wrong type": {`{"schema_version":1,"tasks":[{"task_id":7}]}`,
			"tasks[0].task_id: is of the wrong type (expected string; found number"},
		"null task":  {`{"schema_version":1,"tasks":[null]}`, "tasks[0]: is of the wrong type (expected object; found nothing"},
		"fraction":   {`{"schema_version":1,"config":{"quorum":0.5}}`, "config.quorum: is of the wrong type (expected integer"},
		"no version": {`{"title":"x"}`, "schema_version: is missing"},
		"not JSON":   {"title: x\n", "expected a value"},
		"empty":      {"", "no content"},
	} {
		_, err := Decode([]byte(tt.data))
		var fs plan.Findings
		if !errors.As(err, &fs) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, p := range map[string]*plan.Plan{
		"no plan":   nil,
		"not UTF-8": {Title: "a\xff"},
		"NaN":       {Config: plan.Config{OneShotThresholdPersonDays: math.NaN()}},
		"a channel": {Tasks: []*plan.Task{{Meta: map[string]any{"c": make(chan int)}}}},
	} {
		if data, err := Encode(p); err == nil {
			t.Errorf("%s: encoded as %s", name, data)
		}
	}
}
