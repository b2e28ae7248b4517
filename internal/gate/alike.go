package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Names that only some file system takes for a protected root are too many to be pathspecs of a long walk: git would look
// into every directory of every commit. But they stand in the few trees that hold the roots. So those are read while git
// walks; hardly ever is there anything to walk again for.

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
	out, err := g.store.Git(ctx, slices.Concat([]string{"-c", "log.showSignature=false", "log", "--format=%T"}, revs, []string{"--"})...)
	if err != nil {
		return nil, err
	}
	var specs []string
	level := map[string][]string{"": distinct(strings.Fields(out))} // trees, by the directory that they are
	for len(level) > 0 {
		next := map[string][]string{}
		for dir, trees := range level {
			children := g.children(dir)
			seen := map[string]bool{}
			err := g.eachTree(ctx, trees, func(name, oid string) {
				p := path.Join(dir, name)
				if slices.Contains(children, name) {
					if len(g.children(p)) > 0 {
						next[p] = append(next[p], oid)
					}
					return
				}
				if seen[name] {
					return
				}
				seen[name] = true
				for _, c := range children {
					if hooks.AlikeName(c, name) {
						specs = append(specs, ":(top,literal)"+p)
						return
					}
				}
			})
			if err != nil {
				return nil, err
			}
		}
		for dir := range next {
			next[dir] = distinct(next[dir])
		}
		level = next
	}
	slices.Sort(specs)
	return slices.Compact(specs), nil
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

func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// eachTree calls f for each entry of trees. It reads some thousand at a time, as the trees of a long history are many.
func (g *Gate) eachTree(ctx context.Context, trees []string, f func(name, oid string)) error {
	const most = 4096
	for chunk := range slices.Chunk(trees, most) {
		out, err := g.store.GitIn(ctx, gitstore.Invocation{
			Args: []string{"cat-file", "--batch"}, Stdin: strings.NewReader(strings.Join(chunk, "\n") + "\n"),
		})
		if err != nil {
			return fmt.Errorf("read trees: %w", err)
		}
		if err := eachEntry(out, f); err != nil {
			return err
		}
	}
	return nil
}

// eachEntry reads what git cat-file --batch prints of trees. What is no tree, such as a submodule in a root's place, has no
// entries.
func eachEntry(out []byte, f func(name, oid string)) error {
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var oid plan.OID
		var kind string
		var size int
		if n, _ := fmt.Sscanf(string(head), "%s %s %d", &oid, &kind, &size); n < 3 && kind == "missing" {
			out = rest
			continue
		} else if n < 3 || size < 0 || size >= len(rest) {
			return fmt.Errorf("read trees: git cat-file says %q", head)
		}
		body := rest[:size]
		out = rest[size+1:]
		for kind == "tree" && len(body) > 0 {
			info, after, ok := bytes.Cut(body, []byte{0})
			_, name, named := bytes.Cut(info, []byte(" "))
			if !ok || !named || len(after) < 20 {
				return fmt.Errorf("read tree %s: it is damaged", oid)
			}
			f(string(name), fmt.Sprintf("%x", after[:20]))
			body = after[20:]
		}
	}
	return nil
}
