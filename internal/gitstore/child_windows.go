package gitstore

import (
	"os"
	"syscall"

	"github.com/gofrs/flock"
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
