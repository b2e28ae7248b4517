package backend

import (
	"context"
	"net/http"
	"time"
)

// anthropic is Anthropic's Messages API.
type anthropic struct{ service }

// messagesRequest is the part of the protocol that a prompt needs.
type messagesRequest struct {
	Model     string        `json:"model"`
	MaxTokens int64         `json:"max_tokens"`
	System    []textBlock   `json:"system,omitempty"`
	Messages  []messageTurn `json:"messages"`
}

type messageTurn struct {
	Role    string      `json:"role"`
	Content []textBlock `json:"content"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textBlocks(text string) []textBlock { return []textBlock{{Type: "text", Text: text}} }

func (a anthropic) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	// The vendor wants a limit, and streams what may take longer than ten minutes: this takes less.
	const mostTokens = 16000
	question := messagesRequest{Model: a.cfg.Model, MaxTokens: mostTokens}
	if r.System != "" {
		question.System = textBlocks(r.System)
	}
	for _, t := range r.turns() {
		question.Messages = append(question.Messages, messageTurn{Role: t.role(), Content: textBlocks(t.text)})
	}
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if a.key != "" {
		header.Set("X-Api-Key", a.key)
	}
	return a.within(ctx, deadline, query{"https://api.anthropic.com", "v1/messages", header, question, anthropicReason,
		readMessage})
}

// messageAnswer is the part of an answer that a reply needs.
type messageAnswer struct {
	Model      string      `json:"model"`
	StopReason string      `json:"stop_reason"`
	Content    []textBlock `json:"content"`
	Usage      struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		CacheRead    int64 `json:"cache_read_input_tokens"`
		CacheCreated int64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

func readMessage(data []byte) (Reply, error) {
	var m messageAnswer
	if err := decode(data, &m); err != nil {
		return Reply{}, err
	}
	switch m.StopReason {
	case "":
		return Reply{}, &Error{Reason: Malformed, Message: "the answer does not say why it ends"}
	case "refusal":
		return Reply{}, &Error{Reason: Refused, Message: "the model refused to answer"}
	}
	text := ""
	for _, b := range m.Content {
		if b.Type == "text" {
			text += b.Text
		}
	}
	u := m.Usage
	return Reply{
		Text: text, Model: m.Model,
		Truncated: m.StopReason == "max_tokens" || m.StopReason == "model_context_window_exceeded",
		Usage: Usage{
			InputTokens:  u.Input + u.CacheRead + u.CacheCreated,
			OutputTokens: u.Output, CachedTokens: u.CacheRead, Known: true,
		},
	}, nil
}

// anthropicReason is the meaning of Anthropic's own error types, whatever the status; "" for all others.
func anthropicReason(said vendorError) Reason {
	switch said.Type {
	case "overloaded_error", "rate_limit_error", "api_error", "timeout_error":
		return Transient
	case "authentication_error", "permission_error", "billing_error":
		return Unavailable
	}
	return ""
}
