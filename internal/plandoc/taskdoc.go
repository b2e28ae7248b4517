package plandoc

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// The sections meta, context and flow_control of a task are kept as they were written, unknown keys
// too. What the program itself acts on is read here; how they are to be written stands in
// docs/tasks.md.

// StrictTaskDocument is the value of config.task_document under which every ACTION has to keep all
// rules of docs/tasks.md for these sections. Without it only that is checked which the program acts
// on.
const StrictTaskDocument = "strict"

// isStrict reports whether the plan asks for all rules of docs/tasks.md.
func isStrict(p *plan.Plan) bool { return p.Config.TaskDocument == StrictTaskDocument }

// imported reports whether the task came from another system: its edges are what the importer made of them, and context
// says what they were there.
func isImported(t *plan.Task) bool { return t.Meta["imported"] != nil }

// texts is a list of texts; ok is false for everything else.
func texts(v any) (list []string, ok bool) {
	items, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// contextTexts is a list of texts in the task's context, nil if there is none.
func contextTexts(t *plan.Task, key string) []string {
	list, _ := texts(t.Context[key])
	return list
}

// contextIDs is what context.parent or context.depends_on names; ok is false unless all of it are ids of tasks.
func contextIDs(t *plan.Task, key string) (ids []plan.TaskID, ok bool) {
	list, ok := texts(t.Context[key])
	if one, isText := t.Context[key].(string); isText {
		list, ok = []string{one}, true
	}
	for _, s := range list {
		if !plan.TaskID(s).Valid() {
			return nil, false
		}
		ids = append(ids, plan.TaskID(s))
	}
	return ids, ok
}

// standIn lets context.parent and context.depends_on stand for parent_task_id and depends_on where what people wrote
// leaves these out. says reports whether the file has a field.
func standIn(t *plan.Task, says func(field string) bool) {
	if isImported(t) || t.NodeType == plan.Check {
		return
	}
	if ids, ok := contextIDs(t, "parent"); ok && len(ids) == 1 && t.ParentTaskID == "" && !says("parent_task_id") {
		t.ParentTaskID = ids[0]
	}
	if ids, ok := contextIDs(t, "depends_on"); ok && !says("depends_on") {
		t.DependsOn = ids
	}
}

// tasksAbove gives the tasks above t, the nearest first. The bound ends the walk where parents go round in a circle.
func tasksAbove(t *plan.Task, get func(plan.TaskID) *plan.Task) iter.Seq[*plan.Task] {
	return func(yield func(*plan.Task) bool) {
		above := t
		for range plan.MaxDepth {
			if above = get(above.ParentTaskID); above == nil || !yield(above) {
				return
			}
		}
	}
}

func ancestors(t *plan.Task, get func(plan.TaskID) *plan.Task) []*plan.Task {
	return slices.Collect(tasksAbove(t, get))
}

// WithInherited is the task with what it inherits in its context: shared_context of every task above it, where the
// nearest wins, and the lists inherited.context, those of the outermost task first. It is t itself if it inherits
// nothing.
func WithInherited(s *plan.State, t *plan.Task) *plan.Task {
	return effective(t, ancestors(t, func(id plan.TaskID) *plan.Task {
		if above := s.Tasks[id]; above != nil {
			return above.Task
		}
		return nil
	}))
}

func effective(t *plan.Task, above []*plan.Task) *plan.Task {
	shared := map[string]any{}
	var told []any
	from := plan.TaskID("")
	for _, a := range slices.Backward(append([]*plan.Task{t}, above...)) {
		own, _ := a.Context["shared_context"].(map[string]any)
		maps.Copy(shared, own)
		inherited, _ := a.Context["inherited"].(map[string]any)
		list, _ := inherited["context"].([]any)
		for _, item := range list {
			if !hasText(told, item) {
				told = append(told, item)
			}
		}
		if a != t && (len(own) > 0 || len(list) > 0) {
			from = a.TaskID
		}
	}
	if from == "" {
		return t
	}
	e := *t
	e.Context = map[string]any{}
	maps.Copy(e.Context, t.Context)
	if len(shared) > 0 {
		e.Context["shared_context"] = shared
	}
	if len(told) > 0 {
		inherited := map[string]any{"from": string(from)}
		own, _ := t.Context["inherited"].(map[string]any)
		maps.Copy(inherited, own)
		inherited["context"] = told
		e.Context["inherited"] = inherited
	}
	return &e
}

// hasText reports whether a list has a text; other values are never the same.
func hasText(list []any, v any) bool {
	s, ok := v.(string)
	return ok && slices.ContainsFunc(list, func(have any) bool { return have == any(s) })
}

// FocusPaths are the paths of the repository that a task's context says it is about. A plan that came from
// elsewhere may say anything there: what is no list of texts counts for nothing.
func FocusPaths(t *plan.Task) []string {
	return slices.DeleteFunc(contextTexts(t, "focus_paths"), func(p string) bool { return strings.TrimSpace(p) == "" })
}

// SameFocus reports whether two tasks may touch a common path: their changes, or what they say they are about. Two that
// both say meta.parallel don't care. In doubt they do: a file system may ignore case.
func SameFocus(a, b *plan.Task) bool {
	if a.Meta["parallel"] == true && b.Meta["parallel"] == true {
		return false
	}
	others := TouchedPaths(b)
	return slices.ContainsFunc(TouchedPaths(a), func(p string) bool { return overlapsAny(p, others) })
}

func overlapsAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return glob.Overlap(pattern, path) })
}

// TouchedPaths lists the patterns of what a task touches in the repository: the paths of its change, or what its
// context says that it is about, where a pattern stands for the directory before its first wildcard.
func TouchedPaths(t *plan.Task) []string {
	if t.Changes() {
		return t.DeliverableSpec.Paths
	}
	list := FocusPaths(t)
	for i, p := range list {
		list[i] = focus(p)
	}
	return list
}

// focus is a path of the repository as a pattern.
func focus(p string) string {
	p = strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")
	if i := strings.IndexAny(p, "*?["); i >= 0 {
		p = p[:strings.LastIndexByte(p[:i], '/')+1]
	}
	if p = strings.TrimPrefix(path.Clean("/"+p), "/"); p == "" {
		return "**"
	}
	return p
}

// MissingPaths finds the focus_paths of a strict plan that lead nowhere: exists says what the repository has, a file or
// a directory. What the task or one that it builds on will put there counts too. A plan that is not strict may name
// what it likes.
func MissingPaths(p *plan.Plan, exists func(path string) bool) plan.Findings {
	if !isStrict(p) {
		return nil
	}
	v := indexed(p)
	for i, t := range p.Tasks {
		if t.NodeType == plan.Check || t.Planning() {
			continue
		}
		for j, focus := range contextTexts(t, "focus_paths") {
			if relpath.Check(focus) != nil || exists(focus) || v.mayAdd(i, focus) {
				continue // what is wrong with its form is Validate's to say
			}
			v.add(i, "focus-path", fmt.Sprintf("context.focus_paths[%d]", j),
				"is not in the repository, and no task that this one builds on lands there",
				"a file or directory of HEAD, or one that the task or a dependency may add (deliverable_spec.paths)",
				plain.Quote(focus), "")
		}
	}
	return v.fs.Capped()
}

// mayAdd reports whether a task, or one that it builds on, may add a file at a path or below it.
func (v *validator) mayAdd(i int, path string) bool {
	return slices.ContainsFunc(v.reach([]int{i}, v.waitsFor), func(j int) bool {
		t := v.plan.Tasks[j]
		return t.Changes() && overlapsAny(path, t.DeliverableSpec.Paths)
	})
}
