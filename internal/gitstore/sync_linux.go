package gitstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

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

// flushingIn finds out how what is written to a file system gets to the disk.
func flushingIn(objects, refs string) flushing {
	const xfs = 0x58465342
	var st unix.Statfs_t
	if unix.Statfs(objects, &st) != nil || !sameDevice(objects, refs) {
		return flushEach
	}
	switch int64(st.Type) {
	case xfs, unix.TMPFS_MAGIC: // nothing survives in the latter, and there is nothing to wait for
		return flushWithRef
	case unix.EXT4_SUPER_MAGIC:
		if hasJournal(objects) {
			return flushWithRef
		}
		return flushAll
	}
	return flushEach
}

// hasJournal reports whether an ext4 file system has one, as far as can be seen.
func hasJournal(dir string) bool {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return false
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return false
	}
	task, err := os.ReadFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "journal_task"))
	return err == nil && !strings.Contains(string(task), "none")
}

// flushSystem makes all durable that was written to the file system that a directory is on, by whomever.
func flushSystem(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
