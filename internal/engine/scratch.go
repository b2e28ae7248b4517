package engine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// scratch is the directory that holds those of a run's attempts and reviews. A small finished one stays until the run
// ends: a file system such as ext4 takes long to find a free inode where many were just freed, and a run of many short
// tasks would spend half of its time there (bench, "run").
type scratch struct {
	root string
	end  func() // removes what is left of it
	mu   sync.Mutex
	kept int64 // bytes
}

// mostKept bounds what stays of finished work, in bytes; each file counts as at least one block.
const (
	mostKept = 64 << 20
	block    = 4096
)

func (e *Engine) newScratch(ctx context.Context) (*scratch, error) {
	root, end, err := e.Store.Scratch(ctx)
	return &scratch{root: root, end: end}, err
}

// mkdir makes a directory for one attempt or review.
func (s *scratch) mkdir() (dir string, err error) {
	if err = s.hasRoom(); err == nil {
		dir, err = os.MkdirTemp(s.root, "")
	}
	return dir, err
}

// hasRoom fails if no file can be written: what fails then says nothing about a task.
func (s *scratch) hasRoom() error {
	if s == nil {
		return nil
	}
	name := filepath.Join(s.root, "room")
	err := os.WriteFile(name, make([]byte, 1<<20), 0o600)
	_ = os.Remove(name)
	if err != nil {
		return fault.Refused("df "+shell.Word(filepath.Dir(s.root))+"; TMPDIR names another directory",
			"there is no room for temporary files: %w", err)
	}
	return nil
}

// discard drops a directory: at once if it is large, else at the end of the run.
func (s *scratch) discard(dir string) {
	size := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || size > mostKept {
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil {
			size += max(info.Size(), block)
		}
		return nil
	})
	s.mu.Lock()
	keep := s.kept+size <= mostKept
	if keep {
		s.kept += size
	}
	s.mu.Unlock()
	if !keep {
		_ = os.RemoveAll(dir) // remove tries again at the end
	}
}

// remove deletes everything, with all processors: the user waits for it. The next run removes what a killed run leaves.
func (s *scratch) remove() {
	names, _ := os.ReadDir(s.root)
	var wg sync.WaitGroup
	for part := range slices.Chunk(names, len(names)/runtime.GOMAXPROCS(0)+1) {
		wg.Go(func() {
			for _, d := range part {
				_ = os.RemoveAll(filepath.Join(s.root, d.Name()))
			}
		})
	}
	wg.Wait()
	s.end()
}

// RunningLog is the file with the output so far of the work on an ACTION, or of its review, for onlookers; commonDir is
// the repository's. It exists only during the work, and only on the machine that does it.
func RunningLog(commonDir string, id plan.ID, task plan.TaskID) string {
	return filepath.Join(commonDir, "wf", "running", string(id), string(task)+".log")
}

// mostShown is how much of a log onlookers can see.
const mostShown = 1 << 20

// onlookers is a log's second writer. A write error must not disturb the work.
type onlookers struct {
	path   string
	file   *os.File
	size   int
	failed bool
}

// Write appends to the file and creates it at the first words.
func (o *onlookers) Write(p []byte) (int, error) {
	if o.file == nil && !o.failed && len(p) > 0 {
		err := os.MkdirAll(filepath.Dir(o.path), 0o777)
		if err == nil {
			o.file, err = os.OpenFile(o.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
		}
		o.failed = err != nil
	}
	if o.file != nil && o.size < mostShown {
		n, err := o.file.Write(p)
		o.size += n
		o.failed = err != nil
	}
	return len(p), nil
}

// end removes the file: the attempt's record keeps what is worth keeping.
func (o *onlookers) end() {
	if o.file != nil {
		o.file.Close()
		_ = os.Remove(o.path) // the next attempt overwrites a leftover
		o.file = nil
	}
}
