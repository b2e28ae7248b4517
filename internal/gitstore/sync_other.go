//go:build !linux && !darwin

package gitstore

import "os"

// flushesReadOnly says whether a file that is open for reading can be flushed.
const flushesReadOnly = false

// startWriteOut does nothing: the system has no call for it.
func startWriteOut(*os.File) {}

// writeOut makes the file's data durable.
func writeOut(f *os.File) error { return f.Sync() }

// flushDir does nothing: not every system can flush a directory, and NTFS keeps the order of names by itself.
func flushDir(string) error { return nil }

// flushingIn: one flush does not cover other files.
func flushingIn(objects, refs string) flushing { return flushEach }

// flushSystem is never called.
func flushSystem(string) error { return nil }
