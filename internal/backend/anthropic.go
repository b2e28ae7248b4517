package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// anthropic is Anthropic's Messages API. We stream: otherwise the vendor refuses requests that may take longer than ten
// minutes.
type anthropic struct{ service }

func newAnthropic(c Config, environ []string) anthropic {
	return anthropic{newService(c, environ, "ANTHROPIC_API_KEY")}
}

// messagesRequest is the part of the protocol that a prompt needs.
type messagesRequest struct {
	Model     string        `json:"model"`
	MaxTokens int64         `json:"max_tokens"`
	System    []textBlock   `json:"system,omitempty"`
	Messages  []messageTurn `json:"messages"`
	Stream    bool          `json:"stream"`
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
	question := messagesRequest{Model: a.cfg.Model, MaxTokens: a.cfg.MaxTokens, Stream: true}
	if question.MaxTokens <= 0 {
		question.MaxTokens = DefaultMaxTokens
	}
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

// message is an answer of the Messages API, as far as its stream has come.
type message struct {
	model  string
	stop   string // why it ended; "" before the end
	blocks []block
	usage  messageUsage
}

// block is one part of an answer. Its text comes in many pieces.
type block struct {
	kind string
	text []byte
}

type messageUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheRead    int64 `json:"cache_read_input_tokens"`
	CacheCreated int64 `json:"cache_creation_input_tokens"`
}

// messageEvent is any event of the stream; which fields it has depends on its name.
type messageEvent struct {
	Message struct {
		Model      string          `json:"model"`
		StopReason string          `json:"stop_reason"`
		Usage      json.RawMessage `json:"usage"`
	} `json:"message"`
	Index int       `json:"index"`
	Block textBlock `json:"content_block"`
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

// readMessage reads the stream to its end. An overload in mid-stream comes as an event, after status 200.
func readMessage(stream io.Reader) (Reply, error) {
	var m message
	for e, err := range events(stream) {
		if err != nil {
			return Reply{}, err
		}
		if e.name == "error" {
			return Reply{}, answered(http.StatusOK, nil, readVendorError(e.data), anthropicReason)
		}
		if err := m.add(e); err != nil {
			return Reply{}, err
		}
	}
	return m.reply()
}

// add handles one event. It ignores unknown names, which come with new features of the service.
func (m *message) add(e event) error {
	switch e.name {
	case "message_start", "message_delta", "content_block_start", "content_block_delta":
	default:
		return nil
	}
	if len(e.data) == 0 {
		return nil
	}
	var in messageEvent
	if err := decode(e.data, &in); err != nil {
		return err
	}
	switch e.name {
	case "message_start":
		*m = message{model: in.Message.Model, stop: in.Message.StopReason}
		return m.count(in.Message.Usage)
	case "message_delta": // its numbers are totals; missing ones keep their value
		m.stop = in.Delta.StopReason
		return m.count(in.Usage)
	case "content_block_start":
		if in.Index != len(m.blocks) {
			return unreadable(fmt.Errorf("block %d begins after %d blocks", in.Index, len(m.blocks)))
		}
		m.blocks = append(m.blocks, block{in.Block.Type, []byte(in.Block.Text)})
	case "content_block_delta":
		if in.Index < 0 || in.Index >= len(m.blocks) {
			return unreadable(fmt.Errorf("block %d goes on without a beginning", in.Index))
		}
		if in.Delta.Type == "text_delta" {
			b := &m.blocks[in.Index]
			b.text = append(b.text, in.Delta.Text...)
		}
	}
	return nil
}

func (m *message) count(usage json.RawMessage) error {
	if len(usage) == 0 {
		return nil
	}
	return decode(usage, &m.usage)
}

func (m *message) reply() (Reply, error) {
	switch m.stop {
	case "":
		return Reply{}, &Error{Reason: Malformed, Message: "the answer ends before its end"}
	case "refusal":
		return Reply{}, &Error{Reason: Refused, Message: "the model refused to answer"}
	}
	var text strings.Builder
	for _, b := range m.blocks {
		if b.kind == "text" {
			text.Write(b.text)
		}
	}
	u := m.usage
	return Reply{
		Text: text.String(), Model: m.model,
		Truncated: m.stop == "max_tokens" || m.stop == "model_context_window_exceeded",
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
