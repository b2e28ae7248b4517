package backend

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/pattern"
	"gitwf/internal/process"
	"gitwf/internal/secret"
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
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// errSessionLost says that the session to continue no longer exists.
var errSessionLost = errors.New("the session is gone")

// tooLarge says that an answer is longer than MaxReply.
var tooLarge = fmt.Sprintf("longer than %d MiB", MaxReply>>20)

// reasonOf is the reason of a failure by its message, and by the status of HTTP if there was one; 529 is Anthropic's
// overload. No agent has a code for a login or a connection that fails, and used up credit is a bad request.
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

// trier tries a request once; its result is not yet fit to be shown. missing is Backend's Missing.
type trier interface {
	ask(ctx context.Context, r Request, deadline time.Time) (Reply, error)
	missing() error
}

// asker is a Backend that retries within limits of time and number.
type asker struct {
	cfg   Config
	env   []string
	retry retry
	try   trier
}

// retry says how often and when to retry a transient failure: after what the service asks for, or after a time that
// doubles from first to most, less a random part of up to half, so that those who failed together don't return so.
type retry struct {
	tries       int
	first, most time.Duration
}

var defaultRetry = retry{tries: 5, first: time.Second, most: time.Minute}

// delay is the pause after the n-th try, n from 1.
func (r retry) delay(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := r.first
	for range n - 1 {
		d = min(2*d, r.most)
	}
	return d - rand.N(d/2+1)
}

func (a *asker) Missing() error { return a.finish(a.try.missing()) }

// Ask tries until there is a reply or a reason to give up.
func (a *asker) Ask(ctx context.Context, r Request) (Reply, error) {
	if strings.TrimSpace(r.Prompt) == "" {
		return Reply{}, a.finish(&Error{Reason: Failed, Message: "the prompt is empty"})
	}
	if r.SessionOf != "" && r.SessionOf != a.cfg.Name {
		r.Session = ""
	}
	timeout := a.cfg.Timeout
	if r.Timeout > 0 && (timeout <= 0 || r.Timeout < timeout) {
		timeout = r.Timeout
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	begin := time.Now()
	deadline := begin.Add(timeout)
	for n := 1; ; n++ {
		reply, err := a.once(ctx, r, deadline)
		if err == nil {
			reply.Agent, reply.Duration = a.cfg.Name, time.Since(begin)
			return reply, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return Reply{}, fmt.Errorf("%s: interrupted: %w", shown(a.cfg.Name), cause)
		}
		err = a.finish(err)
		// A try with little time left would end as timed out, which says less than why the one before failed.
		if err := a.pause(ctx, err, n, deadline.Add(-timeout/2), r); err != nil {
			return Reply{}, err
		}
	}
}

// once tries to continue the session, and starts anew if it is gone: a prompt is complete by itself.
func (a *asker) once(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	if r.Session != "" && !validSession.Get().MatchString(r.Session) {
		return Reply{}, &Error{Reason: Failed, Message: "the session to go on from has an impossible name"}
	}
	reply, err := a.try.ask(ctx, r, deadline)
	if r.Session != "" && errors.Is(err, errSessionLost) {
		r.Session = ""
		return a.try.ask(ctx, r, deadline)
	}
	reply.Resumed = r.Session != "" && reply.Session != "" // the kinds without sessions ignore it
	return reply, err
}

// pause waits before the next try, or returns why there is none: it would begin after the deadline.
func (a *asker) pause(ctx context.Context, err error, n int, deadline time.Time, r Request) error {
	var e *Error
	if !errors.As(err, &e) || e.Reason != Transient {
		return err
	}
	wait := a.retry.delay(n, e.RetryAfter)
	switch {
	case n >= a.retry.tries:
		e.Message += fmt.Sprintf(" (tried %d times)", n)
		return e
	case time.Now().Add(wait).After(deadline):
		e.Message += fmt.Sprintf(" (the next try would be in %s, too late for the time-out)", wait.Round(time.Second))
		return e
	}
	text := fmt.Sprintf("%v: trying again in %s", e, wait.Round(100*time.Millisecond))
	if r.Log != nil {
		fmt.Fprintln(r.Log, text)
	}
	if r.Notice != nil {
		r.Notice(text)
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: interrupted: %w", shown(a.cfg.Name), context.Cause(ctx))
	}
}

// finish turns an error into an *Error with the agent's name and without secrets. It wraps nothing: the text of the
// cause may contain them.
func (a *asker) finish(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Reason: Failed, Message: err.Error()}
	}
	hidden := secret.NewMask(a.env, a.cfg.KeyEnv)
	done := *e
	done.Agent = a.cfg.Name
	done.Message = oneLine(hidden.Text(e.Message))
	done.LogTail = hidden.Text(e.LogTail)
	return &done
}

// validSession matches a session's name, which comes from a record, if it can be an argument of a program.
var validSession = pattern.Compile(`^\w[\w-]{0,199}$`)

// retryAfter reads that header, in seconds or as a date, and OpenAI's in milliseconds; zero if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, float64(most/time.Millisecond)) * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, most.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, min(at.Sub(now), most))
	}
	return 0
}
