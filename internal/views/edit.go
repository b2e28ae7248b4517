package views

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gitwf/internal/checkout"
	"gitwf/internal/exchange"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// maxShown is the size in bytes above which no difference is shown.
const maxShown = 1 << 20

// before is what an edit began with: what was written or, if that is unknown, what the plan says now.
func before(ed checkout.Edit) []byte {
	if ed.Base != nil {
		return ed.Base
	}
	return ed.Want
}

// viewDiff is the difference of an edit from before, "" if there is nothing to show. git makes it from copies: nothing
// is read through a link, and no attributes of the repository apply.
func viewDiff(ctx context.Context, store *gitstore.Store, ed checkout.Edit) string {
	was, from := before(ed), "plan"
	if ed.Base != nil {
		from = "written"
	}
	if len(ed.Have) > maxShown || len(was) > maxShown {
		return ""
	}
	dir, err := os.MkdirTemp("", "git-wf-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	names := [2]string{path.Join(from, ed.Name), path.Join(Dir, ed.Name)}
	for i, data := range [][]byte{was, ed.Have} {
		full := filepath.Join(dir, filepath.FromSlash(names[i]))
		if os.MkdirAll(filepath.Dir(full), 0o777) != nil || os.WriteFile(full, data, 0o666) != nil {
			return ""
		}
	}
	// git's exit code only says that they differ.
	out, _ := store.GitIn(ctx, gitstore.Invocation{Dir: dir, Args: []string{
		"-c", "core.quotePath=false", "diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color",
		"--src-prefix=", "--dst-prefix=", "--", names[0], names[1],
	}})
	_, hunks, _ := strings.Cut(string(out), "\n--- ")
	if hunks == "" {
		return plain.Text(string(out))
	}
	return plain.Text("--- " + hunks)
}

const editPlan = "what the plan says is changed with git wf plan --edit, or git wf plan --amend -m 'what is to change'"

// waysIn says which commands bring an edit of a view into the plan.
func waysIn(s exchange.Snapshot, id plan.ID, ed checkout.Edit) []string {
	view, task := exchange.ViewOf(id, ed.Name)
	if ed.Gone {
		return []string{"the plan has nothing any more that this file shows; " +
			"git wf checkout --force removes it and keeps a copy"}
	}
	if ed.Have == nil {
		return nil
	}
	switch view {
	case exchange.ViewTodo:
		return todoEdit(s, ed)
	case exchange.ViewTask:
		return taskEdit(s, task, ed)
	case exchange.ViewSession:
		return []string{"a session is changed with git wf pause, git wf resume, git wf complete and git wf switch; " +
			editPlan}
	case exchange.ViewSummary:
		return []string{fmt.Sprintf("a summary is made of the approved version and its review; "+
			"another one comes with the next version: git wf submit %s PATH... -m 'what was done'", task)}
	case exchange.ViewMarker:
		return []string{"the active plan is chosen with git wf switch PLAN"}
	}
	return []string{editPlan}
}

func todoEdit(s exchange.Snapshot, ed checkout.Edit) []string {
	var out []string
	want, have := exchange.Ticks(before(ed)), exchange.Ticks(ed.Have)
	for _, t := range s.State.Plan.Tasks {
		was, known := want[t.TaskID]
		is, there := have[t.TaskID]
		switch {
		case !known || !there || was == is:
		case is:
			out = append(out, fmt.Sprintf("%s is ticked: %s", t.TaskID, finish(s, t.TaskID)))
		default:
			out = append(out, fmt.Sprintf("%s is not ticked any more: git wf review %s --reject -m WHY",
				t.TaskID, t.TaskID))
		}
	}
	if len(out) == 0 || exchange.WithoutTicks(before(ed)) != exchange.WithoutTicks(ed.Have) {
		out = append(out, editPlan)
	}
	return out
}

// finish is how a person completes a task.
func finish(s exchange.Snapshot, id plan.TaskID) string {
	review := fmt.Sprintf("git wf review %s --approve", id)
	switch t := s.State.Tasks[id]; {
	case t != nil && t.Status == plan.StatusDone:
		return "it is approved by now, and git wf checkout --force shows that"
	case t != nil && t.Status == plan.StatusReadyToCheck:
		return review
	}
	return fmt.Sprintf("git wf submit %s PATH..., and then %s", id, review)
}

// taskEdit says how a changed task's document reaches the plan.
func taskEdit(s exchange.Snapshot, id plan.TaskID, ed checkout.Edit) []string {
	completed := func(document []byte) bool { return bytes.Contains(document, []byte(`"status": "completed"`)) }
	if completed(ed.Have) && !completed(before(ed)) {
		return []string{fmt.Sprintf("%s is marked completed: %s", id, finish(s, id)), editPlan}
	}
	return []string{editPlan}
}
