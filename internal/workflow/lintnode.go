package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/schema"
)

var paramName = pattern.Compile(`^[A-Za-z][A-Za-z0-9_-]{0,39}$`)

// file checks what a file declares.
func (l *linter) file(f *file) {
	for i := range f.root.Kids {
		if top := &f.root.Kids[i]; top.Key != "tasks" {
			l.literal(f, top, top.Key, !slices.Contains([]string{"deliver", "assemble"}, top.Key))
		} else {
			l.literal(f, top, top.Key, false)
		}
	}
	for _, p := range f.set {
		l.param(f, p)
	}
	for _, fact := range keys(f.root.Child("facts")) {
		if f.param(fact).Name != "" || slices.Contains([]string{"sentence", roundName, prevName}, fact) {
			l.at(f, "name-clash", "facts."+fact, "the name has another meaning already", "a name of its own", fact, "")
		}
	}
	l.score(f)
	for _, name := range sorted(f.head.Rubrics) {
		for _, fault := range f.head.Rubrics[name].Faults() {
			l.at(f, fault.Code, "rubrics."+name+"."+fault.Path, fault.Message, fault.Expected, fault.Found,
				fault.Example)
		}
	}
	for _, name := range keys(f.root.Child("schemas")) {
		l.schema(f, name)
	}
}

// literal refuses references where none are replaced: in names of fields, in run lines, and in what stands for every
// rendering.
func (l *linter) literal(f *file, n *document.Node, path string, all bool) {
	if strings.Contains(n.Key, "{{") {
		l.fs = append(l.fs, referenceIn(f, n, path, n.Key, "the name of a field"))
	}
	isRef := strings.Contains(n.Text, "{{")
	if n.Key == "run" { // of which another program may have braces of its own
		isRef = slices.ContainsFunc(refs(n.Text), reference.Get().MatchString)
	}
	if all = all || verbatim(n.Key); all && n.Kind == document.String && isRef {
		l.fs = append(l.fs, referenceIn(f, n, path, n.Text, "this field"))
	}
	for i := range n.Kids {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.Kind == document.Object {
			at = path + "." + n.Kids[i].Key
		}
		l.literal(f, &n.Kids[i], at, all)
	}
}

func (l *linter) param(f *file, p Param) {
	at := "params." + p.Name
	if !paramName.Get().MatchString(p.Name) {
		l.at(f, "bad-id", at, "is not the name of a param", "letters, digits, _ and -, a letter first",
			plain.Quote(p.Name), "mode")
	}
	if slices.Contains([]string{"sentence", roundName, prevName}, p.Name) {
		l.at(f, "name-clash", at, "the name has another meaning already", "a name of its own", p.Name, "")
	}
	if p.Type == typeChoice && len(p.Options) == 0 {
		l.at(f, "bad-param", at, "a choice has nothing to choose", "options", "none", "options: [quick, full]")
	} else if p.Default != nil && p.check(p.Default) != nil {
		l.at(f, "bad-param", at+".default", "is no value that the param can have", p.expected(),
			plain.Quote(fmt.Sprint(p.Default)),
			"default: "+Param{Type: p.Type, Options: p.Options, Max: p.Max}.example())
	}
}

// points checks the names of facts in rules.
func (l *linter) points(f *file, rules []pointRule, path string) {
	for i, r := range rules {
		if _, ok := f.head.Facts[r.Fact]; r.Fact != "" && !ok {
			known := sorted(f.head.Facts)
			l.at(f, "unknown-name", fmt.Sprintf("%s[%d].fact", path, i), "names no fact", listed("one of ", known),
				plain.Quote(r.Fact), cmp.Or(plandoc.Nearest(r.Fact, known), "facts: {web: {any: [package.json]}}"))
		}
	}
}

// score checks the names and values of the suggestions.
func (l *linter) score(f *file) {
	l.points(f, f.head.Score.Rules, "score.rules")
	l.points(f, f.head.Route, "route")
	for _, name := range sorted(f.head.Score.Sets) {
		p := f.param(name)
		if p.Name == "" {
			l.at(f, "unknown-name", "score.sets."+name, "names no param",
				listed("one of ", paramNames(f.set)), plain.Quote(name), plandoc.Nearest(name, paramNames(f.set)))
			continue
		}
		for i, step := range f.head.Score.Sets[name] {
			if p.check(plainNumbers(step.Value)) != nil {
				l.at(f, "bad-param", fmt.Sprintf("score.sets.%s[%d].value", name, i),
					"is no value that the param can have",
					p.expected(), plain.Quote(fmt.Sprint(step.Value)), "value: "+p.example())
			}
		}
	}
}

