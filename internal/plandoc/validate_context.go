package plandoc

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
	"gitwf/internal/schema"
)

// checkDocument checks the sections meta, context and flow_control: what the program acts on in every
// plan, all of it where the plan is strict. What makes plans, and the CHECKs, have no such
// sections.
func (v *validator) checkDocument(i int, t *plan.Task) {
	if t.NodeType == plan.Check || t.Planning() || t.TaskID.Reserved() {
		return
	}
	v.checkIDLevels(i, t)
	if len(t.Meta)+len(t.Context)+len(t.FlowControl) == 0 && !isStrict(v.plan) {
		return
	}
	d := documentRules{v, i, t, effective(t, ancestors(t, v.taskByID)), isStrict(v.plan) &&
		t.TaskID != v.plan.RootTaskID}
	d.edges()
	d.sections()
	if t.NodeType == plan.Action {
		d.steps()
	}
}

// checkIDLevels keeps ids to as many levels as the plan allows, and in a strict plan an id below that of its parent.
func (v *validator) checkIDLevels(i int, t *plan.Task) {
	levels := strings.Count(string(t.TaskID), ".") + 1
	limit := v.plan.Config.MaxIDLevels
	if limit == 0 && isStrict(v.plan) {
		limit = strictLevels
	}
	if limit > 0 && levels > limit {
		v.add(i, "id-levels", "task_id", "the id has too many levels",
			fmt.Sprintf("at most %d (config.max_id_levels)", limit), fmt.Sprintf("%d, %s", levels, t.TaskID),
			"task_id: "+string(t.TaskID)[:idEnd(t.TaskID, limit)])
	}
	if !isStrict(v.plan) || t.TaskID == v.plan.RootTaskID {
		return
	}
	if !strictID.Get().MatchString(string(t.TaskID)) {
		v.add(i, "id-form", "task_id", "is no id of the specification", "IMPL-1, or IMPL-1.2 below it",
			string(t.TaskID), "task_id: IMPL-1")
	}
	if dot := strings.LastIndexByte(string(t.TaskID), '.'); dot > 0 && t.ParentTaskID != t.TaskID[:dot] {
		above := string(t.TaskID[:dot])
		v.add(i, "id-parent", "parent_task_id", "the id is that of a subtask of "+above, above,
			plain.Quote(string(t.ParentTaskID)), "parent_task_id: "+above)
	}
}

// strictID is an id of a task in a strict document; how many levels it has is max_id_levels.
var strictID = pattern.Compile(`^IMPL-[0-9]+(\.[0-9]+)*$`)

// strictLevels is how many levels such an id has at most.
const strictLevels = 2

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

func (d documentRules) addFinding(code, field, text, expected, found, example string) {
	d.add(d.i, code, field, text, expected, found, example)
}

// edges compares context with the fields that the program goes by. An imported task says there what it was elsewhere.
func (d documentRules) edges() {
	t := d.t
	if isImported(t) && !d.strict {
		return
	}
	if ids, ok := contextIDs(t, "parent"); ok && len(ids) == 1 {
		switch parent := d.taskByID(ids[0]); {
		case ids[0] == t.ParentTaskID:
		case parent == nil:
			d.addUnknown(d.i, "unknown-parent", "context.parent", ids[0], "the id of the GOAL above it",
				"parent: "+string(t.ParentTaskID))
		default:
			d.addFinding("context-parent", "context.parent", "is another task than the parent",
				string(t.ParentTaskID)+", as parent_task_id", string(ids[0]), "parent: "+string(t.ParentTaskID))
		}
	}
	ids, ok := contextIDs(t, "depends_on")
	for j, id := range ids {
		field := fmt.Sprintf("context.depends_on[%d]", j)
		switch {
		case !ok || slices.Contains(t.DependsOn, id) || t.NodeType == plan.Goal:
		case d.taskByID(id) == nil:
			d.addUnknown(d.i, "unknown-dependency", field, id, "the id of a task of this plan", "depends_on: [%s]")
		default:
			d.addFinding("context-depends-on", field, "is a dependency that the task itself does not have",
				"the same as depends_on", string(id), "depends_on: ["+string(id)+"]")
		}
	}
	inherited, _ := t.Context["inherited"].(map[string]any)
	if from, isText := inherited["from"].(string); isText && plan.TaskID(from).Valid() {
		above := d.taskByID(plan.TaskID(from))
		if above == nil {
			d.addUnknown(d.i, "inherited-from", "context.inherited.from", plan.TaskID(from),
				"the id of a task above it",
				"from: "+string(t.ParentTaskID))
		} else if !slices.Contains(ancestors(t, d.taskByID), above) {
			d.addFinding("inherited-from", "context.inherited.from", "is no task above this one",
				"the id of a task above it", from, "from: "+string(t.ParentTaskID))
		}
	}
}

