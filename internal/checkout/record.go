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
	"strings"
	"time"
)

// record is what was written of one group of files, by their names.
type record map[string]entry

// entry is one file as it was written.
type entry struct {
	Hash string `json:"sha256"`
	// Next is the hash of what is about to be written: should the writer be killed, the file has one content or the other.
	Next     string    `json:"next,omitempty"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	// Settled says that the file was read when its time of modification was long past: then size and time tell whether its
	// content is still the same, and it need not be read again.
	Settled bool `json:"settled,omitempty"`
}

// settling is the coarsest step in which file systems keep time.
const settling = 2 * time.Second

func (e entry) fits(info fs.FileInfo) bool {
	return e.Settled && e.Size == info.Size() && e.Modified.Equal(info.ModTime())
}

const recordSuffix = ".json"

func (p Place) recordFile(group string) string { return filepath.Join(p.Record, group+recordSuffix) }

// load reads the record of a group. One that can't be read is none: what it spoke of is then looked at as what somebody else
// has written.
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

// keep holds a copy of what was written of a file, so that an edit can be told from what has changed since; nil removes it.
// Without the copy an edit is found all the same, so that it can't be made is no failure.
func (p Place) keep(group, name string, data []byte) {
	file := filepath.Join(p.Record, group, filepath.FromSlash(name))
	_ = os.Remove(file)
	if data != nil && os.MkdirAll(filepath.Dir(file), 0o777) == nil {
		_ = os.WriteFile(file, data, 0o666)
	}
}

// written is the copy, nil if there is none that the record speaks of.
func (p Place) written(group, name string, e entry) []byte {
	data, err := os.ReadFile(filepath.Join(p.Record, group, filepath.FromSlash(name)))
	if err != nil || hashOf(data) != e.Hash {
		return nil
	}
	return data
}

// Groups are the groups that something was written of, in the order of their names.
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
