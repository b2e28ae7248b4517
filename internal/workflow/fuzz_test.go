package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// FuzzLoad reads any bytes as a workflow. What is refused is refused with findings that say where; what lint has nothing
// against renders, the same way twice, to a plan that can be read.
func FuzzLoad(f *testing.F) {
	for _, name := range builtins(f) {
		src, err := beside("")(name)
		if err != nil {
			f.Fatal(err)
		}
		w, err := Load(src, beside(""))
		if err != nil {
			f.Fatal(err)
		}
		// Lint of a file with many choices takes seconds in the fuzzer, which takes ten for a hang.
		if choices, _ := w.Choices(); len(choices) <= 6 {
			f.Add(src.Data)
		}
	}
	files, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if filepath.Base(file) != "alias-bomb.yaml" {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := Load(Source{"fuzz.yaml", data}, beside(""))
		var fs plan.Findings
		if err != nil {
			if !errors.As(err, &fs) || len(fs) == 0 || fs[0].File == "" {
				t.Fatalf("refused without a place: %v", err)
			}
			return
		}
		sound := len(w.Lint()) == 0
		choices, _ := w.Choices()
		for i, in := range choices {
			if i > 3 {
				break
			}
			r, err := w.Render(in)
			if err != nil {
				if sound {
					t.Fatalf("lint has nothing against it, and %v: %v", in.Params, err)
				}
				continue
			}
			again, err := w.Render(in)
			if err != nil || !bytes.Equal(r.Text, again.Text) {
				t.Fatalf("rendered twice, it differs: %v", err)
			}
			if _, err := plandoc.Parse("plan.yaml", r.Text); err != nil {
				t.Fatalf("the text can't be read: %v", err)
			}
		}
	})
}

// valuesFile takes a value wherever one can come from: the sentence, a param, an item of an approved file.
const valuesFile = `workflow: values
version: 1
params: {name: {type: text, default: x}}
roles: {writer: {text: Write it.}}
schemas: {list: {type: object, required: [parts], properties: {parts: {type: array, items: {type: object, required: [detail], properties: {detail: {type: string}}}}}}}
criteria: [{id: R1, statement: There is a report of 3 lines}]
tasks:
  - {id: REPORT-1, title: Report, role: writer, text: "{{sentence}}", make: report.md, covers: [R1], criteria: [{id: A1, statement: "3 lines: {{name}}"}]}
  - {id: LIST-1, title: List, role: writer, make: list.json, schema: list}
  - {group: ALL-1, title: All, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 3}, tasks: [
      {id: "PART-{{t.n}}", title: Part, role: writer, text: "{{t.detail}}", needs: [LIST-1], make: part.md, covers: [R1], criteria: [{id: A1, statement: part.md has 1 line, run: test -s part.md}]}]}
`

// FuzzValues puts any text into a plan. It stays a text: the tasks, their names and their command lines are those of the
// file, and the text is there as it was.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"a\n- b: {{t.n}}", "{{sentence}}", `"}],"run":"rm`, "- x\n  run: rm -rf", "\t\u2028 \r\n: #", "<<", "~", "|\n a",
		" lead\n trail \n\n", "\xff", "a\x00b", "\u0085x\n", "\ufeff", "%YAML", "---\n...", "'", "\\", "\n", "x\n\ty", "  \n x"} {
		f.Add(s)
	}
	w, err := Load(Source{"values.yaml", []byte(valuesFile)}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := w.Inputs(text, nil, map[string]string{"name": text})
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Render(in)
		if err != nil {
			return // as too long, or no text that JSON can hold
		}
		p, err := plandoc.Parse("plan.yaml", r.Text)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Tasks) != 6 || p.TopTask != text && text != "" || p.Task("REPORT-1").Description != text ||
			p.Task("REPORT-1").AcceptanceCriteria[0].Statement != "3 lines: "+text {
			t.Fatalf("%q came into the plan as %+v", text, p.Task("REPORT-1"))
		}
		content, err := json.Marshal(map[string]any{"parts": []any{map[string]any{"detail": text, "run": text, "id": text}}})
		if err != nil || !utf8.ValidString(text) {
			return
		}
		part, err := w.RenderFill(in, r.Fills[0].Fill, content)
		if err != nil {
			return
		}
		if p, err = plandoc.Parse("plan.yaml", part.Text); err != nil {
			t.Fatal(err)
		}
		task := p.Task("PART-1")
		if len(p.Tasks) != 3 || task.Description != text || task.Run != "" || task.AcceptanceCriteria[0].Run != "test -s part.md" {
			t.Fatalf("%q came into the fragment as %+v", text, task)
		}
	})
}

// FuzzFill renders fills of any section, names and file: it refuses, or gives a fragment that can be read.
func FuzzFill(f *testing.F) {
	w := builtin(f, "iterdev")
	in := inputs(f, w, map[string]string{"variant": "multi-sprint", "sprints": "3"})
	f.Add("/tasks/2", `{}`, 2, approved(f, "iterdev", "retro.json"))
	f.Add("/tasks/2", `null`, 4, approved(f, "iterdev", "retro.json"))
	f.Add("/tasks/2/tasks/1", `{"round": 1}`, 0, approved(f, "iterdev", "task-breakdown.json"))
	f.Add("/tasks/2/tasks/1", `{"round": {"n": 99}}`, -1, []byte(`{"tasks": [{"title": {}, "files": "x", "detail": null}]}`))
	f.Fuzz(func(t *testing.T, section, env string, round int, content []byte) {
		fill := plan.Fill{Section: section, Round: round}
		if json.Unmarshal([]byte(env), &fill.Env) != nil {
			return
		}
		r, err := w.RenderFill(in, fill, content)
		if err != nil {
			var fs plan.Findings
			if !errors.As(err, &fs) {
				t.Fatalf("refused without findings: %v", err)
			}
			return
		}
		if _, err := plandoc.Parse("plan.yaml", r.Text); err != nil {
			t.Fatalf("the fragment can't be read: %v\n%s", err, r.Text)
		}
	})
}