// schema checks that a schema can be used here, and refers to nothing elsewhere.
func (l *linter) schema(f *file, name string) {
	at := "schemas." + name
	text, err := json.Marshal(f.head.Schemas[name])
	if err == nil {
		_, err = schema.Read(text)
	}
	if err == nil {
		return
	}
	l.at(f, "bad-schema", at, "is not a schema that can be checked here",
		"a JSON Schema of type, const, enum, properties, required, items, the bounds, pattern, allOf, if, $ref",
		plain.Line(err.Error()), "{type: object, required: [status], properties: {status: {enum: [more, ready]}}}")
}

// nodes checks each node by itself.
func (l *linter) nodes(nodes []*node, around *env) {
	for _, n := range nodes {
		in := around
		if n.loop != nil {
			l.loop(n, around)
		}
		if n.loop != nil && !n.loop.branch {
			var item *schema.Schema // nil: not known
			if n.loop.of {
				item = l.w.loopSchema(n)
			} else if list := n.loop.raw.Child("item"); list != nil {
				item = itemSchema(around, list.Text)
			} else if p := n.loop.raw.Child("param"); p != nil && n.file.param(p.Text).TakesItems() {
				item = itemForm()
			}
			in = around.item(n.loop.name, item, 0)
		}
		outside := in
		if n.loop != nil && (n.loop.of || n.loop.repeat) {
			outside = around // it is decided before there are items
		}
		l.when(n, outside)
		if jobs := n.raw.Child("jobs"); jobs != nil {
			l.limit(n, jobs, "jobs")
		}
		switch {
		case n.used():
			l.use(n)
			in = &env{up: in, wall: true}
		case !n.group():
			l.task(n, in)
		}
		l.nodes(n.kids, in)
	}
}

// schema is what lint knows of the item of a loop around, nil if nothing is known.
func (e *env) schema(name string) *schema.Schema {
	if at := e.find(name); at != nil {
		s, _ := at.value.(*schema.Schema)
		return s
	}
	return nil
}

// itemSchema is the schema of the items of a list in an item around, "m.tasks".
func itemSchema(around *env, path string) *schema.Schema {
	name, rest, _ := strings.Cut(path, ".")
	item := around.schema(name)
	if item == nil {
		return nil
	}
	list := item.At(strings.Split(rest, "."))
	if list == nil {
		return nil
	}
	return list.Items.Deref()
}

// loop checks where a loop's items come from, and that it has a bound.
func (l *linter) loop(n *node, around *env) {
	raw, f := n.loop.raw, n.file
	if n.loop.branch {
		l.reads(n)
		return
	}
	if _, taken := around.loops()[n.loop.name]; taken || f.known(n.loop.name) && !n.loop.repeat {
		l.node(n, "name-clash", n.loopField(), "the name of the item has another meaning already", "a name of its own",
			n.loop.name, "as: t2")
	}
	l.bounded(n)
	if from := n.from(); from != nil {
		l.reads(n)
		return
	}
	if p := raw.Child("param"); p != nil && f.param(p.Text).Type != typeList &&
		!f.param(p.Text).TakesItems() {
		l.node(n, "unknown-name", "each.param", "names no param that is a list",
			"a param of the type list", plain.Quote(p.Text), plandoc.Nearest(p.Text, paramNames(f.set)))
	}
	if item := raw.Child("item"); item != nil {
		name, _, _ := strings.Cut(item.Text, ".")
		if around.find(name) == nil {
			l.node(n, "unknown-name", "each.item", "names no item of a loop around",
				"the name after as, and a field of the item", plain.Quote(item.Text), "item: m.tasks")
		} else if around.schema(name) != nil && itemSchema(around, item.Text) == nil {
			l.node(n, "unknown-name", "each.item", "names no list that the schema has", "a field that is a list",
				plain.Quote(item.Text), "")
		}
	} else if raw.Child("param") == nil {
		l.node(n, "bad-value", "each", "does not say whose items", "one of param, item, of", "none",
			"each: {param: angles, as: a}")
	}
}

