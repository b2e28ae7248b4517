package workflow

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/relpath"
)

// Rendering is what a workflow comes to so far.
type Rendering struct {
	// Text is a plan in canonical JSON, as plandoc.Parse reads it. That of a fill has the GOAL as its root, and below
	// it the tasks that are new: none where a list is empty or the rounds are over.
	Text  []byte
	Fills []Fill // of the GOALs that are left open, in the order of the text
	// Ask is a question for a person, before the plan goes on: the rounds of a repeat are used up. "" if there is none.
	Ask string

	around map[plan.TaskID]*env // of each task
}

// Around are the names of loops and rounds around a task that is rendered here, with their values; ok is false if it is
// rendered elsewhere.
func (r *Rendering) Around(id plan.TaskID) (names map[string]any, ok bool) {
	e, ok := r.around[id]
	return e.recorded(), ok
}

// Fill is a GOAL that is left open, with the task whose approved file says what comes into it.
type Fill struct {
	Target plan.TaskID // the GOAL
	Source plan.TaskID
	File   string // of the source
	plan.Fill
}

// Render is R: the plan that follows from the files and the inputs. The same bytes give the same bytes. It fails with
// plan.Findings; a workflow that Lint has nothing against fails only for values of params and of the sentence.
func (w *Workflow) Render(in *Inputs) (*Rendering, error) {
	return w.expand(in, asFar, nil).rendering()
}

// Origin is what a plan says of the workflow that it is made from.
func (w *Workflow) Origin() *plan.Workflow {
	return &plan.Workflow{Name: w.Name(), Version: w.Version(), OID: w.files[0].OID()}
}

// Source says which approved file a fill is rendered from.
func (w *Workflow) Source(in *Inputs, f plan.Fill) (task plan.TaskID, file string, err error) {
	t, err := w.find(in, f)
	return t.source, t.file, err
}

// Rounds says how many rounds there may be of the repeat that a fill belongs to.
func (w *Workflow) Rounds(in *Inputs, f plan.Fill) (most int, err error) {
	t, err := w.find(in, f)
	return t.most, err
}

// find looks for the place of a fill.
func (w *Workflow) find(in *Inputs, f plan.Fill) (*target, error) {
	t := &target{Fill: f}
	x := w.expand(in, asFar, t)
	if t.goal == nil || t.goal.loop.repeat != (f.Round > 1) || f.Round == 1 {
		return &target{}, plan.Findings{{
			Code: "no-section", File: w.files[0].Name, Path: f.Section,
			Message:  "no loop of the workflow is there with these values",
			Expected: "the section of an each or a repeat", Found: plain.Quote(f.Section),
		}}
	}
	return t, x.fs.Err()
}

// RenderFill renders one fill: content is that of the source's file. It fails with plan.Findings where the file is not
// what the workflow expects, or too much would come of it.
func (w *Workflow) RenderFill(in *Inputs, f plan.Fill, content []byte) (*Rendering, error) {
	_, file, err := w.Source(in, f)
	if err != nil {
		return nil, err
	}
	t := &target{Fill: f}
	if t.content, err = readContent(file, content); err != nil {
		return nil, err
	}
	return w.expand(in, asFar, t).rendering()
}

