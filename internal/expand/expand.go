// Package expand says what the workflow of a plan makes of what the plan has so far.
//
// It hides where that comes from: the workflow's files and its params are inputs of PLAN-1, and what fills a GOAL
// follows from an approved version of another task. So who made a plan, who reviews it and who audits it come to the
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

// Pinned reports whether an input of PLAN-1 is what the plan is made from.
func Pinned(name string) bool { return name == Files || name == Params }

// Workflow is the one that a plan is made from, with its params.
type Workflow struct {
	*workflow.Workflow
	inputs *workflow.Inputs
	store  *gitstore.Store
}

// Of reads the workflow of a plan. It fails with what is wrong with it: a plan names the file's object id.
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

// Given is what the plan's workflow was given: the sentence, the params and the facts, as params.json has them; nil for
// a plan that is made from none.
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

// Rounds says how many rounds each GOAL may have that the plan's workflow repeats. It only serves to show them: what
// can't be read of a workflow is left out.
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

// Render gives what the deliverable of a planning task is: the first plan, or what fills a GOAL, from the version. It
// fails with plan.Findings where the version is not what the workflow expects.
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

// Fills are the fills of a rendering as a graft takes them.
func Fills(r *workflow.Rendering) []*plan.Task {
	tasks := make([]*plan.Task, len(r.Fills))
	for i, f := range r.Fills {
		tasks[i] = &plan.Task{FillTargetTaskID: f.Target, Fill: &f.Fill, DependsOn: []plan.TaskID{f.Source}}
	}
	return tasks
}

// Made is the rendering that a version of a planning task has to be, nil for one that no workflow makes. A fill's
// inputs say which version it was rendered from; that must be the approved one of the snapshot.
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

// approved is the input of a fill's version. It fails with plan.Findings if another version is approved by now.
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

// rendered is the version of a planning task that a rendering is of.
type rendered struct {
	pinned
	task plan.TaskID
	from Version
}

// remember gives what a map has under a key, which it makes where there is nothing.
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

// Around are the params of the workflow that a plan is made from, and what is around a task there: rounds, and the
// items of loops. Nothing is around a task that no workflow made.
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

// Later are command lines of parts that come later; those that a plan has already are shown with their tasks.
func Later(commands []string) []plandoc.CommandLine {
	lines := make([]plandoc.CommandLine, len(commands))
	for i, text := range commands {
		lines[i] = plandoc.CommandLine{TaskID: "later", Line: text}
	}
	return lines
}

// Facts looks up what is true of the tree of HEAD: whether it has one of a fact's paths or patterns. Of a repository
// without a commit nothing is, and neither is without a repository (nil).
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
	tree, err := store.ListTree(ctx, head, "")
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
