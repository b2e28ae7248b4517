package gitstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushesReadOnly says whether a file that is open for reading can be flushed.
const flushesReadOnly = true

// startWriteOut begins to write the file's data to the disk and does not wait.
func startWriteOut(f *os.File) {
	unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// writeOut waits until the file's data is with the disk, which may keep it in its cache.
func writeOut(f *os.File) error {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	if err := unix.SyncFileRange(int(f.Fd()), 0, 0, wait); err != nil {
		return f.Sync()
	}
	return nil
}

// flushDir makes the names in a directory durable.
func flushDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// ordered reports whether the objects and the refs are on one file system that commits its metadata in order and as a whole
// (ext4, XFS): there the flush of a ref stands for all that was written out before it, sizes, places on the disk and names
// included. Where nothing survives a power cut there is nothing to wait for either.
func ordered(objects, refs string) bool {
	const xfs = 0x58465342
	var st unix.Statfs_t
	if unix.Statfs(objects, &st) != nil || !sameDevice(objects, refs) {
		return false
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, xfs, unix.TMPFS_MAGIC:
		return true
	}
	return false
}
