package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is accepted is written back in canonical form and read as the same; cut anywhere it is refused or still the
// same, never another; prose around it changes nothing.
func FuzzParse(f *testing.F) {
	for i, role := range Roles() {
		for _, result := range role.Results() {
			f.Add(Example(role, result), byte(i))
		}
	}
	f.Add([]byte(`{"schema_version": 1, "result_type": "ERROR", "error": "the test is wrong",
		"notes": [{"category": "issues", "text": "prices are in cents"}], "concerns": [{"task_id": "TEST-1", "text": "line 3"}]}`), byte(4))
	f.Fuzz(func(t *testing.T, text []byte, n byte) {
		want := wants(Roles()[int(n)%len(Roles())])
		want.FilesElsewhere = n >= 128
		got, err := Parse(want, text)
		again, errAgain := Parse(want, text)
		if !cmp.Equal(got, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("not deterministic: %v, %v", err, errAgain)
		}
		if err != nil {
			var v *Violation
			if !errors.As(err, &v) {
				t.Fatalf("an error that is no violation: %v", err)
			}
			if !cmp.Equal(got, Reply{}) {
				t.Fatalf("part of a refused reply was taken: %+v", got)
			}
			for _, v := range append([]*Violation{v}, v.Also...) {
				checkTexts(t, v)
			}
			return
		}
		canonical := got.Encode()
		if back, err := Parse(want, canonical); err != nil || !cmp.Equal(got, back) {
			t.Fatalf("canonical form: %v\n%s\n%s", err, canonical, cmp.Diff(got, back))
		}
		checkCuts(t, want, bytes.TrimSpace(canonical), nil)
		checkCuts(t, want, text, &got)
		checkProse(t, want, string(text), got)
	})
}

// checkCuts cuts a reply before its end. Each cut must be refused, or give same, if that is not nil.
func checkCuts(t *testing.T, want Want, text []byte, same *Reply) {
	t.Helper()
	const most = 300
	step := 1 + len(text)/most
	for n := 0; n < len(text); n += step {
		for _, end := range []int{n, len(text) - 1 - n/step} {
			if end < 0 {
				continue
			}
			got, err := Parse(want, text[:end])
			if err == nil && (same == nil || !cmp.Equal(got, *same)) {
				t.Fatalf("cut at %d of %d it gives %+v\n%s", end, len(text), got, text[:end])
			}
		}
	}
}

func checkProse(t *testing.T, want Want, text string, same Reply) {
	t.Helper()
	const space = " \t\r\n"
	if strings.HasPrefix(strings.TrimLeft(text, space+"\ufeff"), "<think") ||
		strings.HasSuffix(strings.TrimRight(text, space+"}]"), ",") {
		return // thinking comes first, and a comma at the end says that more was meant
	}
	bare := strings.TrimPrefix(text, "\ufeff")
	for _, around := range [][2]string{
		{"It's done; here's \"the\" result:\n\n", "\n\nLet me know if that's \"ok\", or not: <think>"},
		{"```json\n", "\n```\n"},
		{"结果如下：", "\n完成。"},
	} {
		got, err := Parse(want, []byte(around[0]+bare+around[1]))
		if err != nil || !cmp.Equal(got, same) {
			t.Fatalf("with prose around it: %v\n%s\n%s", err, around[0]+bare+around[1], cmp.Diff(same, got))
		}
	}
}

// What is extracted is what encoding/json reads where that reads it, and is extracted again from its own JSON.
func FuzzExtract(f *testing.F) {
	f.Add([]byte(noop))
	f.Add([]byte(`{"result_type":"A","x":[1,-0.5e3,true,false,null,"\u00e9\ud83d\ude00\n",{"a":{}}],}//`))
	f.Add([]byte("[{ {a} {\"result_type\":1}\n```"))
	f.Add([]byte("\ufeff<think>{</think>[{}] {\"result_type\":\"\\u0041\"}, "))
	f.Fuzz(func(t *testing.T, text []byte) {
		object, v := extract(text)
		if v != nil {
			checkTexts(t, v.withDefaults())
			return
		}
		if _, ok := object[keyResult]; !ok {
			t.Fatalf("no result_type: %v", object)
		}
		var theirs map[string]any
		if json.Unmarshal(text, &theirs) == nil && !reflect.DeepEqual(object, theirs) {
			t.Fatal(cmp.Diff(theirs, object))
		}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		back, v := extract(data)
		if v != nil || !reflect.DeepEqual(object, back) {
			t.Fatalf("extracted again: %v\n%s", v, data)
		}
	})
}
