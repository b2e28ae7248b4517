package gitstore

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"
)

// cacheBeing is how long a cache file may take to be written.
const cacheBeing = 10 * time.Minute

// DamagedCaches lists the cache files that are not whole: cut off, changed, or begun by a process that did not come to
// the end. What another version of this program wrote is none of them.
func (s *Store) DamagedCaches(now time.Time) []string {
	dir := filepath.Join(s.commonDir, "wf", "cache")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var damaged []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(e.Name(), "signatures-") {
			continue
		}
		file := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".new-") && now.Sub(info.ModTime()) < cacheBeing {
			continue
		}
		if strings.HasPrefix(e.Name(), ".new-") || !wholeCache(file) {
			damaged = append(damaged, file)
		}
	}
	return damaged
}

// wholeCache reports whether a file is a cache that can be read, or one that says itself that another version wrote it.
func wholeCache(file string) bool {
	var value any = &cachedIndex{}
	if strings.HasSuffix(file, ".plan") {
		value = &cachedPlan{}
	}
	if readCacheFile(file, value) {
		return true
	}
	data, err := os.ReadFile(file)
	version, _, _ := strings.Cut(cacheVersion, "1")
	ours := cacheHead(reflect.TypeOf(value).Elem(), nil)
	ours = ours[:len(ours)-4] // all but the checksum
	return err != nil || strings.HasPrefix(string(data), version) && len(data) > len(ours) && !strings.HasPrefix(string(data), string(ours))
}
