package chaostest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Power is a run of `git wf` on a disk all of whose writes and flushes were written down, so that the power can be cut at
// any of them.
type Power struct {
	crowd *Crowd
	place *Repo  // whose directory has the images
	base  string // the image before the run
	log   []diskCall
}

// diskCall is a write to the disk or, without data, a flush.
type diskCall struct {
	offset int64
	data   []byte
}

const diskBytes = 128 << 20

// NewPower carries a plan out on a disk with a new ext4, with its journal. It fails with ErrNoMount where no disk can be
// made of a file, and without FUSE.
func NewPower(ctx context.Context, c *Crowd) (*Power, error) {
	place, err := c.lab.place()
	if err != nil {
		return nil, err
	}
	p := &Power{crowd: c, place: place, base: filepath.Join(place.Dir, "base.img")}
	if err := p.prepare(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close removes the images.
func (p *Power) Close() error { return p.place.Remove() }

func (p *Power) prepare(ctx context.Context) error {
	if err := errors.Join(os.WriteFile(p.base, nil, 0o600), os.Truncate(p.base, diskBytes)); err != nil {
		return err
	}
	if err := system(ctx, "mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", p.base); err != nil {
		return fmt.Errorf("%w: %w", ErrNoMount, err)
	}
	err := p.mounted(ctx, p.base, func(r *Repo) error { return os.CopyFS(r.Dir, os.DirFS(p.crowd.start.Dir)) })
	if err != nil {
		return err
	}
	return p.record(ctx)
}

// record carries the plan out on a copy of the base image, which a file system of our own holds and writes down what
// happens to it.
func (p *Power) record(ctx context.Context) (err error) {
	image, err := os.Create(filepath.Join(p.place.Dir, "run.img"))
	if err != nil {
		return err
	}
	defer image.Close()
	if err := copyInto(image, p.base); err != nil {
		return err
	}
	dir := filepath.Join(p.place.Dir, "fuse")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	file := &diskFile{image: image}
	server, err := fs.Mount(dir, &diskRoot{file: file}, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoMount, err)
	}
	defer func() { err = errors.Join(err, server.Unmount()) }()
	err = p.mounted(ctx, filepath.Join(dir, "img"), func(r *Repo) error {
		_, err := r.Must(ctx, "run", "--jobs", "2")
		return err
	})
	p.log = file.calls
	return err
}

// Cut cuts the power at a random moment: what was flushed is there, and of what came later some, in any order. It looks
// whether git finds the repository sound then, and whether the plan comes to the same end as without a fault.
func (p *Power) Cut(ctx context.Context, rng *rand.Rand) error {
	at := rng.IntN(len(p.log)) + 1
	luck := []float64{0, 0.3, 0.7, 1}[rng.IntN(4)]
	name := filepath.Join(p.place.Dir, "cut.img")
	if err := p.imageAt(name, at, luck, rng); err != nil {
		return err
	}
	err := p.mounted(ctx, name, func(r *Repo) error {
		atWork := filepath.Join(r.Dir, ".git", "at-work")
		if err := errors.Join(r.sound(ctx), os.RemoveAll(atWork), os.Mkdir(atWork, 0o777)); err != nil {
			return err
		}
		return errors.Join(p.crowd.finish(ctx, r), r.sound(ctx))
	})
	if err != nil {
		return fmt.Errorf("the power cut at call %d of %d to the disk, with %.0f%% of what was not flushed: %w", at, len(p.log), 100*luck, err)
	}
	return nil
}

// imageAt writes what the disk has after the first n calls.
func (p *Power) imageAt(name string, n int, luck float64, rng *rand.Rand) error {
	const page = 4096 // what a disk writes whole, or not at all
	image, err := os.Create(name)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := copyInto(image, p.base); err != nil {
		return err
	}
	flushed := n
	for flushed > 0 && p.log[flushed-1].data != nil {
		flushed--
	}
	for i, c := range p.log[:n] {
		for at := 0; at < len(c.data); at += page {
			if i < flushed || rng.Float64() < luck {
				if _, err := image.WriteAt(c.data[at:min(at+page, len(c.data))], c.offset+int64(at)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mounted does something with the repository on a disk.
func (p *Power) mounted(ctx context.Context, image string, do func(*Repo) error) (err error) {
	dir := filepath.Join(p.place.Dir, "disk")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := system(ctx, "mount", "-o", "loop", image, dir); err != nil {
		return fmt.Errorf("%w: %w", ErrNoMount, err)
	}
	defer func() { err = errors.Join(err, system(context.WithoutCancel(ctx), "umount", dir)) }()
	return do(&Repo{Lab: p.crowd.lab, Dir: filepath.Join(dir, "repo")})
}

func system(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func copyInto(to *os.File, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// diskRoot is a file system with one file, img.
type diskRoot struct {
	fs.Inode
	file *diskFile
}

// OnAdd adds the file.
func (r *diskRoot) OnAdd(ctx context.Context) {
	r.AddChild("img", r.NewPersistentInode(ctx, r.file, fs.StableAttr{Mode: syscall.S_IFREG}), true)
}

// diskFile passes everything on to an image and writes it down.
type diskFile struct {
	fs.Inode
	image *os.File
	mu    sync.Mutex
	calls []diskCall
}

func (f *diskFile) note(c diskCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
}

// Getattr implements fs.NodeGetattrer.
func (f *diskFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, diskBytes
	return fs.OK
}

// Open implements fs.NodeOpener.
func (f *diskFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, fs.OK
}

// Read implements fs.NodeReader.
func (f *diskFile) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.image.ReadAt(dest, off)
	if err != nil && err != io.EOF {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(dest[:n]), fs.OK
}

// Write implements fs.NodeWriter.
func (f *diskFile) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	f.note(diskCall{off, append([]byte{}, data...)})
	n, err := f.image.WriteAt(data, off)
	return uint32(n), fs.ToErrno(err)
}

// Fsync implements fs.NodeFsyncer.
func (f *diskFile) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.note(diskCall{})
	return fs.OK
}
