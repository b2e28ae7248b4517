package gitstore

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"
)

// cacheWriteTime is how long writing a cache file may take.
const cacheWriteTime = 10 * time.Minute

// DamagedCaches lists the cache files that are truncated, changed, or left unfinished by a process that died. It leaves
// out files of another version of this program.
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
		if strings.HasPrefix(e.Name(), ".new-") && now.Sub(info.ModTime()) < cacheWriteTime {
			continue
		}
		if strings.HasPrefix(e.Name(), ".new-") || !wholeCache(file) {
			damaged = append(damaged, file)
		}
	}
	return damaged
}

// wholeCache reports whether a file is a readable cache, or says itself that another version wrote it.
func wholeCache(file string) bool {
	var value any = &cachedIndex{}
	switch filepath.Ext(file) {
	case ".plan":
		value = &cachedPlan{}
	case ".parts":
		value = &cachedParts{}
	}
	if readCacheFile(file, value) {
		return true
	}
	data, err := os.ReadFile(file)
	version, _, _ := strings.Cut(cacheVersion, "1")
	ours := cacheHead(reflect.TypeOf(value).Elem(), 0)
	ours = ours[:len(ours)-4] // all but the checksum
	return err != nil || strings.HasPrefix(string(data), version) && len(data) > len(ours) &&
		!strings.HasPrefix(string(data), string(ours))
}