// known reports whether a name is one of the file's own.
func (f *file) known(name string) bool {
	_, fact := f.head.Facts[name]
	return fact || f.param(name).Name != "" || slices.Contains([]string{"sentence", roundName, prevName}, name)
}

var oneParam = pattern.Compile(`^\{\{([A-Za-z][A-Za-z0-9_-]*)\}\}$`)

// bounded checks that a loop's max is a number, or a param that has a largest value.
func (l *linter) bounded(n *node) {
	most, field := n.loop.raw.Child("max"), n.loopField()+".max"
	if most == nil {
		if p := n.loop.raw.Child("param"); p == nil || n.file.param(p.Text).Max == 0 &&
			n.file.param(p.Text).Name != "" {
			l.node(n, "no-bound", field, "nothing bounds the loop", "a number, or a param with max", "nothing",
				"max: 8")
		}
		return
	}
	l.limit(n, most, field)
}

func (l *linter) limit(n *node, most *document.Node, field string) {
	if most.Kind == document.Number {
		return
	}
	m := oneParam.Get().FindStringSubmatch(most.Text)
	if m == nil {
		l.node(n, "no-bound", field, "is not a bound", "a number, or {{PARAM}} of a param with max",
			plain.Quote(most.Text), most.Key+": 8")
		return
	}
	if p := n.file.param(m[1]); p.Type != typeInteger || p.Max == 0 {
		l.node(n, "no-bound", field, "the param has no largest value", "a param of the type integer with max",
			plain.Quote(most.Text),
			"params: {"+m[1]+": {type: integer, max: 5}}")
	}
}

// reads checks the task, the file and the condition of a loop that waits for an approved file.
func (l *linter) reads(n *node) {
	from := n.from()
	field := n.loopField()
	where, condition := from.Child("where"), field+".where"
	if n.loop.repeat {
		field, condition = field+".until", field+".until.where"
	}
	of, file := from.Child("of").Text, from.Child("file")
	source := l.w.sourceOf(of)
	switch {
	case !n.group():
		l.node(n, "bad-value", field, "only a group can wait for an approved file", "a group around the task", "a task",
			"{group: BUILD-1, title: Work, each: ..., tasks: [...]}")
	case file == nil:
		l.node(n, "missing-field", field+".file", "is missing", "the file of "+of+" that is read", "",
			"file: plan.json")
	case source == nil:
		l.node(n, "unknown-name", field+".of", "names no task of the file", "the id of a task", plain.Quote(of),
			plandoc.Nearest(of, l.ids()))
	case !slices.ContainsFunc(source.makes(), func(m string) bool { return m == file.Text }):
		l.unknown(n, field+".file", "is no file that "+of+" makes", file.Text, source.makes())
	default:
		l.fields(n, where, condition)
	}
}

// ids are those of the files as written, in lower case.
func (l *linter) ids() []string {
	var ids []string
	walk(l.w.nodes, func(n *node) { ids = append(ids, n.id) })
	return ids
}

// conditions are the entries of a condition, of all its alternatives.
func conditions(cond *document.Node) []document.Node {
	if cond == nil {
		return nil
	}
	if cond.Kind == document.Object {
		return cond.Kids
	}
	var all []document.Node
	for i := range cond.Kids {
		all = append(all, conditions(&cond.Kids[i])...)
	}
	return all
}

// fields holds a condition on an approved file against the schema that the file keeps.
func (l *linter) fields(n *node, where *document.Node, field string) {
	s := l.w.loopSchema(n)
	if s == nil {
		if n.loop.repeat || n.loop.branch {
			l.node(n, "until-not-in-schema", field, "nothing says that the file has these fields",
				"a schema of the file", "none", "schema: {"+n.from().Child("file").Text+": refined}")
		} else if from := n.from(); l.w.schemaOf(l.w.sourceOf(from.Child("of").Text), from.Child("file").Text) != nil {
			l.node(n, "until-not-in-schema", "each.at", "the schema of the file has no list there",
				"a JSON Pointer to a list", plain.Quote(textOf(n.loop.raw.Child("at"))), "at: /tasks")
		}
		return
	}
	l.entries(n, s, where, field)
}

