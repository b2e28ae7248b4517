package engine

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Trust is the local set of command lines that may run here. A repository's content runs no command on the machine that
// cloned it: a line from a ref runs only after its user has seen and trusted it.
type Trust struct {
	path  string
	mu    sync.Mutex
	lines map[string]bool // sha256 of the line, hex
}

// OpenTrust reads the set of a repository; dir is its common git directory. A missing set is empty.
func OpenTrust(dir string) (*Trust, error) {
	t := &Trust{path: filepath.Join(dir, "wf", "trust"), lines: map[string]bool{}}
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() != "" {
			t.lines[s.Text()] = true
		}
	}
	return t, nil
}

func lineHash(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:])
}

// Has reports whether the line may run.
func (t *Trust) Has(line string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[lineHash(line)]
}

// AllCriteria reports whether every run line of the task's criteria may run.
func (t *Trust) AllCriteria(task *plan.Task) bool {
	for _, c := range task.AcceptanceCriteria {
		if c.Run != "" && !t.Has(c.Run) {
			return false
		}
	}
	return true
}

// Preparation reports whether every command line of the task's preparation may run.
func (t *Trust) Preparation(task *plan.Task) bool {
	for _, line := range plandoc.PreparationLines(task) {
		if !t.Has(line) {
			return false
		}
	}
	return true
}

// New returns the plan's command lines that are not trusted yet, each once.
func (t *Trust) New(p *plan.Plan) []plandoc.CommandLine {
	seen := map[string]bool{}
	var lines []plandoc.CommandLine
	for _, l := range plandoc.CommandLines(p) {
		if !seen[l.Line] && !t.Has(l.Line) {
			seen[l.Line] = true
			lines = append(lines, l)
		}
	}
	return lines
}

// Add trusts the lines from now on. The file only grows, by whole lines, so that two processes can add at once.
func (t *Trust) Add(lines []plandoc.CommandLine) error {
	if len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteByte('\n') // ends a line that a killed writer left unfinished; an empty line trusts nothing
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range lines {
		fmt.Fprintln(&b, lineHash(l.Line))
		t.lines[lineHash(l.Line)] = true
	}
	_, err = f.WriteString(b.String())
	return errors.Join(err, f.Close())
}
