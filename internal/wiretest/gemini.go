package wiretest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// gemini is generateContent of the Gemini API.
type gemini struct{}

func (gemini) read(p string, body []byte) (Request, error) {
	var in struct {
		Contents []struct {
			Role  string  `json:"role"`
			Parts content `json:"parts"`
		} `json:"contents"`
	}
	err := json.Unmarshal(body, &in)
	var all []message
	for _, c := range in.Contents {
		all = append(all, message{c.Role, c.Parts})
	}
	model, method, _ := strings.Cut(path.Base(p), ":")
	return Request{Model: model, Stream: method == "streamGenerateContent", Prompt: lastText(all)}, err
}

func (gemini) whole(a answer) any {
	var parts []object
	if a.Text != "" {
		parts = append(parts, object{"text": a.Text})
	}
	for i, c := range a.Tools {
		parts = append(parts, object{"functionCall": object{"id": fmt.Sprintf("call_%d_%d", a.n, i), "name": c.Name,
			"args": c.Input}})
	}
	u := a.usage()
	return object{
		"candidates": []object{{
			"index": 0, "content": object{"role": "model", "parts": parts},
			"finishReason": a.stop("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
		}},
		"usageMetadata": object{
			"promptTokenCount": u.Input, "candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.Output,
			"cachedContentTokenCount": u.Cached,
		},
		"modelVersion": a.model, "responseId": fmt.Sprintf("r%d", a.n),
	}
}

func (g gemini) events(a answer) []event { return []event{{data: g.whole(a)}} }

func (gemini) failure(status int, message string) any {
	names := map[int]string{
		http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
		http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE",
	}
	name, ok := names[status]
	if !ok {
		name = "INVALID_ARGUMENT"
	}
	return object{"error": object{"code": status, "message": message, "status": name}}
}
