package backend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"gitwf/internal/shell"
)

// claude is Anthropic's Claude Code.
type claude struct{}

func (claude) about() about {
	return about{
		keyVar:  "ANTHROPIC_API_KEY",
		install: "install it (npm install -g @anthropic-ai/claude-code)",
		login:   "run claude once and log in, or set ANTHROPIC_API_KEY",
	}
}

func (claude) call(c Config, r Request) (args, env []string) {
	mode := "acceptEdits"
	if r.Access != MayWrite {
		mode = "default" // nobody is there who could allow what it has to ask for
	}
	args = []string{
		"--print", "--output-format", "json", "--permission-mode", mode,
		// Keep out the repository's settings, hooks and servers: they would run its commands here.
		"--setting-sources", "user", "--strict-mcp-config",
	}
	if r.Head != "" {
		args = append(args, "--append-system-prompt-file", r.Head)
	}
	for _, dir := range r.Writable {
		args = append(args, "--add-dir", dir)
	}
	var allowed []string
	for _, dir := range r.Readable {
		allowed = append(allowed, "Read(/"+filepath.ToSlash(dir)+"/**)") // two slashes make it a path from the root
	}
	if c.Shell && r.Access == MayWrite {
		allowed = append(allowed, "Bash")
	}
	if allowed != nil {
		args = append(append(args, "--allowedTools"), allowed...)
	}
	// Only what the work needs: each tool that is offered costs tokens with every request.
	tools := "Read,Glob,Grep"
	switch {
	case r.Access == MayAnswer:
		tools = ""
	case r.Access == MayWrite && c.Shell:
		tools += ",Edit,Write,Bash"
	case r.Access == MayWrite:
		tools += ",Edit,Write"
	}
	args = append(args, "--tools", tools)
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if r.Session != "" {
		dir := cmp.Or(shell.Getenv(r.Environ, "CLAUDE_CONFIG_DIR"), filepath.Join(homeDir(r.Environ), ".claude"))
		args = append(args, "--resume", sessionFile(r.Session, dir, "projects", "*", r.Session+".jsonl"))
	}
	env = []string{"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1"} // of a checkout that is thrown away: a third of each request
	// It tries ten times, even with a refused key, which takes minutes; our retries come on top.
	if shell.Getenv(r.Environ, "CLAUDE_CODE_MAX_RETRIES") == "" {
		env = append(env, "CLAUDE_CODE_MAX_RETRIES=3")
	}
	if c.BaseURL != "" {
		env = append(env, "ANTHROPIC_BASE_URL="+c.BaseURL)
	}
	return args, env
}

// sessionFile returns the file of a session. Programs that look up an id only in the session's own directory accept the
// file instead. Without such a file, it returns the id. dir is a directory; the elements are a pattern below it.
func sessionFile(id, dir string, elements ...string) string {
	if !filepath.IsAbs(dir) || strings.ContainsAny(dir, `*?[\`) && filepath.Separator == '/' {
		return id
	}
	return cmp.Or(largest(filepath.Join(append([]string{dir}, elements...)...)), id)
}

// claudeResult is what it prints at its end.
type claudeResult struct {
	Type       string  `json:"type"`
	IsError    bool    `json:"is_error"`
	Subtype    string  `json:"subtype"`
	Status     int     `json:"api_error_status"`
	Result     *string `json:"result"`
	StopReason string  `json:"stop_reason"`
	SessionID  string  `json:"session_id"`
	CostUSD    float64 `json:"total_cost_usd"`
	Usage      struct {
		Input         int64 `json:"input_tokens"`
		CacheCreation int64 `json:"cache_creation_input_tokens"`
		CacheRead     int64 `json:"cache_read_input_tokens"`
		Output        int64 `json:"output_tokens"`
	} `json:"usage"`
	Models map[string]struct {
		Output int64 `json:"outputTokens"`
	} `json:"modelUsage"`
	Errors []string `json:"errors"`
}

func (claude) read(out output) (Reply, error) {
	var res claudeResult
	err := json.Unmarshal(bytes.TrimSpace(out.stdout), &res)
	switch {
	case err == nil && res.Type == "result":
		return res.reply()
	case strings.Contains(out.stderr, "No conversation found with session ID"),
		strings.Contains(out.stderr, "--resume requires a valid session"):
		return Reply{}, errSessionLost
	case out.exit != 0:
		return Reply{}, out.crashed("claude failed")
	}
	return Reply{}, out.failed(Malformed, "claude printed no result that can be read")
}

func (res claudeResult) reply() (Reply, error) {
	text := strings.Join(res.Errors, "; ")
	if res.Result != nil {
		text = *res.Result
	}
	if !res.IsError && res.Result != nil {
		u := res.Usage
		return Reply{
			Text: text, Session: res.SessionID, Model: res.model(), Truncated: res.StopReason == "max_tokens",
			Usage: Usage{
				InputTokens: u.Input + u.CacheCreation + u.CacheRead, CachedTokens: u.CacheRead, OutputTokens: u.Output,
				CostUSD: res.CostUSD, Known: true,
			},
		}, nil
	}
	e := &Error{Reason: reasonOf(res.Status, text), Message: text, Status: res.Status}
	if res.StopReason == "refusal" {
		e.Reason = Refused
	}
	if e.Message == "" {
		e.Message = "claude ended with " + res.Subtype
	}
	return Reply{}, e
}

// model is the one that wrote most: smaller ones help it.
func (res claudeResult) model() string {
	best, most := "", int64(-1)
	for name, m := range res.Models {
		if m.Output > most || m.Output == most && name < best {
			best, most = name, m.Output
		}
	}
	return best
}
