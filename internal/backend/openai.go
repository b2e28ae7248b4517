package backend

import (
	"context"
	"net/http"
	"time"
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
	question := chatRequest{Model: o.cfg.Model}
	add := func(role, text string) {
		question.Messages = append(question.Messages, chatMessage{Role: role, Content: text})
	}
	if r.System != "" {
		add("system", r.System)
	}
	for _, t := range r.turns() {
		add(t.role(), t.text)
	}
	header := http.Header{}
	if o.key != "" {
		header.Set("Authorization", "Bearer "+o.key)
	}
	return o.within(ctx, deadline, query{"https://api.openai.com/v1", "chat/completions", header, question,
		openAIReason, readAnswer})
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

// openAIReason is the meaning of OpenAI's own codes beyond the status; "" if the status says it all.
func openAIReason(said vendorError) Reason {
	switch said.Code {
	case "insufficient_quota": // a 429 that waiting does not mend
		return Unavailable
	case "content_filter", "content_policy_violation":
		return Refused
	}
	return ""
}
