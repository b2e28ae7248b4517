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

// Cut returns the commits among those that the revisions select whose parents a shallow clone does not have: what is below
// them belongs to the history, and nobody here can say what it is. It is empty where the history is whole.
func (s *Store) Cut(ctx context.Context, revs ...string) ([]plan.OID, error) {
	ends, err := os.ReadFile(filepath.Join(s.commonDir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(ends) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read where the history of this shallow clone ends: %w", err)
	}
	out, err := s.Git(ctx, append([]string{"rev-list"}, revs...)...)
	if err != nil {
		return nil, err
	}
	selected := map[string]bool{}
	for _, commit := range strings.Fields(out) {
		selected[commit] = true
	}
	var cut []plan.OID
	for _, end := range strings.Fields(string(ends)) {
		if selected[end] {
			cut = append(cut, plan.OID(end))
		}
	}
	return cut, nil
}

// Unshallow is the command that fetches what a shallow clone lacks.
const Unshallow = "git fetch --unshallow"
