package backend

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// anthropic is Anthropic's Messages API. It is read as a stream: without one, the vendor refuses requests whose answer
// may take longer than ten minutes.
type anthropic struct {
	service
	messages sdk.MessageService
}

// newAnthropic makes the service; see newOpenAI for what it leaves out.
func newAnthropic(c Config, environ []string) anthropic {
	s := newService(c, environ, "ANTHROPIC_API_KEY")
	options := []option.RequestOption{option.WithEnvironmentProduction(), option.WithMaxRetries(0), option.WithHTTPClient(s.client)}
	if c.BaseURL != "" {
		options = append(options, option.WithBaseURL(c.BaseURL))
	}
	if s.key != "" {
		options = append(options, option.WithAPIKey(s.key))
	}
	return anthropic{s, sdk.NewMessageService(options...)}
}

func (a anthropic) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	params := sdk.MessageNewParams{Model: a.cfg.Model, MaxTokens: a.cfg.MaxTokens}
	if params.MaxTokens <= 0 {
		params.MaxTokens = DefaultMaxTokens
	}
	if r.System != "" {
		params.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	for _, t := range r.turns() {
		if t.own {
			params.Messages = append(params.Messages, sdk.NewAssistantMessage(sdk.NewTextBlock(t.text)))
		} else {
			params.Messages = append(params.Messages, sdk.NewUserMessage(sdk.NewTextBlock(t.text)))
		}
	}
	return a.within(ctx, deadline, func(ctx context.Context) (Reply, error) {
		stream := a.messages.NewStreaming(ctx, params)
		defer stream.Close()
		var whole sdk.Message
		for stream.Next() {
			if err := whole.Accumulate(stream.Current()); err != nil {
				return Reply{}, &Error{Reason: Malformed, Message: "the answer can't be read: " + err.Error()}
			}
		}
		if err := stream.Err(); err != nil {
			return Reply{}, err
		}
		return anthropicReply(whole)
	}, anthropicError)
}

func anthropicReply(answer sdk.Message) (Reply, error) {
	switch answer.StopReason {
	case "":
		return Reply{}, &Error{Reason: Malformed, Message: "the answer ends before its end"}
	case sdk.StopReasonRefusal:
		return Reply{}, &Error{Reason: Refused, Message: "the model refused to answer"}
	}
	var text strings.Builder
	for _, block := range answer.Content {
		if block.Type == "text" {
			text.WriteString(block.Text)
		}
	}
	u := answer.Usage
	return Reply{
		Text: text.String(), Model: answer.Model,
		Truncated: answer.StopReason == sdk.StopReasonMaxTokens || answer.StopReason == sdk.StopReasonModelContextWindowExceeded,
		Usage: Usage{
			InputTokens:  u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
			OutputTokens: u.OutputTokens, CachedTokens: u.CacheReadInputTokens, Known: true,
		},
	}, nil
}

func anthropicError(err error) *Error {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return nil
	}
	message := errorMessage(e.RawJSON())
	if message == "" {
		message = http.StatusText(e.StatusCode)
	}
	failure := answered(e.Response, e.StatusCode, message)
	// An overload in the middle of a stream comes after the status 200.
	switch e.Type() {
	case "overloaded_error", "rate_limit_error", "api_error", "timeout_error":
		failure.Reason = Transient
	case "authentication_error", "permission_error", "billing_error":
		failure.Reason = Unavailable
	}
	return failure
}