// readContent reads a deliverable's file: YAML or JSON, and of Markdown the head.
func readContent(name string, data []byte) (any, error) {
	if path.Ext(name) == ".md" {
		data = markdownHead(data)
	}
	root, err := plandoc.ReadTree(name, data, "file", plandoc.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	return root.Value(document.Exact), nil
}

// markdownHead is the YAML between two lines of --- that a Markdown file begins with.
func markdownHead(data []byte) []byte {
	rest, ok := bytes.CutPrefix(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("---\n"))
	if !ok {
		return nil
	}
	head, _, _ := bytes.Cut(rest, []byte("\n---\n"))
	return head
}

// rendering makes the plan of what the expansion found.
func (x *expander) rendering() (*Rendering, error) {
	p := x.plan()
	if len(x.fs) > 0 {
		return nil, x.findings()
	}
	text, err := plandoc.Encode(p)
	if err != nil {
		return nil, plan.Findings{{Code: "bad-text", File: x.w.files[0].Name, Message: plain.Line(err.Error())}}
	}
	if _, err := plandoc.Parse(x.w.files[0].Name, text); err != nil {
		return nil, x.placed(err)
	}
	r := &Rendering{Text: text, Fills: x.fills, Ask: x.ask, around: map[plan.TaskID]*env{}}
	for _, i := range x.insts {
		if i.fresh && i.on {
			r.around[i.id] = i.env
		}
	}
	return r, nil
}

// findings are those of the expansion, each once, in the order of the files.
func (x *expander) findings() plan.Findings { return x.w.inOrder(once(x.fs)).Capped() }

// once has each finding once, though several renderings or instances have it.
func once(all plan.Findings) (fs plan.Findings) {
	have := map[plan.Finding]bool{}
	for _, f := range all {
		key := plan.Finding{Code: f.Code, File: f.File, Line: f.Line, Path: f.Path, Found: f.Found}
		if !have[key] {
			fs = append(fs, f)
		}
		have[key] = true
	}
	return fs
}

func (w *Workflow) inOrder(fs plan.Findings) plan.Findings {
	rank := map[string]int{}
	for i, f := range w.files {
		rank[f.Name] = i
	}
	each.Sort(fs, func(a, b plan.Finding) int {
		return cmp.Or(rank[a.File]-rank[b.File], a.Line-b.Line)
	})
	return fs
}

// Sampled is all that the workflow comes to with these inputs, rounds and parts to come too, with samples in the place
// of approved files. The second value gives what is found in it its place in the workflow's files.
func (w *Workflow) Sampled(in *Inputs) (*plan.Plan, func(plan.Findings) plan.Findings, error) {
	x := w.expand(in, sample, nil)
	text, err := plandoc.Encode(x.plan())
	if err == nil && len(x.fs) > 0 {
		err = x.findings()
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := plandoc.Parse(w.files[0].Name, text)
	return p, func(fs plan.Findings) plan.Findings {
		errors.As(x.placed(fs), &fs)
		for i := range fs {
			fs[i].TaskID = "" // of an instance, perhaps of a sample
		}
		return once(fs)
	}, err
}

// placed gives findings about the plan the places of the workflow that they come from.
func (x *expander) placed(err error) error {
	var fs plan.Findings
	if !errors.As(err, &fs) {
		return err
	}
	fs = slices.Clone(fs)
	for i := range fs {
		f := &fs[i]
		f.File, f.Line = x.w.files[0].Name, 1
		f.Expected = strings.ReplaceAll(f.Expected, "depends_on", "needs")
		f.Example = strings.ReplaceAll(f.Example, "depends_on", "needs")
		if at := x.ids[plan.TaskID(strings.TrimPrefix(string(f.TaskID), "CHECK-"))]; at != nil && at.node != nil {
			f.File, f.Line, f.Path = at.file.Name, int(at.raw.Line), at.path
		}
	}
	return x.w.inOrder(fs)
}

// plan makes the plan of what is new.
func (x *expander) plan() *plan.Plan {
	root := &plan.Task{TaskID: plan.RootID, NodeType: plan.Goal}
	p := &plan.Plan{
		SchemaVersion: 1, TopTask: x.in.Sentence, Title: x.title(), RootTaskID: plan.RootID, Tasks: []*plan.Task{root},
	}
	if x.fill == nil {
		p.Roles = x.w.roles
		root.Title = p.Title
		x.root(root)
	} else {
		root.TaskID, root.Title = x.fill.goal.id, x.heading(x.fill.goal)
		p.RootTaskID = root.TaskID
		p.Title = root.Title
	}
	for _, i := range x.insts {
		if !i.fresh || !i.on {
			continue
		}
		parent := p.RootTaskID
		if i.parent != nil {
			parent = i.parent.id
		}
		if i.group() {
			p.Tasks = append(p.Tasks, &plan.Task{TaskID: i.id, NodeType: plan.Goal, Title: x.heading(i),
				ParentTaskID: parent, Jobs: x.jobs(i)})
		} else {
			p.Tasks = append(p.Tasks, x.action(i, parent)...)
		}
	}
	p.SetVersion()
	return p
}

// title is the first line of the sentence, cut to what a title can be.
func (x *expander) title() string {
	const most = 80
	line, _, _ := strings.Cut(strings.TrimSpace(x.in.Sentence), "\n")
	return cmp.Or(oneLine(plain.Line(line), most), x.w.Name())
}

// oneLine is a text on one line, cut to so many characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// maxTitle is the length of the longest title of a task.
const maxTitle = 200

// heading is the title of a group's GOAL. One that stands around instances has none of their values.
func (x *expander) heading(i *inst) string {
	title := i.raw.Child("title")
	if i.container && uses(title.Text, i.loop.name, prevName) || !i.container && i.loop != nil && !i.ownName() &&
		uses(title.Text, i.loop.name) {
		return "All of " + braces.Get().ReplaceAllString(i.node.id, "*")
	}
	filled := x.value(i.node, title, i.env)
	return oneLine(filled.Text, maxTitle)
}

// jobs is the window of a group's GOAL: that around all instances, where there are some.
func (x *expander) jobs(i *inst) int {
	raw := i.raw.Child("jobs")
	if raw == nil || i.loop != nil && i.ownName() && !i.container {
		return 0
	}
	return x.number(i.node, raw, i.env, "jobs")
}

// root gives the root what the file says of the whole.
func (x *expander) root(root *plan.Task) {
	e := x.w.files[0].scope(x.in, nil)
	root.RootAcceptanceCriteria = x.checklist()
	top := &node{file: x.w.files[0], raw: x.w.files[0].root}
	from := &inst{node: top, env: e}
	final := &plan.FinalDeliverableSpec{Mode: plan.PassThrough, IncludeChildren: x.resolve(top, from, "deliver").ids}
	if a := top.raw.Child("assemble"); a != nil {
		for _, i := range x.named1(top, from, a.Text, "assemble", false) {
			final.Mode, final.AssembleTaskID = plan.Assemble, i.id
		}
	}
	final.DeliverAccepted = x.in.SchemaVersion > 1 && x.w.DeliverAccepted()
	root.FinalDeliverableSpec = final
}

// checklist has the criteria of the files that are used so far.
func (x *expander) checklist() (all []plan.RootCriterion) {
	for _, c := range x.w.criteria {
		if slices.ContainsFunc(c.files, func(f *file) bool { return x.used[f] }) {
			all = append(all, plan.RootCriterion{ID: c.raw.Child("id").Text, Statement: c.raw.Child("statement").Text})
		}
	}
	return all
}

// covering keeps what the plan's root has: a fill brings no criteria of a workflow that is used only there.
func (x *expander) covering(covers []string) []string {
	if x.fill == nil || len(covers) == 0 {
		return covers
	}
	if x.asked == nil {
		x.asked = x.w.expand(x.in, asFar, nil).checklist()
	}
	return slices.DeleteFunc(covers, func(id string) bool {
		return !slices.ContainsFunc(x.asked, func(c plan.RootCriterion) bool { return c.ID == id })
	})
}

// taskDoc is a task of the file with its references replaced.
type taskDoc struct {
	plan.Task                  // whose fields have the same names here, but for these:
	Text      string           `json:"text"`
	Make      any              `json:"make"`
	Change    *changeDoc       `json:"change"`
	Schema    any              `json:"schema"`
	Criteria  []plan.Criterion `json:"criteria"`
	Days      float64          `json:"days"`
	Review    reviewDoc        `json:"review"`
	Judges    *struct {
		plan.Judges
		Rubric string `json:"rubric"`
	} `json:"judges"`
}

type changeDoc struct {
	Paths []string `json:"paths"`
	Tests []string `json:"tests"`
}

type reviewDoc struct {
	By          []string    `json:"by"`
	Rubric      string      `json:"rubric"`
	MinScore    int         `json:"min_score"`
	Agree       *plan.Agree `json:"agree"`
	MaxRounds   int         `json:"max_rounds"`
	OnExhausted string      `json:"on_exhausted"`
}

// action is a task as an ACTION with its CHECK.
func (x *expander) action(i *inst, parent plan.TaskID) []*plan.Task {
	raw := *i.raw
	if x.mode == asFar { // resolve replaces the references in names of tasks
		raw.Kids = slices.Clone(raw.Kids)
		without(&raw, "needs")
		without(&raw, "judges.tasks")
	}
	filled := x.value(i.node, &raw, i.env)
	var d taskDoc
	if err := decode(&filled, &d); err != nil {
		if x.mode == asFar {
			x.find(i.node, "wrong-type", "", "a reference brings in a value of another type", "",
				plain.Line(err.Error()), "")
			return nil
		}
		// A sample is of the type that it happens to be.
		d = taskDoc{Task: plan.Task{Title: "Sample"}, Make: "sample.md",
			Criteria: []plan.Criterion{{ID: "A1", Statement: "1 sample"}}}
	}
	t := &d.Task
	t.TaskID, t.NodeType, t.ParentTaskID, t.Title = i.id, plan.Action, parent, oneLine(d.Title, maxTitle)
	t.Description, t.EstimatedPersonDays, t.AcceptanceCriteria = d.Text, cmp.Or(d.Days, 1), d.Criteria
	t.DependsOn = x.resolve(i.node, i, "needs").ids
	for _, before := range i.after {
		if before.on && !slices.Contains(t.DependsOn, before.id) {
			t.DependsOn = append(t.DependsOn, before.id)
			if d.Change == nil || i.loose { // else changes stack
				t.OrderOnly = append(t.OrderOnly, before.id)
			}
		}
	}
	if d.Run != "" {
		t.Agent = plan.AgentExec
	}
	if d.Judges != nil {
		t.Judges = &d.Judges.Judges
		if t.Judges.Tasks = x.resolve(i.node, i, "judges.tasks").ids; len(t.Judges.Tasks) == 0 {
			x.find(i.node, "judges-nothing", "judges.tasks", "none of what the task judges is there",
				"a task that is there with it", "none", "when: the same as of what it judges")
			return nil
		}
	}
	t.DeliverableSpec = d.spec()
	x.names(i, &d)
	x.criteria(i, t, &d)
	return []*plan.Task{t, x.check(t, &d)}
}

// drops reports whether a task of the node may be dropped.
func (n *node) drops() (drops bool) {
	walk([]*node{n}, func(n *node) {
		then := n.raw.Child("review").Child("on_exhausted")
		drops = drops || then != nil && then.Text == "drop"
	})
	return drops
}

// names finds roles and rubrics that a reference has brought in and that nobody has declared. Lint knows the others,
// and what an item could bring.
func (x *expander) names(i *inst, d *taskDoc) {
	if !x.in.strict() || x.mode != asFar {
		return
	}
	check := func(field string, raw *document.Node, name string, there []string) {
		if raw != nil && raw.Text != name && name != "" && !slices.Contains(there, name) {
			x.find(i.node, "unknown-name", field, "a reference brings in a name that nothing has",
				listed("one of ", there), plain.Quote(name), plandoc.Nearest(name, there))
		}
	}
	roles, rubrics := sorted(x.w.roles), sorted(x.w.rubrics)
	review := i.raw.Child("review")
	check("role", i.raw.Child("role"), d.Role, roles)
	check("review.rubric", review.Child("rubric"), d.Review.Rubric, rubrics)
	if d.Judges != nil {
		check("judges.rubric", i.raw.Child("judges").Child("rubric"), d.Judges.Rubric, rubrics)
	}
	for _, name := range d.Review.By {
		by := review.Child("by")
		if !slices.ContainsFunc(by.Kids, func(k document.Node) bool { return k.Text == name }) {
			check("review.by", by, name, append(roles, plan.ReviewerPerson, plan.ReviewerChecks))
		}
	}
}

func (d *taskDoc) spec() *plan.DeliverableSpec {
	switch {
	case d.Judges != nil:
		return &plan.DeliverableSpec{Format: plan.FormatVerdicts, Filename: "verdicts.json", SingleFile: true}
	case d.Decides != nil:
		return &plan.DeliverableSpec{Format: plan.FormatDecision, Filename: "decision.json", SingleFile: true}
	case d.Change != nil:
		return &plan.DeliverableSpec{Format: "change", Paths: d.Change.Paths, Tests: d.Change.Tests}
	}
	files := d.files()
	s := &plan.DeliverableSpec{Format: "files"}
	for _, f := range files {
		ext := strings.TrimPrefix(path.Ext(f), ".")
		if ext != "" && !relpath.IsPattern(f) && !slices.Contains([]string{plan.FormatPlan, plan.FormatVerdicts,
			plan.FormatDecision, "change"}, ext) {
			s.Format = ext
			break
		}
	}
	if len(files) == 1 && !relpath.IsPattern(files[0]) {
		s.Filename, s.SingleFile = files[0], true
	} else {
		s.Files, s.BundleMode = files, plan.BundleManifest
	}
	return s
}

func (d *taskDoc) files() []string {
	switch m := d.Make.(type) {
	case string:
		return []string{m}
	case []any:
		files := make([]string, len(m))
		for i := range m {
			files[i], _ = m[i].(string)
		}
		return files
	}
	return nil
}

// criteria completes what the task is judged by: the file's own criteria, its schemas, and what the engine asks of a
// task that others are rendered from, that judges or that decides.
func (x *expander) criteria(i *inst, t *plan.Task, d *taskDoc) {
	t.Covers = x.covering(t.Covers)
	for k := range t.AcceptanceCriteria {
		c := &t.AcceptanceCriteria[k]
		c.Covers = x.covering(c.Covers)
		plandoc.CompleteCriterion(c)
	}
	add := func(id, method, statement string) *plan.Criterion {
		free := id
		for k := 2; slices.ContainsFunc(t.AcceptanceCriteria, func(c plan.Criterion) bool {
			return relpath.Fold(c.ID) == relpath.Fold(free)
		}); k++ {
			free = id + "-" + strconv.Itoa(k)
		}
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{
			ID: free, CheckMethod: method, Severity: plan.Must, Statement: statement,
		})
		return &t.AcceptanceCriteria[len(t.AcceptanceCriteria)-1]
	}
	schemas := d.schemas()
	for _, file := range sorted(schemas) {
		c := add("schema", plan.SchemaCheck, fmt.Sprintf("%s keeps the schema %q.", file, schemas[file]))
		c.File, c.Schema = file, x.w.schemas[schemas[file]]
	}
	if files := x.w.expands(i); len(files) > 0 {
		add("expands", plan.Expands,
			"What the plan goes on with follows from "+strings.Join(files, " and ")+" and keeps all rules.")
	}
	switch {
	case d.Judges != nil && !slices.ContainsFunc(t.AcceptanceCriteria, plan.Criterion.Manual):
		add("verdicts", plan.ManualReview, "verdicts.json has a verdict on each judged task, with what it rests on.")
	case d.Decides != nil && !slices.ContainsFunc(t.AcceptanceCriteria, plan.Criterion.Manual):
		add("decision", plan.ManualReview, "decision.json is one decision that the plan allows now.")
	}
}

// schemas are the names of the schemas that files of the task keep.
func (d *taskDoc) schemas() map[string]string {
	all := map[string]string{}
	switch s := d.Schema.(type) {
	case string:
		if files := d.files(); len(files) > 0 {
			all[files[0]] = s
		}
	case map[string]any:
		for f, name := range s {
			all[f], _ = name.(string)
		}
	}
	return all
}

// expands are the files of a task from which groups are rendered, as they are written.
func (w *Workflow) expands(i *inst) []string {
	var files []string
	for _, n := range w.waiting {
		from := n.from()
		if file := from.Child("file"); file != nil && !slices.Contains(files, file.Text) &&
			canBe(shape(from.Child("of").Text, nil), string(i.id), false) {
			files = append(files, file.Text)
		}
	}
	return files
}

// check is the CHECK of a task.
func (x *expander) check(t *plan.Task, d *taskDoc) *plan.Task {
	r := d.Review
	c := &plan.Task{
		TaskID: t.TaskID.CheckID(), NodeType: plan.Check, Title: "Review " + string(t.TaskID),
		ParentTaskID:       t.ParentTaskID,
		ReviewTargetTaskID: t.TaskID, ReviewOutputSpec: plan.ReviewOutput,
		Reviewers: r.By, MinScore: r.MinScore, MaxRounds: r.MaxRounds, OnExhausted: r.OnExhausted, Agree: r.Agree,
	}
	rubric := r.Rubric
	switch {
	case d.Judges != nil:
		c.Reviewers = append([]string{plan.ReviewerVerdicts}, r.By...)
		rubric = cmp.Or(rubric, d.Judges.Rubric)
	case d.Decides != nil:
		c.Reviewers = append([]string{plan.ReviewerDecision}, r.By...)
	}
	if named, ok := x.w.rubrics[rubric]; ok {
		c.Rubric, c.MinScore = &named, cmp.Or(c.MinScore, named.Pass)
	}
	if c.Agree != nil { // a seat that approves with the mean that is asked for counts as one that approves
		c.MinScore = cmp.Or(c.MinScore, c.Agree.Mean)
	}
	// Who is named has to speak; the engine alone does where it is alone.
	seats := slices.DeleteFunc(slices.Clone(c.Reviewers), func(name string) bool { return name == plan.ReviewerChecks })
	if len(seats) > 1 && c.Agree == nil {
		c.Quorum = len(seats)
	}
	return c
}
