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
	s := service{cfg: c, keyEnv: c.KeyEnv, client: &http.Client{
		Transport: limited{http.DefaultTransport},
		// A redirect would send the key wherever it leads; no service of this kind needs one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if s.keyEnv == "" {
		s.keyEnv = usual
	}
	s.key = lookup(environ, s.keyEnv)
	return s
}

func (s service) usable(context.Context) error { return s.missing() }

// missing requires a key for the vendor's own service; another one may need none, unless its variable is named.
func (s service) missing() error {
	if s.key == "" && (s.cfg.BaseURL == "" || s.cfg.KeyEnv != "") {
		return missingKey(s.keyEnv)
	}
	return nil
}

// within runs one request until the deadline and interprets its error.
func (s service) within(ctx context.Context, deadline time.Time, ask func(context.Context) (Reply, error)) (Reply,
	error) {
	if err := s.missing(); err != nil {
		return Reply{}, err
	}
	begin := time.Now()
	limit, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	reply, err := ask(limit)
	var own *Error
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return Reply{}, err
	case errors.As(err, &own):
		return Reply{}, own
	case errors.Is(err, errTooLarge):
		return Reply{}, &Error{Reason: Malformed, Message: "the answer is " + errTooLarge.Error()}
	case limit.Err() != nil:
		return Reply{}, &Error{
			Reason: TimedOut, Message: fmt.Sprintf("no answer within %s", time.Since(begin).Round(time.Millisecond)),
			Hint: "the agent's timeout sets the limit",
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Reply{}, unreadable(err)
	}
	return Reply{}, connection(err)
}

// post sends one request and returns the body of the answer, which the caller closes. An HTTP error becomes an *Error;
// judge may find a better reason in the vendor's error body.
func (s service) post(ctx context.Context, address string, header http.Header, body any,
	judge func(vendorError) Reason) (io.ReadCloser, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &text)
	if err != nil {
		return nil, err
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "git-wf")
	response, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return response.Body, nil
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusBadRequest {
		return nil, &Error{
			Reason: Malformed, Status: response.StatusCode,
			Message: fmt.Sprintf("HTTP %d: redirects are not followed", response.StatusCode),
		}
	}
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return nil, answered(response.StatusCode, response.Header, readVendorError(said), judge)
}

// endpoint is the address of a path below the service's base: usual, unless the user set another.
func (s service) endpoint(usual, path string) (string, error) {
	base := s.cfg.BaseURL
	if base == "" {
		base = usual
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	return u.JoinPath(path).String(), nil
}

// decode reads JSON. It leaves out values of an unexpected type, because services that imitate a vendor differ in
// details that don't matter here.
func decode(data []byte, into any) error {
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(data, into); err != nil && !errors.As(err, &mismatch) {
		return unreadable(err)
	}
	return nil
}

func unreadable(err error) *Error {
	return &Error{Reason: Malformed, Message: "the answer can't be read: " + err.Error()}
}

// connection is the error of a request that got no answer. It is transient: an unknown host or a closed port may only
// last until a network or a local server has started.
func connection(err error) *Error {
	return &Error{Reason: Transient, Message: "no answer from the service: " + err.Error()}
}

// answered turns an HTTP response into an error.
func answered(status int, header http.Header, said vendorError, judge func(vendorError) Reason) *Error {
	if said.Message == "" {
		said.Message = cmp.Or(http.StatusText(status), "no message")
	}
	e := &Error{Reason: statusReason(status), Status: status, Message: fmt.Sprintf("HTTP %d: %s", status, said.Message)}
	if id := cmp.Or(header.Get("Request-Id"), header.Get("X-Request-Id")); id != "" {
		e.Message += " (request " + id + ")" // the vendor's support asks for it
	}
	if known := judge(said); known != "" {
		e.Reason = known
	}
	e.RetryAfter = retryAfter(header, time.Now())
	return e
}

// vendorError is what the body of an error says.
type vendorError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
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

// limited cuts off a response that is longer than MaxReply.
type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.ContentLength > MaxReply {
		res.Body.Close()
		return nil, errTooLarge
	}
	res.Body = &limitedBody{ReadCloser: res.Body, left: MaxReply}
	return res, nil
}

type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
