// Package expand renders a plan's workflow: the first plan, and the tasks that fill its GOALs later.
//
// It hides the inputs of a rendering: the workflow's files and params are inputs of PLAN-1, and a GOAL
// is filled from an approved version of another task. So maker, reviewer and auditor of a plan get the
// same bytes. What a workflow means belongs to internal/workflow.
package expand

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/workflow"
)

// The names of the inputs of PLAN-1 that a plan is made from.
const (
	Files  = "workflow" // the workflow's file, then those that it uses
	Params = "params"   // params.json
)

// Pinned reports whether an input of PLAN-1 belongs to the plan's workflow.
func Pinned(name string) bool { return name == Files || name == Params }

// Workflow is the one that a plan is made from, with its params.
type Workflow struct {
	*workflow.Workflow
	inputs *workflow.Inputs
	store  *gitstore.Store
}

// Of loads a plan's workflow, and checks its file against the object id that the plan names.
func Of(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) (*Workflow, error) {
	if snap.Plan.Workflow == nil {
		return nil, errors.New("the plan is not made from a workflow")
	}
	w := &Workflow{store: store}
	docs := export.DocumentsOf(ctx, store, snap, plan.PlanTaskID)
	var files []workflow.Source
	for _, in := range docs.Inputs() {
		if in.Name != Files && (in.Name != Params || in.N != 1) {
			continue
		}
		src, err := read(ctx, store, snap, docs, in)
		if err != nil {
			return nil, err
		}
		if in.Name == Files {
			files = append(files, src)
		} else if w.inputs, err = workflow.ParseInputs(src.Data); err != nil {
			return nil, err
		}
	}
	if w.inputs == nil {
		return nil, fmt.Errorf("%s has no params.json among its inputs", plan.PlanTaskID)
	}
	if len(files) == 0 || files[0].OID() != snap.Plan.Workflow.OID {
		return nil, fmt.Errorf("%s does not have the file that plan.json names, %s", plan.PlanTaskID,
			snap.Plan.Workflow.OID)
	}
	var err error
	if w.Workflow, err = workflow.LoadPinned(files); err != nil {
		return nil, fmt.Errorf("the workflow of the plan: %w", err)
	}
	return w, nil
}

// Given returns params.json: the sentence, params and facts that the plan's workflow was given; nil for
// a plan without a workflow.
func Given(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) ([]byte, error) {
	docs := export.DocumentsOf(ctx, store, snap, plan.PlanTaskID)
	for _, in := range docs.Inputs() {
		if snap.Plan.Workflow != nil && in.Name == Params && in.N == 1 {
			src, err := read(ctx, store, snap, docs, in)
			return src.Data, err
		}
	}
	return nil, nil
}

// Closes are the tasks of registers that a plan does, as PLAN/TASK, also those that its params have and none of its
// tasks names yet.
func Closes(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) (all []string) {
	for _, t := range snap.Plan.Tasks {
		if t.Closes != "" {
			all = append(all, t.Closes)
		}
	}
	data, err := Given(ctx, store, snap)
	if err != nil || data == nil {
		return all
	}
	if in, err := workflow.ParseInputs(data); err == nil {
		all = append(all, in.Items()...)
	}
	return all
}

// read reads a file that is an input of PLAN-1.
func read(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, docs export.Documents,
	in export.InputRecord) (src workflow.Source, err error) {
	doc, err := docs.Input(in)
	if err != nil {
		return src, err
	}
	most := int64(workflow.MaxFileBytes)
	if doc.Size > most {
		return src, fmt.Errorf("%s has %d bytes, and no workflow has more than %d", plain.Line(doc.FileName),
			doc.Size, most)
	}
	src.Name = doc.FileName
	at := strings.TrimSuffix(snap.Records.Of(plan.PlanTaskID).InputPath(in.Name, in.N), ".json")
	src.Data, err = store.ReadFile(ctx, snap.Commit, path.Join(plan.PlanTaskID.Dir(), at, "files", doc.FileName))
	return src, err
}

