package wiretest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// asks makes a request on each wire, with the given prompt, with or without a stream.
var asks = map[string]func(prompt string, stream bool) (path, body string){
	"messages": func(p string, s bool) (string, string) {
		return "/v1/messages", encode(object{"model": "m", "stream": s, "messages": []object{
			{"role": "user", "content": []object{{"type": "text", "text": p}}},
			{"role": "assistant", "content": "well"},
			{"role": "user", "content": []object{{"type": "tool_result", "content": "done"}}},
		}})
	},
	"chat": func(p string, s bool) (string, string) {
		return "/v1/chat/completions", encode(object{"model": "m", "stream": s,
			"messages": []object{{"role": "system", "content": "no"}, {"role": "user", "content": p}}})
	},
	"responses": func(p string, s bool) (string, string) {
		return "/v1/responses", encode(object{"model": "m", "stream": s, "input": []object{
			{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": p}}},
			{"type": "function_call_output", "output": "done"},
		}})
	},
	"gemini": func(p string, s bool) (string, string) {
		method := map[bool]string{true: "streamGenerateContent", false: "generateContent"}[s]
		return "/v1beta/models/m:" + method, encode(object{"contents": []object{
			{"role": "user", "parts": []object{{"text": p}}}, {"role": "user",
				"parts": []object{{"functionResponse": object{}}}},
		}})
	},
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func post(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// On each wire, the user's last text selects the turn, and the answer is JSON or a stream of it.
func TestWires(t *testing.T) {
	for name, ask := range asks {
		for _, stream := range []bool{false, true} {
			s := Start(t, Turn{Match: "^other$", Text: "no"}, Turn{Match: "^draw$", Text: "a circle",
				Tools: []Call{{Name: "pen", Input: json.RawMessage(`{"r":1}`)}}})
			path, body := ask("draw", stream)
			status, answer := post(t, s, path, body)
			if status != http.StatusOK || !strings.Contains(answer, "a circle") || !strings.Contains(answer, "pen") {
				t.Errorf("%s, stream %t: got %d %s", name, stream, status, answer)
			}
			if stream != strings.HasPrefix(answer, "event: ") && stream != strings.HasPrefix(answer, "data: ") {
				t.Errorf("%s, stream %t: got %s", name, stream, answer)
			}
			for text := range strings.Lines(answer) {
				data, ok := strings.CutPrefix(strings.TrimSpace(text), "data: ")
				if stream && ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s: event %s", name, data)
				}
			}
			if r := s.Requests(); len(r) != 1 || r[0].Wire != name || r[0].Model != "m" || r[0].Prompt != "draw" ||
				r[0].Turn != 1 {
				t.Errorf("%s: recorded %+v", name, r)
			}
			if status, answer := post(t, s, path, body); status != http.StatusBadRequest ||
				!strings.Contains(answer, "no turn") {
				t.Errorf("%s, a turn too many: got %d %s", name, status, answer)
			}
		}
	}
}

func TestTurns(t *testing.T) {
	path, body := asks["chat"]("x", false)
	s := Start(t,
		Turn{Times: 2, Status: 429, Header: map[string]string{"Retry-After": "3"}},
		Turn{Body: `"model":"other"`, Text: "no"},
		Turn{DelayMS: 50, Raw: "not JSON"},
		Turn{Reset: true},
		Turn{Times: -1, Text: "for ever"})
	for i, want := range []string{"scripted failure", "scripted failure", "not JSON", "", "for ever", "for ever",
		"for ever"} {
		begin := time.Now()
		if want == "" {
			if res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body)); err == nil {
				res.Body.Close()
				t.Errorf("request %d got an answer", i)
			}
			continue
		}
		if _, answer := post(t, s, path, body); !strings.Contains(answer, want) {
			t.Errorf("request %d: got %s, want %s", i, answer, want)
		}
		if took := time.Since(begin); want == "not JSON" && took < 50*time.Millisecond {
			t.Errorf("it came after %s", took)
		}
	}
	if status, _ := post(t, s, "/v1/elsewhere", ""); status != http.StatusNotFound || len(s.Others()) != 1 {
		t.Errorf("got %d and %+v", status, s.Others())
	}
}

func TestDecode(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"all", `[{"match":"a","body":"b","times":-1,"text":"c","tools":[{"name":"d","input":{}}],"stop":"length","usage":{"input":1,"output":2,"cached":1},"delay_ms":1,"status":500,"header":{"a":"b"},"raw":"e","reset":true}]`, ""},
		{"unknown field", `[{"reply":"a"}]`, `unknown field "reply"`},
		{"no list", `{}`, "cannot unmarshal"},
		{"pattern", `[{},{"match":"("}]`, "turn 1: error parsing regexp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.script))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
