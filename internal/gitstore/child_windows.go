package gitstore

import (
	"os"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/windows"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// inheritLock locks a file for this process: none inherits it.
func inheritLock(f *os.File) (unlock func(), err error) {
	held := flock.New(f.Name())
	_, err = held.TryLock()
	return func() { held.Close(); f.Close() }, err
}

func inherited([]*os.File) []*os.File { return nil }

// ownSession detaches a child from the console, so closing that does not end the child.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
