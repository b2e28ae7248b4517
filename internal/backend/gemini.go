package backend

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/shell"
)

// gemini is Google's Gemini CLI. It does not report truncated replies.
type gemini struct{}

func (gemini) about() about {
	return about{
		keyVar:  "GEMINI_API_KEY",
		install: "install it (npm install -g @google/gemini-cli)",
		login: "run gemini once and choose how to log in, or set GEMINI_API_KEY; with a baseurl, " +
			"security.auth.selectedType in its own settings.json has to say gemini-api-key",
	}
}

func (gemini) call(c Config, r Request) (args, env []string) {
	mode := "auto_edit"
	switch {
	case r.Access != MayWrite:
		mode = "default" // nobody is there who could approve
	case c.Shell:
		mode = "yolo"
	}
	args = []string{"--output-format", "json", "--approval-mode", mode}
	if !has(r.Dir, ".gemini", ".env") { // settings that would run commands
		args = append(args, "--skip-trust")
	}
	for _, dir := range r.Writable {
		args = append(args, "--include-directories="+dir)
	}
	for _, dir := range r.readable() {
		args = append(args, "--include-directories="+dir)
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if r.Session != "" {
		args = append(args, geminiSession(r)...)
	}
	env = []string{"NO_COLOR=1", "GEMINI_TELEMETRY_ENABLED=false", "GEMINI_CLI_NO_RELAUNCH=true"}
	if c.BaseURL != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+c.BaseURL)
	}
	return args, env
}

// readable are the readable directories for an agent without rights that only read: where it may write at all, it may
// wherever it may read. Copies of inputs can bear that, a repository can't.
func (r Request) readable() []string {
	return slices.DeleteFunc(slices.Clone(r.Readable), func(dir string) bool {
		return r.Access == MayWrite && has(dir, ".git", "HEAD")
	})
}

// has reports whether a directory has an entry of one of the names.
func has(dir string, names ...string) bool {
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// geminiSession continues a session by its file, because gemini looks up ids only among the sessions of one directory.
// That creates a copy with an id of its own.
func geminiSession(r Request) []string {
	home := cmp.Or(shell.Getenv(r.Environ, "GEMINI_CLI_HOME"), homeDir(r.Environ))
	const idInName = 8 // characters of the id at the end of the file's name
	file := sessionFile("", filepath.Join(home, ".gemini"), "tmp", "*", "chats",
		"session-*-"+r.Session[:min(len(r.Session), idInName)]+".jsonl")
	if file == "" {
		return []string{"--resume", r.Session}
	}
	return []string{"--session-file", file}
}

// largest is the largest file that matches a pattern, "" if none: another one with the id was only begun.
func largest(pattern string) string {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return ""
	}
	found, size := "", int64(-1)
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() > size {
			found, size = name, info.Size()
		}
	}
	return found
}

// geminiResult is what it prints at its end: on standard output or, after a failure, on standard error.
type geminiResult struct {
	SessionID string  `json:"session_id"`
	Response  *string `json:"response"`
	Stats     struct {
		Models map[string]struct {
			Tokens struct {
				Prompt     int64 `json:"prompt"`
				Candidates int64 `json:"candidates"`
				Thoughts   int64 `json:"thoughts"`
				Cached     int64 `json:"cached"`
			} `json:"tokens"`
		} `json:"models"`
	} `json:"stats"`
	Error *struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"` // a number, or a name
	} `json:"error"`
}

// geminiAuth is the exit status of a program that is not logged in.
const geminiAuth = 41

func (gemini) read(out output) (Reply, error) {
	if strings.Contains(out.stderr, "Error resuming session:") ||
		strings.Contains(out.stderr, "Error importing session") {
		return Reply{}, errSessionLost
	}
	var res geminiResult
	ok := lastObject(string(out.stdout), &res) || lastObject(out.stderr, &res)
	switch {
	case ok && res.Error != nil:
		return Reply{}, res.failure(out.exit)
	case ok && out.exit == 0 && res.Response != nil:
		return res.reply(), nil
	case out.exit == geminiAuth:
		return Reply{}, out.failed(Unavailable, "gemini is not logged in")
	case out.exit != 0:
		return Reply{}, out.crashed("gemini failed")
	}
	return Reply{}, out.failed(Malformed, "gemini printed no result that can be read")
}

func (res geminiResult) reply() Reply {
	reply := Reply{Text: *res.Response, Session: res.SessionID}
	most := int64(-1)
	for name, m := range res.Stats.Models {
		t := m.Tokens
		reply.Usage.InputTokens += t.Prompt
		reply.Usage.CachedTokens += t.Cached
		reply.Usage.OutputTokens += t.Candidates + t.Thoughts
		reply.Usage.Known = true
		if t.Candidates > most || t.Candidates == most && name < reply.Model {
			reply.Model, most = name, t.Candidates
		}
	}
	return reply
}

// failure reads the code, which is an HTTP status or an exit status of its own.
func (res geminiResult) failure(exit int) *Error {
	e := &Error{Message: res.Error.Message}
	var inner struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(e.Message), &inner) == nil && inner.Error.Message != "" {
		e.Message = inner.Error.Message
	}
	var code int
	_ = json.Unmarshal(res.Error.Code, &code) // a name stays zero
	if code >= 300 {
		e.Status = code
	}
	e.Reason = reasonOf(e.Status, e.Message)
	if e.Status == 0 && (code == geminiAuth || exit == geminiAuth) {
		e.Reason = Unavailable
	}
	return e
}

// lastObject decodes the last JSON object that starts a line and reaches to the end.
func lastObject(s string, v any) bool {
	s = strings.TrimSpace(s)
	for end := len(s); end > 0; {
		i := strings.LastIndex(s[:end], "\n{")
		if json.Unmarshal([]byte(s[i+1:]), v) == nil {
			return true
		}
		end = i
	}
	return false
}
