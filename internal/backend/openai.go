package backend

import (
	"context"
	"errors"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// openAI is any service that speaks OpenAI's chat completions, local servers among them.
type openAI struct {
	service
	chat sdk.ChatCompletionService
}

// newOpenAI makes the service without the client's own reading of the environment and its own retries: keys are
// looked up in the environment given, and one mechanism tries again for all kinds.
func newOpenAI(c Config, environ []string) openAI {
	s := newService(c, environ, "OPENAI_API_KEY")
	options := []option.RequestOption{option.WithEnvironmentProduction(), option.WithMaxRetries(0), option.WithHTTPClient(s.client)}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	if s.key != "" {
		options = append(options, option.WithAPIKey(s.key))
	}
	return openAI{s, sdk.NewChatCompletionService(options...)}
}

func (o openAI) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	params := sdk.ChatCompletionNewParams{Model: o.cfg.Model}
	if r.System != "" {
		params.Messages = append(params.Messages, sdk.SystemMessage(r.System))
	}
	for _, t := range r.turns() {
		if t.own {
			params.Messages = append(params.Messages, sdk.AssistantMessage(t.text))
		} else {
			params.Messages = append(params.Messages, sdk.UserMessage(t.text))
		}
	}
	if o.cfg.MaxTokens > 0 {
		params.MaxCompletionTokens = sdk.Int(o.cfg.MaxTokens)
	}
	return o.within(ctx, deadline, func(ctx context.Context) (Reply, error) {
		answer, err := o.chat.New(ctx, params)
		if err != nil {
			return Reply{}, err
		}
		return openAIReply(answer)
	}, openAIError)
}

func openAIReply(answer *sdk.ChatCompletion) (Reply, error) {
	if len(answer.Choices) == 0 {
		return Reply{}, &Error{Reason: Malformed, Message: "the answer has no choices"}
	}
	choice := answer.Choices[0]
	switch {
	case choice.FinishReason == "content_filter":
		return Reply{}, &Error{Reason: Refused, Message: "the response was blocked by a content filter"}
	case choice.Message.Refusal != "":
		return Reply{}, &Error{Reason: Refused, Message: choice.Message.Refusal}
	}
	u := answer.Usage
	return Reply{
		Text: choice.Message.Content, Truncated: choice.FinishReason == "length", Model: answer.Model,
		Usage: Usage{
			InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, CachedTokens: u.PromptTokensDetails.CachedTokens,
			Known: u.TotalTokens > 0,
		},
	}, nil
}

func openAIError(err error) *Error {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return nil
	}
	message := e.Message
	if message == "" {
		message = errorMessage(e.RawJSON())
	}
	if message == "" {
		message = e.Error()
	}
	failure := answered(e.Response, e.StatusCode, message)
	switch e.Code {
	case "insufficient_quota": // a 429 that waiting does not mend
		failure.Reason = Unavailable
	case "content_filter", "content_policy_violation":
		failure.Reason = Refused
	}
	return failure
}