// entries holds a condition against the schema of what it is about.
func (l *linter) entries(n *node, s *schema.Schema, where *document.Node, field string) {
	for _, entry := range conditions(where) {
		part := s.At(strings.Split(entry.Key, "."))
		if part == nil {
			l.node(n, "until-not-in-schema", field, "the schema of the file has no such field",
				listed("one of ", s.Fields()), plain.Quote(entry.Key), plandoc.Nearest(entry.Key, s.Fields()))
			continue
		}
		if bad, found := misses(part, &entry); bad {
			l.node(n, "until-not-in-schema", field, "the field never has this value", allowed(part),
				plain.Quote(found), "")
		}
		l.counts(n, part.Deref(), &entry, field)
	}
}

// counts checks what an entry of a condition counts: that there is a list, of whose items it can hold, and a bound.
func (l *linter) counts(n *node, s *schema.Schema, entry *document.Node, field string) {
	if entry.Kind == document.Array {
		for i := range entry.Kids {
			l.counts(n, s, &entry.Kids[i], field)
		}
		return
	}
	inner := counts(entry)
	switch {
	case inner == nil:
	case entry.Child("at_least") == nil && entry.Child("at_most") == nil:
		l.node(n, "bad-value", field, "counts without a bound", "at_least or at_most beside count", "neither",
			"findings: {count: {severity: critical}, at_most: 2}")
	case s == nil:
	case s.Items == nil && !slices.Contains(s.Type, "array"):
		l.node(n, "until-not-in-schema", field, "the field is no list, so nothing can be counted", "a list",
			allowed(s), "findings: {type: array, items: {...}}")
	default:
		l.entries(n, s.Items.Deref(), inner, field)
	}
}

func textOf(n *document.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}

func allowed(s *schema.Schema) string {
	values := each.Of(s.Enum, func(v any) string { return fmt.Sprint(v) })
	if s.Const != nil {
		values = []string{fmt.Sprint(s.Const)}
	}
	if len(values) > 0 {
		return "one of " + strings.Join(values, ", ")
	}
	return strings.Join(s.Type, " or ")
}

// misses reports whether a value of a condition is none that the schema allows.
func misses(s *schema.Schema, want *document.Node) (bad bool, found string) {
	switch want.Kind {
	case document.Array:
		for i := range want.Kids {
			if bad, found = misses(s, &want.Kids[i]); bad {
				return bad, found
			}
		}
		return false, ""
	case document.Object:
		if counts(want) != nil || want.Child("at_least") == nil && want.Child("at_most") == nil {
			return false, ""
		}
		numeric := len(s.Type) == 0 || slices.Contains(s.Type, "integer") || slices.Contains(s.Type, "number")
		return !numeric, "at_least or at_most"
	}
	if strings.Contains(want.Text, "{{") {
		return false, ""
	}
	value := want.Value(document.Exact)
	return len(s.Check(value)) > 0, fmt.Sprint(value)
}

// when checks the names and the values of a node's condition.
func (l *linter) when(n *node, in *env) {
	if n.branches() {
		if n.loop == nil || !n.loop.branch {
			l.node(n, "bad-value", "when", "only a group without each and repeat can be there by an approved file",
				"a group around it", "when: {of: ..., where: ...}",
				"{group: FIX-1, title: Repair, when: {of: TEST-1, file: report.json, where: ...}, tasks: [...]}")
		}
		return
	}
	for _, entry := range conditions(n.raw.Child("when")) {
		head, _, _ := strings.Cut(entry.Key, ".")
		if in.find(head) == nil && (!n.file.known(head) || head == roundName || head == prevName) {
			all := slices.Concat(paramNames(n.file.set), sorted(n.file.head.Facts), in.names())
			l.node(n, "unknown-name", "when", "names no param, fact or item", listed("one of ", all),
				plain.Quote(entry.Key), plandoc.Nearest(head, all))
			continue
		}
		l.counts(n, nil, &entry, "when")
		if p := n.file.param(entry.Key); p.Type == typeChoice {
			for _, v := range append([]document.Node{entry}, entry.Kids...) {
				if v.Kind == document.String && !slices.Contains(p.Options, v.Text) {
					l.unknown(n, "when", "is no option of "+p.Name, v.Text, p.Options)
				}
			}
		}
	}
}

