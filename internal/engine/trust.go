package engine

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
func (t *Trust) Has(line string) bool { return t.hasEntry(lineHash(line)) }

// agentEntry stands in the set for leave to have an agent do a job that a plan gives it. It is no hash, either.
func agentEntry(job, name string) string { return job + " " + lineHash(name) }

func (t *Trust) hasEntry(entry string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines[entry]
}

// codeEntry stands in the set for leave to run code that was just written. It is no hash, so no line can have it.
const codeEntry = "code"

// Code reports whether trusted lines may run code that a task has just changed.
func (t *Trust) Code() bool { return t.hasEntry(codeEntry) }

// NeedsCode reports whether command lines judge changes of the plan, but may not run code that was just written.
func (t *Trust) NeedsCode(p *plan.Plan) bool {
	return !t.Code() && slices.ContainsFunc(p.Tasks, func(task *plan.Task) bool { return task.Changes() && task.HasRun() })
}

// AllCriteria reports whether every run line of the task's criteria may run.
func (t *Trust) AllCriteria(task *plan.Task) bool { return t.lacks(task).Text == "" }

// lacks says what keeps the run lines of a task's criteria from running here.
func (t *Trust) lacks(task *plan.Task) Wait {
	for _, c := range task.AcceptanceCriteria {
		switch {
		case c.Run == "":
		case !t.Has(c.Run):
			return Wait{Text: "the command lines of its criteria are not trusted here", Command: "git wf trust"}
		case task.Changes() && !t.Code():
			return runsCode
		}
	}
	return Wait{}
}

// runsCode is the wait for leave to run code that was just written.
var runsCode = Wait{Text: "its criteria run code that was just written, as you and unreviewed",
	Command: "git wf trust --code"}

// Preparation reports whether every command line of the task's preparation may run.
func (t *Trust) Preparation(task *plan.Task) bool {
	for _, line := range plandoc.PreparationLines(task) {
		if !t.Has(line) {
			return false
		}
	}
	return true
}

// newLines returns the plan's command lines that are not trusted yet, and of those that come later, each once.
func (t *Trust) newLines(p *plan.Plan, later ...plandoc.CommandLine) []plandoc.CommandLine {
	seen := map[string]bool{}
	var lines []plandoc.CommandLine
	for _, l := range append(plandoc.CommandLines(p), later...) {
		if !seen[l.Line] && !t.Has(l.Line) {
			seen[l.Line] = true
			lines = append(lines, l.WithRemarks())
		}
	}
	return lines
}

// Add trusts the lines from now on.
func (t *Trust) Add(lines []plandoc.CommandLine) error {
	entries := make([]string, len(lines))
	for i, l := range lines {
		if entries[i] = lineHash(l.Line); l.Agent != "" {
			entries[i] = agentEntry(l.Job, l.Agent)
		}
	}
	return t.add(entries)
}

// AddCode lets trusted lines run code that a task has just changed.
func (t *Trust) AddCode() error { return t.add([]string{codeEntry}) }

// add adds entries to the set. The file only grows, by whole lines, so that two processes can add at once.
func (t *Trust) add(entries []string) error {
	entries = slices.DeleteFunc(entries, t.hasEntry)
	if len(entries) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, entry := range entries {
		t.lines[entry] = true
	}
	return AppendLines(t.path, entries...)
}

// AppendLines adds lines to a file below the git directory.
func AppendLines(file string, lines ...string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The first newline ends a line that a killed writer left unfinished; an empty line says nothing.
	_, err = f.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}
