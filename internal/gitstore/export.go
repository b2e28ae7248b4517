package gitstore

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// Export writes a tree's files byte for byte, without git's filters, into an existing directory. It refuses to
// overwrite files, names that may stand for another file, and symbolic links that lead out.
func (s *Store) Export(ctx context.Context, tree plan.OID, dir string) error {
	entries, err := s.ListTree(ctx, tree)
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
	// The root refuses to write outside itself, whatever the names and the directory's content.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("export %s: %w", tree, err)
	}
	defer root.Close()
	x := exporter{root: root, made: map[string]bool{".": true}, progress: Track(ctx, "Writing files", len(entries))}
	// Links come last, so that nothing is written through one.
	for _, links := range []bool{false, true} {
		list := slices.DeleteFunc(slices.Clone(entries),
			func(e TreeEntry) bool { return links != (e.Mode == modeLink) })
		if err := x.writeAll(ctx, s, list); err != nil {
			return err
		}
	}
	return nil
}

// exporter writes files below a root.
type exporter struct {
	root     *os.Root
	made     map[string]bool // directories that exist
	progress *Tracker
}

func (x *exporter) writeAll(ctx context.Context, s *Store, entries []TreeEntry) error {
	oids := each.Of(entries, func(e TreeEntry) plan.OID { return e.OID })
	return s.objects.eachBlob(ctx, oids, func(i int, size int64, content io.Reader) error {
		if err := x.writeFile(entries[i], x.progress.Follow(content, size)); err != nil {
			return fmt.Errorf("export %s: %w", entries[i].Path, err)
		}
		x.progress.File()
		return nil
	})
}

func (x *exporter) writeFile(e TreeEntry, content io.Reader) error {
	name := filepath.FromSlash(e.Path)
	if parent := filepath.Dir(name); !x.made[parent] {
		if err := x.root.MkdirAll(parent, 0o777); err != nil {
			return err
		}
		x.made[parent] = true
	}
	if e.Mode == modeLink {
		return x.writeLink(e, name, content)
	}
	perm := os.FileMode(0o644)
	if e.Mode == modeExecutable {
		perm = 0o755
	}
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// longestTarget bounds a symbolic link's target, in bytes: no system allows a longer one.
const longestTarget = 64 << 10

func (x *exporter) writeLink(e TreeEntry, name string, content io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(content, longestTarget))
	if err != nil {
		return err
	}
	target := string(data)
	if !staysInside(e.Path, target) {
		return fmt.Errorf("the link to %q leads out of the directory", target)
	}
	return x.root.Symlink(filepath.FromSlash(target), name)
}

// staysInside reports whether a link at a path points below the top. A target may go up first and then only down: a
// later ".." depends on where another link of that name points.
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
