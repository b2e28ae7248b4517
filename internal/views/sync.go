package views

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/shell"
)

// folder is a directory with sessions. The names of files in it have slashes.
type folder struct {
	*os.Root
	dir    string // as reports call it
	record string // the file that says what was written of a session, "" for none
	force  bool   // move edited and foreign files aside
}

// openFolder opens DIR below a directory that exists, or that directory itself if DIR is ".". It follows no link.
func openFolder(top, dir, record string, force bool) (*folder, error) {
	above, err := os.OpenRoot(top)
	if err != nil || dir == "." {
		return &folder{above, dir, record, force}, err
	}
	defer above.Close()
	if err := above.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := (&folder{Root: above}).needDir(dir); err != nil {
		return nil, err
	}
	root, err := above.OpenRoot(dir)
	return &folder{root, dir, record, force}, err
}

// needDir fails if something else is where a directory should be.
func (f *folder) needDir(name string) error {
	info, err := f.Lstat(filepath.FromSlash(name))
	if err != nil || info.IsDir() {
		return err
	}
	what := "no directory"
	if info.Mode()&fs.ModeSymlink != 0 {
		what = "a symbolic link; nothing is written through it"
	}
	at := filepath.Join(f.Name(), filepath.FromSlash(name))
	return fault.Refused("mv "+shell.Word(at)+" "+shell.Word(at+".orig"), "%s is %s", plain.Line(at), what)
}

// written has, of each file that we wrote, the hash and, while a write is under way, also that of what it writes: a
// killed writer leaves one or the other.
type written map[string][]string

func readRecord(name string) (written, error) {
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what was checked out: %w", err)
	}
	w := written{}
	if json.Unmarshal(data, &w) != nil {
		return written{}, nil // every file is somebody else's then, and none is lost
	}
	return w, nil
}

func (w written) save(name string) error {
	if name == "" {
		return nil
	}
	if len(w) == 0 {
		return os.RemoveAll(name)
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sync makes each file what it should be. It leaves and reports files with content that it did not write.
func (f *folder) sync(files files) (Update, error) {
	u := Update{Written: []string{}, Removed: []string{}, Edited: []Edited{}, Kept: []Kept{}}
	was, err := readRecord(f.record)
	if err != nil {
		return u, err
	}
	now := maps.Clone(was)
	for name, data := range files {
		if data != nil {
			now[name] = append(slices.Clip(was[name]), hashOf(data))
		}
	}
	if err := now.save(f.record); err != nil {
		return u, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if now[name], err = f.bringFile(name, files[name], was[name], &u); err != nil {
			return u, err
		}
		if now[name] == nil {
			delete(now, name)
		}
	}
	return u, now.save(f.record)
}

// bringFile makes one file what it should be, and returns the hashes by which to know it again.
func (f *folder) bringFile(name string, want []byte, was []string, u *Update) ([]string, error) {
	have, there, err := f.read(name)
	if err != nil {
		return was, err
	}
	// An empty file has nothing to lose.
	switch ours := have != nil && (len(have) == 0 || slices.Contains(was, hashOf(have))); {
	case there && want != nil && have != nil && bytes.Equal(have, want):
		return []string{hashOf(want)}, nil
	case there && !ours && !f.force:
		u.Edited = append(u.Edited, Edited{path.Join(f.dir, name)})
		return was, nil
	case there && !ours:
		aside, err := f.setAside(name)
		if err != nil {
			return was, err
		}
		u.Kept = append(u.Kept, Kept{path.Join(f.dir, name), path.Join(f.dir, aside)})
	case there && want == nil:
		if err := f.Remove(filepath.FromSlash(name)); err != nil {
			return was, err
		}
	}
	if want != nil {
		u.Written = append(u.Written, path.Join(f.dir, name))
		return []string{hashOf(want)}, f.write(name, want)
	}
	if there {
		u.Removed = append(u.Removed, path.Join(f.dir, name))
	}
	for up := path.Dir(name); up != "." && f.Remove(filepath.FromSlash(up)) == nil; up = path.Dir(up) {
	} // as long as they are empty
	return nil, nil
}

// maxRead is the size in bytes of the largest file that can be ours.
const maxRead = 64 << 20

// read returns what a regular file has; have is nil if something else is there. It follows no symbolic link.
func (f *folder) read(name string) (have []byte, there bool, err error) {
	for i, c := range name {
		if c != '/' {
			continue
		}
		if err := f.needDir(name[:i]); errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		} else if err != nil {
			return nil, false, err
		}
	}
	info, err := f.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRead {
		return nil, true, err
	}
	have, err = f.ReadFile(filepath.FromSlash(name))
	return have, true, err
}

const (
	readOnly = 0o444
	writable = 0o644
)

// write replaces what is there with a read-only file, whole or not at all.
func (f *folder) write(name string, data []byte) error {
	if err := f.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o777); err != nil {
		return err
	}
	const temp = ".checkout-new"
	_ = f.Remove(temp) // that of a killed writer
	if err := f.WriteFile(temp, data, readOnly); err != nil {
		return err
	}
	return f.move(temp, name)
}

// move renames over what is there. Where a read-only file can't be replaced, it first makes that file writable.
func (f *folder) move(from, to string) error {
	from, to = filepath.FromSlash(from), filepath.FromSlash(to)
	err := f.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) && f.Chmod(to, writable) == nil {
		err = f.Rename(from, to)
	}
	return err
}

// setAside renames a file to NAME.orig, or the first free one of NAME.orig-2, NAME.orig-3 and so on.
func (f *folder) setAside(name string) (string, error) {
	aside := name + ".orig"
	for n := 2; ; n++ {
		if _, there, err := f.read(aside); err != nil {
			return "", err
		} else if !there {
			return aside, f.move(name, aside)
		}
		aside = fmt.Sprintf("%s.orig-%d", name, n)
	}
}
