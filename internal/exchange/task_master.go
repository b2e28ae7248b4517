package exchange

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plan"
)

func hasTitle(o *document.Node) bool { return o.Child("id") != nil && o.Child("title") != nil }

func hasTasks(o *document.Node) bool { return o.Child("tasks") != nil }

// taskMasterTags are the tags of a tasks.json, each with a list of its own.
func taskMasterTags(o *document.Node) []string {
	return slices.DeleteFunc(keysOf(o), func(tag string) bool { return kindOf(o.Child(tag).Child("tasks")) != aList })
}

// taskMaster reads a tasks.json: the list of one tag, or the only one there is.
func (r *reader) taskMaster(f Found) (*source, *plan.Plan) {
	v, ok := r.jsonValue(f.Path)
	if !ok {
		return nil, nil
	}
	src := &source{name: f.Name}
	list := listOf(v)
	if doc := v; doc.Kind == document.Object {
		if tag := doc.Child(f.Name); tag.Child("tasks") != nil {
			doc = tag
		}
		list = listOf(doc.Child("tasks"))
		if kind := kindOf(doc.Child("tasks")); doc.Child("tasks") == nil || kind != aList && kind != nothing {
			r.find("wrong-type", f.Path, int(doc.Line), "has no list of tasks", `"tasks": [...]`, kind)
			return nil, nil
		}
		src.fields = without(doc, "tasks")
		meta := doc.Child("metadata")
		if meta == nil {
			meta = doc.Child("meta")
		}
		src.top = firstText(meta.Child("description"), meta.Child("projectName"), doc.Child("project"))
		if name := firstText(meta.Child("projectName"), doc.Child("project"), doc.Child("projectName")); name != "" {
			src.name = name
		}
	}
	for i, doc := range list {
		if doc.Kind != document.Object {
			r.find("wrong-type", f.Path, 0, fmt.Sprintf("tasks[%d] is no object", i), "{...}", kindOf(&doc))
			continue
		}
		r.taskMasterTask(f.Path, &doc, "", fmt.Sprintf("tasks[%d]", i), src, 0)
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
func (r *reader) taskMasterTask(file string, doc *document.Node, parent, at string, src *source, depth int) {
	id := strings.TrimSpace(textOf(doc.Child("id")))
	if id == "" {
		r.note("missing-field", file, int(doc.Line), at+" has no id; named after its place")
		id = at
	}
	if parent != "" && !strings.HasPrefix(id, parent+".") {
		id = parent + "." + id
	}
	if strings.TrimSpace(textOf(doc.Child("title"))) == "" {
		r.note("missing-field", file, int(doc.Line), at+" has no title")
	}
	it := &item{
		source: id, wish: id, parent: parent, file: file, line: int(doc.Line), title: textOf(doc.Child("title")),
		word: textOf(doc.Child("status")),
		fields: without(doc, "subtasks", "id", "title", "description", "details", "status", "dependencies",
			"testStrategy"),
	}
	var parts []string
	for _, key := range []string{"description", "details"} {
		if s := strings.TrimSpace(textOf(doc.Child(key))); s != "" {
			parts = append(parts, s)
		}
	}
	if list := texts(doc.Child("implementation")); len(list) > 0 {
		parts = append(parts, "- "+strings.Join(list, "\n- "))
	}
	it.text = strings.Join(parts, "\n\n")
	it.deps = refs(doc.Child("dependencies"))
	for _, key := range []string{"testStrategy", "test_strategy"} { // in prose, whole
		if text := strings.TrimSpace(textOf(doc.Child(key))); text != "" {
			it.criteria = append(it.criteria, text)
		}
	}
	for _, key := range []string{"acceptanceCriteria", "acceptance_criteria", "testStrategy"} {
		if key == "testStrategy" && textOf(doc.Child(key)) != "" {
			continue
		}
		it.criteria = append(it.criteria, texts(doc.Child(key))...)
	}
	for _, key := range []string{"files", "relevantFiles", "targetFiles"} {
		it.files = each.Add(it.files, filesOf(doc.Child(key))...)
	}
	if it.files == nil {
		it.files = pathsIn(it.title + "\n" + it.text)
	}
	it.days = days(firstText(doc.Child("effort"), doc.Child("estimate"), doc.Child("estimatedEffort")))
	src.items = append(src.items, it)
	const most = 20
	for i, sub := range listOf(doc.Child("subtasks")) {
		where := fmt.Sprintf("%s.subtasks[%d]", at, i)
		switch {
		case sub.Kind != document.Object:
			r.find("wrong-type", file, int(doc.Line), where+" is no object", "{...}", kindOf(&sub))
		case depth >= most:
			r.find("too-deep", file, int(sub.Line), where+" is too deep; left out", "", "")
		default:
			r.taskMasterTask(file, &sub, id, where, src, depth+1)
		}
	}
}
