package backend

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gitwf/internal/process"
	"gitwf/internal/secret"
	"gitwf/internal/shell"
)

// command is any program of the user's that reads the prompt and prints the reply.
type command struct {
	cfg Config
	env []string
}

// Exit statuses with a meaning beyond failure: two of sysexits.h, and the shell's own.
const (
	exitUnavailable = 69
	exitTryAgain    = 75
	exitNotProgram  = 126
	exitNotFound    = 127
)

func (c command) ask(ctx context.Context, r Request, deadline time.Time) (Reply, error) {
	r.Session = "" // it has none
	out, err := run{
		line: c.cfg.Command, dir: r.Dir, environ: childEnv(r, nil), stdin: r.text(), timeout: time.Until(deadline),
		log: r.Log, secrets: secret.NewMask(slices.Concat(r.Environ, c.env), c.cfg.KeyEnv),
	}.do(ctx)
	if err != nil {
		return Reply{}, err
	}
	switch out.exit {
	case 0:
		return Reply{Text: string(out.stdout), LogTail: out.tail()}, nil
	case exitUnavailable, exitNotProgram, exitNotFound:
		return Reply{}, out.failed(Unavailable, "the command can't work")
	case exitTryAgain:
		return Reply{}, out.failed(Transient, "the command asks to try again later")
	}
	return Reply{}, out.failed(Failed, "the command failed")
}

// missing looks up the first word if it is a plain name or path; only the shell understands anything else. On Windows
// the shell also finds its own programs, which are not on PATH.
func (c command) missing() error {
	word := strings.Fields(c.cfg.Command)[0]
	if runtime.GOOS == "windows" && !strings.ContainsAny(word, `/\`) {
		return nil
	}
	if strings.ContainsAny(word, `'"$`+"`"+`\=(){}[]<>|&;*?!#~`) || findProgram(word, c.env) != "" ||
		slices.Contains(strings.Fields(shellWords), word) {
		return nil
	}
	return &Error{Reason: Unavailable, Message: fmt.Sprintf("the program %s is not there", oneLine(word)),
		Hint: "install it, or correct the agent's command"}
}

// shellWords are first words that are likely the shell's own.
const shellWords = "cd exec eval command . : if for while until case set export ulimit umask trap exit read " +
	"time unset readonly printf echo test true false wait source"

// childEnv is the environment of a command: the request's, then what the kind wants, then the request's own variables.
// It drops the variables by which an agent that runs us would take its child for a part of itself.
func childEnv(r Request, more []string) []string {
	var base []string
	for _, kv := range r.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT":
			continue
		}
		base = append(base, kv)
	}
	env := process.Environ(base, "PWD="+r.Dir)
	env = append(env, more...)
	return append(env, r.Vars...)
}

// findProgram is process.Find, also below the user's home directory.
func findProgram(name string, environ []string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(homeDir(environ), rest)
	}
	return process.Find(name)
}

// homeDir is the user's home directory in the given environment.
func homeDir(environ []string) string {
	if runtime.GOOS == "windows" {
		return shell.Getenv(environ, "USERPROFILE")
	}
	return shell.Getenv(environ, "HOME")
}
