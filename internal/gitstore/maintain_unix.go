//go:build unix

package gitstore

import "syscall"

// ownSession detaches a child from the terminal, so closing that does not end the child.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
