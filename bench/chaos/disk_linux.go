package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"gitwf/internal/chaostest"
)

// record is a chaostest.Recorder. This process serves the file system through FUSE.
func record(dir string, image *os.File) (stop func() ([]chaostest.DiskCall, error), err error) {
	file := &diskFile{image: image}
	server, err := fs.Mount(dir, &diskRoot{file: file}, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chaostest.ErrNoMount, err)
	}
	return func() ([]chaostest.DiskCall, error) {
		err := server.Unmount()
		return file.calls, err
	}, nil
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

// diskFile passes every call on to an image and records it.
type diskFile struct {
	fs.Inode
	image *os.File
	mu    sync.Mutex
	calls []chaostest.DiskCall
}

func (f *diskFile) note(c chaostest.DiskCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
}

// Getattr implements fs.NodeGetattrer.
func (f *diskFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, chaostest.DiskBytes
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
	f.note(chaostest.DiskCall{Offset: off, Data: append([]byte{}, data...)})
	n, err := f.image.WriteAt(data, off)
	return uint32(n), fs.ToErrno(err)
}

// Fsync implements fs.NodeFsyncer.
func (f *diskFile) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.note(chaostest.DiskCall{})
	return fs.OK
}
