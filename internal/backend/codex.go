package backend

import (
	"strconv"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/shell"
)

// codex is OpenAI's Codex.
type codex struct{}

// codexProvider is our provider name for a base URL in its configuration.
const codexProvider = "git-wf"

func (codex) about() about {
	return about{
		keyVar:  "CODEX_API_KEY",
		install: "install it (npm install -g @openai/codex)",
		login:   "run codex login, or set CODEX_API_KEY",
	}
}

// call passes the sandbox as configuration, not as flags: resuming a session accepts fewer flags.
func (codex) call(c Config, r Request) (args, env []string) {
	args = []string{"exec"}
	if r.Session != "" {
		args = append(args, "resume")
	}
	sandbox := "workspace-write"
	if r.Access != MayWrite {
		sandbox = "read-only"
	}
	args = append(args,
		"--json", "--skip-git-repo-check", "-c", "sandbox_mode="+jsonText(sandbox), "-c", `approval_policy="never"`,
		"-c", "check_for_update_on_startup=false",
		"-c", "project_doc_max_bytes=0", // the prompt has the approved AGENTS.md
		// Tools that the work does not need: each that is offered costs tokens with every request.
		"-c", "features.multi_agent=false", "-c", "features.goals=false", "-c", `web_search="disabled"`,
		"-c", "tools.experimental_request_user_input.enabled=false")
	if sandbox == "workspace-write" { // the directories for temporary files hold those of other tasks
		args = append(args, "-c", "sandbox_workspace_write.exclude_slash_tmp=true",
			"-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true")
	}
	if len(r.Writable) > 0 {
		args = append(args, "-c", "sandbox_workspace_write.writable_roots="+jsonText(r.Writable))
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if c.BaseURL != "" {
		keyVar := ""
		if c.KeyEnv != "" {
			keyVar = ",env_key=" + jsonText(codex{}.about().keyVar)
		} else if shell.Getenv(r.Environ, "OPENAI_API_KEY") != "" {
			keyVar = `,env_key="OPENAI_API_KEY"`
		}
		args = append(args, "-c", "model_provider="+jsonText(codexProvider),
			"-c", "model_providers."+codexProvider+"={name="+jsonText(codexProvider)+",base_url="+jsonText(c.BaseURL)+
				`,wire_api="responses",request_max_retries=2,stream_max_retries=2`+keyVar+"}")
	}
	if r.Session != "" {
		args = append(args, r.Session)
	}
	return args, nil
}

// codexEvent is one line of its output.
type codexEvent struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Item     struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"item"`
	Usage *struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (codex) read(out output) (Reply, error) {
	var reply Reply
	var failure string
	done := false
	lines(out.stdout, func(e codexEvent) {
		switch e.Type {
		case "thread.started":
			reply.Session = e.ThreadID
		case "item.completed":
			if e.Item.Type == "agent_message" { // the last one is the answer; earlier ones report progress
				reply.Text = e.Item.Text
			}
		case "turn.completed":
			done = true
			if e.Usage != nil { // of the thread, not of the turn
				reply.Usage = Usage{InputTokens: e.Usage.Input, CachedTokens: e.Usage.Cached,
					OutputTokens: e.Usage.Output,
					Known:        true, Session: true}
			}
		case "turn.failed":
			failure = e.Error.Message
		case "error": // also reports tries that it will repeat
			if failure == "" {
				failure = e.Message
			}
		}
	})
	switch {
	case done:
		return reply, nil
	case strings.Contains(failure, "max_output_tokens"):
		reply.Truncated = true
		return reply, nil
	case failure != "":
		return Reply{}, codexError(failure)
	case strings.Contains(out.stderr, "no rollout found for thread id"),
		strings.Contains(out.stderr, "thread/resume failed"):
		return Reply{}, errSessionLost
	case out.exit != 0:
		return Reply{}, codexError(firstError(out))
	}
	return Reply{}, out.failed(Malformed, "codex printed no turn that can be read")
}

// codexStatus finds the HTTP status in a message; there is no field for it.
var codexStatus = pattern.Compile(`(?:unexpected|last) status:? (\d{3})`)

func codexError(message string) *Error {
	e := &Error{Message: message}
	m := codexStatus.Get().FindStringSubmatch(message)
	if m != nil {
		e.Status, _ = strconv.Atoi(m[1]) // three digits
	}
	e.Reason = reasonOf(e.Status, message)
	if m == nil && strings.Contains(strings.ToLower(message), "content_filter") {
		e.Reason = Refused
	}
	return e
}

// firstError is the line that says what went wrong; a stack trace follows it.
func firstError(out output) string {
	for line := range strings.Lines(out.stderr) {
		if strings.HasPrefix(strings.ToLower(line), "error") {
			return strings.TrimSpace(line)
		}
	}
	return out.failed(Failed, "codex failed").Message
}
