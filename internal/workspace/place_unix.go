//go:build !windows

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether the user owns a file.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
