package backend

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Backend asks one agent. Ask's error is an *Error, or wraps the context's cause if that was cancelled. Usable says why
// the agent can't be asked here and what would mend it, without asking the model; nil means that it may well work. Missing
// says so too, as far as that can be told at once, without starting anything.
type Backend interface {
	Ask(ctx context.Context, r Request) (Reply, error)
	Usable(ctx context.Context) error
	Missing() error
}

// Config says how an agent is reached. It comes from the user's own configuration.
type Config struct {
	Name      string        // of the agent, for messages and Reply.Agent
	Kind      string        // one of Kinds
	Command   string        // of kind command: a line for the shell. Of a command-line agent: its program, if not found on PATH by its own name
	Args      []string      // more arguments for a command-line agent, after ours
	Model     string        // "" leaves the choice to the agent; the API kinds need one
	BaseURL   string        // of the service, if not the vendor's
	KeyEnv    string        // the environment variable that holds the key; "" is the vendor's usual one. opencode knows a key by another name only for a BaseURL
	Timeout   time.Duration // of one Ask with all its tries; zero means DefaultTimeout
	MaxTokens int64         // of a reply, for the API kinds; zero leaves the vendor's limit, or DefaultMaxTokens where one must be given
	Shell     bool          // whether a command-line agent without a sandbox may run shell commands
	Fallback  []string      // the agents to ask, in this order, when this one can't answer; see NewChain
	Workspace string        // where the caller lets it work: scratch or worktree. Nothing here depends on it
	Wrong     error         // what the caller found wrong with the settings; nil if nothing
}

// SettingError is a setting that can't work anywhere.
type SettingError struct {
	Agent, Key, Reason string // Key is the setting's last part: kind
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("agent %s: %s: %s", shown(e.Agent), e.Key, e.Reason)
}

// The limits of an Ask that sets none.
const (
	DefaultTimeout   = 30 * time.Minute
	DefaultMaxTokens = 16000
	MaxReply         = 16 << 20 // bytes of an agent's whole output
)

// Request is one question.
type Request struct {
	Prompt    string
	System    string    // said before the prompt
	Refused   []Refusal // replies to Prompt that could not be used, oldest first
	Session   string    // Reply.Session of an earlier reply, the last refused one if there is any, to go on from there; "" starts a new one
	SessionOf string    // Reply.Agent of that reply, so that another agent of a chain does not get the session
	Dir       string    // where a command works: its own scratch directory or worktree
	Writable  []string  // directories besides Dir that it may write to, such as WF_OUT
	Readable  []string  // directories that it may read
	Environ   []string  // the environment of whoever runs the tool
	Vars      []string  // variables for a command, which WF_* and GIT_* of Environ don't reach
	Timeout   time.Duration
	Log       io.Writer // gets what a command prints, without keys and within limits; may be nil
}

// Refusal is a reply that could not be used, and what the agent is told about it. One that still has the conversation
// hears that alone; any other is asked the whole question again, with it.
type Refusal struct {
	Reply string
	Wrong string
}

// Reply is what came back.
type Reply struct {
	Text      string
	Truncated bool   // the text is cut off: the model came to its limit
	Agent     string // Config.Name of who answered
	Session   string // to go on from here; "" if there is no such thing
	Resumed   bool   // whether this went on from Request.Session; if not, that was lost and the agent started anew
	Model     string // that answered, where that is reported
	Usage     Usage
	ExitCode  int           // of a command
	Duration  time.Duration // with all tries and the time between them
	Tries     int
	Skipped   []string // why other agents of a chain did not answer, one line for each
	LogTail   string   // the end of what a command printed besides its reply, fit to be shown
}

// Usage is what a reply took, as far as the agent says so. Known is false if it says nothing.
type Usage struct {
	InputTokens  int64 // all of them, cached ones included
	OutputTokens int64
	CachedTokens int64 // input tokens that came from a cache
	CostUSD      float64
	CostKnown    bool
	Known        bool
	Session      bool // the numbers are those of the whole session so far and not of this reply alone
}

// The kinds of agent.
const (
	KindCommand   = "command"
	KindClaude    = "claude"
	KindCodex     = "codex"
	KindGemini    = "gemini"
	KindOpencode  = "opencode"
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"
)

// Kinds lists the kinds that a Config may have.
func Kinds() []string {
	return []string{KindCommand, KindClaude, KindCodex, KindGemini, KindOpencode, KindOpenAI, KindAnthropic}
}

// New returns the backend of a configuration, without its fallbacks. environ is where keys and programs are looked up.
// It fails if the configuration can't work anywhere, with its Wrong or a *SettingError; whether it can work here is
// Usable's to say.
func New(c Config, environ []string) (Backend, error) {
	if c.Wrong != nil {
		return nil, c.Wrong
	}
	if wrong := c.Check(); wrong != nil {
		return nil, wrong
	}
	base := asker{cfg: c, env: environ, retry: defaultRetry}
	switch c.Kind {
	case KindCommand:
		base.try = command{c, environ}
	case KindClaude:
		base.try = program{c, environ, claude{}}
	case KindCodex:
		base.try = program{c, environ, codex{}}
	case KindGemini:
		base.try = program{c, environ, gemini{}}
	case KindOpencode:
		base.try = program{c, environ, opencode{}}
	case KindOpenAI:
		base.try = newOpenAI(c, environ)
	case KindAnthropic:
		base.try = newAnthropic(c, environ)
	}
	return &base, nil
}

// Check finds the first setting that can't work anywhere, nil if all can.
func (c Config) Check() *SettingError {
	fail := func(key, format string, args ...any) *SettingError {
		return &SettingError{Agent: c.Name, Key: key, Reason: fmt.Sprintf(format, args...)}
	}
	api := c.Kind == KindOpenAI || c.Kind == KindAnthropic
	switch {
	case !slices.Contains(Kinds(), c.Kind):
		return fail("kind", "%s is none of %s", shown(c.Kind), strings.Join(Kinds(), ", "))
	case c.Kind == KindCommand && strings.TrimSpace(c.Command) == "":
		return fail("command", "missing: give the command line that reads the prompt and prints the reply")
	case api && c.Model == "":
		return fail("model", "missing: a model service has to be told which model to use")
	case strings.HasPrefix(c.Model, "-"):
		return fail("model", "%s looks like a flag", shown(c.Model))
	case c.BaseURL == "":
		return nil
	}
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fail("baseurl", "not an http or https address")
	case u.User != nil: // it would show in argument lists and messages
		return fail("baseurl", "must not hold a user name or password; put the key into a variable and name that in keyenv")
	case c.Kind == KindOpencode && c.Model == "":
		return fail("model", "missing: with a baseurl, opencode has to be told which model to use")
	}
	return nil
}
