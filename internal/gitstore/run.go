package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// gitEnv is the environment of every git: messages in one language, and objects as they are.
var gitEnv = []string{"LC_ALL=C", "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=" + os.DevNull + "/none"}

// patience is how long an interrupted git may take to remove its lock files.
const patience = 5 * time.Second

// Invocation is one call of git. An empty Dir means the Store's directory; Env is added to the environment.
type Invocation struct {
	Args  []string
	Stdin io.Reader
	Env   []string
	Dir   string

	inherits []*os.File
	heard    io.Writer // gets what git says, too, of a git that connects to a remote
}

// subcommand is the git command that is run.
func subcommand(args []string) string {
	for i := 0; i < len(args); i++ {
		if args[i] != "-c" {
			return args[i]
		}
		i++ // skip the setting's value
	}
	return ""
}

// Git runs git in the Store's directory and returns its trimmed output. A failure of git's is a *GitError.
func (s *Store) Git(ctx context.Context, args ...string) (string, error) {
	out, err := s.GitIn(ctx, Invocation{Args: args})
	return strings.TrimSpace(string(out)), err
}

// GitIn runs git as the Invocation says and returns its output, even if it fails.
func (s *Store) GitIn(ctx context.Context, in Invocation) ([]byte, error) {
	if in.Dir == "" {
		in.Dir = s.dir
	}
	run := runGit
	if in.locks() {
		run = s.runLocking
	}
	out, err := run(ctx, in)
	if slices.Contains(in.Args, "config") && !slices.Contains(in.Args, "--list") { // it may have changed something
		s.mu.Lock()
		s.configRead = time.Time{}
		s.mu.Unlock()
	}
	if err != nil {
		err = s.explain(ctx, err)
	}
	return out, err
}

func runGit(ctx context.Context, in Invocation) ([]byte, error) {
	out, _, err := runGitSaying(ctx, in)
	return out, err
}

// runGitSaying returns git's output and its standard error, even if git succeeds.
func runGitSaying(ctx context.Context, in Invocation) (out []byte, said string, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", in.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = in.Dir, in.Stdin, &stdout, &stderr
	cmd.ExtraFiles = inherited(in.inherits)
	cmd.Env = append(append(os.Environ(), gitEnv...), in.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	if in.heard != nil {
		cmd.Stderr = io.MultiWriter(&stderr, in.heard)
		cmd.WaitDelay = time.Second // the program that connects may hang
	}
	err = cmd.Run()
	if err == nil {
		return stdout.Bytes(), stderr.String(), nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	code := -1
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	}
	return stdout.Bytes(), stderr.String(), &GitError{Args: in.Args, Stderr: stderr.String(), ExitCode: code, Err: err}
}

// exitCode is git's exit code, or -1 if err is no *GitError.
func exitCode(err error) int {
	if g, ok := errors.AsType[*GitError](err); ok {
		return g.ExitCode
	}
	return -1
}

// Config returns the value of a git setting, and whether it is set. A setting without a value is "true", as in git.
func (s *Store) Config(ctx context.Context, key string) (value string, set bool, err error) {
	all, err := s.configuration(ctx)
	for _, kv := range all {
		if sameKey(kv[0], key) {
			value, set = kv[1], true
		}
	}
	return value, set, err
}

// sameKey compares a key as git prints it, with section and name in lower case, to one as people write it.
func sameKey(printed, key string) bool {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	return len(printed) == len(key) && first >= 0 && strings.EqualFold(printed[:first], key[:first]) &&
		printed[first:last] == key[first:last] && strings.EqualFold(printed[last:], key[last:])
}

// isTrue reads a setting as git reads a bool: a number is true unless it is zero.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	return strings.Trim(value, "0123456789") == "" && strings.Trim(value, "0") != ""
}

// Settings lists the settings whose key begins with the prefix, with git's spelling of keys; later ones win.
func (s *Store) Settings(ctx context.Context, prefix string) (found [][2]string, err error) {
	all, err := s.configuration(ctx)
	for _, kv := range all {
		if strings.HasPrefix(kv[0], prefix) {
			found = append(found, kv)
		}
	}
	return found, err
}

// configuration is git's whole configuration, cached for a second: a command asks several times.
func (s *Store) configuration(ctx context.Context) ([][2]string, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	all, read := s.config, s.configRead
	s.mu.Unlock()
	if since := time.Since(read); since >= 0 && (since < time.Second || s.Works != "") {
		return all, nil
	}
	read = time.Now()
	out, err := runGit(ctx, Invocation{Dir: s.dir, Args: []string{"config", "--null", "--list"}})
	if err != nil {
		return nil, err
	}
	all = nil
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, ok := strings.Cut(item, "\n")
		if !ok {
			value = "true"
		}
		all = append(all, [2]string{key, value})
	}
	s.mu.Lock()
	s.config, s.configRead = all, read
	s.mu.Unlock()
	return all, nil
}

// Person returns the user as git would name a committer, whom it asks once. Callers act for themselves, whatever
// GIT_AUTHOR_NAME says. It fails with errNoIdentity if git does not know.
func (s *Store) Person(ctx context.Context) (plan.Actor, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	if s.person != (plan.Actor{}) {
		return s.person, nil
	}
	ident := Invocation{Args: []string{"var", "GIT_COMMITTER_IDENT"}}
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("GEMINI_CLI") != "" &&
		os.Getenv("GIT_CONFIG_GLOBAL") == os.DevNull { // its shell hides the user's configuration from git
		ident.Env = []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig")}
	}
	out, err := s.GitIn(ctx, ident)
	if exitCode(err) > 0 {
		return plan.Actor{}, errNoIdentity // git prints a screen of the same advice here
	}
	if err == nil {
		s.person, err = parseIdent(string(out))
	}
	return s.person, err
}

// parseIdent splits "Name <address> seconds zone".
func parseIdent(line string) (plan.Actor, error) {
	name, rest, ok := strings.Cut(line, "<")
	end := strings.LastIndexByte(rest, '>')
	if !ok || end < 0 {
		return plan.Actor{}, fmt.Errorf("%q is no identity", line)
	}
	return plan.Actor{Name: strings.TrimSpace(name), Email: strings.TrimSpace(rest[:end])}, nil
}
