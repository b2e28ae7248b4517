package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

func (e *env) why(c *cli.Context, store *gitstore.Store) error {
	file, line := e.lineOf(c.Args().First())
	if info, err := os.Stat(e.absolute(file)); err == nil && info.IsDir() && c.String("at") == "" {
		return usage("%s is a directory; name a file, or a line of it as PATH:LINE", plain.Line(file))
	}
	policy, err := store.Policy(c.Context)
	if err != nil {
		return err
	}
	origins, err := engine.Why(c.Context, store, policy, c.String("at"), file, line)
	if _, ok := errors.AsType[*gitstore.GitError](err); ok {
		return fault.Usage("git ls-files", "%w", err)
	}
	if err != nil {
		return err
	}
	if line > 0 && len(origins) == 1 {
		return e.printAs("why-line", origins, origins[0])
	}
	return e.print("why-lines", orEmpty(origins))
}

// lineOf splits PATH:LINE. A file whose name ends that way is a file.
func (e *env) lineOf(arg string) (file string, line int) {
	at := strings.LastIndexByte(arg, ':')
	if at <= 0 {
		return arg, 0
	}
	n, err := strconv.Atoi(arg[at+1:])
	if _, statErr := os.Lstat(e.absolute(arg)); err != nil || n < 1 || statErr == nil {
		return arg, 0
	}
	return arg[:at], n
}

// originText says in a line where lines come from.
func originText(o engine.Origin) string {
	named := fmt.Sprintf("%s %s of %s", o.Task, o.Artifact, o.Plan)
	switch o.Answer {
	case engine.OriginApproved:
		return fmt.Sprintf("%s, approved in %s by %s: %s", named, o.Review.ReviewID, o.Review.Reviewer, o.Title)
	case engine.OriginUnproven:
		return fmt.Sprintf("the commit says %s, but %s", named, o.Reason)
	case engine.OriginByHand:
		return fmt.Sprintf("by hand, no task is named: %s (%s)", o.Subject, o.Author)
	case engine.OriginUnknown:
		return "not known: " + o.Reason
	}
	return "not committed yet"
}