// use checks the params that a used workflow is given.
func (l *linter) use(n *node) {
	if len(n.kids) == 0 {
		return
	}
	used := n.kids[0].file
	set := n.raw.Child("set")
	for _, name := range keys(set) {
		if used.param(name).Name == "" {
			l.unknown(n, "set."+name, "is no param of "+used.head.Workflow, name, paramNames(used.set))
		}
	}
	for _, p := range used.set {
		if v := set.Child(p.Name); v == nil && p.Default == nil {
			l.node(n, CodeMissingParam, "use", "a param of "+used.head.Workflow+" has no value", p.expected(), p.Name,
				"set: {"+p.Name+": "+p.example()+"}")
		} else if v != nil && !strings.Contains(v.Text, "{{") && p.check(v.Value(document.Exact)) != nil {
			l.node(n, "bad-param", "set."+p.Name, "is no value that the param can have", p.expected(),
				plain.Quote(v.Text), p.Name+": "+p.example())
		}
	}
}

// task checks the names in a task.
func (l *linter) task(n *node, in *env) {
	is := each.If([]string{"make", "change", "judges", "decides"}, func(key string) bool {
		return n.raw.Child(key) != nil
	})
	if len(is) != 1 {
		l.node(n, "bad-value", "", "does not say what it makes", "one of make, change, judges, decides",
			cmp.Or(strings.Join(is, " and "), "none"), "make: report.md")
	}
	roles := sorted(l.w.roles)
	if role := n.raw.Child("role"); role != nil {
		l.name(n, in, "role", role, roles, "role")
	}
	for key, list := range map[string]string{"decides": "orders", "consults": "roles"} {
		d := n.raw.Child(key)
		if d == nil {
			continue
		}
		for i := range d.Child(list).Kids {
			l.name(n, in, fmt.Sprintf("%s.%s[%d]", key, list, i), &d.Child(list).Kids[i], roles, "role")
		}
		l.limit(n, d.Child("max"), key+".max")
	}
	if j := n.raw.Child("judges"); j != nil && j.Child("rubric") != nil {
		l.name(n, in, "judges.rubric", j.Child("rubric"), sorted(l.w.rubrics), "rubric")
	}
	l.schemas(n, in)
	l.review(n, in, roles)
	for i, c := range n.raw.Child("criteria").Items() {
		if run := c.Child("run"); run != nil && outDir.Get().MatchString(run.Text) {
			l.node(n, "unknown-name", fmt.Sprintf("criteria[%d].run", i),
				"a criterion's command has no WF_OUT, so it can't pass",
				"the files by their names: it runs in a copy of what is judged", plain.Quote(run.Text),
				"run: test -s report.md")
		}
	}
}

// outDir is where a task's own command writes. The commands of criteria have none.
var outDir = pattern.Compile(`\$(?:WF_OUT\b|\{WF_OUT\})`)

// name checks that a name is one of those that there are. What a reference brings in is checked when it is known; of an
// item's field, the values that its schema lists.
func (l *linter) name(n *node, in *env, field string, raw *document.Node, there []string, kind string) {
	for _, name := range in.values(raw.Text) {
		if !slices.Contains(there, name) {
			l.node(n, "unknown-name", field, "names no "+kind, listed("one of ", there), plain.Quote(name),
				cmp.Or(plandoc.Nearest(name, there), fmt.Sprintf("%ss: {%s: ...}, at the top of the file", kind, name)))
		}
	}
}

