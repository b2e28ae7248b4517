package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// poolsDir is the directory of all pools: below the user's cache directory, unless its path has a name that begins with
// a dot. Programs take all below such a name for hidden: a server does not serve it, linters and watchers skip it, and
// tests that are green elsewhere fail (seen: 55 of express's own). Then it is one of the user's alone among the
// temporary files, which is made if create is set.
func poolsDir(create bool) string {
	cache, err := os.UserCacheDir()
	if err != nil || hidden(cache) {
		dir := filepath.Join(os.TempDir(), fmt.Sprintf("git-wf-%d", os.Getuid()))
		if create {
			_ = os.MkdirAll(dir, 0o700)
		}
		if onlyMine(dir) {
			return filepath.Join(dir, "checkouts")
		}
	}
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "git-wf", "checkouts")
}

func hidden(path string) bool {
	return strings.Contains(filepath.ToSlash(path), "/.")
}

// onlyMine reports whether a directory is the user's alone: its name can be guessed.
func onlyMine(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0 && owned(info)
}
