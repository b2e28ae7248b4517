//go:build !linux

package main

import (
	"os"

	"gitwf/internal/chaostest"
)

// record fails with chaostest.ErrNoMount.
func record(string, *os.File) (func() ([]chaostest.DiskCall, error), error) {
	return nil, chaostest.ErrNoMount
}
