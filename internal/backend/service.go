package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// service is what the model services have in common: a client that answers within limits, and a key.
type service struct {
	cfg    Config
	keyEnv string
	key    string
	client *http.Client
}

// newService looks the key up; usual is the vendor's own name for its variable.
func newService(c Config, environ []string, usual string) service {
	s := service{cfg: c, keyEnv: c.KeyEnv, client: &http.Client{
		Transport: limited{http.DefaultTransport},
		// A redirect would take the key to wherever it leads; no service of this kind needs one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if s.keyEnv == "" {
		s.keyEnv = usual
	}
	s.key = lookup(environ, s.keyEnv)
	return s
}

func (s service) usable(context.Context) error { return s.missing() }

// missing wants a key for the vendor's own service; another one may need none, unless its variable is named.
func (s service) missing() error {
	if s.key == "" && (s.cfg.BaseURL == "" || s.cfg.KeyEnv != "") {
		return missingKey(s.keyEnv)
	}
	return nil
}

// within runs one request until the deadline, and says what its error means. describe knows the vendor's own errors.
func (s service) within(ctx context.Context, deadline time.Time, ask func(context.Context) (Reply, error), describe func(error) *Error) (Reply, error) {
	if err := s.missing(); err != nil {
		return Reply{}, err
	}
	begin := time.Now()
	limit, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	reply, err := ask(limit)
	var own *Error
	var syntax *json.SyntaxError
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
	}
	if e := describe(err); e != nil {
		return Reply{}, e
	}
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Reply{}, &Error{Reason: Malformed, Message: "the answer can't be read: " + err.Error()}
	}
	return Reply{}, connection(err)
}

// connection is the error of a request that got no answer. A name that does not exist and a port that nobody listens
// on may be so for a moment, when a network or a local server starts.
func connection(err error) *Error {
	return &Error{Reason: Transient, Message: "no answer from the service: " + err.Error()}
}

// answered is the error that an HTTP response is.
func answered(response *http.Response, status int, message string) *Error {
	e := &Error{Reason: statusReason(status), Status: status, Message: fmt.Sprintf("HTTP %d: %s", status, message)}
	if response != nil {
		e.RetryAfter = retryAfter(response.Header, time.Now())
	}
	return e
}

// errorMessage is the message in the body of an error, in the form that both vendors have; "" if it has another.
func errorMessage(raw string) string {
	var body struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(raw), &body) != nil {
		return ""
	}
	if body.Error.Message != "" {
		return body.Error.Message
	}
	return body.Message
}

// limited ends a response that is longer than MaxReply.
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
