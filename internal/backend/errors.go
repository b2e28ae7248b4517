package backend

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitwf/internal/process"
)

// Reason says why there is no reply, as far as that decides what to do next.
type Reason string

// The reasons.
const (
	Unavailable Reason = "unavailable"       // no program, no login, no key or a refused one: a retry is useless
	Transient   Reason = "busy"              // rate limit, overload, broken connection: all retries are used up
	TimedOut    Reason = "timed out"         // Config.Timeout or Request.Timeout
	Refused     Reason = "refused"           // the model, or a filter before it, declined the content
	Malformed   Reason = "unreadable answer" // the answer violates the agent's own format, or is too large
	Failed      Reason = "failed"            // anything else
)

// Error says why an agent gave no reply. Its texts hold no keys and are fit to be shown.
type Error struct {
	Agent      string
	Reason     Reason
	Message    string        // what went wrong, on one line
	Hint       string        // what would mend it; may be empty
	Status     int           // of HTTP, if there was one
	RetryAfter time.Duration // the service's request; zero if none
	ExitCode   int           // of a command
	LogTail    string        // the end of a command's output, in several lines
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s: %s", shown(e.Agent), e.Reason, e.Message)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// ReasonOf is the reason of an *Error, and "" for any other error.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// errSessionLost says that the session to continue no longer exists.
var errSessionLost = errors.New("the session is gone")

// tooLarge says that an answer is longer than MaxReply.
var tooLarge = fmt.Sprintf("longer than %d MiB", MaxReply>>20)

// reasonOf is the reason of a failure by its message, and by the status of HTTP if there was one; 529 is Anthropic's
// overload. No agent has a code for a login or a connection that fails, and a service calls a credit that is used up a
// bad request.
func reasonOf(status int, message string) Reason {
	m := strings.ToLower(message)
	says := func(signs ...string) bool {
		return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(m, sign) })
	}
	switch {
	case says("not logged in", "invalid api key", "please run /login", "missing environment variable",
		"credit balance is too low"):
		return Unavailable
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return Unavailable
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return Transient
	case status == 0 && says("unable to connect", "connection refused", "connectionrefused", "connection error",
		"connection reset", "econnreset", "econnrefused", "etimedout", "enotfound",
		"stream disconnected", "error sending request", "fetch failed", "socket connection was closed",
		"cannot connect to api", "usage limit", "hit your session limit", "at capacity", "high demand"):
		return Transient
	}
	return Failed
}

// oneLine is text on one line, without control characters and of limited length.
func oneLine(s string) string {
	const most = 600
	s = strings.Join(strings.Fields(process.Printable([]byte(s))), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " ..."
	}
	return s
}

// shown is a name from the configuration, fit to be shown.
func shown(name string) string {
	if name == "" {
		return "agent"
	}
	return oneLine(name)
}
