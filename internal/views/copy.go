package views

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// Copy writes the views once below a directory that has none of that plan yet, and returns their names. Nothing there
// is overwritten. name is what messages call the directory.
func (v *Views) Copy(ctx context.Context, snap *gitstore.Snapshot, name, full string) ([]string, error) {
	_, files, err := v.files(ctx, snap)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(full, string(snap.ID))
	if _, err := os.Lstat(dir); err == nil {
		return nil, fault.Usage("git wf checkout --output DIR, with another directory; or remove it",
			"%s is there already", plain.Line(dir))
	}
	if err := os.MkdirAll(full, 0o777); err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fault.Usage("--output DIR, where you may write", "write %s: %w", plain.Line(name), err)
	}
	if err := writeTree(full, files); err != nil {
		return nil, fmt.Errorf("write %s: %w", plain.Line(name), err)
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// writeTree writes files below a directory, and follows no link out of it.
func writeTree(dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if up := path.Dir(name); up != "." {
			if err := root.MkdirAll(filepath.FromSlash(up), 0o777); err != nil {
				return err
			}
		}
		if err := root.WriteFile(filepath.FromSlash(name), files[name], 0o666); err != nil {
			return err
		}
	}
	return nil
}
