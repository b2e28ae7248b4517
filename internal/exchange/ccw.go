package exchange

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

func isCCW(o *document.Node) bool {
	object := func(key string) bool { return kindOf(o.Child(key)) == anObject }
	return o.Child("id") != nil && (object("context") || object("flow_control"))
}

// ccw reads a session directory of the workflow system whose tasks are JSON files (seed 1), or one of its tasks. What
// its authors leave out is no matter: a task needs an id, which its file's name gives, too.
func (r *reader) ccw(f Found) (*source, *plan.Plan) {
	src := &source{name: f.Name}
	dir := path.Join(f.Path, ".task")
	var files []string
	if r.has(f.Path) {
		files = []string{f.Path}
	} else {
		r.ccwSession(f, src)
		for _, name := range r.list(dir) {
			if strings.EqualFold(path.Ext(name), ".json") {
				files = append(files, path.Join(dir, name))
			}
		}
	}
	for _, file := range files {
		if doc, ok := r.jsonFile(file); ok {
			src.items = append(src.items, r.ccwTask(file, doc))
		}
	}
	slices.SortStableFunc(src.items, func(a, b *item) int { return compareIDs(a.source, b.source) })
	src.nestByNumber()
	return src, nil
}

// compareIDs orders ids as people count: IMPL-2 before IMPL-10, IMPL-1 before IMPL-1.1.
func compareIDs(a, b string) int {
	x, y := idPart.Get().FindAllString(strings.ToUpper(a), -1), idPart.Get().FindAllString(strings.ToUpper(b), -1)
	for i := range min(len(x), len(y)) {
		m, notM := strconv.Atoi(x[i])
		n, notN := strconv.Atoi(y[i])
		c := strings.Compare(x[i], y[i])
		if notM == nil && notN == nil {
			c = m - n
		}
		if c != 0 {
			return c
		}
	}
	return len(x) - len(y)
}

var idPart = pattern.Compile(`[0-9]{1,9}|[^0-9.]+`)

// ccwSession reads what the session says of itself.
func (r *reader) ccwSession(f Found, src *source) {
	file := path.Join(f.Path, "workflow-session.json")
	if r.has(file) {
		if doc, ok := r.jsonFile(file); ok {
			src.fields, src.id = without(doc), textOf(doc.Child("session_id"))
			if name := strings.TrimSpace(firstText(doc.Child("project"), doc.Child("description"), doc.Child("topic"),
				doc.Child("title"))); name != "" {
				src.name, src.top = name, name
			}
		}
	} else {
		r.note("missing-file", file, 0, "is not there; the session is named after its directory")
	}
	if !plan.ID(src.id).Valid() {
		src.id = f.Name
	}
	if file := path.Join(f.Path, "IMPL_PLAN.md"); r.has(file) { // TODO_LIST.md says what the tasks say
		r.beside(src, f.Path, "IMPL_PLAN.md")
	}
}

// ccwTask makes an item of one task file.
func (r *reader) ccwTask(file string, doc *document.Node) *item {
	id := firstText(doc.Child("id"), strings.TrimSuffix(path.Base(file), path.Ext(file)))
	context, flow := doc.Child("context"), doc.Child("flow_control")
	it := &item{
		source: id, wish: id, file: file, line: int(doc.Line), title: textOf(doc.Child("title")),
		word: textOf(doc.Child("status")), text: ccwText(doc, context),
		parent: firstText(context.Child("parent"), doc.Child("parent"), doc.Child("parent_id"),
			doc.Child("relations").Child("parent")),
		fields: without(doc, "id", "title", "status", "meta", "context"),
	}
	it.heading = it.word == "container"
	if meta := doc.Child("meta"); meta != nil && meta.Child(keyImported) == nil {
		it.meta = without(meta)
	}
	if context != nil && len(context.Kids) > 0 {
		it.context = without(context)
	}
	for _, deps := range []*document.Node{context.Child("depends_on"), doc.Child("depends_on"),
		doc.Child("dependencies"), doc.Child("relations").Child("dependencies")} {
		it.deps = each.Add(it.deps, refs(deps)...)
	}
	for _, list := range []*document.Node{context.Child("acceptance"), context.Child("acceptance_criteria"),
		doc.Child("convergence").Child("criteria"), doc.Child("acceptance"), doc.Child("acceptance_criteria"),
		doc.Child("acceptanceCriteria")} {
		if it.criteria = texts(list); len(it.criteria) > 0 {
			break
		}
	}
	for _, list := range []*document.Node{flow.Child("target_files"), context.Child("focus_paths"), doc.Child("files"),
		doc.Child("target_files"), doc.Child("implementation").Child("files")} {
		it.files = each.Add(it.files, filesOf(list)...)
	}
	meta := doc.Child("meta")
	it.days = days(firstText(meta.Child("estimated_effort"), meta.Child("effort"), doc.Child("effort"),
		doc.Child("estimated_effort")))
	return it
}

// ccwText puts together what the agent of that system would have been told in words. Its commands are no words.
func ccwText(doc, context *document.Node) string {
	var parts []string
	add := func(head string, v *document.Node) {
		if s := strings.TrimSpace(wordsIn(v)); s != "" {
			parts = append(parts, head+s)
		}
	}
	add("", doc.Child("description"))
	add("", context.Child("objective"))
	add("Requirements:\n", context.Child("requirements"))
	add("", doc.Child("flow_control").Child("implementation_approach"))
	for _, key := range []string{"implementation", "implementation_steps", "implementation_notes", "subtasks",
		"rationale", "test", "risks", "read_first", "reference", "scope"} {
		add(key+": ", doc.Child(key))
	}
	return strings.Join(parts, "\n\n")
}

// wordsIn are what a value says: the items of a list, the fields of an object, its title in front.
func wordsIn(v *document.Node) string {
	var lines []string
	add := func(head string, v *document.Node) {
		if s := strings.TrimSpace(wordsIn(v)); s != "" {
			if strings.Contains(s, "\n") && strings.HasSuffix(head, ": ") {
				s = "\n" + s
			}
			lines = append(lines, head+strings.ReplaceAll(s, "\n", "\n  "))
		}
	}
	switch {
	case v == nil:
	case v.Kind == document.Array:
		for i := range v.Kids {
			add("- ", &v.Kids[i])
		}
	case v.Kind == document.Object:
		first := []string{"title", "task_description", "description"}
		for _, key := range first {
			add("", v.Child(key))
		}
		for _, key := range keysOf(v) {
			if !slices.Contains(first, key) && !strings.HasPrefix(key, "command") && key != "step" {
				add(key+": ", v.Child(key))
			}
		}
	default:
		return textOf(v)
	}
	return strings.Join(lines, "\n")
}
