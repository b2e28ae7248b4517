package exchange

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// ccw reads a session directory of the workflow system whose tasks are JSON files (seed 1).
func (r *reader) ccw(f Found, o Options) *Imported {
	src := source{format: formatCCW, name: f.Name, path: f.Path, files: map[string]any{}}
	r.ccwSession(f, &src)
	dir := path.Join(f.Path, ".task")
	summaries := r.ccwSummaries(path.Join(f.Path, ".summaries"))
	for _, name := range r.list(dir) {
		if !strings.EqualFold(path.Ext(name), ".json") {
			continue
		}
		file := path.Join(dir, name)
		if doc, ok := r.jsonFile(file); ok {
			if it := r.ccwTask(file, doc); it != nil {
				it.summary = summaries[strings.ToLower(it.source)]
				src.items = append(src.items, it)
			}
		}
	}
	if len(src.items) == 0 {
		r.find("no-tasks", dir, 0, "has no task", "IMPL-1.json", "none")
	}
	slices.SortStableFunc(src.items, func(a, b *item) int { return compareIDs(a.source, b.source) })
	r.ccwParents(src.items)
	return r.assemble(src, o)
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

// ccwSession reads what the session says of itself, and the documents that no task can be made of.
func (r *reader) ccwSession(f Found, src *source) {
	file := path.Join(f.Path, "workflow-session.json")
	if r.has(file) {
		if doc, ok := r.jsonFile(file); ok {
			src.fields = doc.plain()
			for _, key := range []string{"project", "description", "topic", "title"} {
				if s := strings.TrimSpace(doc.str(key)); s != "" {
					src.name, src.top = s, s
					break
				}
			}
			if id := plan.ID(doc.str("session_id")); id.Valid() {
				src.id = id
			}
		}
	} else {
		r.find("missing-file", file, 0, "is not there; the session is named after its directory", "workflow-session.json",
			"nothing")
	}
	if src.id == "" && plan.ID(f.Name).Valid() {
		src.id = plan.ID(f.Name)
	}
	const most = 256 << 10 // bytes of a document
	for _, name := range []string{"IMPL_PLAN.md", "TODO_LIST.md"} {
		file := path.Join(f.Path, name)
		if !r.has(file) {
			r.note("missing-file", file, 0, "is not there; it is a view of what the other files say")
			continue
		}
		text, ok := r.read(file)
		switch {
		case !ok:
		case len(text) > most:
			r.note("long-document", file, 0, "is too long to be kept in the plan; only its beginning is")
			src.files[name] = text[:strings.LastIndexByte(text[:most], '\n')+1]
		default:
			src.files[name] = text
		}
	}
}

var summaryName = pattern.Compile(`(?i)^(.+?)(?:-summary)?\.md$`)

// ccwSummaries are the summaries of tasks, by their ids in lower case.
func (r *reader) ccwSummaries(dir string) map[string]string {
	out := map[string]string{}
	for _, name := range r.list(dir) {
		m := summaryName.Get().FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if text, ok := r.read(path.Join(dir, name)); ok {
			out[strings.ToLower(m[1])] = text
		}
	}
	return out
}

var ccwID = pattern.Compile(`(?i)^[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*-[0-9]+(\.[0-9]+)*$`)

// ccwTask makes an item of one task file.
func (r *reader) ccwTask(file string, doc *object) *item {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	id := strings.TrimSpace(doc.str("id"))
	switch {
	case id == "":
		r.find("missing-field", file, doc.line, "has no id; named after its file", `"id": "IMPL-1"`, "nothing")
		id = stem
	case !strings.EqualFold(id, stem):
		r.note("other-id", file, doc.line, "holds the task "+id)
	}
	if strings.Count(id, ".") > 1 {
		r.find("too-deep", file, doc.line, "the id "+id+" has more than two levels; kept below its parent",
			"IMPL-1 or IMPL-1.2", id)
	} else if !ccwID.Get().MatchString(id) {
		r.note("other-id", file, doc.line, id+" is no id as that system writes it; the task gets one")
	}
	context := doc.object("context")
	it := &item{
		source: id, wish: id, file: file, line: doc.line, title: doc.str("title"), word: doc.str("status"),
		description: ccwDescription(doc, context), parent: firstText(context.get("parent"), doc.get("parent"),
			doc.get("parent_id"), doc.object("relations").get("parent")),
		fields: doc.without("id"),
	}
	it.state = stateOf(it.word)
	if strings.TrimSpace(it.title) == "" {
		r.find("missing-field", file, doc.line, id+" has no title", `"title": "..."`, "nothing")
	}
	for key, into := range map[string]*map[string]any{"meta": &it.meta, "context": &it.context, "flow_control": &it.flow} {
		part := doc.object(key)
		switch {
		case part != nil && len(part.fields) > 0 && !(key == "meta" && part.has(keyImported)):
			*into = part.plain()
			delete(it.fields, key)
		case part == nil:
			r.find("missing-field", file, doc.line, id+" has no "+key, `"`+key+`": {...}`, kindOf(doc.get(key)))
		}
	}
	for _, deps := range []any{context.get("depends_on"), doc.get("depends_on"), doc.get("dependencies"),
		doc.object("relations").get("dependencies")} {
		for _, d := range refs(deps) {
			it.deps = appendNew(it.deps, d)
		}
	}
	for _, list := range []any{context.get("acceptance"), context.get("acceptance_criteria"),
		doc.object("convergence").get("criteria"), doc.get("acceptance"), doc.get("acceptance_criteria")} {
		for _, text := range texts(list) {
			it.criteria = append(it.criteria, criterion{text: text})
		}
		if len(it.criteria) > 0 {
			break
		}
	}
	for _, list := range []any{doc.object("flow_control").get("target_files"), doc.get("files"), doc.get("target_files"),
		doc.object("implementation").get("files")} {
		for _, p := range filesOf(list) {
			it.files = appendNew(it.files, p)
		}
	}
	it.days = days(firstText(doc.object("meta").get("estimated_effort"), doc.object("meta").get("effort"),
		doc.get("effort"), doc.get("estimated_effort")))
	return it
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "text"
	case []any:
		return "a list"
	case *object:
		return "an object"
	}
	return textOf(v)
}

