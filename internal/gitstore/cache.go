package gitstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// The slow parts of a long plan's snapshot are cached in the common git directory: wf/cache/<plan id> has the names of
// all records, by the ids of the trees they came from, and wf/cache/<plan id>.plan has the decoded plan.json, by its
// blob's id. You may delete them at any time. A reader ignores a file that is damaged or that another version wrote.

// cacheVersion changes when the same bytes get another meaning.
const cacheVersion = "git-wf cache 3\n"

// A cache file is worth writing from here on: below this, reading the repository is as fast.
const (
	cacheTasks     = 32       // tasks that had to be read
	cachePlanBytes = 64 << 10 // size of plan.json
)

type cachedIndex struct {
	Tasks plan.OID
	Fans  []fan
}

func (s *Store) indexFile(id plan.ID) string {
	return filepath.Join(s.commonDir, "wf", "cache", string(id))
}

func (s *Store) planFile(id plan.ID) string { return s.indexFile(id) + ".plan" }

// ReadCache reads what WriteCache has cached under a name; false if that is nothing, or of another type. A cache is for
// this repository alone, and may be deleted at any time.
func (s *Store) ReadCache(name string, value any) bool {
	return readCacheFile(filepath.Join(s.commonDir, "wf", "cache", name), value)
}

// WriteCache caches a value. One that can't be written costs time, and nothing else.
func (s *Store) WriteCache(name string, value any) {
	_ = writeCacheFile(filepath.Join(s.commonDir, "wf", "cache", name), value)
}

// loadCache returns what the cache files know about a plan, possibly nothing.
func (s *Store) loadCache(id plan.ID) *known {
	k := &known{}
	if !id.Valid() {
		return k
	}
	var c cachedIndex
	if readCacheFile(s.indexFile(id), &c) {
		k.index = c.index()
	}
	stored := &cachedPlan{}
	if readCacheFile(s.planFile(id), stored) && stored.OID != "" {
		k.planOID, k.planSize, k.stored = stored.OID, stored.Size, stored
	}
	return k
}

func (c *cachedIndex) index() *index {
	x := &index{tasks: c.Tasks, fans: make(map[string]*fan, len(c.Fans))}
	var all []*taskNames
	for i := range c.Fans {
		f := &c.Fans[i]
		x.fans[f.Name] = f
		for t := range f.Tasks {
			all = append(all, &f.Tasks[t])
		}
	}
	x.records = plan.Records{Tasks: parseAll(all)}
	x.records.Newer = x.records.CollectNewer()
	return x
}

// saveCache writes the cache files that are out of date enough, in the background; Close waits for it. The caller holds
// mu. A failure, as in a read-only repository, is no error: the next Store just takes longer to read.
func (s *Store) saveCache(id plan.ID, k *known) {
	if !id.Valid() {
		return
	}
	if k.unsavedTasks >= cacheTasks {
		k.unsavedTasks = 0
		c := cachedIndex{Tasks: k.index.tasks}
		for _, f := range k.index.fans {
			c.Fans = append(c.Fans, *f)
		}
		s.background.Go(func() { _ = writeCacheFile(s.indexFile(id), c) })
	}
	if k.unsavedPlan != nil && k.planSize >= cachePlanBytes {
		p := k.unsavedPlan
		k.unsavedPlan = nil
		s.background.Go(func() {
			if c, err := cachePlan(k.planOID, k.planSize, p); err == nil {
				_ = writeCacheFile(s.planFile(id), c)
			}
		})
	}
}

// cacheHead precedes the content: the version, the type's fingerprint and a checksum of the content.
func cacheHead(t reflect.Type, checksum uint32) []byte {
	head := []byte(cacheVersion)
	head = binary.LittleEndian.AppendUint64(head, fingerprint(t))
	return binary.LittleEndian.AppendUint32(head, checksum)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func readCacheFile(path string, value any) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	// The decoded strings are slices of this one, which is the only copy.
	var content strings.Builder
	content.Grow(int(st.Size()))
	checksum := crc32.New(castagnoli)
	v := reflect.ValueOf(value).Elem()
	head := make([]byte, len(cacheVersion)+12)
	if _, err := io.ReadFull(f, head); err != nil {
		return false
	}
	if _, err := io.Copy(io.MultiWriter(&content, checksum), f); err != nil {
		return false
	}
	d := decoder{s: content.String()}
	if !slices.Equal(head, cacheHead(v.Type(), checksum.Sum32())) {
		return false
	}
	d.decode(v)
	return d.err == nil && d.s == ""
}

// writeCacheFile replaces the whole file at once, so a reader never sees half of one: if two write it, the checksum
// tells. The next writer takes over what a killed one has begun.
func writeCacheFile(path string, value any) error {
	v := reflect.ValueOf(value)
	content, err := encode(nil, v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	name := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	err = os.WriteFile(name, append(cacheHead(v.Type(), crc32.Checksum(content, castagnoli)), content...), 0o666)
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		os.Remove(name)
		return fmt.Errorf("write cache: %w", err)
	}
	return nil
}
