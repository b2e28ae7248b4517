package gitstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteOut does nothing: the system has no call for it.
func startWriteOut(*os.File) {}

// writeOut hands the file's data to the disk, perhaps only to its cache: one flush of that is enough.
func writeOut(f *os.File) error { return unix.Fsync(int(f.Fd())) }

// flushingIn: the journals of APFS and HFS+ keep the order of what was written out.
func flushingIn(objects, refs string) flushing {
	if sameDevice(objects, refs) {
		return flushWithRef
	}
	return flushEach
}

// flushSystem is never called: every file system here has a journal.
func flushSystem(string) error { return nil }
