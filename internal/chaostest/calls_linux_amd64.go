package chaostest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// shape says where a call's files are among its arguments: dir+path pairs, paths, or a descriptor.
type shape struct {
	name  string
	fd    int // index of the descriptor, -1 for none
	at    []int
	paths []int
	flags int // index of the flags that say whether an open changes anything, -1 for a call that always does
}

// shapeOf returns the shape of a call that changes files or makes changes durable.
func shapeOf(number uint64) (shape, bool) {
	ofFile := func(name string) (shape, bool) { return shape{name: name, fd: 0, flags: -1}, true }
	ofPath := func(name string, paths ...int) (shape, bool) {
		return shape{name: name, fd: -1, paths: paths, flags: -1}, true
	}
	ofDir := func(name string, at ...int) (shape, bool) {
		return shape{name: name, fd: -1, at: at, flags: -1}, true
	}
	switch number {
	case unix.SYS_OPEN:
		return shape{name: "open", fd: -1, paths: []int{0}, flags: 1}, true
	case unix.SYS_OPENAT:
		return shape{name: "open", fd: -1, at: []int{0}, flags: 2}, true
	case unix.SYS_CREAT:
		return ofPath("open", 0)
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		return ofFile("write")
	case unix.SYS_COPY_FILE_RANGE:
		return shape{name: "write", fd: 2, flags: -1}, true
	case unix.SYS_SENDFILE:
		return ofFile("write")
	case unix.SYS_FTRUNCATE:
		return ofFile("truncate")
	case unix.SYS_TRUNCATE:
		return ofPath("truncate", 0)
	case unix.SYS_FALLOCATE:
		return ofFile("fallocate")
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return ofFile("fsync")
	case unix.SYS_SYNC_FILE_RANGE:
		return ofFile("sync_file_range")
	case unix.SYS_SYNCFS:
		return ofFile("syncfs")
	case unix.SYS_RENAME:
		return ofPath("rename", 0, 1)
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return ofDir("rename", 0, 2)
	case unix.SYS_LINK:
		return ofPath("link", 0, 1)
	case unix.SYS_LINKAT:
		return ofDir("link", 0, 2)
	case unix.SYS_SYMLINK:
		return ofPath("symlink", 1)
	case unix.SYS_SYMLINKAT:
		return ofDir("symlink", 1)
	case unix.SYS_UNLINK:
		return ofPath("unlink", 0)
	case unix.SYS_RMDIR:
		return ofPath("rmdir", 0)
	case unix.SYS_UNLINKAT:
		return ofDir("unlink", 0)
	case unix.SYS_MKDIR:
		return ofPath("mkdir", 0)
	case unix.SYS_MKDIRAT:
		return ofDir("mkdir", 0)
	case unix.SYS_CHMOD:
		return ofPath("chmod", 0)
	case unix.SYS_FCHMOD:
		return ofFile("chmod")
	case unix.SYS_FCHMODAT:
		return ofDir("chmod", 0)
	case unix.SYS_UTIMENSAT:
		return ofDir("utimens", 0)
	case unix.SYS_FLOCK:
		return ofFile("flock")
	}
	return shape{}, false
}

// describeCall returns nil for a call that changes no file.
func describeCall(tid int, number uint64, args []uint64) *Call {
	s, ok := shapeOf(number)
	if !ok {
		return nil
	}
	const changes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	if s.flags >= 0 && args[s.flags]&changes == 0 {
		return nil
	}
	c := &Call{Name: s.name, Waits: s.name == "sync_file_range" && args[3]&unix.SYNC_FILE_RANGE_WAIT_AFTER != 0}
	if s.fd >= 0 {
		c.Paths = append(c.Paths, fileBehind(tid, int32(args[s.fd])))
	}
	for _, i := range s.paths {
		c.Paths = append(c.Paths, resolve(tid, unix.AT_FDCWD, readString(tid, args[i])))
	}
	for _, i := range s.at {
		c.Paths = append(c.Paths, resolve(tid, int32(args[i]), readString(tid, args[i+1])))
	}
	return c
}

func resolve(tid int, dir int32, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	base := ""
	if dir == unix.AT_FDCWD {
		base, _ = os.Readlink("/proc/" + strconv.Itoa(tid) + "/cwd")
	} else {
		base = fileBehind(tid, dir)
	}
	return filepath.Join(base, name)
}

func fileBehind(tid int, fd int32) string {
	name, _ := os.Readlink("/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(int(fd)))
	return name
}

// readString reads a string of the traced program page by page, because it may end where the program's memory ends.
func readString(tid int, address uint64) string {
	const page = 4096
	var s []byte
	for len(s) < page {
		chunk := make([]byte, page-(address+uint64(len(s)))%page)
		local := []unix.Iovec{{Base: &chunk[0]}}
		local[0].SetLen(len(chunk))
		n, err := unix.ProcessVMReadv(tid, local, []unix.RemoteIovec{{Base: uintptr(address) + uintptr(len(s)),
			Len: len(chunk)}}, 0)
		if err != nil || n <= 0 {
			break
		}
		if end := bytes.IndexByte(chunk[:n], 0); end >= 0 {
			return string(append(s, chunk[:end]...))
		}
		s = append(s, chunk[:n]...)
	}
	return string(s)
}

// commitsInOrder reports whether a directory is on a file system that commits its metadata in order and as a whole, so
// that one flush covers all earlier changes. An ext4 may lack the journal that does so.
func commitsInOrder(dir string) bool {
	const xfs = 0x58465342
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(dir, &fs) != nil || unix.Stat(dir, &st) != nil {
		return false
	}
	if fs.Type != unix.EXT4_SUPER_MAGIC {
		return fs.Type == xfs || fs.Type == unix.TMPFS_MAGIC
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return false
	}
	journals, err := filepath.Glob("/proc/fs/jbd2/" + filepath.Base(device) + "-*")
	return err == nil && len(journals) > 0
}
