package engine

import (
	"context"
	"os"
	"path/filepath"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// scratch is the directory that holds those of a run's attempts and reviews.
type scratch struct {
	root string
	end  func() // removes what is left of it
}

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

// discard drops a directory; what can't be dropped goes at the end.
func (s *scratch) discard(dir string) { _ = os.RemoveAll(dir) }

// remove deletes everything. The next run removes what a killed run leaves.
func (s *scratch) remove() { s.end() }

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
