package gitstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// startWriteOut starts writing the file's data to disk and does not wait.
func startWriteOut(f *os.File) {
	unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// writeOut waits until the disk has the file's data, perhaps only in its cache.
func writeOut(f *os.File) error {
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	if err := unix.SyncFileRange(int(f.Fd()), 0, 0, wait); err != nil {
		return f.Sync()
	}
	return nil
}

// flushingIn finds out how a file system gets data to disk.
func flushingIn(objects, refs string) flushing {
	const xfs = 0x58465342
	var st unix.Statfs_t
	if unix.Statfs(objects, &st) != nil || !sameDevice(objects, refs) {
		return flushEach
	}
	switch int64(st.Type) {
	case xfs, unix.TMPFS_MAGIC: // tmpfs keeps nothing, so there is nothing to wait for
		return flushWithRef
	case unix.EXT4_SUPER_MAGIC:
		if hasJournal(objects) {
			return flushWithRef
		}
		return flushAll
	}
	return flushEach
}

// hasJournal reports whether an ext4 file system has one, as far as we can see.
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

// flushSystem makes everything durable that any process wrote to a directory's file system.
func flushSystem(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
