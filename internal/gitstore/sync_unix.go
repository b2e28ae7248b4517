//go:build linux || darwin

package gitstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushesReadOnly says whether a file that is open for reading can be flushed.
const flushesReadOnly = true

// flushDir makes the names in a directory durable.
func flushDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func sameDevice(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}
