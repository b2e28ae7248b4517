package gitstore

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a repository or a plan without anything being broken.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrNoPlan       = errors.New("no such plan")
	ErrPlanExists   = errors.New("plan exists already")
	ErrClaimed      = errors.New("claimed by somebody else")
	ErrUnborn       = errors.New("the branch has no commit yet")
	ErrBare         = errors.New("the repository has no working tree")
	ErrNoActive     = errors.New("no plan is active")
)

// UnsupportedError names something that this program can't work with.
type UnsupportedError struct {
	What string // such as "git 2.30.2"
	Hint string // what would help
}

func (e *UnsupportedError) Error() string { return e.What + " is not supported: " + e.Hint }

// AbsentError says that objects which are needed are not in this clone. Hint is the command that fetches them.
type AbsentError struct {
	What string // what is not here, and why
	Hint string
	Err  error // what git said; nil if nobody asked it
}

func (e *AbsentError) Error() string {
	if e.Err == nil {
		return e.What
	}
	first, _, _ := strings.Cut(e.Err.Error(), "\n") // git goes on about access rights
	return e.What + ": " + first
}

func (e *AbsentError) Unwrap() error { return e.Err }

// IsAbsent reports whether err says no more than that something is not in this clone: nothing follows from that about what it
// is.
func IsAbsent(err error) bool {
	var absent *AbsentError
	return errors.As(err, &absent)
}

// IdentityError says that git does not know who the user is. Hint is the command that tells it.
type IdentityError struct{ Hint string }

func (e *IdentityError) Error() string { return "git does not know your name and address" }

// ProofError says that an event would not count because nothing would prove who made it. Nothing was recorded. Hint is the
// command that helps.
type ProofError struct{ Reason, Hint string }

func (e *ProofError) Error() string { return e.Reason }

// GitError is a git command that failed. ExitCode is -1 if it did not exit by itself.
type GitError struct {
	Args     []string
	Stderr   string
	ExitCode int
	Err      error
}

func (e *GitError) Error() string {
	name := "git"
	for i := 0; i < len(e.Args); i++ {
		if e.Args[i] != "-c" {
			name += " " + e.Args[i]
			break
		}
		i++ // a setting for this one call
	}
	if text := strings.TrimSpace(e.Stderr); text != "" {
		return name + ": " + text
	}
	return fmt.Sprintf("%s: %v", name, e.Err)
}

func (e *GitError) Unwrap() error { return e.Err }
