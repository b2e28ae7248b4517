package gitstore

import (
	"bufio"
	"context"
	"errors"
	"io"

	"gitwf/internal/plan"
)

// Added returns the paths that each commit added, without those of merges: an event adds records and changes none.
func (s *Store) Added(ctx context.Context, commits []plan.OID) (map[plan.OID][]string, error) {
	all := map[plan.OID][]string{}
	if len(commits) == 0 {
		return all, nil
	}
	var commit plan.OID
	err := s.Follow(ctx, lines(commits), func(out *bufio.Reader) error {
		for {
			field, err := out.ReadString(0)
			switch {
			case errors.Is(err, io.EOF) && field == "":
				return nil
			case err != nil:
				return noEOF(err)
			}
			field = field[:len(field)-1]
			if oid := plan.OID(field); isOID(oid) { // no record is called so: each is in a directory
				commit = oid
				continue
			}
			all[commit] = append(all[commit], field)
		}
	}, "diff-tree", "--stdin", "-r", "--root", "--no-renames", "--no-relative", "--ignore-submodules=none",
		"--diff-filter=A",
		"--name-only", "-z")
	return all, err
}
