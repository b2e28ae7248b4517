package backend

import (
	"context"
	"net/http"
	"time"

	"gitwf/internal/each"
)

// openAI is any service that speaks OpenAI's chat completions, including local servers.
type openAI struct{ service }

// chatRequest and chatAnswer are the parts of the protocol that a prompt and its reply need.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Refusal string `json:"refusal,omitempty"` // of an answer
}

type chatAnswer struct {
	Model   string `json:"model"`
	Choices []struct {
		Message      chatMessage `json:"message"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens        int64 `json:"prompt_tokens"`
		CompletionTokens    int64 `json:"completion_tokens"`
		TotalTokens         int64 `json:"total_tokens"`
		PromptTokensDetails struct {
			CachedTokens int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

func (o openAI) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	question := chatRequest{Model: o.cfg.Model, Messages: each.Of(r.turns(), func(t turn) chatMessage {
		return chatMessage{Role: t.role(), Content: t.text}
	})}
	header := http.Header{}
	if o.key != "" {
		header.Set("Authorization", "Bearer "+o.key)
	}
	return o.within(ctx, deadline, query{"https://api.openai.com/v1", "chat/completions", header, question, readAnswer})
}

func readAnswer(data []byte) (Reply, error) {
	var a chatAnswer
	if err := decode(data, &a); err != nil {
		return Reply{}, err
	}
	if len(a.Choices) == 0 {
		return Reply{}, &Error{Reason: Malformed, Message: "the answer has no choices"}
	}
	choice := a.Choices[0]
	switch {
	case choice.FinishReason == "content_filter":
		return Reply{}, &Error{Reason: Refused, Message: "the response was blocked by a content filter"}
	case choice.Message.Refusal != "":
		return Reply{}, &Error{Reason: Refused, Message: choice.Message.Refusal}
	}
	u := a.Usage
	return Reply{
		Text: choice.Message.Content, Truncated: choice.FinishReason == "length", Model: a.Model,
		Usage: Usage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
			CachedTokens: u.PromptTokensDetails.CachedTokens,
			Known:        u.TotalTokens > 0,
		},
	}, nil
}

// anthropic is Anthropic's Messages API.
type anthropic struct{ service }

// messagesRequest is the part of the protocol that a prompt needs.
type messagesRequest struct {
	Model     string        `json:"model"`
	MaxTokens int64         `json:"max_tokens"`
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

func (a anthropic) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	// The vendor wants a limit, and streams what may take longer than ten minutes: this takes less.
	const mostTokens = 16000
	question := messagesRequest{a.cfg.Model, mostTokens, each.Of(r.turns(), func(t turn) messageTurn {
		return messageTurn{Role: t.role(), Content: []textBlock{{Type: "text", Text: t.text}}}
	})}
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if a.key != "" {
		header.Set("X-Api-Key", a.key)
	}
	return a.within(ctx, deadline, query{"https://api.anthropic.com", "v1/messages", header, question, readMessage})
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
