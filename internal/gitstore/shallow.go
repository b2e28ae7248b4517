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
