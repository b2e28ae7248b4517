package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// TreeEntry is one file, symbolic link or submodule of a tree, by its path from the tree's top.
type TreeEntry struct {
	Path string
	Mode string // as git writes it: 100644, 100755, 120000 or 160000
	OID  plan.OID
}

// ReadFile returns the content of a file below a commit or tree. The error is fs.ErrNotExist if there is none.
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

// ReadDocuments passes documents of the plan to fn, by object id, with one request for all. It skips ids that are no
// blob here. The data is valid until fn returns.
func (s *Store) ReadDocuments(ctx context.Context, snap *Snapshot, oids []plan.OID,
	fn func(oid plan.OID, data []byte)) error {
	if len(oids) == 0 {
		return nil
	}
	if err := s.prefetchDocuments(ctx, snap.Commit); err != nil {
		return err
	}
	return s.objects.each(ctx, namesOf(oids), func(i int, o object) error {
		if o.Kind == "blob" {
			fn(oids[i], o.Data)
		}
		return nil
	})
}

// ReadBlob returns the content of a blob. The error is fs.ErrNotExist if there is none.
func (s *Store) ReadBlob(ctx context.Context, oid plan.OID) ([]byte, error) {
	return s.readBlob(ctx, string(oid), &fs.PathError{Op: "read", Path: string(oid), Err: fs.ErrNotExist})
}

func (s *Store) readBlob(ctx context.Context, name string, missing error) ([]byte, error) {
	o, err := s.objects.one(ctx, name)
	if err == nil && o.Kind != "blob" {
		return nil, missing
	}
	return o.Data, err
}

// CopyBlob streams the content of a blob to w. The error is fs.ErrNotExist if there is none.
func (s *Store) CopyBlob(ctx context.Context, oid plan.OID, w io.Writer) error {
	return s.eachBlob(ctx, []plan.OID{oid}, func(_ int, _ int64, content io.Reader) error {
		_, err := io.Copy(w, content)
		return err
	})
}

// BlobHead returns at most the first most bytes of a blob, and whether that is all of it.
func (s *Store) BlobHead(ctx context.Context, oid plan.OID, most int64) (data []byte, whole bool, err error) {
	enough := errors.New("enough")
	err = s.eachBlob(ctx, []plan.OID{oid}, func(_ int, size int64, content io.Reader) (err error) {
		data, err = io.ReadAll(io.LimitReader(content, most))
		if whole = size <= most; err == nil && !whole {
			return enough // the rest may be gigabytes
		}
		return err
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return data, whole, err
}

func isOID(oid plan.OID) bool { return oid.Valid() }

// ListTree lists everything but trees in a commit or tree, by path. The error is fs.ErrNotExist if there is none.
func (s *Store) ListTree(ctx context.Context, treeish plan.OID) ([]TreeEntry, error) {
	missing := &fs.PathError{Op: "list", Path: string(treeish), Err: fs.ErrNotExist}
	if !isOID(treeish) {
		return nil, missing
	}
	o, err := s.objects.one(ctx, string(treeish)+"^{tree}")
	if err != nil {
		return nil, err
	}
	if o.Kind != "tree" {
		return nil, missing
	}
	entries, err := parseTree(o.Data)
	if err != nil {
		return nil, err
	}
	s.trees.put(o.OID, entries)
	lists, err := s.ListTrees(ctx, []plan.OID{o.OID})
	return lists[o.OID], err
}

// ListTrees lists trees like ListTree, all at once: the number of requests grows only with their depth.
func (s *Store) ListTrees(ctx context.Context, trees []plan.OID) (map[plan.OID][]TreeEntry, error) {
	type dir struct {
		top, oid plan.OID
		path     string
	}
	lists := map[plan.OID][]TreeEntry{}
	var level []dir
	for _, oid := range trees {
		if _, twice := lists[oid]; !twice {
			lists[oid] = nil
			level = append(level, dir{top: oid, oid: oid})
		}
	}
	for len(level) > 0 {
		oids := each.Of(level, func(d dir) plan.OID { return d.oid })
		var deeper []dir
		err := s.eachTree(ctx, oids, len(oids) < many, func(i int, entries []rawEntry) {
			d := level[i]
			for _, e := range entries {
				p := path.Join(d.path, e.name)
				if e.isTree() {
					deeper = append(deeper, dir{d.top, e.oid, p})
				} else {
					lists[d.top] = append(lists[d.top], TreeEntry{p, e.mode, e.oid})
				}
			}
		})
		if err != nil {
			return nil, err
		}
		level = deeper
	}
	for _, list := range lists {
		sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	}
	return lists, nil
}

// Resolve finds the object that a name stands for. The error is fs.ErrNotExist if there is none.
func (s *Store) Resolve(ctx context.Context, name string) (plan.OID, error) {
	o, err := s.objects.one(ctx, name)
	if err == nil && o.OID == "" {
		err = &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
	}
	return o.OID, err
}

// Changed is one path in which two trees differ. A rename has the old path, too.
type Changed struct {
	How            byte // as git diff --name-status says it: A, M, D, R or T
	OldPath, Path  string
	OldMode, Mode  string   // 000000 where the path does not exist
	OldOID, OID    plan.OID // all zeros where the path does not exist
	Added, Removed int      // lines; -1 of a binary file
}

// Changed lists the paths in which two trees differ, with renames, whatever the user's configuration says.
func (s *Store) Changed(ctx context.Context, before, after plan.OID) ([]Changed, error) {
	out, err := s.GitIn(ctx, Invocation{Args: []string{"diff-tree", "-r", "-z", "-M", "--raw", "--numstat",
		"--no-abbrev",
		"--no-ext-diff", "--no-textconv", "--end-of-options", string(before), string(after)}})
	if err != nil {
		return nil, err
	}
	return parseChanged(string(out))
}

// parseChanged reads the two lists that git prints: the entries, then their numbers of lines, in the same order.
func parseChanged(out string) ([]Changed, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	bad := fmt.Errorf("git diff-tree printed something unknown")
	next := func() string {
		if len(fields) == 0 {
			return ""
		}
		f := fields[0]
		fields = fields[1:]
		return f
	}
	var list []Changed
	for len(fields) > 0 && strings.HasPrefix(fields[0], ":") {
		f := strings.Fields(next())
		if len(f) != 5 {
			return nil, bad
		}
		c := Changed{How: f[4][0], OldMode: f[0][1:], Mode: f[1], OldOID: plan.OID(f[2]), OID: plan.OID(f[3]),
			OldPath: next()}
		if c.Path = c.OldPath; c.How == 'R' {
			c.Path = next()
		}
		if c.Path == "" {
			return nil, bad
		}
		list = append(list, c)
	}
	for i := range list {
		f := strings.SplitN(next(), "\t", 3)
		if len(f) != 3 {
			return nil, bad
		}
		if f[2] == "" { // a rename names both paths after it
			next()
			next()
		}
		list[i].Added, list[i].Removed = lineCount(f[0]), lineCount(f[1])
	}
	return list, nil
}

// lineCount reads a number of lines; git prints "-" for a binary file.
func lineCount(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
