package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// Turn is one scripted answer. A request is answered by the first turn that matches it and is not used up.
type Turn struct {
	Match string `json:"match,omitempty"` // regular expression on the request's last text by the user; "" matches all
	Body  string `json:"body,omitempty"`  // regular expression on the whole body, as it was sent; "" matches all
	Times int    `json:"times,omitempty"` // how often it may be used: 0 means once, -1 without end

	Text  string `json:"text,omitempty"`  // what the model says
	Tools []Call `json:"tools,omitempty"` // the tools that it calls after that
	Stop  string `json:"stop,omitempty"`  // one of the Stop constants; "" is the end that Text and Tools imply
	Usage Usage  `json:"usage,omitzero"`

	DelayMS int               `json:"delay_ms,omitempty"` // milliseconds before the answer, or until the client hangs up
	Status  int               `json:"status,omitempty"`   // an HTTP error instead of an answer, in the vendor's form
	Header  map[string]string `json:"header,omitempty"`   // more response headers, such as Retry-After
	Raw     string            `json:"raw,omitempty"`      // the response's body as it is, instead of the vendor's form
	Reset   bool              `json:"reset,omitempty"`    // the connection breaks without a response
}

// Call is one call of a tool that the client offers.
type Call struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // an object; for a custom tool of the Responses API a string
}

// Usage is what a turn is said to have cost, in tokens. Zero Input and Output stand for 100 and 20.
type Usage struct {
	Input  int `json:"input,omitempty"`  // all input, Cached included
	Output int `json:"output,omitempty"` // all output
	Cached int `json:"cached,omitempty"`
}

// The ends of a turn that are not implied.
const (
	StopLength  = "length"  // cut off at the most tokens that were allowed
	StopRefusal = "refusal" // the model or a filter before it declined
)

// Decode reads a script: a JSON list of turns. Unknown fields are errors, and so are patterns that don't compile.
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

// usage is the turn's usage with the defaults filled in.
func (t Turn) usage() Usage {
	u := t.Usage
	if u.Input == 0 && u.Output == 0 {
		u.Input, u.Output = 100, 20
	}
	return u
}

// stop chooses the vendor's word for how the turn ends.
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
