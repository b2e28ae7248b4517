package chaostest

import "os"

// DiskCall is a write to a disk or, without data, a flush.
type DiskCall struct {
	Offset int64
	Data   []byte
}

// DiskBytes is how large the disk is whose power is cut.
const DiskBytes = 128 << 20

// Recorder mounts a file system on dir with one file, img, which passes all on to the image and writes it down. Stop
// unmounts it and returns the calls in their order. It fails with ErrNoMount where there is no such file system. Package
// bench/chaos has the one there is, because it needs a library that this module does without.
type Recorder func(dir string, image *os.File) (stop func() ([]DiskCall, error), err error)
