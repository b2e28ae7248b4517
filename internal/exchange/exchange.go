package exchange

import (
	"fmt"
	"io/fs"
	"strings"

	"gitwf/internal/plan"
)

// Format is a system whose plans are read.
type Format string

// The formats that Find recognises.
const (
	FormatCCW        Format = "ccw"
	FormatTaskMaster Format = "task-master"
	FormatSpecKit    Format = "spec-kit"
	FormatOpenSpec   Format = "openspec"
	FormatBeads      Format = "beads"
	FormatGitHub     Format = "github"
	FormatMarkdown   Format = "markdown"
	FormatPlan       Format = "git-wf"
)

// Found is something that Read can read.
type Found struct {
	Format Format `json:"format"`
	Path   string `json:"path"` // in the file system that was looked through
	Name   string `json:"name"` // of the session, tag, change or document: what --session chooses by
}

func (f Found) String() string { return fmt.Sprintf("%s (%s, %s)", f.Name, f.Format, f.Path) }

// Options are what the reader of a source may be told.
type Options struct {
	EstimateDays float64           // of tasks without an estimate, in person-days; zero leaves them without
	Exists       func(string) bool // whether the repository has the file, or something that the pattern fits; nil: nothing is there
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
	switch f.Format {
	case FormatCCW:
		out = r.ccw(f, o)
	case FormatTaskMaster:
		out = r.taskMaster(f, o)
	case FormatSpecKit, FormatOpenSpec:
		out = r.checklist(f, o)
	case FormatBeads:
		out = r.beads(f, o)
	case FormatGitHub:
		out = r.github(f, o)
	case FormatMarkdown:
		out = r.markdown(f, o)
	case FormatPlan:
		out = r.ownPlan(f, o)
	default:
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
		r.findings = append(r.findings, plan.Finding{Code: plan.CodeMore, File: f.Path, Message: fmt.Sprintf("and %d more", r.cut)})
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
				Code: "incomplete", Path: fmt.Sprintf("tasks[%d]", n), TaskID: t.TaskID, Message: "lacks " + strings.Join(missing, ", "),
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
	if t.EstimatedPersonDays == 0 {
		missing = append(missing, "estimated_person_days")
	}
	return missing
}
