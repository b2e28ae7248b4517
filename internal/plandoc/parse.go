package plandoc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Parse reads a plan that somebody wrote, in YAML, (when it begins with a brace) JSON, or Markdown whose head says so
// (docs/import.md), and completes it: the root, flat children, CHECKs and defaults. name is only used in messages. It
// fails with Findings, all that the schema has against the document at once, or with a *VersionError. What it returns
// has the right form; whether it obeys the rules is Validate's to say, and ParseValid does both.
func Parse(name string, data []byte) (*plan.Plan, error) {
	d, err := readWritten(name, data, "")
	if err != nil {
		return nil, err
	}
	return d.plan, nil
}

// ParseValid is Parse and Validate, with the findings placed in the document: path and line are those of what was
// written, not of the completed plan. The plan is nil if there is any finding.
func ParseValid(name string, data []byte, floors policy.Floors) (*plan.Plan, error) {
	p, err := ParseFrom(name, data, floors, nil)
	if err != nil || len(ObsoleteFindings(p)) == 0 {
		return p, err
	}
	return nil, Locate(name, data, ObsoleteFindings(p))
}

// ParseFrom is ParseValid of a plan that is made from a workflow; nil: from none.
func ParseFrom(name string, data []byte, floors policy.Floors, from *plan.Workflow) (*plan.Plan, error) {
	d, err := readWritten(name, data, "")
	if err != nil {
		return nil, err
	}
	whole := *d.plan
	whole.Workflow = from
	if fs := d.locate(append(d.plan.Reserved(from), validate(&whole, floors)...)); len(fs) > 0 {
		return nil, fs.Capped()
	}
	return d.plan, nil
}

// ParseCandidate reads a candidate for a planning task's deliverable: the first plan, an amended one, or the fragment
// that a leaf is split into or a GOAL is filled with. It holds the plan that would come of it against the rules, and
// fails like ParseValid.
func ParseCandidate(
	s *plan.State, task plan.TaskID, name string, data []byte, floors policy.Floors,
) (*plan.Plan, error) {
	t := s.Tasks[task]
	if len(s.Plan.Grafts) == 0 || t == nil {
		return ParseFrom(name, data, floors, s.Plan.Workflow)
	}
	title := ""
	for _, id := range [...]plan.TaskID{t.SplitTargetTaskID, t.FillTargetTaskID} {
		if target := s.Tasks[id]; target != nil {
			title = target.Title
		}
	}
	d, err := readWritten(name, data, title)
	if err != nil {
		return nil, err
	}
	var fs plan.Findings
	merged, err := s.Merged(task, d.plan, 1)
	if err == nil {
		fs = validate(merged, floors)
	} else if !errors.As(err, &fs) {
		return nil, err
	}
	if len(fs) > 0 {
		return nil, d.locateByID(fs).Capped()
	}
	return d.plan, nil
}

// locateByID is locate for findings about a plan that the document is only part of: those about tasks of the document
// get its places, the others say which task they are about.
func (d *written) locateByID(fs plan.Findings) plan.Findings {
	index := make(map[plan.TaskID]int, len(d.plan.Tasks))
	for i, t := range d.plan.Tasks {
		index[t.TaskID] = i
	}
	for i := range fs {
		f := &fs[i]
		if rest, ok := strings.CutPrefix(f.Path, "tasks["); ok {
			_, below, _ := strings.Cut(rest, "]")
			f.Path = strings.TrimPrefix(below, ".")
			if at, known := index[f.TaskID]; known {
				f.Path = fmt.Sprintf("tasks[%d]%s", at, below)
			}
		}
	}
	return d.locate(fs)
}

// Locate places findings about a plan that was made of data, or of which data is a part, with the paths of plan.json,
// in the file itself.
func Locate(name string, data []byte, fs plan.Findings) plan.Findings {
	if len(fs) == 0 {
		return fs // there is nothing to read the text again for
	}
	d, err := readWritten(name, data, "")
	if err != nil {
		return fs
	}
	return d.locateByID(fs)
}

// written is a parsed file with what it takes to say where in it something stands.
type written struct {
	name   string
	root   *document.Node
	plan   *plan.Plan
	places []string // of each of plan.Tasks, its path in the file
}

