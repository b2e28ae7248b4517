package views

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/shell"
)

// keepOut makes git ignore the views. It refuses if the index has some of them: they would be committed.
func (v *Views) keepOut(ctx context.Context) error {
	dir := Dir + "/" + string(v.ID)
	marker := Dir + "/" + exchange.Marker(v.ID)
	in := func(args ...string) gitstore.Invocation {
		return gitstore.Invocation{Dir: v.Store.WorkTree(), Args: append([]string{"--literal-pathspecs"}, args...)}
	}
	tracked, err := v.Store.GitIn(ctx, in("ls-files", "-z", "--", dir, marker))
	if err != nil {
		return fmt.Errorf("look whether %s is in the index: %w", dir, err)
	}
	if name, _, some := strings.Cut(string(tracked), "\x00"); some {
		return fault.Refused("git rm -r -q --cached --ignore-unmatch "+shell.Word(dir)+" "+shell.Word(marker)+
			", and git wf checkout again", "%s is in the index; views are kept out of it", plain.Line(name))
	}
	if !v.inView(ctx, dir+"/TODO_LIST.md") && !v.inView(ctx, marker) {
		return nil
	}
	if err := exclude(ctx, v.Store, []string{"/" + Dir + "/.checkout-*", "/" + dir + "/", "/" + marker}); err != nil {
		return err
	}
	if v.inView(ctx, dir+"/TODO_LIST.md") {
		v.Warn("a .gitignore of this repository takes " + dir + " back into view; git add would take it")
	}
	return nil
}

// inView reports whether git does not ignore a file. If git can't say, as behind a symbolic link, it reports false.
func (v *Views) inView(ctx context.Context, name string) bool {
	_, err := v.Store.GitIn(ctx, gitstore.Invocation{Dir: v.Store.WorkTree(),
		Args: []string{"check-ignore", "-q", "--no-index", "--", name}})
	var said *gitstore.GitError
	return errors.As(err, &said) && said.ExitCode == 1
}

// exclude adds patterns to info/exclude, which linked worktrees share.
func exclude(ctx context.Context, store *gitstore.Store, patterns []string) error {
	name, err := store.Git(ctx, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
	if err != nil {
		return fmt.Errorf("find the file of what git passes over: %w", err)
	}
	name = filepath.FromSlash(name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	before, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var add strings.Builder
	if len(before) > 0 && before[len(before)-1] != '\n' {
		add.WriteByte('\n')
	}
	have := strings.Split(string(before), "\n")
	for _, p := range patterns {
		if !slices.Contains(have, p) {
			add.WriteString(p + "\n")
		}
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, add.String())
	return errors.Join(err, f.Close())
}
