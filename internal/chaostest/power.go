package chaostest

import "os"

// DiskCall is a write to a disk or, without data, a flush.
type DiskCall struct {
	Offset int64
	Data   []byte
}

// DiskBytes is the size of the disk whose power is cut.
const DiskBytes = 128 << 20

// Recorder mounts a file system on dir with one file, img, which passes every call on to the image and records it. stop
// unmounts it and returns the calls in order. A Recorder fails with ErrNoMount where there is no such file system. The
// only one is in bench/chaos, because it needs a library that this module does without.
type Recorder func(dir string, image *os.File) (stop func() ([]DiskCall, error), err error)
