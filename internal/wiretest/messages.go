package wiretest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
)

// messages is the Anthropic Messages API.
type messages struct{}

func (messages) read(_ string, body []byte) (Request, error) {
	var in struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		Messages []message `json:"messages"`
	}
	err := json.Unmarshal(body, &in)
	return Request{Model: in.Model, Stream: in.Stream, Prompt: lastText(in.Messages)}, err
}

func (messages) whole(a answer) any {
	m := a.messageHead()
	m["content"] = a.blocks()
	m["stop_reason"] = a.messageStop()
	m["usage"] = a.messageUsage()
	return m
}

func (messages) events(a answer) []event {
	m := a.messageHead()
	m["content"] = []object{}
	m["usage"] = a.messageUsage()
	out := []event{{name: "message_start", data: object{"type": "message_start", "message": m}}}
	for i, block := range a.blocks() {
		start := maps.Clone(block)
		var delta object
		if block["type"] == "text" {
			start["text"] = ""
			delta = object{"type": "text_delta", "text": block["text"]}
		} else {
			start["input"] = object{}
			delta = object{"type": "input_json_delta", "partial_json": string(block["input"].(json.RawMessage))}
		}
		out = append(out,
			event{name: "content_block_start", data: object{"type": "content_block_start", "index": i, "content_block": start}},
			event{name: "content_block_delta", data: object{"type": "content_block_delta", "index": i, "delta": delta}},
			event{name: "content_block_stop", data: object{"type": "content_block_stop", "index": i}})
	}
	end := object{"type": "message_delta", "delta": object{"stop_reason": a.messageStop(), "stop_sequence": nil},
		"usage": a.messageUsage()}
	return append(out, event{name: "message_delta", data: end},
		event{name: "message_stop", data: object{"type": "message_stop"}})
}

func (messages) failure(status int, message string) any {
	kinds := map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
		http.StatusNotFound: "not_found_error", http.StatusTooManyRequests: "rate_limit_error", 529: "overloaded_error",
	}
	kind, ok := kinds[status]
	if !ok {
		kind = "api_error"
		if status < http.StatusInternalServerError {
			kind = "invalid_request_error"
		}
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func (a answer) messageHead() object {
	return object{
		"id": fmt.Sprintf("msg_%d", a.n), "type": "message", "role": "assistant", "model": a.model,
		"stop_reason": nil, "stop_sequence": nil,
	}
}

func (a answer) messageStop() string { return a.stop("end_turn", "tool_use", "max_tokens", "refusal") }

// messageUsage counts cached input separately, as this API does.
func (a answer) messageUsage() object {
	u := a.usage()
	return object{
		"input_tokens": u.Input - u.Cached, "output_tokens": u.Output,
		"cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0,
	}
}

func (a answer) blocks() []object {
	blocks := []object{}
	if a.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.Text})
	}
	for i, c := range a.Tools {
		blocks = append(blocks, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d_%d", a.n, i), "name": c.Name,
			"input": c.Input})
	}
	return blocks
}
