package gitstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// FileInfo describes one file of a tree that was written.
type FileInfo = plan.FileInfo

// FileRef names a file for AddDir: its path below the root, with slashes. Mode is what git will record. Source is where
// the content lies, if that is not its path.
type FileRef struct {
	Path   string
	Mode   string
	Source string
}

// source is where to read a large object's bytes again.
type source struct{ path string }

func (r *source) open() (io.ReadCloser, int64, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", r.path)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// AddDir reads files of up to inMemory bytes whole and keeps up to mostHeld bytes of them until the batch is flushed.
// It writes the rest at once, and reads it again should a gc delete it.
const (
	inMemory = 64 << 10
	mostHeld = 8 << 20
)

// AddDir adds files below root, and the trees that hold them. It returns the top tree's id and a line for each file, in
// order. It streams contents, which must not change until the event is appended. If it fails, discard the batch.
func (b *Batch) AddDir(ctx context.Context, root string, files []FileRef) (plan.OID, []FileInfo, error) {
	if err := b.s.prepareWriting(ctx); err != nil {
		return "", nil, err
	}
	progress := Track(ctx, "Recording files", len(files))
	infos := make([]FileInfo, 0, len(files))
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		info, err := b.addFile(root, f, progress)
		if err != nil {
			return "", nil, fmt.Errorf("add %s: %w", f.Path, err)
		}
		infos = append(infos, info)
		progress.File()
	}
	oid, err := b.AddTreeOf(entriesOf(infos))
	return oid, infos, err
}

func (b *Batch) addFile(root string, ref FileRef, progress *Tracker) (FileInfo, error) {
	if err := checkTreePath(ref.Path); err != nil {
		return FileInfo{}, err
	}
	path := ref.Source
	if path == "" {
		path = filepath.Join(root, filepath.FromSlash(ref.Path))
	}
	st, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	info := FileInfo{Path: ref.Path, Mode: ref.Mode, Size: st.Size()}
	isLink := st.Mode()&os.ModeSymlink != 0
	switch {
	case isLink != (info.Mode == modeLink) || !isLink && !st.Mode().IsRegular():
		return FileInfo{}, fmt.Errorf("is no file of mode %s", info.Mode)
	case isLink:
		target, err := os.Readlink(path)
		if err != nil {
			return FileInfo{}, err
		}
		return b.fromMemory(info, []byte(filepath.ToSlash(target))), nil
	case st.Size() <= inMemory:
		data, err := os.ReadFile(path)
		if err != nil {
			return FileInfo{}, err
		}
		return b.fromSmall(info, path, data)
	}
	return b.fromDisk(info, path, progress)
}

// fromSmall adds a file that was read whole. It writes the object at once when enough is in memory.
func (b *Batch) fromSmall(info FileInfo, path string, data []byte) (FileInfo, error) {
	before := len(b.order)
	info = b.fromMemory(info, data)
	if len(b.order) == before { // the batch has it already
		return info, nil
	}
	if b.held += int64(len(data)); b.held <= mostHeld {
		return info, nil
	}
	b.held -= int64(len(data))
	o := b.order[before]
	if err := b.writeOne(o); err != nil {
		return info, err
	}
	o.data, o.source = nil, &source{path}
	return info, nil
}

func (b *Batch) fromMemory(info FileInfo, data []byte) FileInfo {
	sum := sha256.Sum256(data)
	info.OID, info.SHA256, info.Size = b.add(plumbing.BlobObject, data), hex.EncodeToString(sum[:]), int64(len(data))
	return info
}

// fromDisk writes a large file's object in the same pass that computes its hashes.
func (b *Batch) fromDisk(info FileInfo, path string, progress *Tracker) (FileInfo, error) {
	src := &source{path}
	content, size, err := src.open()
	if err != nil {
		return FileInfo{}, err
	}
	defer content.Close()
	f, err := b.s.createTemp()
	if err != nil {
		return FileInfo{}, err
	}
	b.s.writing.shared.file(f)
	hash := sha256.New()
	oid, err := b.s.encodeStream(f, plumbing.BlobObject, size, progress.Follow(io.TeeReader(content, hash), size))
	if err != nil || b.byOID[oid] != nil {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	} else {
		o := &loose{oid: oid, kind: plumbing.BlobObject, source: src, temp: f.Name()}
		b.byOID[oid] = o
		b.order = append(b.order, o)
		err = b.startSync(o, f)
	}
	info.OID, info.SHA256, info.Size = oid, hex.EncodeToString(hash.Sum(nil)), size
	return info, err
}

// AddFiles is AddDir for files in memory, all of mode 100644. It returns the lines in the order of paths.
func (b *Batch) AddFiles(files map[string][]byte) (plan.OID, []FileInfo, error) {
	var infos []FileInfo
	for _, path := range slices.Sorted(maps.Keys(files)) {
		infos = append(infos, b.fromMemory(FileInfo{Path: path, Mode: modeFile}, files[path]))
	}
	oid, err := b.AddTreeOf(entriesOf(infos))
	return oid, infos, err
}

// AddBlob adds one blob from memory.
func (b *Batch) AddBlob(data []byte) plan.OID { return b.add(plumbing.BlobObject, data) }

func entriesOf(infos []FileInfo) []TreeEntry {
	return each.Of(infos, func(f FileInfo) TreeEntry { return TreeEntry{Path: f.Path, Mode: f.Mode, OID: f.OID} })
}

// AddTreeOf adds the nested trees of a list of files, whose blobs are there, and returns the top one.
func (b *Batch) AddTreeOf(entries []TreeEntry) (plan.OID, error) {
	var here []rawEntry
	below := map[string][]TreeEntry{}
	for _, e := range entries {
		name, rest, nested := strings.Cut(e.Path, "/")
		if reason := hostile(name); reason != "" {
			return "", fmt.Errorf("path %q: %s", e.Path, reason)
		}
		if nested {
			below[name] = append(below[name], TreeEntry{rest, e.Mode, e.OID})
			continue
		}
		if e.Mode != modeFile && e.Mode != modeExecutable && e.Mode != modeLink {
			return "", fmt.Errorf("path %q: mode %s", e.Path, e.Mode)
		}
		here = append(here, rawEntry{e.Mode, name, e.OID})
	}
	for name, list := range below {
		oid, err := b.AddTreeOf(list)
		if err != nil {
			return "", err
		}
		here = append(here, rawEntry{modeTree, name, oid})
	}
	seen := map[string]bool{}
	for _, e := range here {
		if seen[e.name] {
			return "", fmt.Errorf("path %q is there twice", e.name)
		}
		seen[e.name] = true
	}
	return b.addTree(here)
}
