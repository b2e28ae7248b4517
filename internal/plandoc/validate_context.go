package plandoc

import (
	"fmt"
	"gitwf/internal/plan"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// documentMode checks what the plan asks of its tasks' documents.
func (v *validator) documentMode() {
	if mode := v.plan.Config.TaskDocument; mode != "" && mode != StrictTaskDocument {
		v.top("bad-value", "config.task_document", "is not a way to check", StrictTaskDocument+", or nothing",
			plan.Quote(mode), "task_document: strict")
	}
}

// document checks the sections that seed 1 describes: what the program acts on in every plan, all of it where the plan
// is strict. What makes plans, and the CHECKs, have no such sections.
func (v *validator) document(i int, t *plan.Task) {
	if t.NodeType == plan.Check || t.Planning() || t.TaskID.Reserved() {
		return
	}
	v.idLevels(i, t)
	if len(t.Meta)+len(t.Context)+len(t.FlowControl) == 0 && !isStrict(v.plan) {
		return
	}
	d := documentRules{v, i, t, effective(t, ancestors(t, v.get)), isStrict(v.plan) && t.TaskID != v.plan.RootTaskID}
	d.edges()
	if d.strict {
		d.sections()
		d.meta()
		d.context()
		d.approach()
	}
	if t.NodeType == plan.Action {
		d.steps()
	}
}

// idLevels keeps ids to as many levels as the plan allows, and in a strict plan an id below that of its parent.
func (v *validator) idLevels(i int, t *plan.Task) {
	levels := strings.Count(string(t.TaskID), ".") + 1
	limit := v.plan.Config.MaxIDLevels
	if limit == 0 && isStrict(v.plan) {
		limit = seedLevels
	}
	if limit > 0 && levels > limit {
		v.add(i, "id-levels", "task_id", "the id has too many levels",
			fmt.Sprintf("at most %d (config.max_id_levels)", limit), fmt.Sprintf("%d, %s", levels, t.TaskID),
			"task_id: "+string(t.TaskID)[:idEnd(t.TaskID, limit)])
	}
	if dot := strings.LastIndexByte(string(t.TaskID), '.'); dot > 0 && isStrict(v.plan) {
		if above := t.TaskID[:dot]; v.get(above) != nil && t.ParentTaskID != above {
			v.add(i, "id-parent", "parent_task_id", "the id is that of a subtask of another task", string(above),
				plan.Quote(string(t.ParentTaskID)), "parent_task_id: "+string(above))
		}
	}
}

// seedLevels is how many levels an id has at most by seed 1.
const seedLevels = 2

// idEnd is the length of the first levels of an id.
func idEnd(id plan.TaskID, levels int) int {
	end := 0
	for n, part := range strings.Split(string(id), ".") {
		if n < levels {
			end += len(part) + 1
		}
	}
	return end - 1
}

// documentRules are the rules for the document of one task.
type documentRules struct {
	*validator
	i      int
	t      *plan.Task
	whole  *plan.Task // with what it inherits
	strict bool
}

func (d documentRules) find(code, field, text, expected, found, example string) {
	d.add(d.i, code, field, text, expected, found, example)
}

// edges compares context with the fields that the program goes by. An imported task says there what it was elsewhere.
func (d documentRules) edges() {
	t := d.t
	if isImported(t) && !d.strict {
		return
	}
	if ids, ok := contextIDs(t, "parent"); ok && len(ids) == 1 {
		switch parent := d.get(ids[0]); {
		case ids[0] == t.ParentTaskID:
		case parent == nil:
			d.find("unknown-parent", "context.parent", "names a task that does not exist", "the id of the GOAL above it",
				plan.Quote(string(ids[0])), "parent: "+string(t.ParentTaskID))
		default:
			d.find("context-parent", "context.parent", "is another task than the parent",
				string(t.ParentTaskID)+", as parent_task_id", string(ids[0]), "parent: "+string(t.ParentTaskID))
		}
	}
	ids, ok := contextIDs(t, "depends_on")
	for j, id := range ids {
		field := fmt.Sprintf("context.depends_on[%d]", j)
		switch {
		case !ok || slices.Contains(t.DependsOn, id) || t.NodeType == plan.Goal:
		case d.get(id) == nil:
			d.find("unknown-dependency", field, "names a task that does not exist", "the id of a task of this plan",
				plan.Quote(string(id)), d.similar(id, "depends_on: [", "]"))
		default:
			d.find("context-depends-on", field, "is a dependency that the task itself does not have", "the same as depends_on",
				string(id), "depends_on: ["+string(id)+"]")
		}
	}
	inherited, _ := t.Context["inherited"].(map[string]any)
	if from, isText := inherited["from"].(string); isText && plan.TaskID(from).Valid() {
		switch {
		case d.get(plan.TaskID(from)) == nil:
			d.find("inherited-from", "context.inherited.from", "names a task that does not exist", "the id of a task above it",
				plan.Quote(from), "from: "+string(t.ParentTaskID))
		case !slices.Contains(ancestors(t, d.get), d.get(plan.TaskID(from))):
			d.find("inherited-from", "context.inherited.from", "is no task above this one", "the id of a task above it", from,
				"from: "+string(t.ParentTaskID))
		}
	}
}

// sections demands that all of them are there.
func (d documentRules) sections() {
	for name, s := range map[string]struct {
		m       map[string]any
		needed  bool
		example string
	}{
		"meta": {d.t.Meta, true, "meta: {type: feature}"}, "context": {d.t.Context, true,
			"context: {requirements: [Tokens expire], focus_paths: [src/auth], acceptance: [An old token is refused]}"},
		"flow_control": {d.t.FlowControl, d.t.NodeType == plan.Action,
			"flow_control: {pre_analysis: [], implementation_approach: {task_description: Issue tokens at login}}"},
	} {
		if len(s.m) == 0 && s.needed {
			d.find("no-section", name, "the task lacks a section", "meta, context and flow_control", "nothing", s.example)
		}
	}
	d.sortFindings("no-section")
}

// sortFindings puts the last findings of a code into the order of their paths: a map has none.
func (d documentRules) sortFindings(code string) {
	from := len(d.fs)
	for from > 0 && d.fs[from-1].Code == code {
		from--
	}
	added := d.fs[from:]
	sort.SliceStable(added, func(i, j int) bool { return added[i].Path < added[j].Path })
}

func (d documentRules) meta() {
	if len(d.t.Meta) == 0 {
		return
	}
	if kind := d.t.MetaType(); !slices.Contains(taskTypes(), kind) {
		example := nearest(kind, taskTypes())
		if example == "" {
			example = "feature"
		}
		d.find("meta-type", "meta.type", "is not a type of task", strings.Join(taskTypes(), ", "), d.shown(d.t.Meta["type"]),
			"type: "+example)
	}
	if v, has := d.t.Meta["agent"]; has {
		if name, ok := v.(string); !ok || badLine(name) != "" {
			d.find("wrong-type", "meta.agent", "is not the name of an agent", "a text on one line", d.shown(v),
				"agent: code-developer")
		}
	}
}

// shown is a value of a section in a message.
func (d documentRules) shown(v any) string {
	if v == nil {
		return "nothing"
	}
	return plan.Quote(asText(v))
}

// context checks the forms of its fields.
func (d documentRules) context() {
	for _, key := range []string{"requirements", "acceptance"} {
		d.textsAt("context."+key, d.t.Context[key], key+": [Tokens expire after an hour]", d.t.NodeType == plan.Action &&
			len(d.t.Context) > 0)
	}
	if v, has := d.t.Context["parent"]; has && v != nil && v != "" {
		if ids, ok := contextIDs(d.t, "parent"); !ok || len(ids) != 1 {
			d.find("wrong-type", "context.parent", "is not the id of a task", "the id of the GOAL above it", d.shown(v),
				"parent: "+string(d.t.ParentTaskID))
		}
	}
	if v, has := d.t.Context["depends_on"]; has && v != nil {
		if _, ok := contextIDs(d.t, "depends_on"); !ok {
			d.find("wrong-type", "context.depends_on", "is not a list of ids", "ids of tasks of this plan", d.shown(v),
				"depends_on: [IMPL-1]")
		}
	}
	if v, has := d.t.Context["shared_context"]; has && v != nil {
		if _, ok := v.(map[string]any); !ok {
			d.find("wrong-type", "context.shared_context", "is not an object", "names and what they stand for", d.shown(v),
				"shared_context: {auth_strategy: JWT with refresh tokens}")
		}
	}
	if v, has := d.t.Context["inherited"]; has && v != nil {
		m, ok := v.(map[string]any)
		if !ok {
			d.find("wrong-type", "context.inherited", "is not an object", "from and context", d.shown(v),
				"inherited: {from: IMPL-1, context: [The design is done]}")
		} else {
			d.textsAt("context.inherited.context", m["context"], "context: [The design is done]", false)
		}
	}
	if d.textsAt("context.focus_paths", d.t.Context["focus_paths"], "focus_paths: [src/auth, config/auth.json]",
		d.t.NodeType == plan.Action && len(d.t.Context) > 0) {
		for j, p := range contextTexts(d.t, "focus_paths") {
			d.focusPath(fmt.Sprintf("context.focus_paths[%d]", j), p)
		}
	}
}

// textsAt demands a list of texts that say something; none need be there unless it is needed.
func (d documentRules) textsAt(field string, v any, example string, needed bool) bool {
	key := field[strings.LastIndexByte(field, '.')+1:]
	list, ok := texts(v)
	switch {
	case v == nil && !needed:
		return false
	case v == nil:
		d.find("no-"+strings.ReplaceAll(key, "_", "-"), field, "the task does not say it", "a list of texts", "nothing",
			example)
	case !ok:
		d.find("wrong-type", field, "is not a list of texts", "a list of texts", d.shown(v), example)
	default:
		for j, s := range list {
			if strings.TrimSpace(s) == "" {
				d.find("empty-text", fmt.Sprintf("%s[%d]", field, j), "says nothing", "a text", plan.Quote(s), example)
			}
		}
	}
	return ok
}

// focusPath demands a path of the repository: relative, clean, without wildcards.
func (d documentRules) focusPath(field, p string) {
	example := "focus_paths: [" + strings.Trim(strings.TrimPrefix(strings.ReplaceAll(p, `\`, "/"), "./"), "/") + "]"
	if plan.IsPattern(p) {
		d.find("focus-path", field, "must not have wildcards", "the path of a file or a directory", plan.Quote(p),
			"focus_paths: ["+focusDir(p)+"]")
	} else if strings.HasPrefix(p, "-") {
		d.find("focus-path", field, "begins with a hyphen and would be taken for an option",
			"the path of a file or a directory", plan.Quote(p), "")
	} else if err := plan.CheckPathBy(p, func(c string) string {
		if c == "" || c == "." || c == ".." || strings.EqualFold(c, ".git") {
			return "must be clean, without . or .. as a component, and not below .git"
		}
		return ""
	}); err != nil {
		d.find("focus-path", field, err.(*plan.PathError).Rule, "a path from the root of the repository",
			plan.Quote(p), example)
	}
}

// focusDir is the directory before a pattern's first wildcard.
func focusDir(p string) string {
	if dir := focus(p); dir != "" {
		return dir
	}
	return "src"
}

// approach checks the form of the approach, and that its references resolve.
func (d documentRules) approach() {
	if len(d.t.FlowControl) == 0 || d.t.NodeType != plan.Action {
		return
	}
	const at = "flow_control.implementation_approach"
	switch v := d.t.FlowControl["implementation_approach"].(type) {
	case nil:
		d.find("no-approach", at, "the task does not say how it is to be done",
			"task_description, modification_points, logic_flow", "nothing",
			"implementation_approach: {task_description: Issue tokens at login}")
	case map[string]any:
		if text, ok := v["task_description"].(string); !ok || strings.TrimSpace(text) == "" {
			d.find("no-approach", at+".task_description", "is no text", "what is to be done", d.shown(v["task_description"]),
				"task_description: Issue tokens at login")
		}
		for _, key := range []string{"modification_points", "logic_flow"} {
			d.textsAt(at+"."+key, v[key], key+": [Add token generation (src/auth/login.ts:handleLogin)]", false)
		}
	default:
		d.find("wrong-type", at, "is not an object", "task_description, modification_points, logic_flow", d.shown(v),
			"implementation_approach: {task_description: Issue tokens at login}")
	}
	d.prose(at, d.t.FlowControl["implementation_approach"])
	if d.textsAt("flow_control.target_files", d.t.FlowControl["target_files"],
		"target_files: [src/auth/login.ts:handleLogin:75-120]", false) {
		list, _ := texts(d.t.FlowControl["target_files"])
		for j, s := range list {
			d.targetFile(fmt.Sprintf("flow_control.target_files[%d]", j), s)
		}
	}
}

// targetFile demands file:function:lines; function and lines are optional.
func (d documentRules) targetFile(field, s string) {
	file, rest, _ := strings.Cut(s, ":")
	const want = "file:function:lines"
	if err := plan.CheckPath(file); err != nil {
		d.find("target-file", field, "the file: "+err.(*plan.PathError).Rule, want, plan.Quote(s),
			"target_files: [src/auth/login.ts:handleLogin:75-120]")
		return
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 {
		return
	}
	from, to, ranged := strings.Cut(parts[len(parts)-1], "-")
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if !ranged {
		b, errB = a, errA
	}
	if errA != nil || errB != nil || a < 1 || b < a {
		d.find("target-file", field, "the lines are no range", want, plan.Quote(parts[len(parts)-1]),
			"target_files: [src/auth/login.ts:handleLogin:75-120]")
	}
}

// prose checks the references in texts for the agent, at any depth.
func (d documentRules) prose(at string, v any) {
	switch v := v.(type) {
	case string:
		for i := range len(v) {
			m := refName.Get().FindStringSubmatch(v[i:])
			if m == nil || i > 0 && (isWordByte(v[i-1]) || v[i-1] == '\\') {
				continue
			}
			d.resolves(at, m[1], d.outputs(len(Steps(d.t))))
		}
	case []any:
		for j, item := range v {
			d.prose(fmt.Sprintf("%s[%d]", at, j), item)
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			d.prose(at+"."+key, v[key])
		}
	}
}