// readWritten reads a file, which must have the right form. With a title, it is part of a plan that has that one
// already: the file needs none of its own, and may be the list of tasks alone.
func readWritten(name string, data []byte, title string) (*written, error) {
	root, err := parseTree(name, data)
	if err != nil {
		return nil, err
	}
	if title != "" {
		root = titled(root, title)
	}
	if err := checkVersion(root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &written{name: name, root: root}
	fs, err := checkSchema(root)
	if err == nil && len(fs) == 0 {
		fs = d.buildPlan(root)
	}
	if err != nil || len(fs) == 0 {
		return d, err
	}
	for i := range fs {
		fs[i].File, fs[i].Line = name, LineOf(root, fs[i].Path)
	}
	sortByLine(fs)
	return nil, fs.Capped()
}

// titled is the document with the title, unless it has one.
func titled(n *document.Node, title string) *document.Node {
	if n.Kind == document.Array {
		tasks := *n
		tasks.Key = "tasks"
		n = &document.Node{Kind: document.Object, Line: n.Line, Kids: []document.Node{tasks}}
	}
	if n.Kind != document.Object || slices.ContainsFunc(n.Kids,
		func(k document.Node) bool { return k.Key == "title" }) {
		return n
	}
	whole := *n
	whole.Kids = append(slices.Clone(n.Kids), document.Node{Kind: document.String, Line: n.Line, Key: "title",
		Text: title})
	return &whole
}

// MaxFileBytes is the size of the largest plan file that Parse takes.
const MaxFileBytes = 32 << 20

var (
	limits     = document.Limits{Depth: plan.MaxDepth, Values: 4_000_000, Fields: 1000}
	strictJSON = document.JSON{Limits: limits}
)

func parseTree(name string, data []byte) (*document.Node, error) {
	if len(data) <= MaxFileBytes && IsMarkdown(data) {
		if err := checkBytes(name, data, "plan", MaxFileBytes); err != nil {
			return nil, err
		}
		return markdownTree(name, data)
	}
	return ReadTree(name, data, "plan", MaxFileBytes)
}

// ReadTree reads a document that somebody wrote, in YAML or (when it begins with a brace) JSON, of at most so many
// bytes. what is the document's kind, for messages. It fails with Findings.
func ReadTree(name string, data []byte, what string, most int) (*document.Node, error) {
	if err := checkBytes(name, data, what, most); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var root *document.Node
	var err error
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		root, err = strictJSON.Parse(string(data))
	} else {
		root, err = document.ParseYAML(data, limits)
	}
	if err != nil {
		return nil, syntaxFindings(name, err)
	}
	return root, nil
}

// checkBytes refuses what no parser should see.
func checkBytes(name string, data []byte, what string, most int) error {
	f := plan.Finding{File: name}
	switch {
	case len(data) > most:
		f.Code, f.Message = "too-large", "the "+what+" is too large"
		f.Expected, f.Found = fmt.Sprintf("at most %d bytes", most), "more"
	case len(bytes.TrimSpace(data)) == 0:
		f.Code, f.Message = "empty", "the file has no content"
		f.Expected, f.Example = "a "+what+" in YAML or JSON", "title: Release dossier"
	case !utf8.Valid(data):
		f.Code, f.Message, f.Line = "not-utf8", "the file is not UTF-8", lineAt(data, plain.InvalidUTF8(data))
		f.Expected = "text in UTF-8"
	case bytes.IndexByte(data, 0) >= 0:
		f.Code, f.Message, f.Line = "nul", "the file contains the character NUL", lineAt(data, bytes.IndexByte(data, 0))
		f.Expected = "text"
	default:
		return nil
	}
	return plan.Findings{f}
}

func lineAt(data []byte, offset int) int { return bytes.Count(data[:offset], []byte("\n")) + 1 }

func syntaxFindings(name string, err error) error {
	var f *document.Fault
	if !errors.As(err, &f) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return plan.Findings{{Code: f.Code(), File: name, Line: f.Line, Message: f.Text()}}
}

// locate turns paths of the completed plan into paths and lines of the document.
func (d *written) locate(fs plan.Findings) plan.Findings {
	for i := range fs {
		f := &fs[i]
		f.File = d.name
		var index int
		if _, err := fmt.Sscanf(f.Path, "tasks[%d]", &index); err == nil && index < len(d.places) {
			_, below, _ := strings.Cut(f.Path, "]")
			f.Path = strings.TrimPrefix(d.places[index]+below, ".")
		}
		f.Line = LineOf(d.root, f.Path)
	}
	sortByLine(fs)
	return fs
}

func sortByLine(fs plan.Findings) {
	sort.SliceStable(fs, func(i, j int) bool { return fs[i].Line < fs[j].Line })
}
