package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestPoolsDir(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: another rule for the user's cache directory")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_CACHE_HOME", "/home/ann/cache")
	if got := poolsDir(true); got != "/home/ann/cache/git-wf/checkouts" {
		t.Errorf("below a cache that is not hidden: %s", got)
	}
	t.Setenv("XDG_CACHE_HOME", "/home/ann/.cache")
	dir := poolsDir(true)
	if got, _ := filepath.Rel(temp, dir); got != filepath.Join(filepath.Base(filepath.Dir(dir)), "checkouts") || hidden(got) {
		t.Errorf("with a hidden cache: %s, expected it below %s", dir, temp)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := poolsDir(true); got != "/home/ann/.cache/git-wf/checkouts" {
		t.Errorf("where others can write: %s", got)
	}
}
