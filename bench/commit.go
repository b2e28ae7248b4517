package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// probe is what the hook has to ask git in any case.
var probe = []string{
	"git", "diff-index", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", "HEAD", "--", ":(top,icase)deliverables",
}

// benchCommit compares what a commit pays for the installed hook, when nothing under deliverables/ is staged, with the
// probe alone.
func benchCommit(ctx context.Context, l *lab, z sizes) (report, error) {
	dir, err := l.repo(ctx, "commit", manyFiles(z.files))
	if err != nil {
		return report{}, err
	}
	if err := l.steps(ctx, dir, []string{"git", "gc", "-q"}, []string{l.gitWF, "init"}); err != nil {
		return report{}, err
	}
	n := 0
	stage := func(ctx context.Context) error {
		n++
		blob, err := l.git(ctx, dir, strings.NewReader(fmt.Sprintf("change %d\n", n)), "hash-object", "-w", "--stdin")
		if err != nil {
			return err
		}
		return l.steps(ctx, dir, []string{"git", "update-index", "--cacheinfo", "100644," + blob + ",src/d000/e00/f0"})
	}
	commit := func(name string, config ...string) *contestant {
		args := append(append([]string{"git"}, config...), "commit", "-q", "-m", "change one file")
		return &contestant{name: name, before: stage, dir: dir, args: args}
	}
	alone := &contestant{name: "the probe alone", before: stage, dir: dir, args: probe}
	hook := &contestant{name: "the hook alone", before: stage, dir: dir, args: []string{"sh", ".git/hooks/pre-commit"}}
	empty := filepath.Join(l.dir, "empty")
	if err := emptyHook(empty); err != nil {
		return report{}, err
	}
	bare := commit("git commit, no hooks", "-c", "core.hooksPath="+filepath.Join(l.dir, "none"))
	idle := commit("git commit, a pre-commit hook that does nothing", "-c", "core.hooksPath="+empty)
	hooked := commit("git commit, hooks of git wf init")
	if err := l.measure(ctx, z.commits, alone, hook, bare, idle, hooked); err != nil {
		return report{}, err
	}
	ratios := []ratio{
		compare("what the hooks add to a commit without hooks / the probe", 2, more(bare, hooked), alone),
		compare("what they add to a commit with a hook that does nothing / the probe", 2, more(idle, hooked), alone),
		compare("the hook alone / the probe", 2, hook, alone),
	}
	for i := range ratios {
		ratios[i].strict = true
	}
	return report{
		title:  fmt.Sprintf("commit: %d files, one of them staged, none under deliverables/; medians of %d", z.files, z.commits),
		rows:   []*contestant{alone, hook, bare, idle, hooked},
		ratios: ratios,
	}, nil
}

// emptyHook makes a directory of hooks with one that does nothing. For it, too, git starts a shell, and reads its index
// again afterwards, because the hook might have changed it.
func emptyHook(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "pre-commit"), []byte("#!/bin/sh\nexit 0\n"), 0o777)
}

// manyFiles is a branch of n small files.
func manyFiles(n int) string {
	var b strings.Builder
	b.WriteString(importCommit("refs/heads/main"))
	for i := range n {
		b.WriteString(importFile(fmt.Sprintf("src/d%03d/e%02d/f%d", i%200, i/200%20, i), fmt.Sprintf("file %d\n", i%100)))
	}
	return b.String()
}
