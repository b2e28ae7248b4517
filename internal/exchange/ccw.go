package exchange

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

func isCCW(o *object) bool {
	return o.has("id") && (o.object("context") != nil || o.object("flow_control") != nil)
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
			src.fields, src.id = doc.plain(), doc.str("session_id")
			if name := strings.TrimSpace(firstText(doc.get("project"), doc.get("description"), doc.get("topic"),
				doc.get("title"))); name != "" {
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
func (r *reader) ccwTask(file string, doc *object) *item {
	id := firstText(doc.get("id"), strings.TrimSuffix(path.Base(file), path.Ext(file)))
	context, flow := doc.object("context"), doc.object("flow_control")
	it := &item{
		source: id, wish: id, file: file, line: doc.line, title: doc.str("title"), word: doc.str("status"),
		text: ccwText(doc, context), parent: firstText(context.get("parent"), doc.get("parent"),
			doc.get("parent_id"), doc.object("relations").get("parent")),
		fields: doc.without("id", "title", "status", "meta", "context"),
	}
	it.heading = it.word == "container"
	if meta := doc.object("meta"); meta != nil && !meta.has(keyImported) {
		it.meta = meta.plain()
	}
	if context != nil && len(context.fields) > 0 {
		it.context = context.plain()
	}
	for _, deps := range []any{context.get("depends_on"), doc.get("depends_on"), doc.get("dependencies"),
		doc.object("relations").get("dependencies")} {
		it.deps = each.Add(it.deps, refs(deps)...)
	}
	for _, list := range []any{context.get("acceptance"), context.get("acceptance_criteria"),
		doc.object("convergence").get("criteria"), doc.get("acceptance"), doc.get("acceptance_criteria"),
		doc.get("acceptanceCriteria")} {
		if it.criteria = texts(list); len(it.criteria) > 0 {
			break
		}
	}
	for _, list := range []any{flow.get("target_files"), context.get("focus_paths"), doc.get("files"),
		doc.get("target_files"), doc.object("implementation").get("files")} {
		it.files = each.Add(it.files, filesOf(list)...)
	}
	meta := doc.object("meta")
	it.days = days(firstText(meta.get("estimated_effort"), meta.get("effort"), doc.get("effort"),
		doc.get("estimated_effort")))
	return it
}

// ccwText puts together what the agent of that system would have been told in words. Its commands are no words.
func ccwText(doc, context *object) string {
	var parts []string
	add := func(head string, v any) {
		if s := strings.TrimSpace(wordsIn(v)); s != "" {
			parts = append(parts, head+s)
		}
	}
	add("", doc.get("description"))
	add("", context.get("objective"))
	add("Requirements:\n", context.get("requirements"))
	add("", doc.object("flow_control").get("implementation_approach"))
	for _, key := range []string{"implementation", "implementation_steps", "implementation_notes", "subtasks",
		"rationale", "test", "risks", "read_first", "reference", "scope"} {
		add(key+": ", doc.get(key))
	}
	return strings.Join(parts, "\n\n")
}

// wordsIn are what a value says: the items of a list, the fields of an object, its title in front.
func wordsIn(v any) string {
	var lines []string
	add := func(head string, v any) {
		if s := strings.TrimSpace(wordsIn(v)); s != "" {
			if strings.Contains(s, "\n") && strings.HasSuffix(head, ": ") {
				s = "\n" + s
			}
			lines = append(lines, head+strings.ReplaceAll(s, "\n", "\n  "))
		}
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			add("- ", item)
		}
	case *object:
		first := []string{"title", "task_description", "description"}
		for _, key := range first {
			add("", v.get(key))
		}
		for _, key := range slices.Sorted(maps.Keys(v.fields)) {
			if !slices.Contains(first, key) && !strings.HasPrefix(key, "command") && key != "step" {
				add(key+": ", v.get(key))
			}
		}
	default:
		return textOf(v)
	}
	return strings.Join(lines, "\n")
}
