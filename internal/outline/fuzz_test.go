package outline

import (
	"bytes"
	"encoding/json"
	"flag"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// FuzzParse: whatever the bytes are, Parse says the same twice, names lines that exist and commands that stand in the
// source, lets no control character out, and what it reads becomes a plan.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAny(t, data) })
}

// TestMixed shuffles the lines of the outlines of testdata: what a fuzzer would need long to think of. It also checks
// that nothing is lost, which lines that a person could have written have an answer to, and a fuzzer's bytes do not.
func TestMixed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.SplitAfter(string(data), "\n")...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range *mixes {
		var src strings.Builder
		for range 1 + rng.IntN(60) {
			at := rng.IntN(len(lines))
			for _, l := range lines[at:min(at+1+rng.IntN(4), len(lines))] {
				if rng.IntN(10) == 0 {
					l = strings.Repeat(" ", rng.IntN(6)) + l
				}
				if rng.IntN(30) == 0 {
					l = l[:rng.IntN(len(l)+1)] + "\n"
				}
				src.WriteString(strings.ToValidUTF8(l, ""))
			}
		}
		data := []byte(src.String())
		if o := checkAny(t, data); o != nil {
			nothingLost(t, data, o)
		}
		if t.Failed() {
			t.Fatalf("of this outline:\n%s", src.String())
		}
	}
}

var mixes = flag.Int("mixes", 300, "how many outlines TestMixed makes")

// checkAny returns what Parse does of data: nil where it refuses.
func checkAny(t *testing.T, data []byte) *Outline {
	t.Helper()
	o, fs := Parse("fuzz.md", data)
	o2, fs2 := Parse("fuzz.md", data)
	if a, b := encode(t, o, fs), encode(t, o2, fs2); !bytes.Equal(a, b) {
		t.Fatalf("two readings differ:\n%s\n%s", a, b)
	}
	lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
	for _, finding := range fs {
		if finding.Line < 0 || finding.Line > lines {
			t.Errorf("finding on line %d of %d: %v", finding.Line, lines, finding)
		}
	}
	if (o == nil) == (len(fs) == 0) {
		t.Fatalf("outline %v with %d findings", o != nil, len(fs))
	}
	if o == nil {
		return nil
	}
	printable(t, encode(t, o, nil))
	src := squeezed(string(data)) + squeezed(html.UnescapeString(string(data)))
	ids := map[plan.TaskID]bool{}
	o.Walk(func(task *Task) {
		if ids[task.ID] {
			t.Errorf("two tasks are called %s", task.ID)
		}
		ids[task.ID] = true
		if task.Line < 1 || task.Line > lines {
			t.Errorf("%s is on line %d of %d", task.ID, task.Line, lines)
		}
		if task.Status.Line < 0 || task.Status.Line > lines {
			t.Errorf("%s: status on line %d of %d", task.ID, task.Status.Line, lines)
		}
		for _, c := range task.Acceptance {
			if c.Line < 1 || c.Line > lines {
				t.Errorf("%s: criterion on line %d of %d", task.ID, c.Line, lines)
			}
			if !strings.Contains(src, squeezed(c.Command)) {
				t.Errorf("%s: %q does not stand in the source", task.ID, c.Command)
			}
		}
	})
	doc, fs := o.Plan()
	if len(fs) > 0 && fs[0].Code == "cycle" {
		return o // what waits for what is the plan's matter
	}
	if len(fs) > 0 {
		t.Fatalf("no plan: %v", fs)
	}
	if _, err := plandoc.Parse("plan.yaml", doc); err != nil {
		t.Fatalf("the plan does not parse: %v\n%s", err, doc)
	}
	return o
}

var pointing = regexp.MustCompile("`([^`\\s][^`]*)`\\s*(?:->|→|=>)\\s*(?:exit 0|>= ?[0-9]|≥ ?[0-9]|退出码 0)(?:\\s|$)")

// nothingLost holds an outline that was read against its source: code in front of an arrow and a threshold is a command
// of it, or stands in a text of it. Code blocks, comments, and documents with a section that is skipped, are let alone.
func nothingLost(t *testing.T, data []byte, o *Outline) {
	t.Helper()
	for _, word := range []string{"```", "~~~", "<!--", "<"} {
		if bytes.Contains(data, []byte(word)) {
			return
		}
	}
	kept := squeezed(string(encode(t, o, nil)))
	lines := strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' })
	for _, l := range lines {
		if skipped.Get().MatchString(readLabel(strings.Trim(l, "# ")).title) ||
			skipped.Get().MatchString(strings.Trim(l, "#*_ ")) {
			return
		}
	}
	for _, l := range lines {
		for _, m := range pointing.FindAllStringSubmatch(l, -1) {
			quoted, err := json.Marshal(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if is := squeezed(strings.Trim(string(quoted), `"`)); !placehold.Get().MatchString(m[1]) &&
				!strings.Contains(kept, is) {
				t.Errorf("%q of the line %q is lost", m[1], l)
			}
		}
	}
}

// squeezed drops what may differ between a command and the source: white space, where a line goes on on the next; the
// backslash before a bar in a table; marks that are dropped everywhere.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || hostile(r) || r == '\\' || r == '>' {
			return -1
		}
		return r
	}, s)
}

func encode(t *testing.T, o *Outline, fs plan.Findings) []byte {
	t.Helper()
	data, err := json.Marshal(struct {
		O *Outline
		F plan.Findings
	}{o, fs})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// printable checks that no text that is printed holds what a terminal would obey; a command may go over several lines.
func printable(t *testing.T, data []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case string:
			if plain.Text(v) != v {
				t.Errorf("control characters in %q", v)
			}
		}
	}
	walk(v)
}
