package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/each"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
	"gitwf/internal/relpath"
	"gitwf/internal/workspace"
)

// workDir is the scratch directory of one attempt or review, and its content.
type workDir struct {
	snap     *gitstore.Snapshot
	task     *plan.TaskState
	place    *scratch
	ownPlace bool   // the place belongs to this directory and is removed with it
	dir      string // of everything below
	work     string // where the command runs
	out      string // WF_OUT
	tmp      string // TMPDIR of an agent that may write
	in       string // WF_IN
	context  string // WF_CONTEXT
	prompt   string // WF_PROMPT
	head     string // the file with what the prompt begins with, "" for nothing
	feedback string // WF_FEEDBACK, "" if there is none
	repo     string // WF_REPO
	role     contract.Role
	as       string       // the role of the plan in which the agent works, "" for none
	reviewer string       // the agent that reviews, "" for a maker
	source   plan.OID     // HEAD when the attempt began
	inputs   []plan.Input // the content of in/
	attempt  int

	told      []prompt.Input   // the same, as a prompt shows it
	rejected  *plan.Review     // the last review of the newest version, if it rejected
	rejection []byte           // its REJECTED.md
	again     string           // the prompt for who made that version and goes on, "" if the whole one is needed
	dropped   []prompt.Dropped // what the prompt had no room for
	checkout  bool             // work is a checkout of the repository
	notice    func(string)     // tells who runs it what the work waits for
	onlookers onlookers        // of the current work
	about     agent.Context    // the content of context
	steps     []prompt.Step    // of the preparation
	handIn    string           // how an outside agent hands in, "" for others
	ran       []prompt.Ran     // what a judge's own run lines say of what it judges
	outdated  []string         // what its approved version was made from, and what is approved now
	rules     []string         // versions of the rules that the prompt tells
	change    *changing        // of a task that changes the repository; else nil
}

// prepare makes the scratch directory of a task: its inputs, its context and the last rejection.
func (e *Engine) prepare(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, role contract.Role,
	inputs []plan.Input) (*workDir, error) {
	as := ""
	if role == contract.RoleAction {
		as = t.Role
	}
	return e.prepareAs(ctx, snap, t, role, as, inputs)
}

// prepareAs is prepare for an agent that works in a role of the plan, or "" in none.
func (e *Engine) prepareAs(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, role contract.Role,
	as string, inputs []plan.Input) (*workDir, error) {
	place := e.scratch
	if place == nil {
		var err error
		if place, err = e.newScratch(ctx); err != nil {
			return nil, err
		}
	}
	dir, err := place.mkdir()
	if err != nil {
		return nil, err
	}
	w := &workDir{
		snap: snap, task: t, place: place, ownPlace: e.scratch == nil,
		dir: dir, work: filepath.Join(dir, "work"), out: filepath.Join(dir, "out"), tmp: filepath.Join(dir, "tmp"),
		in: filepath.Join(dir, "in"), context: filepath.Join(dir, "context.json"),
		prompt: filepath.Join(dir, "prompt.md"), role: role, as: as, repo: e.repo(), inputs: inputs,
		notice:    func(text string) { e.report(t.TaskID, text) },
		onlookers: onlookers{path: RunningLog(e.Store.CommonDir(), snap.ID, t.TaskID)},
	}
	if err := e.fill(ctx, w); err != nil {
		w.remove()
		return nil, fmt.Errorf("prepare %s: %w", t.TaskID, err)
	}
	return w, nil
}

// repo is the directory from which commands may read the repository.
func (e *Engine) repo() string {
	if top := e.Store.WorkTree(); top != "" {
		return top
	}
	return e.Store.GitDir()
}

func (w *workDir) remove() {
	w.onlookers.end()
	if w.change != nil && w.change.checkout != nil {
		w.change.checkout.Close()
	}
	if w.ownPlace {
		w.place.remove()
		return
	}
	w.place.discard(w.dir)
}

