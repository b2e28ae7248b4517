//go:build linux || darwin

package gitstore

import "golang.org/x/sys/unix"

func sameDevice(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}
