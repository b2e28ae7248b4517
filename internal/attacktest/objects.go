package attacktest

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An object is a git object as git cat-file prints it.
type object struct {
	kind string
	body []byte
}

// objects are those of one repository. Any bytes can be written as any kind; git's own commands would refuse most of
// them.
type objects struct {
	dir   string // the repository's objects directory; "" keeps them in memory
	known map[string]object
	zlib  *zlib.Writer
}

// readObjects asks git for every object of a repository.
func readObjects(ctx context.Context, gitDir string, env []string) (map[string]object, error) {
	cmd := exec.CommandContext(ctx, "git", "cat-file", "--batch", "--batch-all-objects")
	cmd.Dir, cmd.Env = gitDir, env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read all objects of %s: %w", gitDir, err)
	}
	all := map[string]object{}
	for r := bufio.NewReader(bytes.NewReader(out)); ; {
		head, err := r.ReadString('\n')
		if err == io.EOF {
			return all, nil
		}
		f := strings.Fields(head)
		if err != nil || len(f) != 3 {
			return nil, fmt.Errorf("git cat-file says %q", head)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, err
		}
		body := make([]byte, size+1)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		all[f[0]] = object{f[1], body[:size]}
	}
}

// write stores an object and returns its id.
func (o *objects) write(kind string, body []byte) string {
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	sum := sha1.Sum(raw)
	id := hex.EncodeToString(sum[:])
	if _, ok := o.known[id]; ok {
		return id
	}
	o.known[id] = object{kind, body}
	if o.dir == "" {
		return id
	}
	var packed bytes.Buffer
	if o.zlib == nil {
		o.zlib, _ = zlib.NewWriterLevel(nil, zlib.BestSpeed)
	}
	o.zlib.Reset(&packed)
	o.zlib.Write(raw)
	o.zlib.Close()
	dir := filepath.Join(o.dir, id[:2])
	if err := os.MkdirAll(dir, 0o777); err != nil {
		panic(err) // a test's disk does not fail
	}
	if err := os.WriteFile(filepath.Join(dir, id[2:]), packed.Bytes(), 0o444); err != nil {
		panic(err)
	}
	return id
}

func (o *objects) blob(text string) string { return o.write("blob", []byte(text)) }

// An entry is a tree's entry exactly as stored: neither mode nor name need be valid.
type entry struct{ mode, name, id string }

const (
	dirMode  = "40000"
	fileMode = "100644"
)

// entries parses a tree; from a damaged or missing one it returns what can be read.
func (o *objects) entries(id string) []entry {
	obj := o.known[id]
	if obj.kind != "tree" {
		return nil
	}
	var all []entry
	for rest := obj.body; len(rest) > 0; {
		mode, after, _ := bytes.Cut(rest, []byte(" "))
		name, after, ok := bytes.Cut(after, []byte{0})
		if !ok || len(after) < 20 {
			break
		}
		all = append(all, entry{string(mode), string(name), hex.EncodeToString(after[:20])})
		rest = after[20:]
	}
	return all
}

func (o *objects) tree(all []entry) string {
	var b bytes.Buffer
	for _, e := range all {
		id, _ := hex.DecodeString(e.id)
		fmt.Fprintf(&b, "%s %s\x00%s", e.mode, e.name, id)
	}
	return o.write("tree", b.Bytes())
}

// flawed reports whether a tree has a name twice, a name with a slash, or a mode that git does not write.
func (o *objects) flawed(tree string) bool {
	modes := []string{dirMode, fileMode, "100755", "120000", "160000"}
	names := map[string]bool{}
	return slices.ContainsFunc(o.entries(tree), func(e entry) bool {
		twice := names[e.name]
		names[e.name] = true
		return twice || strings.Contains(e.name, "/") || !slices.Contains(modes, e.mode)
	})
}

// at finds what a tree has at a path; "" if nothing.
func (o *objects) at(tree, path string) (mode, id string) {
	mode, id = dirMode, tree
	for name := range strings.SplitSeq(path, "/") {
		found := false
		for _, e := range o.entries(id) {
			if e.name == name {
				mode, id, found = e.mode, e.id, true
				break
			}
		}
		if !found {
			return "", ""
		}
	}
	return mode, id
}

// edit changes the entries of the directory at a path, and creates a missing one. It writes what change returns as it
// is.
func (o *objects) edit(tree, dir string, change func([]entry) []entry) string {
	all := o.entries(tree)
	if dir == "" {
		return o.tree(change(all))
	}
	name, rest, _ := strings.Cut(dir, "/")
	i := slices.IndexFunc(all, func(e entry) bool { return e.name == name && e.mode == dirMode })
	below := ""
	if i >= 0 {
		below = all[i].id
	}
	return o.tree(put(all, entry{dirMode, name, o.edit(below, rest, change)}))
}

// set puts an object at a path, or removes the entry if mode is "".
func (o *objects) set(tree, path, mode, id string) string {
	dir, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, name = path[:i], path[i+1:]
	}
	if mode == "" {
		if m, _ := o.at(tree, path); m == "" {
			return tree
		}
		tree = o.edit(tree, dir, func(all []entry) []entry {
			return slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.name == name })
		})
		if _, left := o.at(tree, dir); dir != "" && len(o.entries(left)) == 0 {
			return o.set(tree, dir, "", "")
		}
		return tree
	}
	return o.edit(tree, dir, func(all []entry) []entry { return put(all, entry{mode, name, id}) })
}

// put inserts an entry where git would have it, or replaces the entry with that name.
func put(all []entry, e entry) []entry {
	all = slices.Clone(all)
	if i := slices.IndexFunc(all, func(have entry) bool { return have.name == e.name }); i >= 0 {
		all[i] = e
		return all
	}
	key := func(e entry) string {
		if e.mode == dirMode {
			return e.name + "/"
		}
		return e.name
	}
	i := slices.IndexFunc(all, func(have entry) bool { return key(have) > key(e) })
	if i < 0 {
		i = len(all)
	}
	return slices.Insert(all, i, e)
}

// parsed returns the kind, headers and message of a commit or tag.
func (o *objects) parsed(id string) (kind string, header map[string][]string, message string) {
	obj := o.known[id]
	head, message, _ := strings.Cut(string(obj.body), "\n\n")
	header = map[string][]string{}
	if obj.kind == "commit" || obj.kind == "tag" {
		for line := range strings.SplitSeq(head, "\n") {
			if key, value, ok := strings.Cut(line, " "); ok && key != "" {
				header[key] = append(header[key], value)
			}
		}
	}
	return obj.kind, header, message
}

func (o *objects) commit(tree string, parents []string, message string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	const who = "Eve <eve@example.com> 1800000000 +0000"
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s\n", who, who, message)
	return o.write("commit", []byte(b.String()))
}

func (o *objects) tag(kind, id, name string) string {
	return o.write("tag", fmt.Appendf(nil,
		"object %s\ntype %s\ntag %s\ntagger Eve <eve@example.com> 1800000000 +0000\n\nt\n", id, kind, name))
}

// clone returns objects that know the same ones and write new ones to dir.
func (o *objects) clone(dir string) *objects { return &objects{dir: dir, known: maps.Clone(o.known)} }
