package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/secret"
	"gitwf/internal/shell"
)

// vendor is what distinguishes one command-line agent.
type vendor interface {
	about() about
	call(c Config, r Request) (args, env []string)
	read(out output) (Reply, error)
}

// about is what we must know about an agent before it runs.
type about struct {
	keyVar  string // the variable where it looks for a key
	install string // the hint if it is not installed
	login   string // the hint if the user is not logged in
	bound   bool   // whether a session can be continued only in the directory where it began
}

// program is a vendor's command-line agent, run once for each question, without a terminal.
type program struct {
	cfg    Config
	env    []string
	vendor vendor
}

func (p program) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	path, err := p.path()
	if err != nil {
		return Reply{}, err
	}
	key, err := p.key(r.Environ)
	if err != nil {
		return Reply{}, err
	}
	bound := ""
	if p.vendor.about().bound {
		bound = boundTo(r.Dir)
		id, ok := strings.CutSuffix(r.Session, bound)
		if r.Session != "" && !ok {
			return Reply{}, errSessionLost
		}
		r.Session = id
	}
	if _, own := p.vendor.(claude); own || r.Session != "" {
		head, _ := os.ReadFile(r.Head)
		r.Prompt = strings.TrimPrefix(r.Prompt, string(head))
	}
	hidden := secret.NewMask(slices.Concat(r.Environ, p.env), p.cfg.KeyEnv)
	args, env := p.vendor.call(p.cfg, r)
	if key != "" {
		env = append(env, p.vendor.about().keyVar+"="+key)
	}
	out, err := run{
		line: line(path, slices.Concat(args, p.cfg.Args)), dir: r.Dir, environ: childEnv(r, env),
		stdin: plain(r.text()), timeout: time.Until(deadline), log: r.Log,
		secrets: hidden,
	}.do(ctx)
	if err != nil {
		return Reply{}, starved(err, out)
	}
	reply, err := p.vendor.read(out)
	if err != nil {
		return Reply{}, p.explain(err, out)
	}
	if reply.Session != "" {
		reply.Session += bound
	}
	reply.ExitCode, reply.LogTail = out.exit, hidden.Text(output{stderr: out.stderr}.tail())
	return reply, nil
}

// starved makes an outage of a time-out if the last report is of no connection: codex waits for one without end.
func starved(err error, out output) error {
	var last struct{ Type, Message string }
	e, ok := err.(*Error)
	if ok && e.Reason == TimedOut && json.Unmarshal([]byte(lastLine(string(out.stdout))), &last) == nil &&
		last.Type == "error" && reasonOf(0, last.Message) == Transient {
		e.Reason, e.Message = Transient, e.Message+": "+oneLine(last.Message)
	}
	return err
}

// boundTo is the suffix of the name of a session that is bound to a directory.
func boundTo(dir string) string {
	const digits = 12
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return "-" + hex.EncodeToString(sum[:])[:digits]
}

// explain adds what the user can do, and what the agent printed.
func (p program) explain(err error, out output) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	e.ExitCode, e.LogTail = out.exit, out.tail()
	if e.Reason == Unavailable && e.Hint == "" {
		e.Hint = p.vendor.about().login
	}
	return e
}

// Program is the path of the program of a vendor's agent, "" if it is not there. It has the name of the kind.
func (c Config) Program(environ []string) string {
	return findProgram(cmp.Or(c.Command, c.Kind), environ)
}

func (p program) path() (string, error) {
	if path := p.cfg.Program(p.env); path != "" {
		return path, nil
	}
	return "", &Error{Reason: Unavailable, Message: fmt.Sprintf("the program %s is not there",
		oneLine(cmp.Or(p.cfg.Command, p.cfg.Kind))),
		Hint: p.vendor.about().install + ", or name its path in the agent's command"}
}

// key is the value of the variable that the configuration names; "" if it names none and the agent has its own.
func (p program) key(environ []string) (string, error) {
	if p.cfg.KeyEnv == "" {
		return "", nil
	}
	if v := shell.Getenv(slices.Concat(p.env, environ), p.cfg.KeyEnv); v != "" {
		return v, nil
	}
	return "", missingKey(p.cfg.KeyEnv)
}

func missingKey(name string) *Error {
	return &Error{Reason: Unavailable, Message: fmt.Sprintf("the variable %s, which holds the key, is not set",
		oneLine(name)), Hint: "set it, or name another in the agent's keyenv"}
}

// missing looks for the program and its key.
func (p program) missing() error {
	if _, err := p.path(); err != nil {
		return err
	}
	_, err := p.key(nil)
	return err
}

// plain keeps an agent from taking the beginning of a prompt for one of its own commands (/help, !ls, #remember).
func plain(prompt string) string {
	if s := strings.TrimSpace(prompt); s != "" && strings.ContainsRune("/!#@", rune(s[0])) {
		return "The request:\n\n" + prompt
	}
	return prompt
}

// lines decodes output of one JSON object per line and calls each with it. It skips other lines, because programs print
// warnings too. It reports whether it found any object.
func lines[T any](stdout []byte, each func(T)) bool {
	any := false
	for text := range strings.Lines(string(stdout)) {
		text = strings.TrimSpace(text)
		if !strings.HasPrefix(text, "{") {
			continue
		}
		var v T
		if json.Unmarshal([]byte(text), &v) == nil {
			any = true
			each(v)
		}
	}
	return any
}

// jsonText formats strings, lists of them and maps. codex's -c reads TOML, which writes strings and lists as JSON does.
func jsonText(v any) string {
	data, _ := json.Marshal(v) // it never fails for these
	return string(data)
}
