package contract

import (
	"strings"
	"testing"
	"time"
)

// noop is a small reply with all that the text around it could be confused with.
const noop = `{"schema_version":1,"result_type":"NOOP","summary":"{\"result_type\":\"ERROR\"} ` + "```" + ` // /* } ,"}`

const noopSummary = `{"result_type":"ERROR"} ` + "```" + ` // /* } ,`

func TestExtractHandles(t *testing.T) {
	tests := map[string]string{
		"bare":            noop,
		"white space":     "\r\n\t " + noop + "\n\n",
		"byte order mark": "\ufeff" + noop,
		"prose around":    "Sure! Here's what I've got: \"nothing\".\n\n" + noop + "\n\nLet me know if that's ok.",
		"prose with braces": "In main() { ... } the {name} of ${x}, {1, 2}, {'a': 1} and {\"a\": 1} stay.\n" + noop +
			"\nSo {} it is.",
		"prose with a lone brace":   "The { of line 3 is not closed, it's \"odd\".\n" + noop,
		"prose with brackets":       "[1] see [the list]({x}), [ {y} ] and [{\"a\": 1}].\n" + noop + " [2]",
		"prose speaks of the field": "I set result_type to NOOP.\n" + noop,
		"code before":               "```go\nfunc f() map[string]int { return map[string]int{\"a\": 1, \"b\": len(x)} }\n```\n" + noop,
		"fence":                     "```json\n" + noop + "\n```\n",
		"fence without an end":      "```json\n" + noop,
		"tildes":                    "~~~ JSON\n" + noop + "\n~~~",
		"other objects":             `{"thought":"hm"}` + "\n" + noop + "\n" + `{"tokens":[{"n":1}]}`,
		"the same twice":            noop + "\n```json\n" + strings.ReplaceAll(noop, `,"s`, `, "s`) + "\n```",
		"thinking with a draft":     "<think>\nMaybe {\"result_type\":\"ERROR\", no: {\n</think>\n\n" + noop,
		"thinking, another tag":     "<thinking>{</thinking>" + noop,
		"a brace too many":          noop + "}",
		"a comma at the end":        noop + ",\n",
		"a comma before the fence":  "```json\n" + noop + ",\n```",
		"trailing commas": strings.Replace(strings.TrimSuffix(noop, "}")+", }", `"NOOP",`,
			`"NOOP","x":[1,{"y":2,},],`, 1),
		"comments": strings.Replace(noop, `"result_type"`,
			"// the \"kind\" }\n /* of { it */ \"result_type\"/**/", 1),
		"raw line ends in strings": strings.Replace(noop, `"NOOP",`, "\"NOOP\",\"x\":\"a\n\tb\r\nc\",", 1),
		"escapes":                  strings.Replace(noop, "NOOP", `\u004eO\u004fP`, 1),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(wants(RoleAction), []byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if r.Type != Noop || r.Summary != noopSummary {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestExtractRefuses(t *testing.T) {
	const other = `{"schema_version":1,"result_type":"ERROR","error":"x"}`
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	with := func(field string) string { return strings.Replace(noop, `"NOOP",`, `"NOOP",`+field+`,`, 1) }
	tests := []struct{ name, text, want string }{
		{"nothing", "", codeEmpty},
		{"white space", " \n\ufeff", codeNoReply},
		{"prose", "I have done nothing.", codeNoReply},
		{"another object", `{"status":"ok"}`, codeNoReply},
		{"result_type is only a word", `{"status":"result_type"}`, codeWrapped},
		{"two that differ", noop + "\n" + other, codeTwoReplies},
		{"a draft in a fence", "First:\n```json\n" + other + "\n```\nbut then:\n```json\n" + noop + "\n```", codeTwoReplies},
		{"in an object", `{"response":` + noop + `}`, codeWrapped},
		{"in an object beside another", `{"response":` + noop + `}` + noop, codeWrapped},
		{"in a list", `[` + noop + `]`, codeWrapped},
		{"in a list of two", `[` + noop + `,` + other + `]`, codeWrapped},
		{"in a string", `"` + strings.ReplaceAll(strings.ReplaceAll(other, `\`, `\\`), `"`, `\"`) + `"`, codeDoubleEncoded},
		{"in a string of an object", `{"result":"` + strings.ReplaceAll(other, `"`, `\"`) + `"}`, codeDoubleEncoded},
		{"closed too early", noop + `, "files": []}`, codeLeftover},
		{"closed too early, twice", noop + `}, {"x":1}`, codeLeftover},
		{"cut in a string", noop[:len(noop)-5], codeCutOff},
		{"cut before the end", strings.TrimSuffix(noop, "}"), codeCutOff},
		{"cut in a fence", "```json\n" + noop[:50] + "\n```\n", codeCutOff},
		{"cut after a whole one", noop + "\n" + `{"schema_version":1,`, codeCutOff},
		{"cut in a list", `[` + noop, codeCutOff},
		{"cut in a character", noop[:60] + "\xe2\x82", codeCutOff},
		{"cut in a comment", noop[:30] + "/* ", codeCutOff},
		{"cut in thinking", "<think>\n" + noop, codeCutOff},
		{"an open brace at the end", noop + " {", codeCutOff},
		{"cut in an escape", `{"result_type":"\u00`, codeCutOff},
		{"cut in a pair", `{"result_type":"\ud83d`, codeCutOff},
		{"cut in a word", `{"result_type":fal`, codeCutOff},
		{"cut in a number", `{"result_type":1`, codeCutOff},
		{"duplicate key", with(`"result_type":"NOOP"`), codeDuplicateKey},
		{"duplicate key by an escape", with(`"result\u005ftype":"NOOP"`), codeDuplicateKey},
		{"duplicate key inside", with(`"x":[{"a":1,"a":1}]`), codeDuplicateKey},
		{"deep", with(`"x":` + deep), codeTooDeep},
		{"single quotes", `{'schema_version':1,'result_type':'NOOP'}`, codeSyntax},
		{"smart quotes", `{“schema_version”:1,“result_type”:“NOOP”}`, codeSyntax},
		{"names without quotes", `{schema_version:1,result_type:"NOOP"}`, codeSyntax},
		{"a smart quote inside", with(`"x":“y”`), codeSyntax},
		{"NaN", with(`"x":NaN`), codeSyntax},
		{"-Infinity", with(`"x":-Infinity`), codeSyntax},
		{"None", with(`"x":None`), codeSyntax},
		{"True", with(`"x":True`), codeSyntax},
		{"leading zero", with(`"x":01`), codeSyntax},
		{"huge number", with(`"x":1e999`), codeBadValue},
		{"a comma too many", with(``), codeSyntax},
		{"no comma", strings.Replace(noop, `1,`, `1 `, 1), codeSyntax},
		{"no colon", strings.Replace(noop, `:1,`, ` 1,`, 1), codeSyntax},
		{"a quote in a string", strings.Replace(noop, `NOOP`, `NO"OP`, 1), codeSyntax},
		{"broken, with a whole one inside", `{"result_type":"ERROR","x":` + noop + `,"y":it's}`, codeSyntax},
		{"broken, with a whole one after", `{"result_type":"ERROR","x":"it"s"}` + noop, codeSyntax},
		{"broken before its result_type, with a whole one inside", `{"a":None,"b":` + noop, codeSyntax},
		{"names without quotes, with a whole one inside", `{result_type:"ERROR",x:` + noop + `}`, codeSyntax},
		{"single quotes never closed, with a whole one inside", `{'result_type':'it"s','x':` + noop + `}`, codeSyntax},
		{"unknown escape", with(`"x":"\d"`), codeSyntax},
		{"half a pair", with(`"x":"\ud83d!"`), codeSyntax},
		{"wrong half of a pair", with(`"x":"\ude00\ud83d"`), codeSyntax},
		{"a control character", with("\"x\":\"\x01\""), codeSyntax},
		{"an ellipsis", `{"schema_version":1,"result_type":"NOOP",...}`, codeSyntax},
		{"not UTF-8", noop[:20] + "\xff" + noop[20:], codeNotUTF8},
		{"UTF-16", "{\x00\"\x00\xff\xfe", codeNotUTF8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := violationOf(t, wants(RoleAction), tt.text)
			if v == nil {
				t.Fatalf("accepted: %s", tt.text)
			}
			checkTexts(t, v)
			if v.Code != tt.want {
				t.Errorf("%v, want %s\n%s", v, tt.want, tt.text)
			}
		})
	}
}

func TestPlaceInMessage(t *testing.T) {
	v := violationOf(t, wants(RoleAction), "Voilà:\n{\"result_type\": \"é\", NaN}")
	if want := `"NaN}", at line 2, column 22`; v == nil || v.Actual != want {
		t.Errorf("got %v, want %s", v, want)
	}
}

// Hostile texts cost no more than their size allows.
func TestExtractIsBounded(t *testing.T) {
	const size = 2 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"too large":         strings.Repeat(" ", MaxReply+1),
		"open braces":       fill("{"),
		"open brackets":     fill("["),
		"lone braces":       fill("{ x "),
		"fields":            fill(`{"a":`),
		"lists of objects":  fill(`[{"a":`),
		"broken lists":      fill(`[{} x `),
		"lists in lists":    fill(`[{"a":1},`) + "x",
		"values":            `{"result_type":[` + fill("1,") + `]}`,
		"closed and broken": fill(`{x}`),
		"half closed":       fill("{") + fill("}"),
		"quotes":            fill(`{"`),
		"spaces":            fill("[ ") + fill(" "),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			v := violationOf(t, wants(RoleAction), text)
			if v == nil {
				t.Fatal("accepted")
			}
			checkTexts(t, v)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