// Rounds returns the greatest number of rounds of each GOAL that the workflow repeats. It is for display
// alone: unreadable parts of a workflow are left out.
func Rounds(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) map[plan.TaskID]int {
	var w *Workflow
	most := map[plan.TaskID]int{}
	for _, t := range snap.Plan.Tasks {
		if t.Fill == nil || t.Fill.Round == 0 || most[t.FillTargetTaskID] > 0 {
			continue
		}
		var err error
		if w == nil {
			w, err = Of(ctx, store, snap)
		}
		if err != nil {
			return nil
		}
		if n, err := w.Workflow.Rounds(w.inputs, *t.Fill); err == nil {
			most[t.FillTargetTaskID] = n
		}
	}
	return most
}

// Version is a version of a task that a fill is rendered from.
type Version struct {
	Task plan.TaskID
	Tree plan.OID // of its files
}

// Render renders a planning task's deliverable: the first plan or, from a version, what fills a GOAL. It
// returns plan.Findings if the version is not what the workflow expects.
func (w *Workflow) Render(ctx context.Context, t *plan.Task, from Version) (*workflow.Rendering, error) {
	if t.Fill == nil {
		return w.Workflow.Render(w.inputs)
	}
	source, file, err := w.Source(w.inputs, *t.Fill)
	if err != nil {
		return nil, err
	}
	if source != from.Task {
		return nil, plan.Findings{{Code: "fill-source", TaskID: t.TaskID, Message: "is filled from another task",
			Expected: string(source), Found: string(from.Task)}}
	}
	data, err := w.store.ReadFile(ctx, from.Tree, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, plan.Findings{{Code: "fill-source", TaskID: source,
			Message: "the deliverable lacks the file that tasks are made from", Expected: plain.Line(file),
			Found: "no such file"}}
	}
	if err != nil {
		return nil, err
	}
	return w.RenderFill(w.inputs, *t.Fill, data)
}

// Fills converts a rendering's fills into tasks for a graft.
func Fills(r *workflow.Rendering) []*plan.Task {
	tasks := make([]*plan.Task, len(r.Fills))
	for i, f := range r.Fills {
		tasks[i] = &plan.Task{FillTargetTaskID: f.Target, Fill: &f.Fill, DependsOn: []plan.TaskID{f.Source}}
	}
	return tasks
}

// Made renders what a version of a planning task must equal; it is nil if no workflow makes the task.
// The version that a fill names as its input must be the approved one of the snapshot.
func Made(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.Task,
	a plan.Artifact) (*workflow.Rendering, error) {
	if !t.Planning() || t.Agent != plan.AgentWorkflow {
		return nil, nil
	}
	w, err := Of(ctx, store, snap)
	if err != nil {
		return nil, err
	}
	var from Version
	if t.Fill != nil {
		if from, err = approved(snap, t, a.Inputs); err != nil {
			return nil, err
		}
	}
	return w.Render(ctx, t, from)
}

// approved returns the version that a fill was rendered from, or plan.Findings if it no longer counts.
func approved(snap *gitstore.Snapshot, t *plan.Task, inputs []plan.Input) (Version, error) {
	if len(inputs) != 1 {
		return Version{}, plan.Findings{{Code: "fill-source", TaskID: t.TaskID,
			Message: "is rendered from one version of one task", Expected: "one input",
			Found: plain.Count(len(inputs), "input")}}
	}
	in := inputs[0]
	source := snap.State().Tasks[in.TaskID]
	if source == nil || plan.VersionID(source.Approved) != in.ArtifactID {
		return Version{}, plan.Findings{{Code: "overtaken", TaskID: t.TaskID,
			Message: "was rendered from a version that is not the approved one any more",
			Found:   string(in.TaskID) + " " + plain.Line(in.ArtifactID)}}
	}
	v, ok := snap.Records.Of(in.TaskID).Version(source.Approved)
	if !ok || v.Files != in.Tree {
		return Version{}, plan.Findings{{Code: "fill-source", TaskID: t.TaskID,
			Message: "names other files than the version has"}}
	}
	return Version{in.TaskID, v.Files}, nil
}

