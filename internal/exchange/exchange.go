package exchange

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// system is one whose plans are read.
type system string

// The formats that Find recognises.
const (
	formatCCW        system = "ccw"
	formatTaskMaster system = "task-master"
	formatSpecKit    system = "spec-kit"
	formatOpenSpec   system = "openspec"
	formatBeads      system = "beads"
	formatGitHub     system = "github"
	formatMarkdown   system = "markdown"
	formatPlan       system = "git-wf"
)

// importer is how the plans of one system are found and read.
type importer struct {
	format system
	read   func(*reader, Found, Options) *Imported
	dirs   []string                     // below which the system keeps its plans
	files  []string                     // in which it does, seen from such a directory or from one that is imported
	exts   []string                     // of files that are surely its own
	object func(o *object) bool         // whether a JSON object is one of its documents
	list   func(o *object) bool         // whether a JSON list is, by its first item
	parts  func(o *object) []string     // the names of the plans in an object that holds several
	text   func(file, text string) bool // whether any other text is
}

// importers are the systems whose plans are read. Where several take a file, the first one gets it. A new one is a row
// here and a file of its own.
var importers = [...]importer{
	{format: formatPlan, read: (*reader).ownPlan, exts: []string{".yaml", ".yml"}, object: isOwnPlan, list: isTask},
	{format: formatCCW, read: (*reader).ccw, dirs: []string{".workflow"}},
	{
		format: formatTaskMaster, read: (*reader).taskMaster,
		dirs: []string{".taskmaster"}, files: []string{"tasks.json", "tasks/tasks.json"},
		object: hasTasks, parts: taskMasterTags,
	},
	{
		format: formatBeads, read: (*reader).beads,
		dirs: []string{".beads"}, files: []string{"issues.jsonl"}, exts: []string{".jsonl", ".ndjson"},
		object: isBead, list: isBead,
	},
	{format: formatSpecKit, read: (*reader).checklist, dirs: []string{"specs", ".specify/specs"}, text: isSpecKit},
	{format: formatOpenSpec, read: (*reader).checklist, dirs: []string{"openspec", "changes"}, text: isOpenSpec},
	{format: formatGitHub, read: (*reader).github, object: isIssue, list: isListedIssue, text: isBoxes},
	{format: formatTaskMaster, list: func(*object) bool { return true }}, // a bare list of tasks has no mark of its own
	{format: formatMarkdown, read: (*reader).markdown, text: func(string, string) bool { return true }},
}

// Found is something that Read can read.
type Found struct {
	Format system `json:"format"`
	Path   string `json:"path"` // in the file system that was looked through
	Name   string `json:"name"` // of the session, tag, change or document: what --session chooses by
}

func (f Found) String() string { return fmt.Sprintf("%s (%s, %s)", f.Name, f.Format, f.Path) }

// Options are what the reader of a source may be told.
type Options struct {
	EstimateDays float64 // of tasks without an estimate, in person-days; zero leaves them without
	// whether the repository has the file, or something that the pattern fits; nil: nothing is there
	Exists func(string) bool
}

// Imported is a plan as it was read. It fits the form of a plan file, but need not keep the rules of a plan.
type Imported struct {
	Found
	Plan     *plan.Plan    `json:"-"` // nil if nothing could be read
	Tasks    int           `json:"tasks"`
	Done     []Done        `json:"done"`
	Findings plan.Findings `json:"findings"` // what was left out or mended
	Notes    plan.Findings `json:"notes"`    // what deserves to be known
}

// Done is a task that is marked done in the source. It is not approved here.
type Done struct {
	Task    plan.TaskID `json:"task_id"`
	Word    string      `json:"status"`            // as the source writes it
	Files   []string    `json:"files,omitempty"`   // that are there
	Missing []string    `json:"missing,omitempty"` // that are not
	Summary bool        `json:"summary,omitempty"` // the source has one
}

// Read reads what Find has found. Nothing is written, run or believed.
func Read(fsys fs.FS, f Found, o Options) *Imported {
	r := &reader{fsys: fsys}
	var out *Imported
	i := slices.IndexFunc(importers[:], func(i importer) bool { return i.format == f.Format && i.read != nil })
	if i >= 0 {
		out = importers[i].read(r, f, o)
	} else {
		r.find("unknown-format", f.Path, 0, "is of no system that is known", "", string(f.Format))
	}
	if out == nil {
		out = &Imported{}
	}
	out.Found = f
	if out.Plan != nil && len(out.Plan.Tasks) < 2 {
		r.find("no-tasks", f.Path, 0, "has no task that could be read", "one task or more", "none")
		out.Plan = nil
	}
	if r.cut > 0 {
		r.findings = append(r.findings, plan.Finding{Code: plan.CodeMore, File: f.Path,
			Message: fmt.Sprintf("and %d more", r.cut)})
	}
	out.Findings, out.Notes = r.findings, r.notes
	return out
}

// Gaps are what a plan that was read lacks, one finding for each task: what the review of the plan will ask for.
func (i *Imported) Gaps() plan.Findings {
	var fs plan.Findings
	if i.Plan == nil {
		return nil
	}
	for n, t := range i.Plan.Tasks {
		if missing := missingOf(t); len(missing) > 0 {
			fs = append(fs, plan.Finding{
				Code: "incomplete", Path: fmt.Sprintf("tasks[%d]", n), TaskID: t.TaskID, Message: "lacks " +
					strings.Join(missing, ", "),
			})
		}
	}
	return fs
}

func missingOf(t *plan.Task) []string {
	if t.NodeType != plan.Action {
		return nil
	}
	var missing []string
	if t.DeliverableSpec == nil {
		missing = append(missing, "deliverable_spec")
	}
	if len(t.AcceptanceCriteria) == 0 {
		missing = append(missing, "acceptance_criteria")
	}
	return missing
}
