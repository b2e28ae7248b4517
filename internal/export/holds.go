package export

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// holds reports whether a directory has exactly the files of the entries, with their content and what git keeps of
// their mode. It compares names first: if one is missing, it reads nothing.
func holds(ctx context.Context, dir string, entries []gitstore.TreeEntry) (bool, error) {
	modes, err := describe(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || len(modes) != len(entries) {
		return false, err
	}
	for _, e := range entries {
		if mode, ok := modes[e.Path]; !ok || mode != kept(e.Mode) {
			return false, nil
		}
	}
	progress := gitstore.Track(ctx, "Comparing files", len(entries))
	for _, e := range entries {
		oid, err := blobOf(filepath.Join(dir, filepath.FromSlash(e.Path)), e.Mode, progress)
		if err != nil || oid != e.OID {
			return false, err
		}
		progress.File()
	}
	return true, nil
}

// describe maps each file below a directory, by its path with slashes, to the mode that git would give it; "" if git
// does not track such a file.
func describe(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = modeOf(info.Mode())
		return err
	})
	return files, err
}

func modeOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "120000"
	case !m.IsRegular():
		return ""
	case m&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// kept returns what the file system shows of a mode: Windows has no executable bit.
func kept(mode string) string {
	if runtime.GOOS == "windows" && mode == "100755" {
		return "100644"
	}
	return mode
}

// blobOf returns the object id that a file has as a blob.
func blobOf(name, mode string, progress *gitstore.Tracker) (plan.OID, error) {
	var content io.Reader
	var size int64
	if mode == "120000" {
		target, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		target = filepath.ToSlash(target)
		content, size = strings.NewReader(target), int64(len(target))
	} else {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return "", err
		}
		content, size = f, info.Size()
	}
	id := sha1.New()
	fmt.Fprintf(id, "blob %d\x00", size)
	_, err := io.Copy(id, progress.Follow(content, size))
	return plan.OID(hex.EncodeToString(id.Sum(nil))), err
}
