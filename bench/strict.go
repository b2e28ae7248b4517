package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// benchStrict compares commands that move a ref and touch nothing protected: with no reference-transaction hook, with
// one that is exit 0, with one that asks git a single question, and in strict mode.
func benchStrict(ctx context.Context, l *lab, z sizes) (report, error) {
	dirs, err := l.strictRepos(ctx, z.tags)
	if err != nil {
		return report{}, err
	}
	fetch := []string{"git", "fetch", "-q", dirs[0], "refs/tags/*:refs/tags/*"}
	quiet := filepath.Join(l.dir, "none") // no hooks while preparing a round
	var drop strings.Builder
	for i := range z.tags {
		fmt.Fprintf(&drop, "delete refs/tags/t%d\n", i)
	}
	n := 0
	moves := []struct {
		name   string
		rounds int
		args   []string
		before func(ctx context.Context, dir string) error
	}{
		{"git update-ref, one commit forward", z.moves, []string{"git", "update-ref", "refs/heads/work", "refs/heads/main"},
			func(ctx context.Context, dir string) error {
				return l.steps(ctx, dir, []string{"git", "-c", "core.hooksPath=" + quiet, "update-ref", "refs/heads/work",
					"refs/heads/main^"})
			}},
		// --no-verify skips pre-commit, which the benchmark "gate" measures.
		{"git commit --no-verify", z.moves, []string{"git", "commit", "-q", "--no-verify", "-m", "change"},
			func(ctx context.Context, dir string) error {
				n++
				return l.stage(ctx, dir, "README", fmt.Sprintf("change %d\n", n))
			}},
		{fmt.Sprintf("git fetch of %d tags", z.tags), z.fetches, fetch, func(ctx context.Context, dir string) error {
			_, err := l.git(ctx, dir, strings.NewReader(drop.String()), "-c", "core.hooksPath="+quiet, "update-ref", "--stdin")
			return err
		}},
	}
	r := report{title: fmt.Sprintf("strict: what moves refs, by its reference-transaction hook; medians of %d, of fetches %d", z.moves, z.fetches)}
	for _, m := range moves {
		var each []*contestant
		for i, hook := range []string{"no hook", "exit 0", "one question", "strict mode"} {
			dir := dirs[i+1]
			each = append(each, &contestant{name: m.name + ", " + hook, dir: dir, args: m.args,
				before: func(ctx context.Context) error { return m.before(ctx, dir) }})
		}
		for _, c := range each[1:] {
			c.over = each[0]
		}
		if err := l.measure(ctx, m.rounds, each...); err != nil {
			return report{}, err
		}
		r.rows = append(r.rows, each...)
		r.ratios = append(r.ratios, compare(m.name+", strict mode / a hook that is exit 0", 1.35, each[3], each[1]))
		r.ratios = append(r.ratios, compare(m.name+", strict mode / a hook that asks git once", 0, each[3], each[2]))
	}
	return r, l.isStrict(ctx, dirs[4])
}

// strictHooks are hooks to compare with: one does nothing, the other starts git once, the least that a hook needs to
// learn anything about a commit.
var strictHooks = []string{
	"#!/bin/sh\nexit 0\n",
	"#!/bin/sh\n[ \"$1\" = prepared ] || exit 0\nread -r old new ref\n[ -n \"$(git rev-parse --verify --quiet \"$new\")\" ]\n",
}

// strictRepos makes repositories with the same commits: one with the tags to fetch, one without a hook, one for each of
// strictHooks, one in strict mode.
func (l *lab) strictRepos(ctx context.Context, tags int) ([5]string, error) {
	var dirs [5]string
	for i, name := range []string{"tags", "strict-none", "strict-idle", "strict-one", "strict"} {
		var b strings.Builder
		b.WriteString(importCommit("refs/heads/main") + importFile("README", "A repository to measure in.\n"))
		for t := range tags {
			b.WriteString(importCommit("refs/heads/main") + importFile("README", fmt.Sprintf("line %d\n", t)))
			fmt.Fprintf(&b, "reset refs/tags/t%d\nfrom refs/heads/main\n\n", t)
		}
		var err error
		if dirs[i], err = l.repo(ctx, name, b.String()); err != nil {
			return dirs, err
		}
		if err := l.steps(ctx, dirs[i], []string{"git", "gc", "-q"}); err != nil {
			return dirs, err
		}
	}
	for i, hook := range strictHooks {
		if err := os.WriteFile(filepath.Join(dirs[2+i], ".git", "hooks", "reference-transaction"), []byte(hook),
			0o777); err != nil {
			return dirs, err
		}
	}
	return dirs, l.steps(ctx, dirs[4], []string{l.gitWF, "init"})
}

// isStrict checks that the repository refuses what nobody approved: a hook that git does not reach is fast.
func (l *lab) isStrict(ctx context.Context, dir string) error {
	if err := l.stage(ctx, dir, "deliverables/x", "nobody saw this\n"); err != nil {
		return err
	}
	if l.steps(ctx, dir, []string{"git", "commit", "-q", "--no-verify", "-m", "sneak it in"}) == nil {
		return fmt.Errorf("strict mode let a commit pass that nobody approved")
	}
	return nil
}

// stage adds a file to the index.
func (l *lab) stage(ctx context.Context, dir, path, content string) error {
	blob, err := l.git(ctx, dir, strings.NewReader(content), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	return l.steps(ctx, dir, []string{"git", "update-index", "--add", "--cacheinfo", "100644," + blob + "," + path})
}
