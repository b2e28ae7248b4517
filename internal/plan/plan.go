package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// SchemaVersion is the highest version of plan.json that this package knows. A reader refuses a higher one.
const SchemaVersion = 2

// NodeType says what a task is for.
type NodeType string

// The three kinds of task.
const (
	Goal   NodeType = "GOAL"   // gathers what is below it
	Action NodeType = "ACTION" // makes a deliverable
	Check  NodeType = "CHECK"  // reviews the deliverable of one ACTION
)

// Plan is the graph made of a top task: the content of plan.json.
type Plan struct {
	SchemaVersion int        `json:"schema_version"`
	PlanID        ID         `json:"plan_id"`
	Title         string     `json:"title"`
	TopTask       string     `json:"top_task"` // verbatim
	RootTaskID    TaskID     `json:"root_task_id"`
	Config        Config     `json:"config"`
	Tasks         []*Task    `json:"tasks"`
	Grafts        []Graft    `json:"grafts,omitempty"`
	PlanType      string     `json:"plan_type,omitempty"`  // what it began with: the name of a file in templates/types
	Complexity    Complexity `json:"complexity,omitempty"` // the least; see AssessComplexity

	Register bool            `json:"register,omitempty"` // other plans do its tasks; see Task.Closes
	Workflow *Workflow       `json:"workflow,omitempty"` // that the plan is made from
	Roles    map[string]Role `json:"roles,omitempty"`
}

// SetVersion gives the plan the least version of the format that can say what it says, and never a lower one than it
// has: a program that does not know roles, judges or loops would derive other statuses.
func (p *Plan) SetVersion() {
	p.SchemaVersion = max(p.SchemaVersion, 1)
	if p.Register || p.Workflow != nil || len(p.Roles) > 0 || slices.ContainsFunc(p.Tasks, (*Task).needsVersion2) {
		p.SchemaVersion = 2
	}
}

// Task returns the task with the id, nil if there is none.
func (p *Plan) Task(id TaskID) *Task {
	for _, t := range p.Tasks {
		if t.TaskID == id {
			return t
		}
	}
	return nil
}

// MaxDepth is how many levels a document, and a plan's tree of tasks, may have.
const MaxDepth = 100

// Graft says that an approved version of a planning task has become part of this plan.
type Graft struct {
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
}

// Task is a node of the plan. Which fields it may have depends on its NodeType; Validate checks that.
type Task struct {
	TaskID       TaskID         `json:"task_id"`
	NodeType     NodeType       `json:"node_type"`
	Title        string         `json:"title"`
	Description  string         `json:"description,omitempty"`
	ParentTaskID TaskID         `json:"parent_task_id,omitempty"`         // DECOMPOSE
	DependsOn    []TaskID       `json:"depends_on,omitempty"`             // DEPENDS_ON
	OrderOnly    []TaskID       `json:"order_only,omitempty" at:"ACTION"` // of those: they come first, and are no input
	Agent        string         `json:"agent,omitempty"`
	Requires     []Requirement  `json:"requires,omitempty"`
	Meta         map[string]any `json:"meta,omitempty"`         // docs/tasks.md
	Context      map[string]any `json:"context,omitempty"`      // docs/tasks.md
	FlowControl  map[string]any `json:"flow_control,omitempty"` // docs/tasks.md

	// Of some tasks only, as the tag "at" says: a node type, the root, or the tasks that make plans.

	// ACTION
	EstimatedPersonDays float64          `json:"estimated_person_days,omitempty" at:"ACTION"`
	DeliverableSpec     *DeliverableSpec `json:"deliverable_spec,omitempty" at:"ACTION"`
	AcceptanceCriteria  []Criterion      `json:"acceptance_criteria,omitempty" at:"ACTION"`
	Covers              []string         `json:"covers,omitempty" at:"ACTION"`         // ids of root criteria
	DoneElsewhere       string           `json:"done_elsewhere,omitempty" at:"ACTION"` // where the plan is from
	Run                 string           `json:"run,omitempty" at:"ACTION"`            // command line of the exec agent
	TimeoutSeconds      int              `json:"timeout_seconds,omitempty"`            // else Config.TimeoutSeconds
	// of a task that makes plans: the leaf that its plan replaces
	SplitTargetTaskID TaskID `json:"split_target_task_id,omitempty" at:"planning"`
	// or the GOAL that it puts tasks below, and what of the plan's workflow these are
	FillTargetTaskID TaskID `json:"fill_target_task_id,omitempty" at:"planning"`
	Fill             *Fill  `json:"fill,omitempty" at:"planning"`

	Role    string   `json:"role,omitempty" at:"ACTION"`    // who makes it: a key of Plan.Roles
	Follows *bool    `json:"follows,omitempty" at:"ACTION"` // it is redone when an input changes; see State.Follows
	Judges  *Judges  `json:"judges,omitempty" at:"ACTION"`
	Decides *Decides `json:"decides,omitempty" at:"ACTION"`
	Closes  string   `json:"closes,omitempty" at:"ACTION"` // PLAN/TASK of a register, which it does
	// whom its maker may ask instead of a person
	Consults *consults `json:"consults,omitempty" at:"ACTION"`

	// CHECK
	ReviewTargetTaskID TaskID   `json:"review_target_task_id,omitempty" at:"CHECK"`
	ReviewOutputSpec   string   `json:"review_output_spec,omitempty" at:"CHECK"`
	Reviewers          []string `json:"reviewers,omitempty" at:"CHECK"`
	Quorum             int      `json:"quorum,omitempty" at:"CHECK"`
	MinScore           int      `json:"min_score,omitempty" at:"CHECK"`
	MaxRounds          int      `json:"max_rounds,omitempty" at:"CHECK"`   // rejected versions; 0: Config.MaxAttempts
	OnExhausted        string   `json:"on_exhausted,omitempty" at:"CHECK"` // accept, drop, or a person is asked
	Agree              *Agree   `json:"agree,omitempty" at:"CHECK"`
	Rubric             *Rubric  `json:"rubric,omitempty" at:"CHECK"`

	// GOAL
	Jobs                   int                   `json:"jobs,omitempty" at:"GOAL"` // tasks below it in work at once
	RootAcceptanceCriteria []RootCriterion       `json:"root_acceptance_criteria,omitempty" at:"root"`
	FinalDeliverableSpec   *FinalDeliverableSpec `json:"final_deliverable_spec,omitempty" at:"root"`
}

