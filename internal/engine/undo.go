package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// UndoTask is the task of a plan that takes a change back.
const UndoTask plan.TaskID = "UNDO-1"

// Undoing is what it takes to take a change back out of a branch.
type Undoing struct {
	Plan      plan.ID       `json:"plan_id"` // that takes it back
	Of        plan.ID       `json:"of_plan_id"`
	Task      plan.TaskID   `json:"task_id"` // that made the change
	Artifact  string        `json:"artifact_id"`
	Branch    string        `json:"branch"`
	Tip       plan.OID      `json:"tip"`
	Paths     []string      `json:"paths"`
	Builds    []plan.TaskID `json:"built_on_by"` // tasks that build on the change, and have approved changes themselves
	Conflicts []string      `json:"conflicts"`   // why the engine can't do it alone
	// the tip with the change taken back; no ref names it. "" if there are conflicts
	Commit plan.OID `json:"commit,omitempty"`

	title  string
	record plan.Undo
}

// Undo computes what takes the change of a task back out of a branch: the version that landed last, by the records, or
// else the approved one. The merge function does it, with the sides of the change exchanged. It records nothing.
func (e *Engine) Undo(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, branch string) (*Undoing,
	error) {
	version := t.Approved
	for _, l := range snap.Records.Of(t.TaskID).Landings {
		if l.Landed() {
			version = l.Version
		}
	}
	switch {
	case !t.Changes():
		return nil, fault.Refused("git wf export "+string(snap.ID), "%s: does not change the repository", t.TaskID)
	case version == 0:
		return nil, fault.Refused("git wf show "+string(t.TaskID), "%s: no version of it is approved or has landed",
			t.TaskID)
	}
	u := &Undoing{Of: snap.ID, Task: t.TaskID, Artifact: plan.VersionID(version), title: plain.Line(t.Title),
		Builds: []plan.TaskID{}, Conflicts: []string{}}
	var err error
	if u.Branch, u.Tip, err = e.landsOn(ctx, branch); err != nil {
		return nil, err
	}
	list, err := e.landedStack(ctx, snap, t, version, u.Branch)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		for _, f := range plandoc.ChangedFiles(a.Files) {
			u.Paths = append(u.Paths, f.Path)
		}
	}
	for _, id := range snap.State().Dependents(t.TaskID) {
		if b := snap.State().Tasks[id]; b.Changes() && b.Approved > 0 {
			u.Builds = append(u.Builds, id)
		}
	}
	u.record = plan.Undo{PlanID: snap.ID, TaskID: t.TaskID, ArtifactID: u.Artifact, Floor: t.Active}
	tips, err := e.Store.NamedTips(ctx, e.Policy.Changes)
	if err != nil {
		return nil, err
	}
	for _, tip := range tips {
		u.record.Tips = append(u.record.Tips, tip.Commit)
	}
	return u, e.takeBack(ctx, u, list)
}

// landedStack lists a version that landed on a branch, and those landed before that it was made on, the newest first.
func (e *Engine) landedStack(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, version int,
	branch string) ([]plan.Artifact, error) {
	a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, version)
	if err != nil {
		return nil, err
	}
	list := []plan.Artifact{a}
	landings, err := export.DocumentsOf(ctx, e.Store, snap, t.TaskID).Landings()
	for _, l := range slices.Backward(landings) {
		n := plan.VersionNumber(l.ArtifactID)
		if err != nil || l.Commit == "" || l.Branch != branch || n >= version || a.Base == nil {
			continue
		}
		var on bool
		if on, err = e.Store.IsAncestor(ctx, l.Commit, a.Base.Commit); err != nil || !on {
			continue
		}
		if a, err = export.ReadArtifact(ctx, e.Store, snap, t.TaskID, n); err == nil {
			version, list = n, append(list, a)
		}
	}
	return list, err
}

// takeBack makes the commit that takes versions back, if nothing contradicts it.
func (e *Engine) takeBack(ctx context.Context, u *Undoing, list []plan.Artifact) error {
	on, err := e.Store.TreeOf(ctx, u.Tip)
	if err != nil {
		return err
	}
	batch := e.Store.NewBatch()
	defer batch.Discard()
	tree := on
	for _, a := range list {
		next, conflicts, err := batch.RevertChange(ctx, a.Tree, tree)
		if err != nil {
			return err
		}
		for _, c := range conflicts {
			u.Conflicts = append(u.Conflicts, c.String())
			if c.Renamed != "" {
				u.Paths = append(u.Paths, c.Renamed)
			}
		}
		tree = next
	}
	switch {
	case len(u.Conflicts) > 0:
		return nil
	case tree == on:
		return fault.Refused("git log "+u.Branch, "%s has nothing of %s %s that could be taken back", u.Branch, u.Task,
			u.Artifact)
	}
	u.Commit = batch.AddCommit(tree, u.Tip, u.what(), time.Unix(0, 0))
	return batch.Flush(ctx)
}

func (u *Undoing) what() string {
	return fmt.Sprintf("Take back %s %s of %s", u.Task, u.Artifact, u.Of)
}

// Document is the plan that takes the change back, as a person could have written it: one task, to be reviewed.
func (u *Undoing) Document() []byte {
	text := fmt.Sprintf("%s (%s) on %s, and keep everything that came later.", u.what(), u.title, u.Branch)
	if len(u.Builds) > 0 {
		text += " These tasks build on it: " + plan.JoinIDs(u.Builds) + "."
	}
	if len(u.Conflicts) > 0 {
		text += " It can't be taken back as it is, because the files have changed since. Resolve:\n" +
			strings.Join(u.Conflicts, "\n") +
			fmt.Sprintf("\nThe change: git wf diff --plan %s %s %s", u.Of, u.Task, u.Artifact)
	}
	paths := each.Of(u.Paths, literal.Replace)
	slices.Sort(paths)
	doc := map[string]any{
		"title": fmt.Sprintf("Undo %s: %s", u.Task, u.title), "top_task": u.what() + ".",
		"tasks": []any{map[string]any{
			"task_id": UndoTask, "title": fmt.Sprintf("Undo %s: %s", u.Task, u.title), "description": text,
			"estimated_person_days": 0.5,
			"deliverable_spec": map[string]any{"format": "change", "paths": slices.Compact(paths),
				"undoes": u.record},
			"acceptance_criteria": []any{map[string]any{"id": "undone", "check_method": plan.ManualReview,
				"statement": fmt.Sprintf("What %s %s changed is as it was before, and nothing else is changed.", u.Task,
					u.Artifact)}},
		}},
	}
	data, _ := json.MarshalIndent(doc, "", "  ") // of strings and numbers
	return append(data, '\n')
}

// literal escapes what would make a pattern of a path.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// HandInUndo records the commit of an Undoing as the first version of its plan's task. If that waits until the plan is
// approved, the commit is kept so that a person can hand it in.
func (e *Engine) HandInUndo(ctx context.Context, u *Undoing, person plan.Actor, later bool) error {
	if _, err := e.Store.KeepBase(ctx, u.Plan, u.Tip); err != nil || u.Commit == "" {
		return err
	}
	if later {
		return e.Store.KeepRef(ctx, u.Plan, UndoTask, "v1", u.Commit)
	}
	snap, err := e.Store.Snapshot(ctx, u.Plan)
	if err != nil || len(snap.Records.Of(UndoTask).Artifacts) > 0 { // handed in before
		return err
	}
	_, err = e.Submit(ctx, u.Plan, Submission{Task: UndoTask, Person: person, Commit: string(u.Commit),
		Message: u.what() + "."})
	return err
}
