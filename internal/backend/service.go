package backend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"gitwf/internal/shell"
)

// service is what the model services share: a client with limits, and a key.
type service struct {
	cfg    Config
	keyEnv string
	key    string
	client *http.Client
}

// newService looks up the key; usual is the vendor's own name for its variable.
func newService(c Config, environ []string, usual string) service {
	s := service{cfg: c, keyEnv: cmp.Or(c.KeyEnv, usual), client: &http.Client{
		// A redirect would send the key wherever it leads; no service of this kind needs one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s.key = shell.Getenv(environ, s.keyEnv)
	return s
}

// missing requires a key for the vendor's own service; another one may need none, unless its variable is named.
func (s service) missing() error {
	if s.key == "" && (s.cfg.BaseURL == "" || s.cfg.KeyEnv != "") {
		return missingKey(s.keyEnv)
	}
	return nil
}

// query is one request to a service, and how to read its answer.
type query struct {
	base, path string // the vendor's own address, and what to ask below it or below the user's
	header     http.Header
	body       any
	read       func(answer []byte) (Reply, error)
}

// within makes one request until the deadline and interprets its error.
func (s service) within(ctx context.Context, deadline time.Time, q query) (Reply, error) {
	if err := s.missing(); err != nil {
		return Reply{}, err
	}
	address, err := s.endpoint(q.base, q.path)
	if err != nil {
		return Reply{}, err
	}
	begin := time.Now()
	limit, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	reply, err := s.post(limit, address, q)
	var own *Error
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return Reply{}, err
	case errors.As(err, &own):
		return Reply{}, own
	case errors.As(err, new(*http.MaxBytesError)):
		return Reply{}, &Error{Reason: Malformed, Message: "the answer is " + tooLarge}
	case limit.Err() != nil:
		return Reply{}, &Error{
			Reason: TimedOut, Message: fmt.Sprintf("no answer within %s", time.Since(begin).Round(time.Millisecond)),
			Hint: "the agent's timeout sets the limit",
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Reply{}, unreadable(err)
	}
	// An unknown host or a closed port may only last until a network or a local server has started.
	return Reply{}, &Error{Reason: Transient, Message: "no answer from the service: " + err.Error()}
}

// post sends the request and reads the answer, of at most MaxReply bytes. An HTTP error becomes an *Error.
func (s service) post(ctx context.Context, address string, q query) (Reply, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(q.body); err != nil {
		return Reply{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &text)
	if err != nil {
		return Reply{}, err
	}
	r.Header = q.header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "git-wf")
	response, err := s.client.Do(r)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, MaxReply))
	switch {
	case err != nil:
		return Reply{}, err
	case response.StatusCode < http.StatusMultipleChoices:
		return q.read(said)
	case response.StatusCode < http.StatusBadRequest:
		return Reply{}, &Error{
			Reason: Malformed, Status: response.StatusCode,
			Message: fmt.Sprintf("HTTP %d: redirects are not followed", response.StatusCode),
		}
	}
	return Reply{}, answered(response.StatusCode, response.Header, readVendorError(said))
}

// endpoint is the address of a path below the service's base: usual, unless the user set another.
func (s service) endpoint(usual, path string) (string, error) {
	return url.JoinPath(cmp.Or(s.cfg.BaseURL, usual), path)
}

// decode reads JSON. It leaves out values of an unexpected type, because services that imitate a vendor differ in
// details that don't matter here.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return unreadable(err)
	}
	return nil
}

func unreadable(err error) *Error {
	return &Error{Reason: Malformed, Message: "the answer can't be read: " + err.Error()}
}

// answered turns an HTTP response into an error.
func answered(status int, header http.Header, said vendorError) *Error {
	if said.Message == "" {
		said.Message = cmp.Or(http.StatusText(status), "no message")
	}
	e := &Error{Reason: reasonOf(status, said.Message), Status: status,
		Message: fmt.Sprintf("HTTP %d: %s", status, said.Message)}
	if id := cmp.Or(header.Get("Request-Id"), header.Get("X-Request-Id")); id != "" {
		e.Message += " (request " + id + ")" // the vendor's support asks for it
	}
	switch said.Code {
	case "insufficient_quota": // a 429 that waiting does not mend
		e.Reason = Unavailable
	case "content_filter", "content_policy_violation":
		e.Reason = Refused
	}
	e.RetryAfter = retryAfter(header, time.Now())
	return e
}

// vendorError is what the body of an error says.
type vendorError struct {
	Message string `json:"message"`
	Code    string `json:"code"`
}

// readVendorError reads the form of both vendors, an object called error, and those of services that imitate them: a
// string of that name, or the fields without the object. It ignores any other form.
func readVendorError(body []byte) vendorError {
	var whole struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	var said vendorError
	if decode(body, &whole) != nil {
		return said
	}
	if len(whole.Error) > 0 && json.Unmarshal(whole.Error, &said.Message) != nil {
		decode(whole.Error, &said)
	}
	if said.Message == "" {
		said.Message = whole.Message
	}
	return said
}
