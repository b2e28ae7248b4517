package attacktest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// plumbing asks git to merge, in a bare repository without attributes or configuration.
type plumbing struct {
	ctx    context.Context
	env    []string
	dir    string // of a bare repository that borrows objects
	lines  map[string]string
	merged map[string]struct {
		tree      string
		conflicts []string
	}
	reader *exec.Cmd // git cat-file --batch
	in     io.WriteCloser
	out    *bufio.Reader
	*objects
}

func newPlumbing(ctx context.Context, env []string, dir, borrow string, o *objects) (*plumbing, error) {
	p := &plumbing{ctx: ctx, env: env, dir: dir, objects: o, lines: map[string]string{}, merged: map[string]struct {
		tree      string
		conflicts []string
	}{}}
	p.run("", "init", "-q", "--bare", dir)
	if err := os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(borrow+"\n"), 0o666); err != nil {
		return nil, err
	}
	p.reader = exec.CommandContext(ctx, "git", "cat-file", "--batch")
	p.reader.Dir, p.reader.Env = dir, env
	in, err := p.reader.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.reader.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.reader.Start()
}

func (p *plumbing) close() error {
	p.in.Close()
	return p.reader.Wait()
}

// run returns what git prints, and its exit code. An error to start it is a panic: a test's machine does not fail.
func (p *plumbing) run(dir string, args ...string) (string, int) {
	cmd := exec.CommandContext(p.ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, p.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		panic(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func isRegular(what string) bool {
	return strings.HasPrefix(what, "100644 ") || strings.HasPrefix(what, "100755 ")
}

// merge merges one path, given mode and id of each side, "" for nothing.
func (p *plumbing) merge(base, ours, theirs string) (string, bool) {
	switch {
	case base == theirs || ours == theirs:
		return ours, true
	case base == ours:
		return theirs, true
	case !isRegular(base) || !isRegular(ours) || !isRegular(theirs):
		return "", false
	}
	mode := ours[:6]
	if mode == base[:6] {
		mode = theirs[:6]
	}
	id, ok := p.mergeFile(base[7:], ours[7:], theirs[7:])
	return mode + " " + id, ok
}

func (p *plumbing) mergeFile(base, ours, theirs string) (string, bool) {
	switch {
	case base == theirs || ours == theirs:
		return ours, true
	case base == ours:
		return theirs, true
	}
	key := base + ours + theirs
	if id, ok := p.lines[key]; ok {
		return id, id != ""
	}
	for name, id := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(p.dir, name), p.known[id].body, 0o666); err != nil {
			panic(err)
		}
	}
	out, exit := p.run(p.dir, "merge-file", "-p", "ours", "base", "theirs")
	id := ""
	if exit == 0 {
		id = p.blob(out)
	}
	p.lines[key] = id
	return id, id != ""
}

// pick applies what a commit did between two trees to another tree, as cherry-pick, revert and rebase do.
func (p *plumbing) pick(before, after, on string) (tree string, conflicts []string) {
	base := p.commit(before, nil, "base")
	return p.mergeTree(p.commit(on, []string{base}, "ours"), p.commit(after, []string{base}, "theirs"))
}

// mergeTree merges two commits as git merge does. It returns the conflicting paths, and no tree for commits that git
// does not merge.
func (p *plumbing) mergeTree(ours, theirs string) (tree string, conflicts []string) {
	if m, ok := p.merged[ours+theirs]; ok {
		return m.tree, m.conflicts
	}
	out, exit := p.run(p.dir, "merge-tree", "--write-tree", "--allow-unrelated-histories", "--no-messages", "--name-only",
		"-z", ours, theirs)
	m := p.merged[ours+theirs]
	if f := strings.Split(out, "\x00"); exit <= 1 && len(f) > 1 {
		m.tree = f[0]
		for _, name := range f[1:] {
			if name != "" {
				m.conflicts = append(m.conflicts, name)
			}
		}
		p.load(m.tree)
		if exit == 1 && len(m.conflicts) == 0 {
			m.tree = ""
		}
	}
	p.merged[ours+theirs] = m
	return m.tree, m.conflicts
}

// load reads a tree that git wrote, and what it has.
func (p *plumbing) load(id string) {
	if _, ok := p.known[id]; ok {
		return
	}
	fmt.Fprintln(p.in, id)
	head, err := p.out.ReadString('\n')
	f := strings.Fields(head)
	if err != nil || len(f) != 3 {
		return // a submodule's commit is not here
	}
	size, _ := strconv.Atoi(f[2])
	body := make([]byte, size+1)
	if _, err := io.ReadFull(p.out, body); err != nil {
		panic(err)
	}
	p.write(f[1], body[:size])
	for _, e := range p.entries(id) {
		p.load(e.id)
	}
}

// loadHistory reads a commit that git wrote, and what it has.
func (p *plumbing) loadHistory(id string) {
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		if _, ok := p.known[queue[0]]; ok {
			continue
		}
		p.load(queue[0])
		_, h, _ := p.parsed(queue[0])
		queue = append(queue, h["parent"]...)
		for _, tree := range h["tree"] {
			p.load(tree)
		}
	}
}

// union merges lines as the merge driver of that name does.
func (p *plumbing) union(base, ours, theirs string) string {
	for name, id := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(p.dir, name), p.known[id].body, 0o666); err != nil {
			panic(err)
		}
	}
	out, _ := p.run(p.dir, "merge-file", "-p", "--union", "ours", "base", "theirs")
	return p.blob(out)
}
