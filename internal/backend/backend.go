package backend

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Backend asks one agent. Ask fails with an *Error, or with the context's cause if that was cancelled. Missing returns
// why the agent can't be asked here and what would mend it, without starting anything: a program, a key.
type Backend interface {
	Ask(ctx context.Context, r Request) (Reply, error)
	Missing() error
}

// Config says how to reach an agent. It comes from the user's own configuration.
type Config struct {
	Name      string        // the agent's name, for messages and Reply.Agent
	Kind      string        // one of Kinds
	Command   string        // a shell line (kind command), or the program of an agent that is not on PATH by its name
	Args      []string      // extra arguments for a command-line agent, after ours
	Model     string        // "" leaves the choice to the agent; the API kinds need one
	BaseURL   string        // of the service, if not the vendor's
	KeyEnv    string        // variable with the key; "": the vendor's. opencode takes another only with a BaseURL
	Timeout   time.Duration // for one Ask, including retries; zero means DefaultTimeout
	Shell     bool          // whether a command-line agent without a sandbox may run shell commands
	Fallback  []string      // the agents to ask, in this order, if this one can't answer; see NewChain
	Workspace string        // where the caller lets it work: scratch or worktree. This package ignores it
	Wrong     error         // what the caller found wrong with the settings; nil if nothing
}

// SettingError is a setting that can't work anywhere.
type SettingError struct {
	Agent, Key, Reason string // Key is the last part of the setting's name: kind
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("agent %s: %s: %s", shown(e.Agent), e.Key, e.Reason)
}

// The limits of an Ask that sets none.
const (
	DefaultTimeout = 30 * time.Minute
	MaxReply       = 16 << 20 // bytes of an agent's whole output
)

// Request is one question.
type Request struct {
	Prompt    string
	Again     string    // what of it is new to Session, "" for all of it
	Head      string    // a file with what Prompt begins with, which a session that goes on has; "" for nothing
	Refused   []Refusal // unusable replies to Prompt, oldest first
	Session   string    // Reply.Session to continue, of the last refused reply if any; "" starts a new one
	SessionOf string    // Reply.Agent of that reply, so that no other agent of a chain gets the session
	Dir       string    // where a command works: its own scratch directory or worktree
	Writable  []string  // directories besides Dir that it may write to, such as WF_OUT
	Readable  []string  // directories that it may read
	Access    Access    // less than MayWrite takes away what it needs for more, as far as its kind lets us
	Environ   []string  // the environment of the tool's user
	Vars      []string  // variables for a command; Environ's WF_* and GIT_* never reach it
	Timeout   time.Duration
	Log       io.Writer // gets what a command prints, without keys and within limits; may be nil

	Notice func(string) // called when a try failed and the next one waits; may be nil
}

// Access is what an agent may do besides answering.
type Access int

// The degrees of access.
const (
	MayWrite  Access = iota // in Dir and Writable, and it may have a shell
	MayRead                 // Dir and Readable
	MayAnswer               // nothing
)

// Refusal is an unusable reply and what to tell the agent about it. An agent that still has the conversation gets only
// that; any other gets the whole question again as well.
type Refusal struct {
	Reply string
	Wrong string
}

// Reply is the answer to a Request.
type Reply struct {
	Text      string
	Truncated bool   // the model reached its limit and the text is cut off
	Agent     string // Config.Name of the agent that answered
	Session   string // to continue from; "" if the agent has no sessions
	Resumed   bool   // whether this continued Request.Session; otherwise that was lost and the agent started anew
	Model     string // the model that answered, if reported
	Usage     Usage
	ExitCode  int           // of a command
	Duration  time.Duration // including retries and pauses
	Skipped   []string      // why other agents of a chain did not answer, one line each
	LogTail   string        // the end of what a command printed besides its reply, fit to be shown
}

// Usage is what a reply cost, as far as the agent reports it. Known is false if it reports nothing.
type Usage struct {
	InputTokens  int64 // in all, including cached ones
	OutputTokens int64
	CachedTokens int64 // input tokens from a cache
	CostUSD      float64
	Known        bool
	Session      bool // the numbers cover the whole session so far, not only this reply
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

var programs = map[string]vendor{
	KindClaude: claude{}, KindCodex: codex{}, KindGemini: gemini{}, KindOpencode: opencode{},
}

// New returns the backend of a configuration, without its fallbacks. It looks up keys and programs in environ. It fails
// if the configuration can't work anywhere, with its Wrong or a *SettingError; Missing tells whether it can here.
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
	case KindOpenAI:
		base.try = openAI{newService(c, environ, "OPENAI_API_KEY")}
	case KindAnthropic:
		base.try = anthropic{newService(c, environ, "ANTHROPIC_API_KEY")}
	default:
		base.try = program{c, environ, programs[c.Kind]}
	}
	return &base, nil
}

// Confined says where the agent may write, and what keeps it there: nothing of ours does.
func (c Config) Confined() string {
	switch {
	case c.Kind == KindCommand:
		return "writes wherever its command can"
	case c.Kind == KindOpenAI || c.Kind == KindAnthropic:
		return "writes nothing, it answers with text"
	case c.Kind == KindCodex:
		return "writes to the attempt's directories, by its own sandbox"
	case c.Shell:
		return "its tools write to the attempt's directories, its shell anywhere"
	}
	return "writes to the attempt's directories, by its own permissions"
}

// Runs reports whether the agent may be able to run command lines where it may write.
func (c Config) Runs() bool {
	return c.Kind == KindCodex || c.Kind == KindCommand || c.Shell && c.Kind != KindOpenAI && c.Kind != KindAnthropic
}

// Check returns the first setting that can't work anywhere, nil if all can.
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
		return fail("baseurl", "must not hold a user name or password; put the key into a variable and name that "+
			"in keyenv")
	case c.Kind == KindOpencode && c.Model == "":
		return fail("model", "missing: with a baseurl, opencode has to be told which model to use")
	}
	return nil
}

// turn is one turn of a conversation. A model service keeps none itself.
type turn struct {
	own  bool // the model's
	text string
}

// role is the turn's side, in the word that both vendors use.
func (t turn) role() string {
	if t.own {
		return "assistant"
	}
	return "user"
}

// turns is the whole conversation so far. No turn is empty, and sides alternate: services refuse anything else.
func (r Request) turns() []turn {
	all := []turn{{text: r.Prompt}}
	for _, no := range r.Refused {
		if strings.TrimSpace(no.Reply) == "" {
			all[len(all)-1].text += "\n\n" + no.Wrong
			continue
		}
		all = append(all, turn{own: true, text: no.Reply}, turn{text: no.Wrong})
	}
	return all
}

// text is all that a command reads. It knows earlier messages only within a session.
func (r Request) text() string {
	text := r.Prompt
	if r.Session != "" {
		text = cmp.Or(r.Again, text)
	}
	if n := len(r.Refused); n > 0 {
		text = r.Refused[n-1].Wrong
		if r.Session == "" {
			text = r.Prompt + "\n" + text
		}
	}
	return text
}
