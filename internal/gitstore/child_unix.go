//go:build unix

package gitstore

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// inheritLock locks a file until it is closed here and in each process that inherits it.
func inheritLock(f *os.File) (unlock func(), err error) {
	return func() { f.Close() }, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func inherited(files []*os.File) []*os.File { return files }
