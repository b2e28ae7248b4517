package gitstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// TreeEntry is one file, symbolic link or submodule of a tree, by its path from the tree's top.
type TreeEntry struct {
	Path string
	Mode string // as git writes it: 100644, 100755, 120000 or 160000
	OID  plan.OID
}

// ReadFile returns the content of a file below a commit or tree. The error is fs.ErrNotExist when there is none.
func (s *Store) ReadFile(ctx context.Context, treeish plan.OID, path string) ([]byte, error) {
	missing := &fs.PathError{Op: "read", Path: string(treeish) + ":" + path, Err: fs.ErrNotExist}
	if !fs.ValidPath(path) || strings.ContainsAny(path, "\n\r\x00") || !isOID(treeish) {
		return nil, missing
	}
	if err := s.prefetchDocuments(ctx, treeish); err != nil {
		return nil, err
	}
	return s.readBlob(ctx, string(treeish)+":"+path, missing)
}

// ReadBlob returns the content of a blob. The error is fs.ErrNotExist when there is none.
func (s *Store) ReadBlob(ctx context.Context, oid plan.OID) ([]byte, error) {
	return s.readBlob(ctx, string(oid), &fs.PathError{Op: "read", Path: string(oid), Err: fs.ErrNotExist})
}

func (s *Store) readBlob(ctx context.Context, name string, missing error) (data []byte, err error) {
	err = s.objects.each(ctx, []string{name}, func(_ int, o object) error {
		if o.Kind != "blob" {
			return missing
		}
		data = slices.Clone(o.Data)
		return nil
	})
	return data, err
}

// CopyBlob writes the content of a blob to w as it comes. The error is fs.ErrNotExist when there is none.
func (s *Store) CopyBlob(ctx context.Context, oid plan.OID, w io.Writer) error {
	if !isOID(oid) {
		return fmt.Errorf("%q is no object id", oid)
	}
	return s.objects.stream(ctx, string(oid), func(kind string, size int64, content io.Reader) error {
		if kind != "blob" {
			return &fs.PathError{Op: "read", Path: string(oid), Err: fs.ErrNotExist}
		}
		_, err := io.CopyN(w, content, size)
		return err
	})
}

func isOID(oid plan.OID) bool {
	return len(oid) == 40 && strings.Trim(string(oid), "0123456789abcdef") == ""
}

// ListTree lists everything but the trees below a path of a commit or tree, sorted by path; "" is the top. Paths are from
// the top. The error is fs.ErrNotExist when there is no such tree.
func (s *Store) ListTree(ctx context.Context, treeish plan.OID, under string) ([]TreeEntry, error) {
	under = strings.Trim(under, "/")
	missing := &fs.PathError{Op: "list", Path: string(treeish) + ":" + under, Err: fs.ErrNotExist}
	if !isOID(treeish) || under != "" && !fs.ValidPath(under) || strings.ContainsAny(under, "\n\r\x00") {
		return nil, missing
	}
	type dir struct {
		path string
		oid  plan.OID
	}
	var level []dir
	err := s.objects.each(ctx, []string{string(treeish) + "^{tree}:" + under}, func(_ int, o object) error {
		if o.Kind != "tree" {
			return missing
		}
		level = []dir{{under, o.OID}}
		return nil
	})
	var list []TreeEntry
	for err == nil && len(level) > 0 {
		oids := make([]plan.OID, len(level))
		for i, d := range level {
			oids[i] = d.oid
		}
		var deeper []dir
		err = s.eachTree(ctx, oids, false, func(i int, entries []rawEntry) {
			for _, e := range entries {
				p := path.Join(level[i].path, e.name)
				switch {
				case e.isTree():
					deeper = append(deeper, dir{p, e.oid})
				default:
					list = append(list, TreeEntry{p, e.mode, e.oid})
				}
			}
		})
		level = deeper
	}
	slices.SortFunc(list, func(a, b TreeEntry) int { return strings.Compare(a.Path, b.Path) })
	return list, err
}
