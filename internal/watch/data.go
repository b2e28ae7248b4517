package watch

import (
	"time"

	"gitwf/internal/plan"
)

// Overview is the state of a plan. Its texts may contain anything; drawing makes them safe.
type Overview struct {
	ID      plan.ID
	Title   string
	Status  plan.Status
	Notes   string // more about the plan as a whole, such as that it is paused
	Done    int    // approved deliverables
	Total   int
	Tasks   []Task // in the order of the plan's tree, from the top
	Running []Running
}

// Task is one line of the tree. A CHECK has none.
type Task struct {
	ID       plan.TaskID
	Depth    int // of the root, 0
	Title    string
	Status   plan.Status
	Notes    string        // what follows the status: version, score, reason
	Needs    []plan.TaskID // tasks that come before it
	NeededBy []plan.TaskID
	Held     string // what it waits for, in a sentence; "" for nothing
	Command  string // that helps
	Waits    bool   // for a person
	Review   Review
}

// Review is what a person's review of a task's newest version covers. Without a version there is none.
type Review struct {
	Version  string
	Criteria []Criterion // that a person judges
}

// Criterion is one that a person judges.
type Criterion struct{ ID, Statement, Severity string }

// Running is somebody's work on a task, or on its review.
type Running struct {
	Task  plan.TaskID
	Title string
	Agent string
	Since time.Time
}

// Kind says what a page shows.
type Kind int

// The pages that the program fills.
const (
	TaskPage     Kind = iota + 1 // everything about a task
	ReviewPage                   // the newest review file
	VersionsPage                 // its versions, to choose one
	VersionPage                  // one version: reviews and files
	DiffPage                     // one version against the one before
)

// Want asks for a page.
type Want struct {
	Kind    Kind
	Task    plan.TaskID
	Version int // of VersionPage and DiffPage
}

// Page is the answer: lines of text, each of which may be longer than a row, or versions to choose from.
type Page struct {
	Want
	Title    string
	Lines    []string
	Versions []Version // newest first
}

// Version is one version of a task's deliverable, in a line.
type Version struct {
	N       int
	Verdict plan.Verdict // "" while it awaits review
	Text    string
}

// Decision is a review that a person gave.
type Decision struct {
	Task    plan.TaskID
	Version string // the version that the person saw
	Approve bool
	Rulings []Ruling
	Message string
}

// Ruling is a person's word on one criterion.
type Ruling struct {
	Criterion string
	Word      string // pass, fail, or none where it is left open
	Evidence  string
}

// Wish is what a key asks for that the model can't do itself. At most one of its fields is set.
type Wish struct {
	Leave  bool
	Pause  bool // stop the program, to continue later
	Redraw bool
	Open   *Want
	Decide *Decision
}
