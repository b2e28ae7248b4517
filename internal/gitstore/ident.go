package gitstore

import (
	"context"
	"fmt"
	"strings"

	"gitwf/internal/plan"
)

// Person returns the user as git would name a committer. Callers act for themselves, whatever GIT_AUTHOR_NAME says. It
// fails with errNoIdentity if git does not know.
func (s *Store) Person(ctx context.Context) (plan.Actor, error) {
	return s.ident(ctx, "GIT_COMMITTER_IDENT")
}

// ident asks git once for each of the two identities.
func (s *Store) ident(ctx context.Context, variable string) (plan.Actor, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	s.mu.Lock()
	a, ok := s.idents[variable]
	s.mu.Unlock()
	if ok {
		return a, nil
	}
	out, err := s.Git(ctx, "var", variable)
	if err != nil {
		if exitCode(err) > 0 {
			// Git prints a screen of the same advice here.
			return plan.Actor{}, errNoIdentity
		}
		return plan.Actor{}, err
	}
	a, err = parseIdent(out)
	if err != nil {
		return plan.Actor{}, fmt.Errorf("git var %s: %w", variable, err)
	}
	s.mu.Lock()
	s.idents[variable] = a
	s.mu.Unlock()
	return a, nil
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
