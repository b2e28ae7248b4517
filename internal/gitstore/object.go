package gitstore

import (
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plan"
)

// writing is how this repository writes objects.
type writing struct {
	deflaters sync.Pool
	once      sync.Once
	shared    sharing
	signs     bool // commit.gpgSign: the user signs commits
	flushing  flushing
	err       error
}

// loose is one object of a batch, which keeps what it is made of: a gc may delete what nothing names yet.
type loose struct {
	oid    plan.OID
	kind   plumbing.ObjectType
	data   []byte
	source *source // set for a large object; data is nil then
	temp   string  // its compressed file, until it gets its name
	file   *os.File
	placed bool // the file has its name
}

// Batch is a set of objects that are written together before an event names them. It is for one goroutine.
type Batch struct {
	s     *Store
	byOID map[plan.OID]*loose
	order []*loose
	open  []*loose // open files, whose data may not be on disk yet
	named []string // directories with new, unflushed names, oldest first
	held  int64    // bytes of files in memory

	volatile bool // need not survive a power cut
}

// NewBatch begins a batch of objects.
func (s *Store) NewBatch() *Batch {
	return &Batch{s: s, byOID: map[plan.OID]*loose{}}
}

// add takes an object from memory. Nothing is written before the flush.
func (b *Batch) add(kind plumbing.ObjectType, data []byte) plan.OID {
	oid := plan.OID(plumbing.ComputeHash(kind, data).String())
	if b.byOID[oid] == nil {
		o := &loose{oid: oid, kind: kind, data: data}
		b.byOID[oid] = o
		b.order = append(b.order, o)
	}
	return oid
}

func (b *Batch) addTree(entries []rawEntry) (plan.OID, error) {
	data, err := encodeTree(entries)
	if err != nil {
		return "", err
	}
	oid := b.add(plumbing.TreeObject, data)
	b.s.trees.put(oid, entries)
	return oid, nil
}

// write starts writing all objects to disk, under temporary names.
func (b *Batch) write(ctx context.Context) error {
	if err := b.s.prepareWriting(ctx); err != nil {
		return err
	}
	for _, o := range b.order {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.writeOne(o); err != nil {
			return fmt.Errorf("write object %s: %w", o.oid, err)
		}
	}
	return nil
}

// Discard removes what the batch wrote but has not named yet. After Flush or Append it does nothing.
func (b *Batch) Discard() {
	b.rollback(0)
}

// rollback drops all objects but the first n: those of an attempt that failed.
func (b *Batch) rollback(n int) {
	for _, o := range b.order[n:] {
		if o.file != nil {
			o.file.Close()
			o.file = nil
		}
		if o.temp != "" && !o.placed {
			os.Remove(o.temp)
		}
		delete(b.byOID, o.oid)
	}
	b.open = slices.DeleteFunc(b.open, func(o *loose) bool { return o.file == nil })
	b.order = b.order[:n]
}

// writeOne writes the object to a temporary file, unless it exists as a loose object. It does not look into packs: a
// second copy does no harm, and in a partial clone the question could start a download.
func (b *Batch) writeOne(o *loose) error {
	if o.placed || o.temp != "" {
		return nil
	}
	// A fresh time makes a concurrent gc spare an old object that it was about to delete.
	now, name := time.Now(), b.s.loosePath(o.oid)
	if err := os.Chtimes(name, now, now); err == nil && o.isIn(name) {
		o.placed = true
		return b.syncExisting(o)
	}
	f, err := b.s.createTemp()
	if err != nil {
		return err
	}
	o.temp = f.Name()
	b.s.writing.shared.file(f)
	if err := b.s.encode(f, o); err != nil {
		f.Close()
		os.Remove(o.temp)
		o.temp = ""
		return err
	}
	return b.startSync(o, f)
}

