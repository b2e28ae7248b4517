package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/workspace"
)

// benchAttempt compares the checkout of an attempt, made, changed and read back, with git clone --shared, which makes
// one and no more. One repository has a hundredth of the files of the other.
func benchAttempt(ctx context.Context, l *lab, z sizes) (report, error) {
	self, err := os.Executable()
	if err != nil {
		return report{}, err
	}
	r := report{title: fmt.Sprintf("attempt: a checkout of %d and of %d files; medians of %d", z.files/100, z.files,
		z.attempts)}
	for _, files := range []int{z.files / 100, z.files} {
		dir, err := l.repo(ctx, fmt.Sprintf("attempt-%d", files), plainFiles(files))
		if err != nil {
			return report{}, err
		}
		defer os.RemoveAll(dir)
		clone, cache := filepath.Join(l.dir, "attempt-clone"), filepath.Join(l.dir, "attempt-cache")
		bare := &contestant{name: fmt.Sprintf("git clone --shared, %d files", files), dir: l.dir,
			args: []string{"git", "clone", "--quiet", "--shared", dir, clone}}
		ours := func(name, cache string) *contestant {
			return &contestant{name: fmt.Sprintf("%s, %d files", name, files), dir: l.dir,
				env: []string{"XDG_CACHE_HOME=" + cache}, args: []string{self, "-checkout", dir}}
		}
		fresh, kept := ours("a new checkout, changed and read", cache+"-new"), ours("the same from the pool", cache)
		bare.before = func(context.Context) error { return os.RemoveAll(clone) }
		fresh.before = func(context.Context) error { return os.RemoveAll(cache + "-new") }
		if err := l.once(ctx, kept); err != nil { // makes it
			return report{}, err
		}
		kept.wall, kept.cpu = nil, nil
		if err := l.measure(ctx, z.attempts, bare, fresh, kept); err != nil {
			return report{}, err
		}
		for _, path := range []string{clone, cache, cache + "-new"} {
			if err := os.RemoveAll(path); err != nil {
				return report{}, err
			}
		}
		r.rows = append(r.rows, bare, fresh, kept)
		r.ratios = append(r.ratios, compare(fmt.Sprintf("new / clone, %d files", files), 1.2, fresh, bare),
			compare(fmt.Sprintf("from the pool / clone, %d files", files), 0.2, kept, bare))
	}
	return r, nil
}

// plainFiles is a fast-import stream of a commit with so many files, a hundred in a directory.
func plainFiles(n int) string {
	var b strings.Builder
	b.WriteString(importCommit("refs/heads/main"))
	for i := range n {
		text := fmt.Sprintf("This is file %d of %d.\n", i, n)
		b.WriteString(importFile(fmt.Sprintf("d%d/f%d.txt", i/100, i), strings.Repeat(text, 8)))
	}
	return b.String()
}

// oneCheckout does what an attempt does with its checkout: it takes one, changes a file and stores what became of it.
func oneCheckout(ctx context.Context, dir string) error {
	store, err := gitstore.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer store.Close()
	head, err := store.Head(ctx)
	if err != nil {
		return err
	}
	pool, err := workspace.OpenPool(store)
	if err != nil {
		return err
	}
	w, err := pool.Take("an attempt")
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.CheckOut(ctx, head, true); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "changed"), []byte("changed\n"), 0o666); err != nil {
		return err
	}
	_, err = w.Candidate(ctx)
	return err
}
