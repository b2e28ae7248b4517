package gitstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// LogEntry is one event of a plan's history, as its commit tells it.
type LogEntry struct {
	Commit   plan.OID
	Parents  []plan.OID
	Author   plan.Actor
	By       plan.Actor // the committer
	Time     time.Time  // of the commit
	Subject  string
	Trailers map[string]string // the last of each key
}

// The fields of an entry, each ended by a NUL, which a commit message can't contain. -z ends the last one.
const (
	logFormat = "%H%x00%P%x00%an%x00%ae%x00%cd%x00%s%x00%cn%x00%ce%x00%(trailers:only,unfold)"
	logFields = 9
)

// Log yields the events of a plan up to a commit, newest first, in git's order, until yield returns false.
func (s *Store) Log(ctx context.Context, id plan.ID, commit plan.OID, yield func(LogEntry) bool) error {
	if err := s.eachLogEntry(ctx, []string{string(commit)}, yield); err != nil {
		return fmt.Errorf("log of %s: %w", id, err)
	}
	return nil
}

// eachLogEntry runs git log with the options on histories, until yield returns false.
func (s *Store) eachLogEntry(ctx context.Context, tips []string, yield func(LogEntry) bool, options ...string) error {
	enough := errors.New("enough")
	err := s.Follow(ctx, lines(tips), func(out *bufio.Reader) error {
		for {
			e, err := readLogEntry(out)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case !yield(e):
				return enough
			}
		}
	}, append([]string{"-c", "log.showSignature=false", "log", "-z", "--no-color", "--no-notes", "--no-patch",
		"--date=raw", "--encoding=UTF-8", "--format=" + logFormat, "--stdin"}, options...)...)
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

func readLogEntry(r *bufio.Reader) (e LogEntry, err error) {
	var f [logFields]string
	for i := range f {
		if f[i], err = r.ReadString(0); err != nil {
			if i > 0 || f[i] != "" {
				err = noEOF(err)
			}
			return e, err
		}
		f[i] = f[i][:len(f[i])-1]
	}
	e = LogEntry{
		Commit:   plan.OID(f[0]),
		Parents:  OIDs(f[1]),
		Author:   plan.Actor{Name: f[2], Email: f[3]},
		Time:     parseTime(f[4]),
		Subject:  f[5],
		By:       plan.Actor{Name: f[6], Email: f[7]},
		Trailers: map[string]string{},
	}
	for line := range strings.Lines(f[8]) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			e.Trailers[key] = value
		}
	}
	return e, nil
}

// Added returns the paths that each commit added, without those of merges: an event adds records and changes none.
func (s *Store) Added(ctx context.Context, commits []plan.OID) (map[plan.OID][]string, error) {
	all := map[plan.OID][]string{}
	if len(commits) == 0 {
		return all, nil
	}
	out, err := s.GitIn(ctx, Invocation{Stdin: lines(commits), Args: []string{"diff-tree", "--stdin", "-r", "--root",
		"--no-renames", "--no-relative", "--ignore-submodules=none", "--diff-filter=A", "--name-only", "-z"}})
	var commit plan.OID
	for field := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if oid := plan.OID(field); isOID(oid) { // no record is called so: each is in a directory
			commit = oid
		} else {
			all[commit] = append(all[commit], field)
		}
	}
	return all, err
}