func (b *Batch) nameObject(o *loose) error {
	final := b.s.loosePath(o.oid)
	for attempt := 0; ; attempt++ {
		err := os.Rename(o.temp, final)
		if errors.Is(err, fs.ErrNotExist) {
			// The directory is missing or was removed as empty, or a gc deleted the temporary file.
			if mkErr := b.s.makeObjectDir(filepath.Dir(final)); mkErr != nil {
				return mkErr
			}
			if _, statErr := os.Lstat(o.temp); statErr != nil {
				o.temp = ""
				if err := errors.Join(b.writeOne(o), b.syncFiles(true)); err != nil || o.placed {
					return err
				}
			}
		}
		switch {
		case err == nil:
			o.placed, o.temp = true, ""
			return nil
		case !errors.Is(err, fs.ErrNotExist) || attempt > 100:
			// Windows does not replace a read-only file; if somebody else has just written it, all is well.
			if _, statErr := os.Lstat(final); statErr == nil && os.Remove(o.temp) == nil {
				o.placed, o.temp = true, ""
				return nil
			}
			return err
		}
	}
}

// restore looks up all objects again after a ref names them and rewrites those that a gc deleted meanwhile; lost says
// whether there were any. It also rewrites objects that the gc packed, for writeOne's reason.
func (b *Batch) restore(ctx context.Context) (lost bool, err error) {
	for _, o := range b.order {
		if _, err := os.Lstat(b.s.loosePath(o.oid)); err != nil {
			o.placed = false
			lost = true
		}
	}
	if !lost {
		return false, nil
	}
	return true, b.Flush(ctx)
}

// Keep rewrites objects of the batch that a gc deleted since the flush, and reports whether there were any: an
// operation that failed meanwhile may have failed for lack of them. Once something that a gc looks at, such as the
// index, names the objects, they stay.
func (b *Batch) Keep(ctx context.Context) (lost bool, err error) {
	if lost, err = b.restore(ctx); err != nil {
		return lost, err
	}
	return lost, b.s.awaitGC(ctx, b)
}

// createTemp creates a file with a name that git gc treats as left over by a dead writer.
func (s *Store) createTemp() (*os.File, error) {
	for attempt := 0; ; attempt++ {
		name := filepath.Join(s.objectDir, "tmp_obj_"+strconv.FormatUint(rand.Uint64(), 36))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
		if !errors.Is(err, fs.ErrExist) || attempt > 10 {
			return f, err
		}
	}
}

func (s *Store) loosePath(oid plan.OID) string {
	return filepath.Join(s.objectDir, string(oid[:2]), string(oid[2:]))
}

func (s *Store) makeObjectDir(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		s.writing.shared.dir(dir)
		if s.writing.flushing == flushEach {
			err = flushDir(s.objectDir)
		}
	}
	return err
}

// prepareWriting asks git, once, for all settings that affect writing.
func (s *Store) prepareWriting(ctx context.Context) error {
	w := &s.writing
	w.once.Do(func() {
		w.deflaters.New = func() any {
			// Records are small and many: the fastest level costs a few bytes each.
			z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is a valid one
			return z
		}
		ctx := context.WithoutCancel(ctx)
		var shared, signs string
		if shared, _, w.err = s.Config(ctx, "core.sharedrepository"); w.err != nil {
			return
		}
		if signs, _, w.err = s.Config(ctx, "commit.gpgsign"); w.err != nil {
			return
		}
		w.shared, w.signs = parseSharing(shared), isTrue(signs)
		w.flushing = flushingIn(s.objectDir, s.commonDir)
		if w.flushing == flushWithRef {
			var version gitVersion
			if version, w.err = askVersion(ctx, s.dir); !version.atLeast(2, 36) { // core.fsync
				w.flushing = flushEach
			}
		}
	})
	return w.err
}

// sharing is core.sharedRepository: the permissions of others on new files. Zero leaves them to the umask.
type sharing struct{ fileMode, dirMode fs.FileMode }

func parseSharing(value string) sharing {
	switch strings.ToLower(value) {
	case "group", "true", "1", "yes", "on":
		return sharing{0o440, 0o770 | fs.ModeSetgid}
	case "all", "world", "everybody", "2":
		return sharing{0o444, 0o775 | fs.ModeSetgid}
	}
	if n, err := strconv.ParseUint(value, 8, 32); err == nil && strings.HasPrefix(value, "0") && n != 0 {
		m := fs.FileMode(n) & 0o777
		return sharing{m &^ 0o222, m | (m&0o444)>>2 | fs.ModeSetgid}
	}
	return sharing{}
}

func (p sharing) file(f *os.File) {
	if p.fileMode != 0 {
		f.Chmod(p.fileMode)
	}
}

func (p sharing) dir(name string) {
	if p.dirMode != 0 {
		os.Chmod(name, p.dirMode)
	}
}
