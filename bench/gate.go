package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed byhand.sh
var byHand string

// probe is what the hook must ask git in any case.
var probe = []string{
	"git", "diff-index", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", "HEAD", "--",
	":(top,icase)deliverables",
}

// The git directories of the shared worktree, by their hooks.
const (
	noHooks  = "none"
	idle     = "idle"
	lenient  = "git wf init --no-strict"
	strict   = "git wf init"
	lefthook = "lefthook"
	each     = "by hand, file by file"
	together = "by hand, all at once"
)

// benchGate compares what hooks add to two commits: of one file that they ignore, and of a bundle.
func benchGate(ctx context.Context, l *lab, z sizes) (report, error) {
	s, err := newSharedTree(ctx, l, z)
	if err != nil {
		return report{}, err
	}
	left := findLefthook()
	if err := s.prepare(ctx, left); err != nil {
		return report{}, err
	}
	alone := &contestant{name: "the probe alone", dir: s.dir, args: probe, before: func(ctx context.Context) error {
		return s.ready(ctx, noHooks, oneFile)
	}}
	none := s.commit("git commit, no hook", noHooks, oneFile, nil)
	zero := s.commit("a pre-commit hook that is exit 0", idle, oneFile, none)
	gate := s.commit("the gate, nothing protected staged: "+lenient, lenient, oneFile, none)
	gateStrict := s.commit("the gate, nothing protected staged: "+strict+", which is strict", strict, oneFile, none)
	other := s.commit("lefthook, one job: true", lefthook, oneFile, none)
	other.absent, other.env = left == "", []string{"LEFTHOOK_BIN=" + left}
	bare := s.commit("git commit of the bundle, no hook", noHooks, bundle, nil)
	full := s.commit("the gate, the bundle staged: "+lenient, lenient, bundle, bare)
	fullStrict := s.commit("the gate, the bundle staged: "+strict+", which judges it twice", strict, bundle, bare)
	script := s.commit("byhand.sh, a process or two for each file", each, bundle, bare)
	batch := s.commit("byhand.sh, all files at once", together, bundle, bare)
	rows := []*contestant{alone, none, zero, gate, gateStrict, other, bare, full, fullStrict, script, batch}
	if err := l.measure(ctx, z.commits, rows...); err != nil {
		return report{}, err
	}
	return report{
		title: fmt.Sprintf("gate: git commit in %d files, with one of them staged, or a bundle of %d files of %d tasks; medians of %d",
			z.files, z.bundle, len(pageLines(z.bundle, pagesEach)), z.commits),
		rows: rows,
		ratios: []ratio{
			compare("what the gate adds to an empty hook / one git command", 1.2, more(zero, gate), alone),
			compare("what the strict gate adds to an empty hook / one git command", 0, more(zero, gateStrict), alone),
			compare("what the gate adds to a commit / one git command", 2, gate.added(), alone).below(),
			compare("what the gate adds / what lefthook adds", 1, gate.added(), other.added()).below(),
			compare("what the strict gate adds / what lefthook adds", 1, gateStrict.added(), other.added()).below(),
			compare("what judging a bundle adds / what a script adds", 1.0/5, full.added(), script.added()),
			compare("what judging a bundle twice adds / what a script adds", 1.0/5, fullStrict.added(), script.added()),
			compare("what judging a bundle adds / what a script adds that sums all files at once", 0, full.added(), batch.added()),
		},
	}, nil
}

// prepare makes the git directories, and tests those that must judge a bundle.
func (s *sharedTree) prepare(ctx context.Context, left string) error {
	preCommit := func(script string) func(context.Context) error {
		return func(context.Context) error {
			if err := os.MkdirAll(s.git("hooks"), 0o777); err != nil {
				return err
			}
			return os.WriteFile(s.git("hooks/pre-commit"), []byte("#!/bin/sh\n"+script), 0o777)
		}
	}
	run := func(args ...string) func(context.Context) error {
		return func(ctx context.Context) error { return s.l.steps(ctx, s.dir, args) }
	}
	type kit struct {
		name  string
		judge bool // it must refuse a bundle with anything unapproved
		setup func(context.Context) error
	}
	kits := []kit{
		{idle, false, preCommit("exit 0\n")},
		{lenient, true, run(s.l.gitWF, "init", "--no-strict")},
		{strict, true, run(s.l.gitWF, "init")},
		{each, true, preCommit("set -- each\n" + byHand)},
		{together, true, preCommit("set -- together\n" + byHand)},
	}
	if left != "" {
		if err := os.WriteFile(filepath.Join(s.dir, "lefthook.yml"), []byte("pre-commit:\n  jobs:\n    - run: \"true\"\n"),
			0o666); err != nil {
			return err
		}
		kits = append(kits, kit{lefthook, false, run(left, "install")})
	}
	for _, k := range kits {
		if err := s.add(ctx, k.name, k.setup); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if k.judge {
			if err := s.refuses(ctx, k.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// findLefthook looks where the hooks' tests look, in $GIT_WF_TEST_TOOLS and on PATH; "" if it is in neither. It prefers
// the program itself to npm's wrapper, which would start node as well.
func findLefthook() string {
	if dir := os.Getenv("GIT_WF_TEST_TOOLS"); dir != "" {
		modules := filepath.Join(dir, "node_modules")
		native, err := filepath.Glob(filepath.Join(modules, "lefthook-*", "bin", "lefthook*"))
		if err == nil && len(native) > 0 {
			return native[0]
		}
		if found, err := exec.LookPath(filepath.Join(modules, ".bin", "lefthook")); err == nil {
			return found
		}
	}
	found, err := exec.LookPath("lefthook")
	if err != nil {
		return ""
	}
	return found
}

// manyFiles returns a branch of n small files.
func manyFiles(n int) string {
	var b strings.Builder
	b.WriteString(importCommit("refs/heads/main"))
	for i := range n {
		b.WriteString(importFile(fmt.Sprintf("src/d%03d/e%02d/f%d", i%200, i/200%20, i), fmt.Sprintf("file %d\n", i%100)))
	}
	return b.String()
}