// fill provides what every command gets: inputs and context. An attempt gets the rest too.
func (e *Engine) fill(ctx context.Context, w *workDir) error {
	snap, t := w.snap, w.task
	if err := errors.Join(os.Mkdir(w.in, 0o777), os.Mkdir(w.tmp, 0o777)); err != nil {
		return err
	}
	r := snap.Records.Of(t.TaskID)
	w.attempt = len(r.Artifacts) + 1
	for _, a := range r.Attempts {
		if a.Version == 0 {
			w.attempt++
		}
	}
	task := plandoc.WithInherited(snap.State(), t.Task)
	c := agent.Context{
		Task:     task,
		Plan:     agent.PlanContext{PlanID: snap.ID, Title: snap.Plan.Title, TopTask: snap.Plan.TopTask},
		Workflow: agent.WorkflowContext{Session: snap.ID, Phase: string(snap.State().Phase())},
		Criteria: t.AcceptanceCriteria,
	}
	for _, have := range w.inputs {
		in, err := e.input(ctx, w, have)
		if err != nil {
			return err
		}
		c.Inputs = append(c.Inputs, in)
	}
	var err error
	if c.Params, c.Item, err = e.expanded.Around(ctx, e.Store, snap, t.TaskID); err != nil {
		return err
	}
	if err = e.handedOver(ctx, w, &c); err != nil {
		return err
	}
	if c.Notes, err = e.notes(ctx, w); err != nil {
		return err
	}
	if err := c.Write(w.context); err != nil {
		return err
	}
	w.about, w.steps = c, stepsAhead(task)
	if w.role.Usual() == contract.Artifact {
		return e.fillAttempt(ctx, w)
	}
	return nil
}

// makePlaces makes the directories in which an agent works and writes.
func (w *workDir) makePlaces() error {
	return errors.Join(os.Mkdir(w.work, 0o777), os.Mkdir(w.out, 0o777))
}

// checkOut makes the agent's directory a checkout of the repository, at the commit where the attempt begins. The
// agent's changes there are discarded with it: only what it hands in counts.
func (e *Engine) checkOut(ctx context.Context, w *workDir) error {
	if w.source == "" {
		return errors.New("the agent works in a checkout, and the repository has no commit yet")
	}
	if _, err := workspace.Make(ctx, e.Store, w.work, w.source); err != nil {
		return fmt.Errorf("make a checkout for the agent: %w", err)
	}
	w.checkout = true
	return nil
}

// fillAttempt provides what an attempt has beyond a check: directories to work in, the prompt, the last review.
func (e *Engine) fillAttempt(ctx context.Context, w *workDir) (err error) {
	t := w.task
	if w.source, err = e.Store.Head(ctx); err != nil && !errors.Is(err, gitstore.ErrUnborn) {
		return err
	}
	name := e.agentOf(w.snap.Plan, t.Task)
	if t.Changes() {
		err = e.beginChange(ctx, w)
	} else if e.inWorktree(name, t.Task) && !w.snap.Plan.Roles[w.as].Decides() {
		err = errors.Join(os.Mkdir(w.out, 0o777), e.checkOut(ctx, w))
	} else {
		err = w.makePlaces()
	}
	if err != nil {
		return err
	}
	if err := e.showOutdated(ctx, w); err != nil {
		return err
	}
	if t.Verdict == plan.Rejected {
		if err := e.lastReview(ctx, w, t.Active); err != nil {
			return err
		}
		w.feedback = filepath.Join(w.dir, plan.Rejected.File())
		if err := os.WriteFile(w.feedback, w.rejection, 0o666); err != nil {
			return err
		}
	}
	return e.attemptPrompt(ctx, w)
}

// budget is the size limit of the agent's prompts, in bytes.
func (e *Engine) budget(name string) int {
	if c, ok := e.Agents.Config(name); ok && c.Budget > 0 {
		return c.Budget
	}
	return prompt.DefaultBudget
}

// approvedInputs are the versions that an attempt gets: the approved one of each dependency, and nothing else.
func approvedInputs(snap *gitstore.Snapshot, s *plan.State, id plan.TaskID) []plan.Input {
	inputs := []plan.Input{}
	for _, d := range s.Inputs(id) {
		if v, ok := snap.Records.Of(d).Version(s.Tasks[d].Approved); ok {
			inputs = append(inputs, plan.Input{TaskID: d, ArtifactID: plan.VersionID(v.Version), Tree: v.Files})
		}
	}
	return inputs
}

