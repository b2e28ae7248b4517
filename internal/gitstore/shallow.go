package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/plan"
)

// Cut returns those selected commits whose parents a shallow clone lacks: the missing commits belong to the history,
// and nobody here can tell what they hold. It is empty if the history is whole.
func (s *Store) Cut(ctx context.Context, revs ...string) ([]plan.OID, error) {
	ends, err := s.shallowEnds()
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	out, err := s.Git(ctx, append([]string{"rev-list"}, revs...)...)
	if err != nil {
		return nil, err
	}
	var cut []plan.OID
	for commit := range strings.FieldsSeq(out) {
		if ends[plan.OID(commit)] {
			cut = append(cut, plan.OID(commit))
		}
	}
	return cut, nil
}

// shallowEnds are the commits whose parents a shallow clone lacks.
func (s *Store) shallowEnds() (map[plan.OID]bool, error) {
	data, err := os.ReadFile(filepath.Join(s.commonDir, "shallow"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read where the history of this shallow clone ends: %w", err)
	}
	ends := map[plan.OID]bool{}
	for oid := range strings.FieldsSeq(string(data)) {
		ends[plan.OID(oid)] = true
	}
	return ends, nil
}

// Unshallow is the command that fetches what a shallow clone lacks.
const Unshallow = "git fetch --unshallow"
