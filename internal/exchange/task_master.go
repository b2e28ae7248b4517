package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

func hasTasks(o *object) bool { return o.has("tasks") }

// taskMasterTags are the tags of a tasks.json, each with a list of its own.
func taskMasterTags(o *object) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.fields)), func(tag string) bool { return o.object(tag).list("tasks") == nil })
}

// taskMaster reads a tasks.json: the list of one tag, or the only one there is.
func (r *reader) taskMaster(f Found) (*source, *plan.Plan) {
	v, ok := r.jsonValue(f.Path)
	if !ok {
		return nil, nil
	}
	src := &source{name: f.Name}
	list, _ := v.([]any)
	if doc, ok := v.(*object); ok {
		if tag := doc.object(f.Name); tag.has("tasks") {
			doc = tag
		}
		list = doc.list("tasks")
		if !doc.has("tasks") || list == nil && doc.get("tasks") != nil {
			r.find("wrong-type", f.Path, doc.line, "has no list of tasks", `"tasks": [...]`, kindOf(doc.get("tasks")))
			return nil, nil
		}
		src.fields = doc.without("tasks")
		meta := doc.object("metadata")
		if meta == nil {
			meta = doc.object("meta")
		}
		src.top = firstText(meta.get("description"), meta.get("projectName"), doc.get("project"))
		if name := firstText(meta.get("projectName"), doc.get("project"), doc.get("projectName")); name != "" {
			src.name = name
		}
	}
	for i, v := range list {
		doc, ok := v.(*object)
		if !ok {
			r.find("wrong-type", f.Path, 0, fmt.Sprintf("tasks[%d] is no object", i), "{...}", kindOf(v))
			continue
		}
		r.taskMasterTask(f.Path, doc, "", fmt.Sprintf("tasks[%d]", i), src, 0)
	}
	known := each.Set(src.items, func(it *item) string { return it.source })
	for _, it := range src.items {
		for i, d := range it.deps {
			if sister := it.parent + "." + d; it.parent != "" && known[sister] {
				it.deps[i] = sister // subtasks name their sisters by number
			}
		}
	}
	return src, nil
}

// taskMasterTask makes items of a task and of its subtasks, whose ids count below the task's.
func (r *reader) taskMasterTask(file string, doc *object, parent, at string, src *source, depth int) {
	id := strings.TrimSpace(doc.str("id"))
	if id == "" {
		r.note("missing-field", file, doc.line, at+" has no id; named after its place")
		id = at
	}
	if parent != "" && !strings.HasPrefix(id, parent+".") {
		id = parent + "." + id
	}
	if strings.TrimSpace(doc.str("title")) == "" {
		r.note("missing-field", file, doc.line, at+" has no title")
	}
	it := &item{
		source: id, wish: id, parent: parent, file: file, line: doc.line, title: doc.str("title"),
		word: doc.str("status"),
		fields: doc.without("subtasks", "id", "title", "description", "details", "status", "dependencies",
			"testStrategy"),
	}
	var parts []string
	for _, key := range []string{"description", "details"} {
		if s := strings.TrimSpace(doc.str(key)); s != "" {
			parts = append(parts, s)
		}
	}
	if list := texts(doc.get("implementation")); len(list) > 0 {
		parts = append(parts, "- "+strings.Join(list, "\n- "))
	}
	it.text = strings.Join(parts, "\n\n")
	it.deps = refs(doc.get("dependencies"))
	for _, key := range []string{"testStrategy", "test_strategy"} { // in prose, whole
		if text := strings.TrimSpace(doc.str(key)); text != "" {
			it.criteria = append(it.criteria, text)
		}
	}
	for _, key := range []string{"acceptanceCriteria", "acceptance_criteria", "testStrategy"} {
		if key == "testStrategy" && doc.str(key) != "" {
			continue
		}
		it.criteria = append(it.criteria, texts(doc.get(key))...)
	}
	for _, key := range []string{"files", "relevantFiles", "targetFiles"} {
		it.files = each.Add(it.files, filesOf(doc.get(key))...)
	}
	if it.files == nil {
		it.files = pathsIn(it.title + "\n" + it.text)
	}
	it.days = days(firstText(doc.get("effort"), doc.get("estimate"), doc.get("estimatedEffort")))
	src.items = append(src.items, it)
	const most = 20
	for i, v := range doc.list("subtasks") {
		sub, ok := v.(*object)
		where := fmt.Sprintf("%s.subtasks[%d]", at, i)
		switch {
		case !ok:
			r.find("wrong-type", file, doc.line, where+" is no object", "{...}", kindOf(v))
		case depth >= most:
			r.find("too-deep", file, sub.line, where+" is too deep; left out", "", "")
		default:
			r.taskMasterTask(file, sub, id, where, src, depth+1)
		}
	}
}