// input puts one input below WF_IN and describes it.
func (e *Engine) input(ctx context.Context, w *workDir, have plan.Input) (agent.Input, error) {
	snap := w.snap
	a, err := export.ReadArtifact(ctx, e.Store, snap, have.TaskID, plan.VersionNumber(have.ArtifactID))
	if err != nil {
		return agent.Input{}, err
	}
	of := snap.State().Tasks[have.TaskID]
	if of == nil {
		return agent.Input{}, fmt.Errorf("input %s is not in the plan any more", have.TaskID)
	}
	t := of.Task
	dir := filepath.Join(w.in, string(t.TaskID))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return agent.Input{}, err
	}
	bundle := export.Dir(t)
	if t.Changes() {
		if a.Files, err = e.patch(ctx, a, dir); err != nil {
			return agent.Input{}, err
		}
		bundle = ""
	} else if err := e.Store.Export(ctx, a.Tree, dir); err != nil {
		return agent.Input{}, err
	}
	in := agent.Input{TaskID: t.TaskID, Version: plan.VersionNumber(a.ArtifactID)}
	if err := w.tell(string(t.TaskID), in.Version, a.Files, bundle); err != nil {
		return agent.Input{}, err
	}
	for _, f := range a.Files {
		file := agent.InputFile{Path: f.Path}
		if bundle != "" {
			file.BundlePath = bundle + "/" + f.Path
		}
		in.Files = append(in.Files, file)
	}
	if w.role == contract.RoleAction { // the same text as in .summaries/
		s, err := export.Summarize(ctx, e.Store, snap, t.TaskID, in.Version)
		if err != nil {
			return agent.Input{}, err
		}
		in.Summary = s.Text(t, snap.State().Dependents(t.TaskID))
		w.told[len(w.told)-1].Summary = prompt.Text(in.Summary)
	}
	return in, nil
}

// tell describes the files that a directory below WF_IN has of a version.
func (w *workDir) tell(name string, version int, infos []plan.FileInfo, bundle string) error {
	files, err := filesOf(filepath.Join(w.in, name), infos, bundle, prompt.MaxInputText)
	w.told = append(w.told, prompt.Input{Name: name, Version: version, Dir: name, Files: files})
	return err
}

// tellOwn gives the newest version of the task itself to whoever makes it again: a change as a patch.
func (e *Engine) tellOwn(ctx context.Context, w *workDir) error {
	a, err := export.ReadArtifact(ctx, e.Store, w.snap, w.task.TaskID, w.task.Active)
	if err != nil {
		return err
	}
	dir := filepath.Join(w.in, string(w.task.TaskID))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if w.task.Changes() {
		a.Files, err = e.patch(ctx, a, dir)
	} else {
		err = e.Store.Export(ctx, a.Tree, dir)
	}
	if err != nil {
		return err
	}
	return w.tell(string(w.task.TaskID), w.task.Active, a.Files, "")
}

// lastReview reads the last rejection of a version, if there is one.
func (e *Engine) lastReview(ctx context.Context, w *workDir, version int) error {
	var last plan.ReviewRecord
	for _, r := range w.snap.Records.Of(w.task.TaskID).Reviews {
		if r.Version == version && r.Verdict == plan.Rejected {
			last = r
		}
	}
	if last.N == 0 {
		return nil
	}
	docs := e.documents(ctx, w.snap, w.task.TaskID)
	rev, err := docs.Review(last)
	if err != nil {
		return err
	}
	data, err := docs.ReviewFile(last)
	if err != nil {
		return err
	}
	w.rejected, w.rejection = &rev, []byte(data)
	return nil
}

// handedOver puts what people handed in for the task, or for a GOAL above it, below WF_IN, and describes it.
func (e *Engine) handedOver(ctx context.Context, w *workDir, c *agent.Context) error {
	snap, from := w.snap, w.snap.State().Lineage(w.task.Task)
	if w.task.TaskID != plan.PlanTaskID {
		from = append(from, plan.PlanTaskID) // everybody gets what came with the top task
	}
	given := map[string]int{} // files so far, by name: a GOAL and a task below it may ask for the same
	for _, id := range from {
		inputs := snap.Records.Of(id).Inputs
		for _, escaped := range slices.Sorted(maps.Keys(inputs)) {
			if id == plan.PlanTaskID && snap.Plan.Workflow != nil && expand.Pinned(escaped) {
				continue // what the plan is made from is no material for its tasks
			}
			if err := e.handOver(ctx, w, id, escaped, given[escaped], inputs[escaped], c); err != nil {
				return err
			}
			given[escaped] += inputs[escaped]
		}
	}
	return nil
}

