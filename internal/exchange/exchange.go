package exchange

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"

	"gitwf/internal/document"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// system is one whose plans are read.
type system string

// The formats that Find recognises.
const (
	formatCCW        system = "ccw"
	formatTaskMaster system = "task-master"
	formatSpecKit    system = "spec-kit"
	formatKiro       system = "kiro"
	formatOpenSpec   system = "openspec"
	formatBacklog    system = "backlog"
	formatBeads      system = "beads"
	formatGitHub     system = "github"
	formatDevPlan    system = "dev-plan"
	formatBoxes      system = "boxes"
	formatPlan       system = "git-wf"
)

// importer is how the plans of one system are found and read.
type importer struct {
	format system
	read   func(*reader, Found) (*source, *plan.Plan) // what was found, or git wf's own plan
	dirs   []string                                   // below which the system keeps its plans
	files  []string                                   // in which it does, seen from such a directory
	object func(o *document.Node) bool                // whether a JSON object is one of its documents
	list   func(o *document.Node) bool                // whether a JSON list is, by its first item
	parts  func(o *document.Node) []string            // the names of the plans in an object that holds several
	text   func(r *reader, file, text string) bool    // whether any other text is
}

// importers are the systems whose plans are read. Where several take a file, the first one gets it. A new one is a row
// here and a file of its own.
var importers = [...]importer{
	{format: formatPlan, read: (*reader).ownPlan, object: isOwnPlan, list: isTask, text: isOwnText},
	{format: formatCCW, read: (*reader).ccw, dirs: []string{".workflow"}, object: isCCW},
	{format: formatTaskMaster, read: (*reader).taskMaster, dirs: []string{".taskmaster"},
		files: []string{"tasks.json", "tasks/tasks.json"}, object: hasTasks, parts: taskMasterTags},
	{format: formatBeads, read: (*reader).beads, dirs: []string{".beads"},
		files: []string{"issues.jsonl", "beads.jsonl"}, object: isBead, list: isBead},
	{format: formatBacklog, read: (*reader).backlog, dirs: []string{"backlog", ".backlog"}, text: isBacklog},
	{format: formatSpecKit, read: (*reader).specKit, dirs: []string{"specs", ".specify/specs"}, text: isSpecKit},
	{format: formatKiro, read: (*reader).kiro, dirs: []string{".kiro/specs"}, text: isKiro},
	{format: formatOpenSpec, read: (*reader).openSpec, dirs: []string{"openspec/changes", "changes"}, text: isOpenSpec},
	{format: formatGitHub, read: (*reader).github, object: isIssue, list: isIssue},
	{format: formatTaskMaster, list: hasTitle},
	{format: formatDevPlan, read: (*reader).devPlan, text: isDevPlan},
	{format: formatBoxes, read: (*reader).boxes, text: isBoxes},
}

// Found is something that Read can read.
type Found struct {
	Format system `json:"format"`
	Path   string `json:"path"` // in the file system that was looked through
	Name   string `json:"name"` // of the session, tag, change or document: what --session chooses by
}

func (f Found) String() string { return fmt.Sprintf("%s (%s, %s)", f.Name, f.Format, f.Path) }

// Own reports whether it is in git wf's own form, whose command lines its author wrote as such.
func (f Found) Own() bool { return f.Format == formatPlan }

// Options are what the reader of a source may be told.
type Options struct {
	Check    string // the repository's own check: a command line, "" for none
	OpenOnly bool   // leave out what is done there
}

// Imported is a plan as it was read.
type Imported struct {
	Found
	Plan     *plan.Plan    `json:"-"` // nil if nothing could be read
	Tasks    int           `json:"tasks"`
	Edges    int           `json:"edges"`
	Done     []Done        `json:"done"`
	Assumed  Assumed       `json:"assumed"`
	Homeless []Line        `json:"homeless"` // lines that are in no task and not in the plan's own text
	Lines    int           `json:"lines"`    // of the source, but for empty ones
	Findings plan.Findings `json:"findings"` // what would be lost
	Notes    plan.Findings `json:"notes"`    // what deserves to be known
}

// Done is a task that is done elsewhere. It is not approved here, and holds nobody up.
type Done struct {
	Task plan.TaskID `json:"task_id"`
	Word string      `json:"status"` // as the source writes it
}

// Assumed counts what the source did not say.
type Assumed struct {
	Deliverables int    `json:"deliverables"` // that may change all of the repository
	Criteria     int    `json:"criteria"`     // tasks whose one criterion is that they do what they say
	Estimates    int    `json:"estimates"`
	Check        string `json:"check,omitempty"` // the run line of every task
}

// Line is a line of a source.
type Line struct {
	File string `json:"file"`
	No   int    `json:"line"`
	Text string `json:"text"`
}

// Read reads what Find has found. Nothing is written, run or believed.
func Read(fsys fs.FS, f Found, o Options) *Imported {
	r := &reader{fsys: fsys}
	out := &Imported{Found: f}
	i := slices.IndexFunc(importers[:], func(i importer) bool { return i.format == f.Format && i.read != nil })
	if i < 0 {
		r.find("unknown-format", f.Path, 0, "is of no system that is known", "", string(f.Format))
	} else if src, own := importers[i].read(r, f); own != nil {
		out.Plan, out.Tasks = own, own.Leaves()
	} else if src != nil {
		src.format, src.path = f.Format, f.Path
		r.assemble(src, o, out)
	}
	if out.Plan != nil && len(out.Plan.Tasks) < 2 {
		r.find("no-tasks", f.Path, 0, "has no open task", "one task or more", "none")
		out.Plan = nil
	}
	if r.cut > 0 {
		r.findings = append(r.findings, plan.Finding{Code: plan.CodeMore, File: f.Path,
			Message: fmt.Sprintf("and %d more", r.cut)})
	}
	out.Findings, out.Notes = r.findings, r.notes
	return out
}

// Draft is a plan that was read as a plan file in YAML, or in JSON where it has characters that YAML can't hold. It
// fails with Findings if the plan does not fit the form of a plan file, which no plan of Read does.
func (i *Imported) Draft() ([]byte, error) {
	data, err := plandoc.Encode(i.Plan)
	if err != nil {
		return nil, err
	}
	want, err := stored(i.Path, data)
	if err != nil {
		return nil, err
	}
	if text, err := plandoc.WriteYAML(i.Plan); err == nil {
		if got, err := stored(i.Path, text); err == nil && bytes.Equal(want, got) {
			data = text
		}
	}
	if len(data) > plandoc.MaxFileBytes {
		return nil, plan.Findings{{Code: "too-large", File: i.Path,
			Message: fmt.Sprintf("the plan has more than %d MiB", plandoc.MaxFileBytes>>20)}}
	}
	return data, nil
}

// stored is what plan.json would be if the file were handed in.
func stored(name string, data []byte) ([]byte, error) {
	p, err := plandoc.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return plandoc.Encode(p)
}