// MetaType is the task's meta.type, "" if it has none.
func (t *Task) MetaType() string {
	s, _ := t.Meta["type"].(string)
	return s
}

// MetaAgent is the name that the task's meta.agent gives, without the @ that some write before it; "" if it has none.
func (t *Task) MetaAgent() string {
	s, _ := t.Meta["agent"].(string)
	return strings.TrimPrefix(strings.TrimSpace(s), "@")
}

// Requirement is an input that a person must hand in before the task can run.
type Requirement struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind,omitempty"`
	Description string   `json:"description,omitempty"`
	Formats     []string `json:"formats,omitempty"`
	Count       int      `json:"count,omitempty"`   // at least this many; zero means one
	Options     []string `json:"options,omitempty"` // of a choice: the file of one of them is handed in
}

// Lack says what is missing where so many files were handed in.
func (r Requirement) Lack(have int) string {
	if len(r.Options) > 0 {
		return r.Name + ": " + strings.Join(r.Options, " or ")
	}
	return fmt.Sprintf("%s (%d/%d)", r.Name, have, max(r.Count, 1))
}

// ChoiceFile is the file that says which of the options was chosen.
func (r Requirement) ChoiceFile(option string) (name string, data []byte) {
	return EscapeName(r.Name) + ".json", fmt.Appendf(nil, "{%q: %q}\n", r.Name, option)
}

// The formats of a deliverable that are not what its files are called.
const (
	FormatPlan   = "plan"   // of the tasks that make plans: PLAN-1 and every split
	formatChange = "change" // of the tasks that change the repository itself

	FormatVerdicts = "verdicts" // of the tasks that judge others
	FormatDecision = "decision" // of the tasks that decide for others
)

// Changes reports whether the task changes the repository itself.
func (t *Task) Changes() bool { return t.DeliverableSpec != nil && t.DeliverableSpec.Changes() }

// CoversRoot reports whether the task, or one of its criteria, helps to meet a criterion of the top task.
func (t *Task) CoversRoot(id string) bool {
	return slices.Contains(t.Covers, id) ||
		slices.ContainsFunc(t.AcceptanceCriteria, func(c Criterion) bool { return slices.Contains(c.Covers, id) })
}

// Changes reports whether the deliverable is a change of the repository itself.
func (d *DeliverableSpec) Changes() bool { return d.Format == formatChange }

// Named are the files that the spec declares by their names, as they lie in the deliverable. The others are patterns.
func (d *DeliverableSpec) Named() (files []string) {
	if d == nil || d.Changes() {
		return nil
	}
	for _, name := range append([]string{d.Filename}, d.Files...) {
		if name != "" && !strings.ContainsAny(name, `*?[\{`) {
			files = append(files, path.Join(strings.TrimPrefix(path.Clean("/"+d.OutputDir), "/"), path.Clean(name)))
		}
	}
	return files
}