// handOver is handedOver for one name of one task. Each file goes to inputs/<name>/<number>/<file> below WF_IN; numbers
// continue after existing ones.
func (e *Engine) handOver(ctx context.Context, w *workDir, id plan.TaskID, escaped string, there,
	count int, c *agent.Context) error {
	name := plan.UnescapeName(escaped)
	told := prompt.Input{Name: name, Dir: path.Join("inputs", escaped)}
	for n := 1; n <= count; n++ {
		doc, err := e.documents(ctx, w.snap, id).Input(export.InputRecord{Name: escaped, N: n})
		if err != nil {
			return err
		}
		number := strconv.Itoa(there + n)
		below := path.Join(told.Dir, number)
		dir := filepath.Join(w.in, filepath.FromSlash(below))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := e.Store.Export(ctx, doc.Tree, dir); err != nil {
			return err
		}
		if err := relpath.Check(doc.FileName); err != nil {
			return fmt.Errorf("%s: input %s: %w", id, plain.Line(name), err)
		}
		info := plan.FileInfo{Path: doc.FileName, Mode: "100644", SHA256: doc.SHA256, Size: doc.Size}
		files, err := filesOf(dir, []plan.FileInfo{info}, "", prompt.MaxInputText)
		if err != nil {
			return err
		}
		files[0].Path = number + "/" + doc.FileName
		told.Files = append(told.Files, files...)
		c.HandedIn = append(c.HandedIn, agent.HandedIn{Name: name, Path: below + "/" + doc.FileName})
	}
	if count > 0 {
		w.told = append(w.told, told)
	}
	return nil
}

// job is what the agent gets.
func (w *workDir) job(log io.Writer) agent.Job {
	snap, t := w.snap, w.task
	limit := cmp.Or(t.TimeoutSeconds, snap.Plan.Limits().TimeoutSeconds)
	return agent.Job{
		Task: t.Task, PlanID: snap.ID, Attempt: w.attempt,
		Dir: w.work, Out: w.out, Tmp: w.tmp, In: w.in, InCheckout: w.checkout,
		Context: w.context, Feedback: w.feedback, Prompt: w.prompt, Head: w.head, Again: w.again, Repo: w.repo,
		Role:   w.role,
		Access: agent.AccessOf(snap.Plan.Roles[w.as]), Timeout: time.Duration(limit) * time.Second,
		Log: io.MultiWriter(log, &w.onlookers), Limits: snap.Plan.Limits(), Notice: w.notice,
	}
}

// environ is the environment of a criterion's run line.
func (w *workDir) environ() []string {
	return []string{
		"WF_ROLE=" + w.role.Env(), "WF_REPO=" + w.repo, "WF_IN=" + w.in, "WF_CONTEXT=" + w.context,
		"WF_PLAN=" + string(w.snap.ID), "WF_TASK=" + string(w.task.TaskID),
		"WF_ATTEMPT=" + strconv.Itoa(w.attempt),
	}
}

// AgentActor is the author of an agent's work. The address names no mailbox: the top-level domain is reserved.
func AgentActor(name string) plan.Actor {
	return plan.Actor{Name: name, Email: plan.EscapeName(name) + "@agents.git-wf.invalid"}
}

func fileRefs(files []agent.File) []gitstore.FileRef {
	return each.Of(files, func(f agent.File) gitstore.FileRef {
		return gitstore.FileRef{Path: f.Path, Mode: f.Mode, Source: f.Source}
	})
}

func totalSize(files []plan.FileInfo) int64 {
	var n int64
	for _, f := range files {
		n += f.Size
	}
	return n
}

// what is a commit's subject without the task's id, which a report prints separately.
func what(c plan.Change) string {
	_, text, _ := strings.Cut(c.Subject, ": ")
	return text
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return plain.Line(line)
}
