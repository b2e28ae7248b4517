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

// IdentityError says that git does not know who the user is. Hint is the command that tells it.
type IdentityError struct{ Hint string }

func (e *IdentityError) Error() string { return "git does not know your name and address" }

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