// Only is the one file that the spec declares, by its name; "" if it declares another number, or patterns.
func (d *DeliverableSpec) Only() string {
	named := d.Named()
	if len(named) != 1 || d.Filename != "" && len(d.Files) > 0 || len(d.Files) > 1 {
		return ""
	}
	return named[0]
}

// DeliverableSpec declares what an ACTION must produce. Filename and Files are paths, or glob
// patterns, below OutputDir, which itself is relative to the root of the artifact. A change has
// Paths and Tests instead: files of the repository, or patterns of them; one that names a directory
// stands for all below it.
type DeliverableSpec struct {
	Format      string   `json:"format"`
	Filename    string   `json:"filename,omitempty"`
	Files       []string `json:"files,omitempty"`
	OutputDir   string   `json:"output_dir,omitempty"`
	SingleFile  bool     `json:"single_file"`
	BundleMode  string   `json:"bundle_mode,omitempty"`
	Description string   `json:"description,omitempty"`
	Paths       []string `json:"paths,omitempty"` // that the task may change
	Tests       []string `json:"tests,omitempty"` // of them, what tests the rest
	Undoes      *Undo    `json:"undoes,omitempty"`
}

// Undo says what a change takes back for good: the version must be on top where it lands, and no version of its task up
// to the floor lands there again.
type Undo struct {
	PlanID     ID     `json:"plan_id"`
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
	Floor      int    `json:"floor"`
	// of the policy's branches when it was made: it explains nothing that they have
	Tips []OID `json:"tips,omitempty"`
}

// How a criterion is judged. A new way is one here and in Criterion.method; in internal/plandoc, its name in
// schema.json and its rule in validate_task.go; how internal/check/run.go judges by it; and a line of
// docs/format.md.
const (
	ManualReview = "manual_review"  // by a person or a reviewing agent
	StaticCheck  = "static_check"   // its run line, in a copy of the candidate
	RunSmokeTest = "run_smoke_test" // its run line, in a preview of the whole bundle
	ChangedPaths = "changed_paths"  // by comparing what changed with the paths that a change declares
	SchemaCheck  = "schema_check"   // by holding File against Schema
	Expands      = "expands"        // by rendering what the plan's workflow makes of the candidate
)

// Severity of a criterion: a failed MUST rejects, a failed SHOULD costs points.
const (
	Must   = "MUST"
	Should = "SHOULD"
)

// Criterion is one acceptance criterion of an ACTION.
type Criterion struct {
	ID          string   `json:"id"`
	Type        string   `json:"type,omitempty"`
	Statement   string   `json:"statement"`
	CheckMethod string   `json:"check_method"`
	Run         string   `json:"run,omitempty"`
	Severity    string   `json:"severity"`
	Covers      []string `json:"covers,omitempty"`
	Red         string   `json:"red,omitempty"` // redBase or nothing
	// TASK:CRITERION of earlier tasks, whose lines need not pass any more
	Supersedes []string `json:"supersedes,omitempty"`
	// of schema_check: a JSON Schema, and the deliverable's file that must keep it; of Markdown the head does
	Schema map[string]any `json:"schema,omitempty"`
	File   string         `json:"file,omitempty"`
}

// redBase is what a criterion says whose run line must fail on what the change begins with.
const redBase = "base"

// RedFirst reports whether the run line must fail on what the change begins with, with the candidate's tests laid over.
func (c Criterion) RedFirst() bool { return c.Red == redBase }

// method says whether the program judges the criterion without a run line, whether it is one that the program adds, and
// the version of the format that has such criteria.
func (c Criterion) method() (judged, added bool, version int) {
	switch c.CheckMethod {
	case ChangedPaths:
		return true, true, 1
	case SchemaCheck:
		return true, false, 2
	case Expands:
		return true, true, 2
	}
	return false, false, 1
}

// Manual reports whether only a reviewer can judge the criterion.
func (c Criterion) Manual() bool {
	judged, _, _ := c.method()
	return !judged && c.Run == ""
}

// Added reports whether the program adds such a criterion: every task has it that it fits.
func (c Criterion) Added() bool {
	_, added, _ := c.method()
	return added
}

// RootCriterion is one item of the top task's own checklist.
type RootCriterion struct {
	ID        string `json:"id"`
	Statement string `json:"statement"`
}

// How the root's deliverable comes about.
const (
	PassThrough = "PASS_THROUGH"
	Assemble    = "ASSEMBLE"
)

