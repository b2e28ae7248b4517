package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// flushing is how objects and their names get to the disk, see Batch.Flush.
type flushing int

const (
	flushEach    flushing = iota // each file, then each directory: always right
	flushAll                     // the whole file system, where nothing less stands for more than one file (ext4 without a journal)
	flushWithRef                 // by the flush of a ref, which stands for all that was written out before it (ext4, XFS, APFS)
)

// Flush writes what the batch has so far and returns when it is on disk. Append does it for its own batch; others call
// it when something else than an event is about to name the objects.
//
// The order is: all data, then all names, so that a name does not stand for data that a power cut could take away. On
// file systems with one journal, which commit their metadata in order and as a whole, it is enough that the data has been
// written out before it gets its name: one flush after that stands for both, and an event leaves it to git, whose flush
// of the ref's lock file comes next. Elsewhere the data is flushed before, and the names after that. Where there is no
// journal at all one flush of the whole file system, before a ref names anything, is for both: what a power cut in the
// midst of it leaves behind, writeOne does not take for the object.
func (b *Batch) Flush(ctx context.Context) error {
	if err := b.write(ctx); err != nil {
		return err
	}
	return b.s.finish(true, b)
}

// finish waits for the batches' data and gives the objects their names. alone says that no flush of a ref follows.
func (s *Store) finish(alone bool, batches ...*Batch) error {
	for _, b := range batches {
		if err := b.settle(alone); err != nil {
			return fmt.Errorf("flush objects: %w", err)
		}
	}
	for _, b := range batches {
		if err := b.place(alone); err != nil {
			return err
		}
	}
	if s.writing.flushing == flushAll && !batches[0].volatile {
		if err := flushSystem(s.objectDir); err != nil {
			return fmt.Errorf("flush objects: %w", err)
		}
	}
	return nil
}

// written starts the way of the data to the disk. Files stay open until they have arrived, but not too many.
func (b *Batch) written(o *loose, f *os.File) error {
	const mostOpen = 100
	o.file = f
	b.open = append(b.open, o)
	if b.volatile || b.s.writing.flushing != flushAll {
		startWriteOut(f)
	}
	if len(b.open) < mostOpen {
		return nil
	}
	return b.settle(true)
}

// harden makes the batch's flush cover an object that somebody else wrote, perhaps just now and without a flush.
func (b *Batch) harden(o *loose) error {
	if !flushesReadOnly {
		return nil
	}
	f, err := os.Open(b.s.loosePath(o.oid))
	if err != nil {
		return err
	}
	return b.written(o, f)
}

// settle waits until the data of the open files is on the disk, or with it where another flush follows.
func (b *Batch) settle(alone bool) error {
	var errs []error
	for _, o := range b.open {
		flush := (*os.File).Sync
		switch how := b.s.writing.flushing; {
		case b.volatile:
			flush = writeOut // so that it is there whole or not at all
		case how == flushAll:
			flush = nil
		case how == flushWithRef && (!alone || !o.placed): // that of its name follows at least
			flush = writeOut
		}
		if flush != nil {
			errs = append(errs, flush(o.file))
		}
		errs = append(errs, o.file.Close())
		o.file = nil
	}
	b.open = nil
	return errors.Join(errs...)
}

// place gives the objects their names; alone says that no flush of a ref follows.
func (b *Batch) place(alone bool) error {
	for _, o := range b.order {
		if o.placed {
			continue
		}
		if err := b.placeOne(o); err != nil {
			return fmt.Errorf("write object %s: %w", o.oid, err)
		}
		b.named = append(b.named, filepath.Dir(b.s.loosePath(o.oid)))
	}
	dirs := b.named
	switch how := b.s.writing.flushing; {
	case b.volatile || len(dirs) == 0 || how == flushAll:
		return nil
	case how == flushEach:
		dirs = slices.Compact(slices.Sorted(slices.Values(dirs)))
	case alone:
		dirs = dirs[len(dirs)-1:] // the newest name stands for all that was before it
	default:
		return nil
	}
	for _, dir := range dirs {
		if err := flushDir(dir); err != nil {
			return err
		}
	}
	b.named = nil
	return nil
}
