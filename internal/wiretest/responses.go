package wiretest

import (
	"encoding/json"
	"fmt"
	"maps"
)

// responses is the OpenAI Responses API.
type responses struct{}

func (responses) read(_ string, body []byte) (Request, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	r := Request{Model: in.Model, Stream: in.Stream}
	if json.Unmarshal(in.Input, &r.Prompt) == nil {
		return r, nil
	}
	var items []message // items of other types have no role
	err := json.Unmarshal(in.Input, &items)
	r.Prompt = lastText(items)
	return r, err
}

func (responses) whole(a answer) any { return a.response(a.items()) }

func (responses) events(a answer) []event {
	started := a.response([]object{})
	started["status"], started["usage"] = "in_progress", nil
	out := []event{{name: "response.created", data: object{"type": "response.created", "response": started}}}
	add := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, len(out)
		out = append(out, event{name: kind, data: more})
	}
	items := a.items()
	for i, item := range items {
		begun := maps.Clone(item)
		begun["status"] = "in_progress"
		if item["type"] == "message" {
			begun["content"] = []object{}
		}
		add("response.output_item.added", object{"output_index": i, "item": begun})
		if item["type"] == "message" {
			with := func(k string, v any) object {
				return object{"item_id": item["id"], "output_index": i, "content_index": 0, k: v}
			}
			add("response.content_part.added", with("part", object{"type": "output_text", "text": "",
				"annotations": []object{}}))
			add("response.output_text.delta", with("delta", a.Text))
			add("response.output_text.done", with("text", a.Text))
			add("response.content_part.done", with("part", item["content"].([]object)[0]))
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	kind := "response.completed"
	if a.Stop != "" {
		kind = "response.incomplete"
	}
	add(kind, object{"response": a.response(items)})
	return out
}

func (responses) failure(status int, message string) any { return openAIFailure(status, message) }

func (a answer) response(items []object) object {
	u := a.usage()
	r := object{
		"id": fmt.Sprintf("resp_%d", a.n), "object": "response", "created_at": 1700000000, "status": "completed",
		"model": a.model, "output": items, "error": nil, "incomplete_details": nil,
		"usage": object{
			"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached},
			"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": u.Input + u.Output,
		},
	}
	if a.Stop != "" {
		r["status"] = "incomplete"
		r["incomplete_details"] = object{"reason": a.stop("", "", "max_output_tokens", "content_filter")}
	}
	return r
}

func (a answer) items() []object {
	items := []object{}
	if a.Text != "" {
		items = append(items, object{
			"id": fmt.Sprintf("msg_%d", a.n), "type": "message", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": a.Text, "annotations": []object{}}},
		})
	}
	for i, c := range a.Tools {
		item := object{
			"id": fmt.Sprintf("fc_%d_%d", a.n, i), "call_id": fmt.Sprintf("call_%d_%d", a.n, i), "status": "completed",
			"name": c.Name,
		}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		var text string
		if json.Unmarshal(c.Input, &text) == nil {
			item["type"], item["input"] = "custom_tool_call", text
		} else {
			item["type"], item["arguments"] = "function_call", string(c.Input)
		}
		items = append(items, item)
	}
	return items
}
