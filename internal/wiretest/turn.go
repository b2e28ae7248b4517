package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// Turn is one scripted answer. The first turn that matches a request and is not used up answers it.
type Turn struct {
	Match string `json:"match,omitempty"` // regular expression for the request's last user text; "" matches all
	Body  string `json:"body,omitempty"`  // regular expression for the whole raw body; "" matches all
	Times int    `json:"times,omitempty"` // how often it may be used: 0 means once, -1 without limit

	Text  string `json:"text,omitempty"`  // what the model says
	Tools []Call `json:"tools,omitempty"` // the tools that it calls after the text
	Stop  string `json:"stop,omitempty"`  // one of the Stop constants; "" is the end that Text and Tools imply
	Usage Usage  `json:"usage,omitzero"`

	DelayMS int               `json:"delay_ms,omitempty"` // before the answer, or until the client hangs up
	Status  int               `json:"status,omitempty"`   // an HTTP error instead of an answer, in the vendor's form
	Header  map[string]string `json:"header,omitempty"`   // more response headers, such as Retry-After
	Raw     string            `json:"raw,omitempty"`      // the raw response body, instead of the vendor's form
	Reset   bool              `json:"reset,omitempty"`    // the connection breaks without a response
}

// Call is a call of a tool that the client offers.
type Call struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace,omitempty"` // of the Responses API, where a tool is in one
	Input     json.RawMessage `json:"input"`               // an object; for a custom tool of the Responses API a string
}

// Usage is a turn's cost in tokens. Zero Input and Output mean 100 and 20.
type Usage struct {
	Input  int `json:"input,omitempty"`  // all input, including Cached
	Output int `json:"output,omitempty"` // all output
	Cached int `json:"cached,omitempty"`
}

// The ends of a turn that nothing implies.
const (
	StopLength  = "length"  // cut off at the token limit
	StopRefusal = "refusal" // the model declined, or a filter in front of it
)

// Decode parses a script: a JSON list of turns. Unknown fields and patterns that don't compile are errors.
func Decode(script []byte) ([]Turn, error) {
	d := json.NewDecoder(bytes.NewReader(script))
	d.DisallowUnknownFields()
	var turns []Turn
	if err := d.Decode(&turns); err != nil {
		return nil, fmt.Errorf("decode script: %w", err)
	}
	for i, t := range turns {
		for _, pattern := range []string{t.Match, t.Body} {
			if _, err := regexp.Compile(pattern); err != nil {
				return nil, fmt.Errorf("decode script: turn %d: %w", i, err)
			}
		}
	}
	return turns, nil
}

// usage returns the turn's usage with defaults.
func (t Turn) usage() Usage {
	u := t.Usage
	if u.Input == 0 && u.Output == 0 {
		u.Input, u.Output = 100, 20
	}
	return u
}

// stop returns the vendor's word for how the turn ends.
func (t Turn) stop(end, tools, length, refusal string) string {
	switch {
	case t.Stop == StopLength:
		return length
	case t.Stop == StopRefusal:
		return refusal
	case len(t.Tools) > 0:
		return tools
	}
	return end
}
