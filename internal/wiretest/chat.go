package wiretest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chat is the OpenAI chat completions API.
type chat struct{}

func (chat) read(_ string, body []byte) (Request, error) {
	var in struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream"`
		Messages []message `json:"messages"`
	}
	err := json.Unmarshal(body, &in)
	return Request{Model: in.Model, Stream: in.Stream, Prompt: lastText(in.Messages)}, err
}

func (chat) whole(a answer) any {
	out := a.chatHead("chat.completion")
	out["choices"] = []object{{"index": 0, "message": a.chatMessage(), "finish_reason": a.chatStop()}}
	out["usage"] = a.chatUsage()
	return out
}

func (chat) events(a answer) []event {
	first, last, usage := a.chatHead("chat.completion.chunk"), a.chatHead("chat.completion.chunk"),
		a.chatHead("chat.completion.chunk")
	first["choices"] = []object{{"index": 0, "delta": a.chatMessage(), "finish_reason": nil}}
	last["choices"] = []object{{"index": 0, "delta": object{}, "finish_reason": a.chatStop()}}
	usage["choices"], usage["usage"] = []object{}, a.chatUsage()
	return []event{{data: first}, {data: last}, {data: usage}, {done: "[DONE]"}}
}

func (chat) failure(status int, message string) any { return openAIFailure(status, message) }

func (a answer) chatHead(kind string) object {
	return object{"id": fmt.Sprintf("chatcmpl-%d", a.n), "object": kind, "created": 1700000000, "model": a.model}
}

func (a answer) chatStop() string { return a.stop("stop", "tool_calls", "length", "content_filter") }

func (a answer) chatMessage() object {
	m := object{"role": "assistant", "content": a.Text}
	var calls []object
	for i, c := range a.Tools {
		calls = append(calls, object{
			"index": i, "id": fmt.Sprintf("call_%d_%d", a.n, i), "type": "function",
			"function": object{"name": c.Name, "arguments": string(c.Input)},
		})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

func (a answer) chatUsage() object {
	u := a.usage()
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.Cached},
	}
}

// openAIFailure returns an error in the form of both OpenAI APIs.
func openAIFailure(status int, message string) any {
	kinds := map[int]string{http.StatusUnauthorized: "invalid_api_key", http.StatusTooManyRequests: "rate_limit_exceeded"}
	return object{"error": object{"message": message, "type": "error", "code": kinds[status], "param": nil}}
}
