package checkout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// record is what we wrote of one group of files: of each name the hash and, while a write is under way, also the hash of
// what it writes. If the writer is killed, the file has one content or the other.
type record map[string][]string

const recordSuffix = ".json"

func (p Place) recordFile(group string) string { return filepath.Join(p.Record, group+recordSuffix) }

// load reads the record of a group. An unreadable record counts as none: its files then look like somebody else's.
func (p Place) load(group string) (record, error) {
	data, err := os.ReadFile(p.recordFile(group))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := record{}
	if json.Unmarshal(data, &r) != nil {
		return record{}, nil
	}
	for name := range r {
		if !fs.ValidPath(name) { // not what save wrote
			delete(r, name)
		}
	}
	return r, nil
}

// save replaces the record of a group; an empty one is removed.
func (p Place) save(group string, r record) error {
	if len(r) == 0 {
		if err := os.Remove(p.recordFile(group)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.RemoveAll(filepath.Join(p.Record, group))
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record what was written of %s: %w", group, err)
	}
	if err := os.MkdirAll(p.Record, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(p.Record, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), p.recordFile(group))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// keep stores a copy of what we wrote to a file, to tell an edit from later changes; nil removes it. Edits are found
// even without the copy, so failing to make it is no error.
func (p Place) keep(group, name string, data []byte) {
	file := filepath.Join(p.Record, group, filepath.FromSlash(name))
	_ = os.Remove(file)
	if data != nil && os.MkdirAll(filepath.Dir(file), 0o777) == nil {
		_ = os.WriteFile(file, data, 0o666)
	}
}

// written is the copy, nil if its hash is none of these.
func (p Place) written(group, name string, hashes []string) []byte {
	data, err := os.ReadFile(filepath.Join(p.Record, group, filepath.FromSlash(name)))
	if err != nil || !slices.Contains(hashes, hashOf(data)) {
		return nil
	}
	return data
}

// Groups are the groups that have written files, by name.
func (p Place) Groups() ([]string, error) {
	entries, err := os.ReadDir(p.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var groups []string
	for _, e := range entries {
		if group, ok := strings.CutSuffix(e.Name(), recordSuffix); ok && !strings.HasPrefix(group, ".") {
			groups = append(groups, group)
		}
	}
	return groups, err
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
