package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/document"
)

var (
	limits  = document.Limits{Depth: 3, Values: 20, Fields: 2}
	strict  = document.JSON{Limits: limits}
	liberal = document.JSON{Limits: limits, Comments: true, RawText: true}
)

// TestJSON reads each text strictly, liberally, and with what can be mended mended.
func TestJSON(t *testing.T) {
	for _, tt := range []struct{ name, text, strict, liberal, mended, told string }{
		{"all kinds", `{"a": [1, -0.5e1, "x\u00e9\ud83d\ude00\n"], "b": null}`, `{"a":[1,-5,"xé😀\n"],"b":null}`, "same",
			"same", ""},
		{"a whole number in other words", `[1.0, 1e2, -0]`, `[1,100,0]`, "same", "same", ""},
		{"nothing", ` `, "line 1: the document ends too early", "same", "same", ""},
		{"cut after a comma", "[1,\n", "line 2: the document ends too early", "same", "same", ""},
		{"cut in a number", `[-`, "line 1: the document ends too early", "same", "same", ""},
		{"cut in a word", `[tru`, "line 1: the document ends too early", "same", "same", ""},
		{"cut in a string", `["a`, "line 1: a string without its closing quote", "same", "same", ""},
		{"cut in an escape", `["\`, "line 1: a string without its closing quote", "same", "same", ""},
		{"cut in a pair", `["\ud83d\`, "line 1: a string without its closing quote", "same", "same", ""},
		{"text after it", "[]\nx", `line 2: text after the end of the document: "x"`, "same", "same", ""},
		{"no colon", `{"a" 1}`, `line 1: expected : after "a"`, "same", "same", ""},
		{"no comma", `{"a": 1 "b"}`, `line 1: expected , or }, found "\"b\"}"`, "same", "same", ""},
		{"no comma in a list", `[1 2]`, `line 1: expected , or ], found "2]"`, "same", "same", ""},
		{"no name", `{a: 1}`, `line 1: expected a field's name in double quotes, found "a: 1}"`, "same", "same", ""},
		{"no value", `[,]`, `line 1: expected a value, found ",]"`, "same", "same", ""},
		{"NaN", `[NaN]`, `line 1: expected a value, found "NaN]"`, "same", "same", ""},
		{"no number", `[01]`, `line 1: "01" is not a number as JSON writes it`, "same", "same", ""},
		{"an unknown escape", `["\d"]`, `line 1: an escape that JSON does not know: a backslash and "d"`, "same", "same", ""},
		{"a short escape", `["\u12"]`, `line 1: a \u escape needs four hexadecimal digits`, "same", "same", ""},
		{"a control character", "[\"\x01\"]", `line 1: a control character in a string; write \n for a line's end`, "same",
			"same", ""},
		{"a line end in a string", "[\"a\n\tb\",\n\"]", `line 1: a control character in a string; write \n for a line's end`,
			"line 3: a string without its closing quote", "line 1: a control character in a string; write \\n for a line's end",
			""},
		{"another line end in a string", "[\"a\n\tb\",\n1]",
			`line 1: a control character in a string; write \n for a line's end`, `["a\n\tb",1]`,
			"line 1: a control character in a string; write \\n for a line's end", ""},
		{"comments", "[1, // one\n/* two\n*/ 2] // end", `line 1: expected a value, found "// one\n/* two\n*/ 2] "`, `[1,2]`,
			"same", "syntax 1, syntax 2, syntax 3"},
		{"a comma behind the last", "{\"a\": [1,],\n}", `line 1: expected a value, found "],\n}"`, `{"a":[1]}`, "same",
			"syntax 1, syntax 2"},
		{"a comma behind the last field", "{\"a\": 1,\n}", `line 2: expected a field's name in double quotes, found "}"`,
			`{"a":1}`, "same", "syntax 2"},
		{"a field twice", `{"a": 1, "\u0061": 2}`, `line 1: the field "a" stands twice in one object`, "same", `{"a":1}`,
			"duplicate-key 1"},
		{"too many fields", `{"a":1,"b":2,"c":3}`, `line 1: more than 2 fields in one object`, "same", `{"a":1,"b":2}`,
			"too-large 1"},
		{"too deep", `[[[[[1]],2]]]`, `line 1: nested more than 3 levels deep`, "same", `[[[null,2]]]`, "too-deep 1"},
		{"too many values", "[" + strings.Repeat("1,", 30) + "1]", `line 1: more than 20 values`, "same", "same", ""},
		{"too large", `[1e400, 1]`, `line 1: "1e400" is out of range`, "same", `["1e400",1]`, "bad-number 1"},
		{"too small", `[0.1e-400]`, `line 1: "0.1e-400" is out of range`, "same", `["0.1e-400"]`, "bad-number 1"},
		{"NUL", `["a\u0000"]`, `line 1: the character NUL`, `["a\u0000"]`, "[\"a\ufffd\"]", "nul 1"},
		{"half a pair", `["\ud83dx\ude00"]`, `line 1: half of a surrogate pair`, "same", "[\"\ufffdx\ufffd\"]",
			"syntax 1, syntax 1"},
		{"two first halves", `["\ud83d\ud83d\ude00"]`, `line 1: half of a surrogate pair`, "same", "[\"\ufffd😀\"]",
			"syntax 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var told []string
			mending := document.JSON{Limits: limits, Comments: true}
			mending.Mend = func(f *document.Fault) { told = append(told, fmt.Sprint(f.Code(), " ", f.Line)) }
			want := ""
			for _, c := range []struct {
				reader document.JSON
				want   string
			}{{strict, tt.strict}, {liberal, tt.liberal}, {mending, tt.mended}} {
				if c.want != "same" {
					want = c.want
				}
				if got := read(t, c.reader, tt.text); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			if got := strings.Join(told, ", "); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
		})
	}
}

// read is the document in canonical JSON, or what is wrong with it.
func read(t *testing.T, reader document.JSON, text string) string {
	t.Helper()
	n, err := reader.Parse(text)
	var f *document.Fault
	if errors.As(err, &f) {
		return f.Error()
	} else if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(n.Value(document.Exact))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMendIsBounded(t *testing.T) {
	reader := document.JSON{Limits: limits, Mend: func(*document.Fault) {}}
	reader.Values = 1 << 20
	if _, err := reader.Parse(strings.Repeat("[", 1<<20)); err == nil ||
		!strings.Contains(err.Error(), "nested more than 1000 levels") {
		t.Errorf("got %v", err)
	}
}

func TestPrefix(t *testing.T) {
	text := "see {\"a\": [1]} and {x}"
	n, end, f := strict.Prefix(text, strings.Index(text, "{"))
	if f != nil || n.Child("a") == nil || text[end:] != " and {x}" {
		t.Errorf("got %v, %d, %v", n, end, f)
	}
	_, _, f = strict.Prefix(text, strings.Index(text, "{x"))
	if f == nil || f.Problem != document.NoName || text[f.At:] != "x}" || f.Begun {
		t.Errorf("got %v", f)
	}
	if _, _, f = strict.Prefix(`{"a": x}`, 0); f == nil || !f.Begun {
		t.Errorf("got %v", f)
	}
}

// The strict reader takes nothing that encoding/json refuses, and what both take means the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e3,true,null,"\u00e9\n"]}`, `{}`, `[]`, `{"a":1,}`, `01`, `"\x"`, `1e5`,
		`{"a":1}{`, " \t[ ] "} {
		f.Add(s)
	}
	reader := document.JSON{Limits: document.Limits{Depth: 100, Values: 1 << 20, Fields: 1000}}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := reader.Parse(s)
		if err != nil {
			return
		}
		if !json.Valid([]byte(s)) {
			t.Fatalf("encoding/json refuses %q", s)
		}
		ours, err := json.Marshal(n.Value(document.Exact))
		if err != nil {
			t.Fatal(err)
		}
		var x, y any
		if json.Unmarshal([]byte(s), &x) != nil || json.Unmarshal(ours, &y) != nil {
			return
		}
		if diff := cmp.Diff(x, y); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What a liberal reader takes with mending has no fault in it but those that were told.
func FuzzMend(f *testing.F) {
	f.Add("{\"a\": 1, // x\n\"a\": [\"\\u0000\\ud800\", 1e999, [[[[2]]]],],}")
	f.Fuzz(func(t *testing.T, s string) {
		told := 0
		reader := document.JSON{Limits: document.Limits{Depth: 3, Values: 1000, Fields: 3}, Comments: true,
			Mend: func(*document.Fault) {
				told++
			}}
		mended, err := reader.Parse(s)
		reader.Comments, reader.Mend = false, nil
		n, errStrict := reader.Parse(s)
		if (err == nil && told == 0) != (errStrict == nil) {
			t.Fatalf("mended: %d faults, %v; strict: %v", told, err, errStrict)
		}
		if errStrict == nil && !cmp.Equal(mended, n) {
			t.Fatal(cmp.Diff(mended, n))
		}
	})
}
