package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// runnable is the mode of the files that Install makes.
const runnable fs.FileMode = 0o755

// executable reports whether git would run a hook file with this mode. Windows has no such mode, and git runs any file.
func executable(info fs.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}

// readHook returns the content and info of a hook without following a symbolic link; nil if there is nothing.
func readHook(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read hook: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, info, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read hook: %w", err)
	}
	return content, info, nil
}

// writeHook replaces a file in one step, so a concurrent git command sees the old hook or the new one.
func writeHook(path string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".git-wf-*.tmp")
	if err != nil {
		return fmt.Errorf("write hook %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write hook %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode.Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ensureHook gives path this content and the mode of a hook, and reports whether anything changed.
func ensureHook(path string, content []byte) (bool, error) {
	old, info, err := readHook(path)
	if err != nil {
		return false, err
	}
	if info != nil && info.Mode().IsRegular() && executable(info) && bytes.Equal(old, content) {
		return false, nil
	}
	return true, writeHook(path, content, runnable)
}
