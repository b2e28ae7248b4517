package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// flushing is how objects and their names reach the disk, see Batch.Flush.
type flushing int

const (
	flushEach flushing = iota // each file, then each directory: always right
	// the whole file system, where no cheaper flush covers several files (ext4 without a journal)
	flushAll
	flushWithRef // a ref's flush covers everything written before it (ext4, XFS, APFS)
)

// Flush writes what the batch has so far and returns when it is on disk. Append calls it for its own batch; call it
// before anything but an event names the objects.
//
// All data goes first, then all names, so no name stands for data that a power cut could delete. File systems with one
// journal commit metadata in order and as a whole. There, it is enough to write the data out before it gets its name:
// one later flush covers both, and an event leaves that flush to git, which flushes the ref's lock file next.
// Elsewhere, Flush flushes the data first and the names after it. Without any journal, one flush of the whole file
// system, before a ref names anything, covers both; writeOne recognises what a power cut leaves of an unfinished one.
func (b *Batch) Flush(ctx context.Context) error {
	if err := b.write(ctx); err != nil {
		return err
	}
	return b.flushWritten(true)
}

// flushWritten waits for the batch's data and names the objects. alone says that no ref flush follows.
func (b *Batch) flushWritten(alone bool) error {
	if err := b.syncFiles(alone); err != nil {
		return fmt.Errorf("flush objects: %w", err)
	}
	if err := b.nameObjects(alone); err != nil {
		return err
	}
	if b.s.writing.flushing == flushAll && !b.volatile {
		if err := flushSystem(b.s.objectDir); err != nil {
			return fmt.Errorf("flush objects: %w", err)
		}
	}
	return nil
}

// startSync starts writing the data to disk. Files stay open until that is done, up to a limit.
func (b *Batch) startSync(o *loose, f *os.File) error {
	const mostOpen = 100
	o.file = f
	b.open = append(b.open, o)
	if b.volatile || b.s.writing.flushing != flushAll {
		startWriteOut(f)
	}
	if len(b.open) < mostOpen {
		return nil
	}
	return b.syncFiles(true)
}

// syncExisting makes the batch's flush cover an object that somebody else wrote, perhaps just now and unflushed.
func (b *Batch) syncExisting(o *loose) error {
	if !flushesReadOnly {
		return nil
	}
	f, err := os.Open(b.s.loosePath(o.oid))
	if err != nil {
		return err
	}
	return b.startSync(o, f)
}

// syncFiles waits until the open files' data is on disk or, where another flush follows, handed to it.
func (b *Batch) syncFiles(alone bool) error {
	var errs []error
	for _, o := range b.open {
		flush := (*os.File).Sync
		switch how := b.s.writing.flushing; {
		case b.volatile:
			flush = writeOut // whole or missing, never half written
		case how == flushAll:
			flush = nil
		case how == flushWithRef && (!alone || !o.placed): // at least its name's flush follows
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

// nameObjects names the objects; alone says that no ref flush follows.
func (b *Batch) nameObjects(alone bool) error {
	for _, o := range b.order {
		if o.placed {
			continue
		}
		if err := b.nameObject(o); err != nil {
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
		dirs = dirs[len(dirs)-1:] // flushing the newest name covers all earlier ones
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
