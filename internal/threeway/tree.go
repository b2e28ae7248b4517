package threeway

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gitwf/internal/plan"
)

// The modes of git's tree entries.
const (
	Dir        = "40000"
	File       = "100644"
	Executable = "100755"
	Link       = "120000"
	Submodule  = "160000"
)

// Entry is one entry of a tree object.
type Entry struct {
	Name string
	Mode string // as git writes it in a tree
	OID  plan.OID
}

func (e Entry) exists() bool { return e.OID != "" }

// regular reports whether the entry is a file whose lines can be merged.
func (e Entry) regular() bool { return e.Mode == File || e.Mode == Executable }

// same reports whether two entries are the same content of the same kind.
func (e Entry) same(f Entry) bool { return e.Mode == f.Mode && e.OID == f.OID }

// Objects reads and writes git objects.
type Objects interface {
	// Tree returns a tree's entries, each name once. It fails for a malformed tree.
	Tree(ctx context.Context, oid plan.OID) ([]Entry, error)
	// WriteTree writes a tree; the order of the entries does not matter.
	WriteTree(entries []Entry) (plan.OID, error)
	// MergeFiles merges the lines of three blobs. It reports false if they conflict or are no text.
	MergeFiles(ctx context.Context, base, ours, theirs plan.OID) (merged plan.OID, clean bool, err error)
	// Renames returns where files that are gone in a tree went, by their path before, as far as their content tells.
	Renames(ctx context.Context, before, after plan.OID) (map[string]string, error)
}

// deepest bounds the directories that are read: a deeper tree was made to exhaust its readers.
const deepest = 1000

// node is what a tree has under one name: a file of any kind, or a directory; never both.
type node struct {
	file Entry    // also a link or a submodule
	dir  plan.OID // "" if there is none
}

// read returns a directory's nodes by name; none for "".
func read(ctx context.Context, o Objects, dir plan.OID) (map[string]node, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := o.Tree(ctx, dir)
	nodes := make(map[string]node, len(entries))
	for _, e := range entries {
		if e.Mode == Dir {
			nodes[e.Name] = node{dir: e.OID}
		} else {
			nodes[e.Name] = node{file: e}
		}
	}
	return nodes, err
}

// names returns the names in any of the directories, sorted.
func names(dirs ...map[string]node) []string {
	var all []string
	for _, d := range dirs {
		all = slices.AppendSeq(all, maps.Keys(d))
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func tooDeep(path string) error {
	return fmt.Errorf("%.200s is below more than %d directories", path, deepest)
}
