package gate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"gitwf/hooks"
)

// Names that some file system takes for a protected root, in other capitals or with characters that it ignores, are too many to
// be pathspecs of a long walk: git would look into every directory of every commit, or at every name of it. But they stand in
// the few trees that hold the roots. So those are read while git walks by the roots' own names; hardly ever is there
// anything to walk again for.

// walkspecs select what is below the roots, as they are written, and what otherNames has found.
func (g *Gate) walkspecs() []string {
	specs := []string{"--"}
	for _, root := range g.policy.RootPaths() {
		specs = append(specs, ":(top,literal)"+root)
	}
	return append(specs, g.alikes...)
}

// spelt walks, and walks again with the names among the trees of the commits that a file system may take for a root.
func (g *Gate) spelt(ctx context.Context, walk func(context.Context, ...string) (*Report, error), revs ...string) (*Report, error) {
	type names struct {
		specs []string
		err   error
	}
	found := make(chan names, 1)
	look := func() {
		specs, err := g.otherNames(ctx, revs)
		found <- names{specs, err}
	}
	if !g.store.Partial(ctx) { // there the trees are fetched for the walk, all at once
		go look()
	}
	r, err := walk(ctx, revs...)
	if g.store.Partial(ctx) {
		look()
	}
	n := <-found
	if err = errors.Join(err, n.err); err != nil || len(n.specs) == 0 {
		return r, err
	}
	before := g.alikes
	g.alikes, g.sides = n.specs, map[string][]map[string]bool{}
	defer func() { g.alikes = before }()
	return walk(ctx, revs...)
}

// otherNames returns pathspecs of what stands for a root, or for a directory that a root is in, without being it.
func (g *Gate) otherNames(ctx context.Context, revs []string) ([]string, error) {
	l := levels{g: g, below: map[string][]string{}}
	// One git feeds the other, as a long history takes both of them a while.
	err := g.store.Follow(ctx, nil, func(trees *bufio.Reader) error { return l.read(ctx, "", trees) },
		slices.Concat([]string{"-c", "log.showSignature=false", "log", "--format=%T"}, revs, []string{"--"})...)
	for err == nil && len(l.below) > 0 {
		level := l.below
		l.below = map[string][]string{}
		for dir, trees := range level {
			slices.Sort(trees)
			trees = slices.Compact(trees)
			if err = l.read(ctx, dir, strings.NewReader(strings.Join(trees, "\n")+"\n")); err != nil {
				break
			}
		}
	}
	slices.Sort(l.specs)
	return slices.Compact(l.specs), err
}

// levels is a look into the trees of a history, one level of directories after the other.
type levels struct {
	g     *Gate
	below map[string][]string // trees that are to be read, by the directory that they are
	specs []string
}

// read reads trees that are the directory dir, whose ids are lines of in.
func (l *levels) read(ctx context.Context, dir string, in io.Reader) error {
	children := l.g.children(dir)
	seen := map[string]bool{}
	var last string
	return l.g.store.Follow(ctx, in, func(out *bufio.Reader) error {
		return eachEntry(out, func(mode, name, oid []byte) {
			if i := slices.IndexFunc(children, func(c string) bool { return c == string(name) }); i >= 0 {
				p := path.Join(dir, children[i])
				if id := hex.EncodeToString(oid); string(mode) == treeMode && id != last && len(l.g.children(p)) > 0 {
					l.below[p] = append(l.below[p], id)
					last = id
				}
				return
			}
			if seen[string(name)] {
				return
			}
			seen[string(name)] = true
			if slices.ContainsFunc(children, func(c string) bool { return hooks.AlikeName(c, string(name)) }) {
				l.specs = append(l.specs, ":(top,literal)"+path.Join(dir, string(name)))
			}
		})
	}, "cat-file", "--batch", "--buffer")
}

// children are the names in a directory that roots are, or are in.
func (g *Gate) children(dir string) []string {
	var names []string
	for _, root := range g.policy.RootPaths() {
		rest, in := root, true
		if dir != "" {
			rest, in = strings.CutPrefix(root, dir+"/")
		}
		if name, _, _ := strings.Cut(rest, "/"); in && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

const (
	treeMode = "40000"
	mostTree = 256 << 20 // bytes of one directory: some million entries
)

// eachEntry reads what git cat-file --batch prints of trees. What is not here, or is no tree, has no entries.
func eachEntry(out *bufio.Reader, f func(mode, name, oid []byte)) error {
	var body []byte
	for {
		head, err := out.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(head) == 0 {
			return nil
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		field := bytes.Fields(head)
		if len(field) == 2 && string(field[1]) == "missing" {
			continue
		}
		size := -1
		if len(field) == 3 {
			size, err = strconv.Atoi(string(field[2]))
		}
		if err != nil || size < 0 {
			return fmt.Errorf("read trees: git cat-file says %.100q", head)
		}
		if isTree := string(field[1]) == "tree"; !isTree || size > mostTree {
			if isTree {
				return fmt.Errorf("read tree %s: it has %d bytes, more than %d", field[0], size, mostTree)
			}
			if _, err := out.Discard(size + 1); err != nil {
				return io.ErrUnexpectedEOF
			}
			continue
		}
		id := len(field[0]) / 2 // before the next read, which takes field away
		body = slices.Grow(body[:0], size+1)[:size+1]
		if _, err := io.ReadFull(out, body); err != nil {
			return io.ErrUnexpectedEOF
		}
		for rest := body[:size]; len(rest) > 0; {
			mode, after, _ := bytes.Cut(rest, []byte(" "))
			name, after, ok := bytes.Cut(after, []byte{0})
			if !ok || len(after) < id {
				return errors.New("read trees: one is damaged: run git fsck")
			}
			f(mode, name, after[:id])
			rest = after[id:]
		}
	}
}
