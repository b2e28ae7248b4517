package gitstore

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession makes a child independent of the console: closing that does not end it.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
