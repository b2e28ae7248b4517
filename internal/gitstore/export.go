package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gitwf/internal/plan"
)

// Export writes a tree's files byte for byte, with none of git's filters, into an existing directory. Files that are
// there are not overwritten: that is an error. So are names that stand for something else than a file of that tree, and
// symbolic links that lead out of the directory.
func (s *Store) Export(ctx context.Context, tree plan.OID, dir string) error {
	entries, err := s.ListTree(ctx, tree, "")
	if err != nil {
		return fmt.Errorf("export %s: %w", tree, err)
	}
	oids := make([]plan.OID, len(entries))
	for i, e := range entries {
		oids[i] = e.OID
		if err := checkTreePath(e.Path); err != nil {
			return fmt.Errorf("export %s: %w", tree, err)
		}
	}
	if err := s.Prefetch(ctx, oids); err != nil {
		return fmt.Errorf("export %s: %w", tree, err)
	}
	// The root refuses to write outside itself, whatever the names are and whatever is in the directory already.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("export %s: %w", tree, err)
	}
	defer root.Close()
	// Links come last, so that no file is written through one.
	for _, links := range []bool{false, true} {
		for _, e := range entries {
			if links != (e.Mode == modeLink) {
				continue
			}
			if err := s.exportOne(ctx, root, e); err != nil {
				return fmt.Errorf("export %s: %w", e.Path, err)
			}
		}
	}
	return nil
}

func (s *Store) exportOne(ctx context.Context, root *os.Root, e TreeEntry) error {
	name := filepath.FromSlash(e.Path)
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o777); err != nil {
			return err
		}
	}
	if e.Mode == modeLink {
		var target bytes.Buffer
		if err := s.CopyBlob(ctx, e.OID, &target); err != nil {
			return err
		}
		if !staysInside(e.Path, target.String()) {
			return fmt.Errorf("the link to %q leads out of the directory", target.String())
		}
		return root.Symlink(filepath.FromSlash(target.String()), name)
	}
	perm := os.FileMode(0o644)
	if e.Mode == modeExecutable {
		perm = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	err = s.CopyBlob(ctx, e.OID, f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// staysInside reports whether a link at a path leads to a place below the top. A target may go up first and then only
// down: going up again after a name would depend on where another link of that name leads.
func staysInside(link, target string) bool {
	if target == "" || path.IsAbs(target) || strings.ContainsAny(target, "\\:\x00") {
		return false
	}
	depth := strings.Count(link, "/")
	down := false
	for c := range strings.SplitSeq(target, "/") {
		switch c {
		case "", ".":
		case "..":
			depth--
			if down || depth < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}