// values are those that a text comes to, as far as they are known before there are items.
func (e *env) values(text string) (all []string) {
	if !strings.Contains(text, "{{") {
		return []string{text}
	}
	name, path, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "{{"), "}}"), ".")
	item := e.schema(name)
	if item == nil {
		return nil
	}
	field := item.At(strings.Split(path, ".")).Deref()
	if field != nil && field.Items != nil {
		field = field.Items.Deref()
	}
	if field != nil {
		for _, v := range field.Enum {
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

// schemas checks the schemas that a task's files keep.
func (l *linter) schemas(n *node, in *env) {
	named := n.raw.Child("schema")
	if named == nil {
		return
	}
	measured := slices.ContainsFunc(n.raw.Child("criteria").Items(),
		func(c document.Node) bool { return c.Child("run") != nil })
	entries := []document.Node{*named}
	if named.Kind == document.Object {
		entries = named.Kids
	}
	for i := range entries {
		e := &entries[i]
		if named.Kind == document.Object && !slices.Contains(n.makes(), e.Key) {
			l.unknown(n, "schema", "is no file that the task makes", e.Key, n.makes())
		}
		l.name(n, in, "schema", e, sorted(l.w.schemas), "schema")
		if s := l.w.parsed(e.Text); s != nil && !measured {
			if field := onlyGood(s, "", 0); field != "" {
				l.node(n, "result-not-measured", "schema", "only a good result keeps the schema, and nothing "+
					"measures it",
					"a criterion with a run line that measures "+field+", or a schema that an honest bad result keeps",
					field+" of "+e.Text,
					"judges: {tasks: [BUILD-1]} with criteria: [{id: T1, statement: The tests pass, run: make test}]")
			}
		}
	}
}

// onlyGood is a field of a schema that no bad result can have: a truth, or a number with a floor or without failures.
func onlyGood(s *schema.Schema, path string, depth int) string {
	const deep = 10
	if s = s.Deref(); s == nil || depth > deep {
		return ""
	}
	if path != "" {
		fraction := slices.Contains(s.Type, "number")
		switch {
		case s.Const == true || len(s.Enum) == 1 && s.Enum[0] == true,
			fraction && s.Minimum != nil && schema.Rat(*s.Minimum).Sign() > 0,
			s.Maximum != nil && schema.Rat(*s.Maximum).Sign() == 0:
			return path
		}
	}
	for _, name := range s.Fields() {
		if found := onlyGood(s.Properties[name], strings.TrimPrefix(path+"."+name, "."), depth+1); found != "" {
			return found
		}
	}
	if s.Items != nil {
		return onlyGood(s.Items, strings.TrimPrefix(path+".items", "."), depth+1)
	}
	return ""
}

// review checks the seats, and that a panel can agree.
func (l *linter) review(n *node, in *env, roles []string) {
	r := n.raw.Child("review")
	if r == nil {
		return
	}
	if rubric := r.Child("rubric"); rubric != nil {
		l.name(n, in, "review.rubric", rubric, sorted(l.w.rubrics), "rubric")
	}
	seats := map[string]bool{}
	for i, name := range r.Child("by").Items() {
		seats[name.Text] = true
		field := fmt.Sprintf("review.by[%d]", i)
		if strings.Contains(name.Text, "{{") {
			l.name(n, in, field, &name, append(roles, plan.ReviewerPerson, plan.ReviewerChecks), "role")
		}
		// Who is no role is an agent or a person; one letter beside a role is neither.
		if near := plandoc.Nearest(name.Text, roles); near != "" && !slices.Contains(roles, name.Text) &&
			slip(near, name.Text) {
			l.unknown(n, field, "names no role", name.Text, roles)
		}
	}
	agree := r.Child("agree")
	if agree == nil {
		return
	}
	approvals, _ := agree.Child("approvals").Value(document.Exact).(int64)
	delete(seats, "checks")
	switch veto := agree.Child("veto"); {
	case int(approvals) > len(seats):
		l.node(n, "agree-unreachable", "review.agree.approvals", "can never be reached by these reviewers",
			fmt.Sprintf("at most %d", len(seats)), fmt.Sprint(approvals),
			fmt.Sprintf("approvals: %d", max(len(seats), 1)))
	case veto != nil && veto.Text == "100":
		l.node(n, "agree-unreachable", "review.agree.veto", "every score rejects", "less than 100", veto.Text,
			"veto: 40")
	}
}

// slip reports whether two names differ as by a slip of the pen.
func slip(a, b string) bool { return len(a) > 3 && len(a)-len(b) < 2 && len(b)-len(a) < 2 }

func referenceIn(f *file, n *document.Node, path, text, where string) plan.Finding {
	return plan.Finding{
		Code: "reference-in-run", File: f.Name, Line: int(n.Line), Path: path, Message: where + " holds no references",
		Expected: "the same text in every rendering; values reach a command line in WF_CONTEXT",
		Found:    plain.Quote(text),
		Example:  "run: sh test.sh",
	}
}
