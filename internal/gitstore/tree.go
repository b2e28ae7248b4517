package gitstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode"

	"gitwf/internal/plan"
)

// The modes in our trees.
const (
	modeTree       = "40000" // as in a tree object; listings pad it to 040000
	modeFile       = "100644"
	modeExecutable = "100755"
	modeLink       = "120000"
	modeSubmodule  = "160000"
)

// rawEntry is one entry of a tree object.
type rawEntry struct {
	mode string
	name string
	oid  plan.OID
}

func (e rawEntry) isTree() bool { return e.mode == modeTree }

// isFile reports whether the entry is a file or a symbolic link, rather than a tree or a submodule.
func (e rawEntry) isFile() bool { return strings.HasPrefix(e.mode, "100") || e.mode == modeLink }

// parseTree reads a tree object.
func parseTree(data []byte) ([]rawEntry, error) {
	entries := make([]rawEntry, 0, len(data)/40+1)
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		end := bytes.IndexByte(data, 0)
		if space < 0 || end < space || len(data) < end+21 {
			return nil, fmt.Errorf("malformed tree object")
		}
		var id [40]byte
		hex.Encode(id[:], data[end+1:end+21])
		entries = append(entries, rawEntry{mode(data[:space]), string(data[space+1 : end]), plan.OID(id[:])})
		data = data[end+21:]
	}
	return entries, nil
}

// mode avoids allocating a string for the modes of nearly every entry.
func mode(b []byte) string {
	switch string(b) {
	case modeTree:
		return modeTree
	case modeFile:
		return modeFile
	}
	return string(b)
}

// encodeTree writes a tree object in git's order, which compares a tree's name as if it ended in a slash.
func encodeTree(entries []rawEntry) ([]byte, error) {
	sort.Slice(entries, func(i, j int) bool { return entries[i].key() < entries[j].key() })
	var out []byte
	for _, e := range entries {
		id, err := hex.DecodeString(string(e.oid))
		if err != nil || len(id) != 20 {
			return nil, fmt.Errorf("%s: %q is no object id", e.name, e.oid)
		}
		out = append(out, e.mode...)
		out = append(out, ' ')
		out = append(out, e.name...)
		out = append(out, 0)
		out = append(out, id...)
	}
	return out, nil
}

func (e rawEntry) key() string {
	if e.isTree() {
		return e.name + "/"
	}
	return e.name
}

// tree reads one tree object.
func (s *Store) tree(ctx context.Context, oid plan.OID) ([]rawEntry, error) {
	if entries, ok := s.trees.get(oid); ok {
		return entries, nil
	}
	o, err := s.objects.one(ctx, string(oid))
	if err == nil {
		err = o.want("tree", string(oid))
	}
	var entries []rawEntry
	if err == nil {
		entries, err = parseTree(o.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("read a tree: %w", err)
	}
	s.trees.put(oid, entries)
	return entries, nil
}

// treeCache holds trees that were just written or read, for the next event. Don't change its entries.
type treeCache struct {
	mu    sync.Mutex
	trees map[plan.OID][]rawEntry
	size  int // number of entries in all trees
}

func (c *treeCache) get(oid plan.OID) ([]rawEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, ok := c.trees[oid]
	return entries, ok
}

func (c *treeCache) put(oid plan.OID, entries []rawEntry) {
	const most = 1 << 16
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees == nil || c.size > most {
		c.trees, c.size = map[plan.OID][]rawEntry{}, 0
	}
	if _, ok := c.trees[oid]; !ok {
		c.trees[oid] = entries
		c.size += len(entries) + 1
	}
}

// checkTreePath refuses a path that could leave its tree, or that git or another system would take for something else.
// It is the last defence: relpath.Check, which is stricter, decides what a deliverable may be called.
func checkTreePath(path string) error {
	for _, c := range strings.Split(path, "/") {
		if reason := hostile(c); reason != "" {
			return fmt.Errorf("path %q: %s", path, reason)
		}
	}
	return nil
}

func hostile(name string) string {
	switch {
	case name == "":
		return "empty component"
	case name == "." || name == "..":
		return "component " + name
	case strings.ContainsFunc(name, unicode.IsControl):
		return "control character"
	case strings.ContainsAny(name, `\:`):
		return `\ or :, which Windows takes for something else`
	case isDotGit(name):
		return "component that stands for .git"
	}
	return ""
}

// isDotGit recognises .git and what file systems take for it: other cases, code points that HFS+ ignores, the dots and
// spaces that Windows drops, and NTFS's short name for it.
func isDotGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}
