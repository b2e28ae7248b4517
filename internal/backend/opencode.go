package backend

import (
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// opencode is the agent of that name. It retries an overloaded service without end; our timeout stops it.
type opencode struct{}

func (opencode) about() about {
	return about{
		keyVar:  "GIT_WF_OPENCODE_KEY",
		install: "install it (npm install -g opencode-ai)",
		login:   "run opencode auth login, or set the key's variable of its provider",
		bound:   true, // in another directory it does the work but never exits
	}
}

// opencodeProvider is our provider name for a base URL in its configuration.
const opencodeProvider = "git-wf"

func (o opencode) call(c Config, r Request) (args, env []string) {
	// Without a title it asks the model for one.
	args = []string{"run", "--format", "json", "--title", "git wf"}
	model := c.Model
	env = []string{
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_PERMISSION=" +
			o.permission(c, r),
	}
	if c.BaseURL != "" {
		model = opencodeProvider + "/" + c.Model
		env = append(env, "OPENCODE_CONFIG_CONTENT="+o.config(c, model))
	}
	if model != "" {
		args = append(args, "--model", model)
	}
	if r.Session != "" {
		args = append(args, "--session", r.Session)
	}
	return args, env
}

// permission allows what needs no asking. No other permission may ask: the answer would be no, which ends the turn.
func (opencode) permission(c Config, r Request) string {
	outside := map[string]string{"*": "deny"}
	for _, dir := range slices.Concat(r.Writable, r.readable()) {
		outside[path.Join(filepath.ToSlash(dir), "*")] = "allow"
	}
	rules := map[string]any{"*": "deny", "external_directory": outside}
	tools := []string{"read", "glob", "grep", "list", "edit"}
	switch r.Access {
	case MayRead:
		tools = tools[:len(tools)-1]
	case MayAnswer:
		tools = nil
	}
	for _, tool := range tools {
		rules[tool] = "allow"
	}
	if c.Shell && r.Access == MayWrite {
		rules["bash"] = "allow"
	}
	return jsonText(rules)
}

// config describes the service at a base URL. The key is in a variable, not in here.
func (o opencode) config(c Config, model string) string {
	options := map[string]any{"baseURL": c.BaseURL, "apiKey": "none"}
	if c.KeyEnv != "" {
		options["apiKey"] = "{env:" + o.about().keyVar + "}"
	}
	return jsonText(map[string]any{
		"model": model, "small_model": model, "share": "disabled", "autoupdate": false,
		"provider": map[string]any{opencodeProvider: map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": opencodeProvider, "options": options,
			"models": map[string]any{c.Model: map[string]any{"name": c.Model}},
		}},
	})
}

// opencodeEvent is one line of its output.
type opencodeEvent struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionID"`
	Part      struct {
		MessageID string  `json:"messageID"`
		Text      string  `json:"text"`
		Reason    string  `json:"reason"`
		Cost      float64 `json:"cost"`
		Tokens    struct {
			Input     int64 `json:"input"`
			Output    int64 `json:"output"`
			Reasoning int64 `json:"reasoning"`
			Cache     struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"part"`
	Error *struct {
		Name string `json:"name"`
		Data struct {
			Message   string            `json:"message"`
			Status    int               `json:"statusCode"`
			Retryable bool              `json:"isRetryable"`
			Headers   map[string]string `json:"responseHeaders"`
		} `json:"data"`
	} `json:"error"`
}

func (opencode) read(out output) (Reply, error) {
	var reply Reply
	var failure *Error
	message, last := "", ""
	any := lines(out.stdout, func(e opencodeEvent) {
		if e.SessionID != "" {
			reply.Session = e.SessionID
		}
		switch e.Type {
		case "text": // the last of several messages is the answer; earlier ones report progress
			if e.Part.MessageID != message {
				message, reply.Text = e.Part.MessageID, ""
			}
			reply.Text += e.Part.Text
		case "step_finish":
			last = e.Part.Reason
			t := e.Part.Tokens
			reply.Usage.InputTokens += t.Input + t.Cache.Read + t.Cache.Write
			reply.Usage.CachedTokens += t.Cache.Read
			reply.Usage.OutputTokens += t.Output + t.Reasoning
			reply.Usage.CostUSD += e.Part.Cost
			reply.Usage.Known = true
		case "error":
			failure = e.failure()
		}
	})
	reply.Truncated = last == "length"
	switch {
	case failure != nil:
		return Reply{}, failure
	case last == "content-filter":
		return Reply{}, &Error{Reason: Refused, Message: "the response was blocked by a content filter"}
	case out.exit == 0 && last != "":
		return reply, nil
	case strings.Contains(out.stderr, "Session not found"):
		return Reply{}, errSessionLost
	case out.exit != 0:
		return Reply{}, out.crashed("opencode failed")
	case any:
		return Reply{}, out.failed(Failed, "opencode ended without an answer")
	}
	return Reply{}, out.failed(Malformed, "opencode printed no event that can be read")
}

func (ev opencodeEvent) failure() *Error {
	if ev.Error == nil {
		return &Error{Reason: Failed, Message: "opencode reports an error and does not say which"}
	}
	data := ev.Error.Data
	e := &Error{Message: ev.Error.Name + ": " + data.Message, Status: data.Status}
	e.Reason = reasonOf(data.Status, data.Message)
	header := http.Header{}
	for k, v := range data.Headers {
		header.Set(k, v)
	}
	e.RetryAfter = retryAfter(header, time.Now())
	switch {
	case ev.Error.Name == "ProviderAuthError":
		e.Reason = Unavailable
	case ev.Error.Name == "ContentFilterError":
		e.Reason = Refused
	case data.Status == 0 && data.Retryable:
		e.Reason = Transient
	}
	return e
}