// Memory keeps what Around has rendered: a run asks for each of its tasks. Its zero value is ready, also for several
// goroutines.
type Memory struct {
	mu        sync.Mutex
	workflows map[pinned]*Workflow
	rendered  map[rendered]*workflow.Rendering
}

// pinned is what a plan is made from: the workflow's file, and the record of its params.
type pinned struct {
	id           plan.ID
	file, params plan.OID
}

// rendered identifies a rendering: the planning task, and the version that it is made from.
type rendered struct {
	pinned
	task plan.TaskID
	from Version
}

// remember returns the value of a key; if there is none, it reads and stores one.
func remember[K comparable, V any](known *map[K]V, key K, read func() (V, error)) (V, error) {
	if v, ok := (*known)[key]; ok {
		return v, nil
	}
	v, err := read()
	if *known == nil {
		*known = map[K]V{}
	}
	if err == nil {
		(*known)[key] = v
	}
	return v, err
}

// Around returns the params of the plan's workflow, and a task's rounds and loop items in it. item is
// nil for a task that the workflow did not make.
func (m *Memory) Around(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, id plan.TaskID) (params,
	item map[string]any, err error) {
	if t := snap.Plan.Task(id); snap.Plan.Workflow == nil || t == nil || t.Planning() {
		return nil, nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := pinned{id: snap.ID, file: snap.Plan.Workflow.OID,
		params: snap.Document(plan.PlanTaskID, snap.Records.Of(plan.PlanTaskID).InputPath(Params, 1))}
	w, err := remember(&m.workflows, from, func() (*Workflow, error) { return Of(ctx, store, snap) })
	if err != nil {
		return nil, nil, err
	}
	params = w.inputs.Params
	lineage := snap.State().Lineage(snap.Plan.Task(id))
	for _, g := range snap.Plan.Grafts {
		t := snap.Plan.Task(g.TaskID)
		if t == nil || t.Agent != plan.AgentWorkflow || t.Fill != nil && !slices.Contains(lineage, t.FillTargetTaskID) {
			continue
		}
		var source Version
		if t.Fill != nil {
			a, err := export.ReadArtifact(ctx, store, snap, t.TaskID, plan.VersionNumber(g.ArtifactID))
			if err != nil || len(a.Inputs) != 1 {
				return params, nil, err
			}
			source = Version{a.Inputs[0].TaskID, a.Inputs[0].Tree}
		}
		r, err := remember(&m.rendered, rendered{from, t.TaskID, source}, func() (*workflow.Rendering, error) {
			return w.Render(ctx, t, source)
		})
		if err != nil {
			return params, nil, err
		}
		if item, ok := r.Around(id); ok {
			return params, item, nil
		}
	}
	return params, nil, nil
}

// Later labels command lines of parts still to come; those in the plan are shown with their tasks.
func Later(commands []string) []plandoc.CommandLine {
	lines := make([]plandoc.CommandLine, len(commands))
	for i, text := range commands {
		lines[i] = plandoc.CommandLine{TaskID: "later", Line: text}
	}
	return lines
}

// Facts reports for each fact whether HEAD's tree has one of its paths or patterns. None of them holds
// without a commit, or without a repository (a nil store).
func Facts(ctx context.Context, store *gitstore.Store, facts []workflow.Fact) (map[string]bool, error) {
	found := map[string]bool{}
	if len(facts) == 0 || store == nil {
		return found, nil
	}
	head, err := store.Head(ctx)
	if errors.Is(err, gitstore.ErrUnborn) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	tree, err := store.ListTree(ctx, head)
	if err != nil {
		return nil, err
	}
	for _, f := range facts {
		found[f.Name] = slices.ContainsFunc(f.Any, func(pattern string) bool {
			return slices.ContainsFunc(tree, func(e gitstore.TreeEntry) bool {
				return strings.HasPrefix(e.Path, strings.TrimSuffix(pattern, "/")+"/") || glob.Match(pattern, e.Path)
			})
		})
	}
	return found, nil
}