// ccwDescription puts together what the agent of that system would have been told in words.
func ccwDescription(doc, context *object) string {
	var parts []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	add(doc.str("description"))
	add(context.str("objective"))
	if list := texts(context.get("requirements")); len(list) > 0 {
		add("Requirements:\n- " + strings.Join(list, "\n- "))
	}
	approach := doc.object("flow_control").get("implementation_approach")
	switch approach := approach.(type) {
	case string:
		add(approach)
	case *object:
		add(approach.str("task_description"))
	case []any:
		for _, step := range approach {
			if step, ok := step.(*object); ok {
				add(strings.TrimSpace(step.str("title") + "\n" + step.str("description")))
			}
		}
	}
	return strings.Join(parts, "\n\n")
}

func firstText(values ...any) string {
	for _, v := range values {
		if s := strings.TrimSpace(textOf(v)); s != "" {
			return s
		}
	}
	return ""
}

// refs are the ids in a list of references, whether they are texts, numbers or objects.
func refs(v any) []string {
	list, ok := v.([]any)
	if !ok {
		if s := textOf(v); s != "" {
			return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
		}
		return nil
	}
	var out []string
	for _, item := range list {
		s := textOf(item)
		if o, ok := item.(*object); ok {
			s = firstText(o.get("id"), o.get("task_id"), o.get("depends_on_id"))
		}
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// filesOf are the paths in a list of files, whether they are texts or objects.
func filesOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		s := textOf(item)
		if o, ok := item.(*object); ok {
			s = firstText(o.get("path"), o.get("file"), o.get("target"))
		}
		if p := repositoryPath(s); p != "" {
			out = appendNew(out, p)
		}
	}
	return out
}

// ccwParents gives a task whose id says so its parent: IMPL-1.2 is below IMPL-1, if that is there.
func (r *reader) ccwParents(items []*item) {
	by := map[string]*item{}
	for _, it := range items {
		by[strings.ToLower(it.source)] = it
	}
	for _, it := range items {
		i := strings.LastIndexByte(it.source, '.')
		if it.parent != "" || i < 0 {
			continue
		}
		above := it.source[:i]
		if by[strings.ToLower(above)] == nil {
			r.find("unknown-parent", it.file, it.line,
				it.source+" is below "+above+", which is not there; taken as a task without a parent", above+".json", "nothing")
			continue
		}
		it.parent = above
	}
}
