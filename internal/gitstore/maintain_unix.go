//go:build unix

package gitstore

import "syscall"

// ownSession makes a child independent of the terminal: closing that does not end it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
