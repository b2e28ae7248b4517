package prompt

import (
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Text is what somebody wrote: a file, a description, an answer. It is printed on lines of its own in a fence that it
// can't close, and may be shortened or left out. A template prints it as {{.Text}} or asks whether there is any. Every
// other string of Data is printed on one line, except Contract and Way.
type Text string

// Data is everything that a prompt can hold. docs/format/prompts.md has these fields and comments. An agent
// learns only what a template prints.
type Data struct {
	PlanID   plan.ID
	Title    string // of the plan
	TopTask  Text   // the user's request, verbatim. Binding for plan and plan-review, background for the others
	Root     []RootCriterion
	Task     Task       // the prompt's subject; of a review, the task under review; of a split, the leaf
	Attempt  int        // number of the attempt, from 1
	Again    bool       // it goes on in the conversation that has made the rejected version, and knows the task
	Inputs   []Input    // approved versions and files handed in
	Rejected *Rejection // the last rejection of what the role makes or reviews; nil if there is none
	Failed   *Attempt   // the last attempt at this version, if it left nothing to review
	Answers  []Answer   // to earlier questions, oldest first
	Steps    []Step     // of the task's preparation, in order; of an action
	// paths at which the approved changes that a change builds on contradict each other, and why
	Conflicts []string
	NotLanded []string // why an approved version of a change did not land, which is to be made again
	Outdated  []string // inputs that have changed since the version that is to be made again
	Dropped   []string // what it would have got and was dropped, and why
	Notes     []Note   // oldest first
	Rules     []Rule   // of the project and of the user, for this task, the most binding first
	Order     *Order   // of a task that decides; nil for none
	Board     *Board   // what a task that decides is shown; nil for others
	Judging   *Judging // what a task that judges is shown; nil for others
	Role      *Role    // of the plan, in which the agent works; nil for none
	Question  Text     // of a consult: what is to be answered, with its options
	Advisers  []Agent  // roles that the maker may ask instead of a person, each with what it is about
	Shell     bool     // the agent reads and writes files itself; else it answers only with text
	Place     Place    // where those files are
	Tree      Text     // of plan, plan-review and split: the paths of the repository, one a line
	ReadOnly  bool     // with Shell: it may write nothing; its files are in its answer
	HandIn    string   // the command for handing in files, for an agent that git wf did not start; else ""
	Contract  string   // the form of the answer: Markdown, printed as it is. Binding
	Runs      bool     // it may be able to run command lines
	OwnCheck  string   // the command line by which the repository checks itself; "" if its files don't say
	Stack     []string // what the repository is made with, as its files say
	// what the repository tells agents, in the approved commit that the work begins with; told before all else
	Conventions []File
	Way         string // what the plan's type says to this role: Markdown, printed as it is. Binding

	// check, plan-review
	Candidate *Candidate

	// plan, plan-review, feasibility, split
	Requirements []File // files that came with the top task
	Limits       Limits
	Floors       policy.Floors // of the policy
	Agents       []Agent       // that tasks may name
	Current      Text          // the current plan, if it is amended
	Reason       Text          // why the plan is amended or the leaf split, from the person who wants it
	// what the feasibility check found too large about the leaf, and who said so. Not binding
	TooLarge   Text
	Leaves     []Leaf // to be estimated
	Dependants []plan.TaskID
	DepthLeft  int // levels that may still be added below the leaf
	LeavesLeft int // ACTIONs that may still be added to the plan
}

// Task is a task as its maker and its reviewers see it. All of it is binding.
type Task struct {
	ID          plan.TaskID
	Title       string
	Description Text
	Details     Text // the task's meta, context and flow_control, as JSON; "" without any
	Days        float64
	Covers      []string // root criteria
	DependsOn   []plan.TaskID
	Spec        Spec
	Criteria    []Criterion
	Requires    []Requirement
	MinScore    int
	Rubric      *Rubric // what a reviewer rates, nil if they state a score
}

// Rubric is what the score of a review follows from.
type Rubric struct {
	Scale, Veto int  // Veto in per cent of Scale, 0 for none
	Counts      bool // ratings count findings
	Dimensions  []Dimension
}

// Dimension is what a reviewer rates from 0 to the scale, or a class of findings. Only the ratios of weights count.
type Dimension struct {
	Name   string
	Weight float64
	Limit  *int // more findings reject
}

// Spec is what has to be delivered.
type Spec struct {
	Format      string
	Dir         string   // output_dir: below Place.Out
	Files       []string // paths or patterns below Dir
	Single      bool     // exactly one file
	Paths       []string // of a change of the repository: what it may touch
	Tests       []string // of them, what tests the rest
	Description Text
}

// Criterion is one thing that the deliverable is judged by.
type Criterion struct {
	ID        string
	Severity  string // MUST or SHOULD
	Statement string
	Run       Text // command line whose exit code decides; "" if a reviewer does
	Schema    Text // JSON Schema that File must keep, which the program checks; "" if none
	File      string
	Bundle    bool // Run runs in a preview of the whole bundle, not in a copy of the deliverable
	Covers    []string
}

// RootCriterion is one item of the top task's checklist.
type RootCriterion struct {
	ID        string
	Statement string
}

// Requirement is an input that somebody has to hand in.
type Requirement struct {
	Name, Kind  string
	Description string
	Formats     []string
	Count       int
}

// Input is something that the task builds on.
type Input struct {
	Name    string // a task's id, or the name of a file handed in
	Version int    // of the task; zero for a file handed in
	Dir     string // below Place.In, where the paths of Files start
	Files   []File
	Summary Text // what was done and what its review says; "" for files handed in, and for reviewers
}

// Step is one step of the task's preparation.
type Step struct {
	Number  int
	Name    string
	Action  string
	Result  string // done, skipped, answered, given, not taken yet
	Problem string // why it was skipped or answered
	File    string // below Place.In, with the output
	Output  Text
	Advice  Text // what the agent is to do itself. Binding
}

// File is one file. Make it with FileOf.
type File struct {
	Path   string
	Bundle string // where it will be in the bundle; may be ""
	Mode   string // as git writes it
	Size   int64  // bytes
	SHA256 string
	Binary bool // it is no text
	Unread bool // its content is unknown
	Text   Text // "" if the file is empty, binary or was not read
}

// Rejection is the last rejecting review. All but Text is binding.
type Rejection struct {
	Version  int
	Reviewer string
	Score    int
	MinScore int
	Reason   string
	Again    string // who wants it made again, where nobody found fault with it
	Failed   []Failed
	Text     Text // REJECTED.md, whole
}

// Failed is a criterion that did not pass.
type Failed struct {
	ID, Severity, Result string
	Statement            string
	Evidence             string // the end of it, short
}

// Answer is the answer to a question of an earlier attempt.
type Answer struct {
	ID       string // q1
	Question string
	Text     Text
	By       string // the role that answered, with its agent; "" for a person
}

// Attempt is an attempt that left nothing to review.
type Attempt struct {
	Number int    // among the attempts that left nothing
	Agent  string // who made it
	Why    Text   // what was seen: a refusal, a time-out, files with other names, the end of its output
}

// Place is where an agent finds and puts files: absolute paths, also in the environment variables named here.
type Place struct {
	Out      string // WF_OUT: the deliverable goes here
	In       string // WF_IN: the inputs
	Tmp      string // TMPDIR, for what is thrown away
	Repo     string // WF_REPO: the repository, to read
	Context  string // WF_CONTEXT: the task, the plan, the criteria and the inputs as JSON
	Feedback string // WF_FEEDBACK: the last rejection; "" if there is none
}

// Role is a part that a plan gives to whoever makes or reviews something. All of it is binding.
type Role struct {
	Name string
	Text Text
}

// Order is what somebody who decides wants done now. All of it is binding.
type Order struct {
	By   string // MAIN-1 v4
	Mode string // of a review: partial, investigate or ""
	Text Text
}

// Judging is what a task that judges is shown. The criteria are binding.
type Judging struct {
	Mode   string  // of the order; "" for the usual one
	Rubric *Rubric // what each version is rated by, nil if the judge states a score
	Tasks  []Judged
	Ran    []Ran // what the judge's own commands said of these versions, before it is asked
}

// Judged is a version that a task judges.
type Judged struct {
	Task
	Version int
	Ran     []Ran // what the engine saw of its run lines
}

// Board is what a task that decides is shown.
type Board struct {
	Iteration int      // the number of the decision
	Orders    []string // roles whose tasks it orders
	Plan      Text     // each task, with one of five words for where it stands
	Reports   Text     // what became of the last order
	Asked     Text     // all questions of the plan, with their answers
	History   Text     // the last history_append
	Given     Text     // of a workflow, for the first decision: the sentence, params and facts
	Tree      Text     // the paths of the repository, for the first decision
}

// Note is something that the plan has recorded for those who work on it.
type Note struct {
	Number   int
	Category string
	By       string // who wrote it, and with what; "" for the program
	Text     Text
}

// Rule is something that whoever works here keeps.
type Rule struct {
	ID       string // RULE-1, or the name of the user's own file
	Title    string
	Required bool
	Text     Text
}

// Candidate is the version under review.
type Candidate struct {
	Version  int
	Dir      string // where an agent with a shell finds Files; "" if nowhere
	Files    []File
	Change   Text  // of a change of the repository: the change, unified; Files has none then
	DiffFrom int   // the last reviewed version; zero if there is none
	Diff     Text  // unified, from that version to this one
	Ran      []Ran // what the engine ran. Results are binding, output is not
}

// Ran is a criterion that the engine tried, and what it saw.
type Ran struct {
	ID, Result string
	Exit       string // exit code; "" if there was none
	Output     Text
}

// Limits are what a plan must keep.
type Limits struct {
	Depth     int     // levels of tasks below the root
	Threshold float64 // person-days of the largest leaf
	Leaves    int
	MinScore  int
}

// Agent is an agent that tasks may name.
type Agent struct{ Name, Kind, About string }

// Leaf is an ACTION to be estimated.
type Leaf struct {
	ID          plan.TaskID
	Title       string
	Days        float64 // the planner's
	Format      string
	Files       []string
	Criteria    int
	Inputs      int // tasks that it depends on
	Description Text
}