// sections checks their form, which sections.schema.json has, and then what no schema can say of paths and references.
func (d documentRules) sections() {
	whole, err := sectionsSchema()
	if err != nil {
		d.addFinding("schema", "", err.Error(), "", "", "")
		return
	}
	name := strings.ToLower(string(d.t.NodeType))
	if d.strict {
		name = "strict-" + name
	}
	form := whole.Part("/$defs/" + name)
	if form == nil {
		return // of a GOAL
	}
	sections := map[string]any{}
	for name, m := range map[string]map[string]any{
		"meta": d.t.Meta, "context": d.t.Context, "flow_control": d.t.FlowControl,
	} {
		if len(m) > 0 {
			sections[name] = m
		}
	}
	seen := map[string]bool{} // a part may be in two schemas
	for _, p := range form.Check(sections) {
		for _, f := range misfits(form, p) {
			if !seen[f.Path] {
				d.addFinding(f.Code, f.Path, f.Message, f.Expected, f.Found, f.Example)
			}
			seen[f.Path] = true
		}
	}
	if !d.strict {
		return
	}
	for j, p := range contextTexts(d.t, "focus_paths") {
		d.focusPath(fmt.Sprintf("context.focus_paths[%d]", j), p)
	}
	if d.t.NodeType == plan.Action {
		d.prose("flow_control.implementation_approach", d.t.FlowControl["implementation_approach"])
		list, _ := texts(d.t.FlowControl["target_files"])
		for j, s := range list {
			d.targetFile(fmt.Sprintf("flow_control.target_files[%d]", j), s)
		}
	}
}

//go:embed sections.schema.json
var sectionsJSON []byte

var sectionsSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(sectionsJSON) })

// focusPath demands a path of the repository: relative, clean, without wildcards.
func (d documentRules) focusPath(field, p string) {
	example := "focus_paths: [" + strings.Trim(strings.TrimPrefix(strings.ReplaceAll(p, `\`, "/"), "./"), "/") + "]"
	if relpath.IsPattern(p) {
		d.addFinding("focus-path", field, "must not have wildcards", "the path of a file or a directory",
			plain.Quote(p), "focus_paths: ["+focus(p)+"]")
	} else if strings.HasPrefix(p, "-") {
		d.addFinding("focus-path", field, "begins with a hyphen and would be taken for an option",
			"the path of a file or a directory", plain.Quote(p), "")
	} else if err := relpath.CheckBy(p, func(c string) string {
		if c == "" || c == "." || c == ".." || strings.EqualFold(c, ".git") {
			return "must be clean, without . or .. as a component, and not below .git"
		}
		return ""
	}); err != nil {
		d.addFinding("focus-path", field, pathRule(err), "a path from the root of the repository",
			plain.Quote(p), example)
	}
}

// targetFile demands file:function:lines; function and lines are optional.
func (d documentRules) targetFile(field, s string) {
	file, rest, _ := strings.Cut(s, ":")
	const want = "file:function:lines"
	if err := relpath.Check(file); err != nil {
		d.addFinding("target-file", field, "the file: "+pathRule(err), want, plain.Quote(s),
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
		d.addFinding("target-file", field, "the lines are no range", want, plain.Quote(parts[len(parts)-1]),
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
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.prose(at+"."+key, v[key])
		}
	}
}
