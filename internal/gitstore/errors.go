package gitstore

import (
	"errors"
	"fmt"
	"strings"

	"gitwf/internal/fault"
)

// States of a repository or plan that stop a command although nothing is broken.
var (
	ErrNoRepository = error(&fault.Error{Code: fault.ExitNoRepository, Hint: "git init",
		Err: errors.New("not a git repository")})
	ErrNoPlan     = fault.Usage("git wf plans", "no such plan")
	ErrPlanExists = errors.New("plan exists already")
	ErrClaimed    = errors.New("claimed by somebody else")
	ErrUnsound    = errors.New("no legal history")
	ErrUnborn     = fault.Usage("git commit --allow-empty -m 'first commit'", "the branch has no commit yet")
	ErrBare       = fault.Usage("git worktree add ../tree, and run the command there",
		"the repository has no working tree")
	errThrowaway = &fault.Error{Hint: "git wf plan -f FILE, here: then people review what is made", Err: errors.New(
		"made in a throwaway repository, where anybody passes for a person: its approvals count nowhere else")}
	ErrNoActive = fault.Usage("git wf plan -f FILE, or git wf switch PLAN (git wf plans lists them, "+
		"git wf init finds a remote's)", "no plan is active")
)

// unsupported reports something that this program can't work with, such as "git 2.30.2".
func unsupported(what, hint string) error {
	return fault.Usage(hint, "%s is not supported: %s", what, hint)
}

// AbsentError reports needed objects that this clone lacks. Hint is the command that fetches them.
type AbsentError struct {
	What string // what is missing, and why
	Hint string
	Err  error // git's error; nil if git was not asked
}

func (e *AbsentError) Error() string {
	if e.Err == nil {
		return e.What
	}
	first, _, _ := strings.Cut(e.Err.Error(), "\n") // git goes on about access rights
	return e.What + ": " + first
}

func (e *AbsentError) Unwrap() error { return e.Err }

// Exit returns the hint that fetches the missing objects.
func (e *AbsentError) Exit() (int, string) { return fault.ExitRefused, e.Hint }

// IsAbsent reports whether err only says that this clone lacks something: it proves nothing about the content.
func IsAbsent(err error) bool {
	return errors.As(err, new(*AbsentError))
}

// errNoIdentity says that git does not know who the user is.
var errNoIdentity = fault.Usage("git config --global user.name NAME; git config --global user.email ADDRESS",
	"git does not know your name and address")

// unproven refuses an event that would not count, because nothing would prove who made it. Nothing was recorded.
func unproven(reason, hint string) error { return fault.Refused(hint, "%s", reason) }

// GitError is a git command that failed. ExitCode is -1 if it did not exit by itself.
type GitError struct {
	Args     []string
	Stderr   string
	ExitCode int
	Err      error
}

func (e *GitError) Error() string {
	name := strings.TrimSpace("git " + subcommand(e.Args))
	if text := strings.TrimSpace(e.Stderr); text != "" {
		return name + ": " + text
	}
	return fmt.Sprintf("%s: %v", name, e.Err)
}

func (e *GitError) Unwrap() error { return e.Err }
