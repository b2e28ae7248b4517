package engine

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/plain"
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

// lineHash is the sha256 of a text, in hex.
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
	judges := func(task *plan.Task) bool { return task.Changes() && task.HasRun() }
	return !t.Code() && slices.ContainsFunc(p.Tasks, judges)
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
	return !slices.ContainsFunc(plandoc.PreparationLines(task), func(line string) bool { return !t.Has(line) })
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
		if entries[i] = lineHash(l.Line); l.Job != "" {
			entries[i] = agentEntry(l.Job, cmp.Or(l.Agent, l.Line))
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

// A plan may say which of the user's agents works on it, and agents differ in cost and in what they may do. So an agent
// that the user has not given the job waits to be trusted, as a command line does. Names that nobody can ask here wait
// for nothing: they do no harm.

// What an agent is chosen for, as people are told.
const (
	jobMake   = "done"
	jobReview = "reviewed"
)

// mayChoose reports whether an agent may have a job in plans: the user has given it that, or trusts it.
func (e *Engine) mayChoose(job, name string, usual ...string) bool {
	return !e.Agents.Knows(name) || slices.Contains(usual, name) || e.Trust.hasEntry(agentEntry(job, name))
}

// mayMake reports whether the agent that makes a task's versions may: one that only the plan names must be trusted.
func (e *Engine) mayMake(t *plan.Task, name string) bool {
	if t.Planning() {
		return e.mayChoose(jobMake, name, e.Agents.Read().Planner)
	}
	return e.mayChoose(jobMake, name, e.Agents.Read().Executor, e.byTable(t), e.Agents.Read().Roles[t.Role])
}

// mayJudge is the same for a reviewer of what a CHECK reviews. Who reviews plans is the policy's choice.
func (e *Engine) mayJudge(c *plan.Task, who speaker) bool {
	usual := []string{e.Agents.Read().Reviewer, e.byTable(c), e.Agents.Read().Roles[who.seat]}
	if c.ReviewTargetTaskID.MakesPlans() {
		usual = append(usual, e.Policy.PlanReviewers...)
	}
	return e.mayChoose(jobReview, who.agent, usual...)
}

// Untrusted lists what a plan would run here and nobody has trusted yet: command lines, also those that come later, and
// agents that it chooses.
func (e *Engine) Untrusted(p *plan.Plan, later ...plandoc.CommandLine) []plandoc.CommandLine {
	return append(e.Trust.newLines(p, later...), e.choices(p, false)...)
}

// UntrustedIn is Untrusted of what a person hands in.
func (e *Engine) UntrustedIn(d Draft) []plandoc.CommandLine {
	lines := e.Trust.newLines(d.Plan, d.Later...)
	return append(lines, e.choices(cmp.Or(d.Whole, d.Plan), false)...)
}

// TrustDraft trusts what a person hands in: also agents that have the job anyway, or that nobody has set up yet.
func (e *Engine) TrustDraft(d Draft) error {
	return e.Trust.Add(append(e.Trust.newLines(d.Plan, d.Later...), e.choices(cmp.Or(d.Whole, d.Plan), true)...))
}

// CountUntrusted counts them in words: "2 command lines and 1 agent".
func CountUntrusted(lines []plandoc.CommandLine) string {
	counts := map[string]int{}
	for _, l := range lines {
		switch {
		case l.Job == jobRule:
			counts["rule"]++
		case l.Agent != "":
			counts["agent"]++
		default:
			counts["command line"]++
		}
	}
	var all []string
	for _, what := range []string{"command line", "agent", "rule"} {
		if n := counts[what]; n > 0 || len(lines) == 0 && what == "command line" {
			all = append(all, plain.Count(n, what))
		}
	}
	return strings.Join(all, " and ")
}

// namedMakers are the agents that a plan itself names for a task: they count where they are set up.
func namedMakers(p *plan.Plan, t *plan.Task) []string {
	names := []string{t.Agent}
	if t.Agent == "" && t.Run == "" {
		names = []string{p.Roles[t.Role].Agent, t.MetaAgent()}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// choices lists the agents that a plan chooses, each once for each job: all of them, or those that nobody has trusted.
func (e *Engine) choices(p *plan.Plan, all bool) (list []plandoc.CommandLine) {
	type choice struct{ job, name string }
	at := map[choice]int{}
	tasks := map[choice][]plan.TaskID{}
	add := func(c choice, id plan.TaskID, path string) {
		if _, ok := at[c]; !ok {
			at[c] = len(list)
			list = append(list, plandoc.CommandLine{TaskID: id, Path: path, Agent: c.name, Job: c.job})
		}
		tasks[c] = append(tasks[c], id)
		word := "task " + plan.JoinIDs(tasks[c]) + " is"
		if len(tasks[c]) > 1 {
			word = "tasks " + plan.JoinIDs(tasks[c]) + " are"
		}
		list[at[c]].Line = fmt.Sprintf("%s to be %s by agent %s", word, c.job, plain.Line(c.name))
	}
	targets := p.Index()
	for i, t := range p.Tasks {
		switch t.NodeType {
		case plan.Action:
			for _, name := range namedMakers(p, t) {
				if all || !e.mayMake(t, name) {
					add(choice{jobMake, name}, t.TaskID, fmt.Sprintf("tasks[%d].agent", i))
				}
			}
		case plan.Check:
			names := t.Reviewers
			if len(names) == 0 {
				names = p.Config.Reviewers
			}
			for _, name := range slices.Concat(names, targets.Task(t.ReviewTargetTaskID).Advisers()) {
				who := speaker{agent: name}
				if p.HasRole(name) {
					who = speaker{p.Roles[name].Agent, name}
				}
				if who.agent != "" && (all || !e.mayJudge(t, who)) {
					add(choice{jobReview, who.agent}, t.ReviewTargetTaskID, fmt.Sprintf("tasks[%d].reviewers", i))
				}
			}
		}
	}
	return list
}

// untrustedAgent is the wait for leave to have an agent do a job that only the plan gives it.
func untrustedAgent(job, name string) Wait {
	return Wait{Text: fmt.Sprintf("the plan has it %s by agent %s, which is not trusted here", job, plain.Line(name)),
		Command: "git wf trust"}
}
