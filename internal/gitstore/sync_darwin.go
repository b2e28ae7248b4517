package gitstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushesReadOnly says whether a file that is open for reading can be flushed.
const flushesReadOnly = true

// startWriteOut does nothing: the system has no call for it.
func startWriteOut(*os.File) {}

// writeOut hands the file's data to the disk, which may keep it in its cache: emptying that is slow, and once is enough.
func writeOut(f *os.File) error { return unix.Fsync(int(f.Fd())) }

// flushDir does nothing: ordered is always true.
func flushDir(string) error { return nil }

// ordered reports that the journals of APFS and HFS+ keep the order of what was written out.
func ordered(string) bool { return true }
