package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Make checks a commit out into a new directory, with a git directory of its own for whoever works there. That borrows
// the repository's objects, has no refs and no remotes, and runs no hooks: nothing done there reaches the user's
// branches or configuration.
func Make(ctx context.Context, store *gitstore.Store, dir string, commit plan.OID) error {
	own := filepath.Join(dir, ".git")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := git(ctx, store, dir, own, "init", "-q", "--template="); err != nil {
		return err
	}
	objects := filepath.Join(store.CommonDir(), "objects")
	if err := os.MkdirAll(filepath.Join(own, "objects", "info"), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(own, "objects", "info", "alternates"), []byte(objects+"\n"), 0o666); err != nil {
		return err
	}
	text, err := config(ctx, store)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(own, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	// The user's git directory says which files are checked out, and where those come from that are not here.
	if err := git(ctx, store, dir, store.GitDir(), "read-tree", "-m", "-u", string(commit)+"^{tree}"); err != nil {
		return fmt.Errorf("check out %.12s: %w", commit, err)
	}
	return git(ctx, store, dir, own, "update-ref", "--no-deref", "HEAD", string(commit))
}

// git runs git on the checkout, with a git directory and the checkout's index. It starts nothing that the user
// configured for their own worktree.
func git(ctx context.Context, store *gitstore.Store, dir, gitDir string, args ...string) error {
	_, err := store.GitIn(ctx, gitstore.Invocation{
		Args: append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c",
			"core.splitIndex=false", "-c", "submodule.recurse=false"}, args...),
		Dir: dir,
		Env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + filepath.Join(dir, ".git", "index")},
	})
	return err
}

// carried are the settings of the user's repository that decide what a checkout looks like, and who commits.
var carried = []string{"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase",
	"core.precomposeunicode", "core.excludesfile", "core.attributesfile", "user.name", "user.email"}

// config is what the checkout's own configuration begins with.
func config(ctx context.Context, store *gitstore.Store) (string, error) {
	out, err := store.Git(ctx, "config", "--local", "--includes", "--null", "--list")
	if err != nil {
		return "", err
	}
	text := "[core]\n\thooksPath = " + os.DevNull + "\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
	for entry := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if !slices.Contains(carried, key) && !strings.HasPrefix(key, "filter.") {
			continue
		}
		dot := strings.LastIndexByte(key, '.')
		section, name := key[:dot], key[dot+1:]
		if group, sub, ok := strings.Cut(section, "."); ok {
			section = group + " " + quote(sub)
		}
		text += fmt.Sprintf("[%s]\n\t%s = %s\n", section, name, quote(value))
	}
	return text, nil
}

// quote writes a value or subsection as git reads it.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