// FinalDeliverableSpec says what the plan delivers as a whole.
type FinalDeliverableSpec struct {
	Mode            string   `json:"mode"`
	IncludeChildren []TaskID `json:"include_children,omitempty"`
	AssembleTaskID  TaskID   `json:"assemble_task_id,omitempty"`
	Output          string   `json:"output,omitempty"`
	// also what is approved only because the rounds of its review were used up
	DeliverAccepted bool `json:"deliver_accepted,omitempty"`
}

// The agents that every installation has.
const (
	AgentExec    = "exec"    // runs the task's own run line
	AgentManual  = "manual"  // waits for what a person submits
	AgentOutline = "outline" // reads a plan off the Markdown that a person wrote

	AgentWorkflow = "workflow" // renders the plan's workflow
)

// BundleManifest is the only bundle_mode: several files, told apart by a manifest.
const BundleManifest = "MANIFEST"

// Index finds tasks by their ids. Plan.Task scans the plan on every call, which is right for one question; make an
// Index to ask for many tasks. It does not follow changes of the plan.
type Index struct {
	tasks map[TaskID]*Task
}

// Index makes an index of the plan as it is now. Of tasks with the same id it has the first, as Task does.
func (p *Plan) Index() Index {
	x := Index{tasks: make(map[TaskID]*Task, len(p.Tasks))}
	for _, t := range p.Tasks {
		if x.tasks[t.TaskID] == nil {
			x.tasks[t.TaskID] = t
		}
	}
	return x
}

// Task returns the task with the id, nil if there is none.
func (x Index) Task(id TaskID) *Task { return x.tasks[id] }

// Depth is Plan.Depth.
func (x Index) Depth(id TaskID) int { return depth(id, x.Task) }

// window is the least jobs of the GOALs above a task, 0 if none says any.
func (x Index) window(id TaskID) (least int) {
	for t, depth := x.Task(id), 0; t != nil && depth <= MaxDepth; t, depth = x.Task(t.ParentTaskID), depth+1 {
		if t.Jobs > 0 && (least == 0 || t.Jobs < least) {
			least = t.Jobs
		}
	}
	return least
}

// leaves are ACTIONs, and where each is in the plan.
type leaves struct {
	ids []TaskID
	at  []int
}

// shape is what follows from a plan alone.
type shape struct {
	children map[TaskID][]TaskID // DECOMPOSE, in plan order
	checks   map[TaskID]TaskID   // by the ACTION that they review
	limits   Config              // the plan's, with the defaults

	planning   []TaskID            // the tasks that make plans
	grafted    map[TaskID]bool     // those of them whose plan is part of this one
	dependants map[TaskID][]TaskID // ACTIONs, by what they depend on
	assembles  map[TaskID][]TaskID // GOALs, by the ACTION that assembles them
	acts       bool                // some task judges or decides
	elsewhere  map[TaskID]bool     // GOALs with a task below them that was done elsewhere
}

func shapeOf(p *Plan) *shape {
	h := &shape{
		children: map[TaskID][]TaskID{}, checks: make(map[TaskID]TaskID, len(p.Tasks)/2),
		limits: p.Limits(), dependants: map[TaskID][]TaskID{}, assembles: map[TaskID][]TaskID{},
		grafted: make(map[TaskID]bool, len(p.Grafts)), elsewhere: map[TaskID]bool{},
	}
	for _, g := range p.Grafts {
		h.grafted[g.TaskID] = true
	}
	for _, t := range p.Tasks {
		if t.NodeType == Action {
			h.acts = h.acts || t.Judges != nil || t.Decides != nil
			if t.Planning() {
				h.planning = append(h.planning, t.TaskID)
			}
			for _, d := range t.DependsOn {
				if list := h.dependants[d]; len(list) == 0 || list[len(list)-1] != t.TaskID { // else it names d twice
					h.dependants[d] = append(list, t.TaskID)
				}
			}
		}
		if f := t.FinalDeliverableSpec; f != nil && f.AssembleTaskID != "" {
			h.assembles[f.AssembleTaskID] = append(h.assembles[f.AssembleTaskID], t.TaskID)
		}
		switch {
		case t.NodeType == Check:
			h.checks[t.ReviewTargetTaskID] = t.TaskID
		case t.ParentTaskID != "":
			h.children[t.ParentTaskID] = append(h.children[t.ParentTaskID], t.TaskID)
		}
	}
	above := make(map[TaskID]TaskID, len(p.Tasks))
	for _, t := range p.Tasks {
		above[t.TaskID] = t.ParentTaskID
	}
	for _, t := range p.Tasks {
		for id := t.ParentTaskID; t.DoneElsewhere != "" && id != "" && !h.elsewhere[id]; id = above[id] {
			h.elsewhere[id] = true
		}
	}
	return h
}
