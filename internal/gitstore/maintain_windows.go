package gitstore

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession detaches a child from the console, so closing that does not end the child.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
