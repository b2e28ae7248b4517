package workflow

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/schema"
)

// The limits of workflows.
const (
	MaxFileBytes = 1 << 20 // of one file
	MaxTasks     = 2000    // that a plan made from a workflow can come to have, in all rounds and instances
	MaxChoices   = 256     // combinations of choices, each of which Lint renders
	maxUse       = 4       // levels of use
)

//go:embed workflow.schema.json
var schemaJSON []byte

// Schema is the JSON Schema of a workflow file.
func Schema() []byte { return bytes.Clone(schemaJSON) }

var parsedSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(schemaJSON) })

// Source is a file's content, and what the file is called in messages.
type Source struct {
	Name string
	Data []byte
}

// OID is the object id that git gives to the content.
func (s Source) OID() plan.OID {
	h := sha1.New()
	h.Write([]byte("blob " + strconv.Itoa(len(s.Data)) + "\x00"))
	h.Write(s.Data)
	return plan.OID(hex.EncodeToString(h.Sum(nil)))
}

// Workflow is a workflow file with those that it uses.
type Workflow struct {
	files    []*file  // the file itself, then those it uses, each once
	beside   []Source // the texts in files beside them
	nodes    []*node
	roles    map[string]plan.Role
	rubrics  map[string]plan.Rubric
	schemas  map[string]map[string]any
	facts    []Fact
	waiting  []*node // whose loops read an approved file
	criteria []rootCriterion
	fs       plan.Findings // what Load found and Lint reports
}

// file is one workflow file that fits the schema.
type file struct {
	Source
	root *document.Node
	head head
	set  []Param
}

// rootCriterion is one of the top task's checklist, and the files that have it.
type rootCriterion struct {
	raw   *document.Node
	files []*file
}

// head is what a file says once.
type head struct {
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
	About    string `json:"about"`
	Score    score  `json:"score"`
	Guide
	Roles           map[string]plan.Role      `json:"roles"`
	Rubrics         map[string]plan.Rubric    `json:"rubrics"`
	Schemas         map[string]map[string]any `json:"schemas"`
	Facts           map[string]Fact           `json:"facts"`
	DeliverAccepted bool                      `json:"deliver_accepted"`
}

// node is a task, a group, or another workflow that is used.
type node struct {
	raw     *document.Node
	file    *file
	path    string // in its own file, for messages
	pointer string // in the whole: a used workflow's tasks stand below the node that uses it
	id      string // as written, of a task or a group
	kids    []*node
	loop    *loop
}

func (n *node) group() bool { return n.raw.Child("group") != nil }
func (n *node) used() bool  { return n.raw.Child("use") != nil }

// loop is a node's each or repeat, or a branch: a when over an approved file, which is a loop over one thing, the file.
type loop struct {
	raw    *document.Node
	name   string // of the item in references; of repeat, round; of a branch, none
	of     bool   // over a list in a task's approved file, or a branch
	repeat bool
	branch bool
}

// from is what names the task whose approved file the node's loop reads, nil if it reads none.
func (n *node) from() *document.Node {
	switch {
	case n.loop == nil:
	case n.loop.repeat:
		return n.loop.raw.Child("until")
	case n.loop.of:
		return n.loop.raw
	}
	return nil
}

// Load reads a workflow and those that it uses; find gets a used one by its name. It fails with plan.Findings where a
// file has not the right form, and then says all that is wrong, as Lint does. Where the form is right, whether the
// workflow makes sense is Lint's to say.
func Load(main Source, find func(name string) (Source, error)) (*Workflow, error) {
	w, err := load(main, find, false)
	if !errors.As(err, new(plan.Findings)) {
		return w, err
	}
	// What has not the right form is left out of the rest, so that one wrong field hides nothing elsewhere.
	if w, err = load(main, find, true); err == nil {
		err = w.Lint()
	}
	return nil, err
}

func load(main Source, find func(name string) (Source, error), lenient bool) (*Workflow, error) {
	w := &Workflow{
		roles: map[string]plan.Role{}, rubrics: map[string]plan.Rubric{}, schemas: map[string]map[string]any{},
	}
	l := loader{w, find, lenient}
	f, err := l.file(main)
	if err != nil {
		return nil, err
	}
	w.nodes, err = l.nodes(f, f.root.Child("tasks"), "tasks", "/tasks", []string{f.head.Workflow})
	walk(w.nodes, func(n *node) {
		if n.from() != nil {
			w.waiting = append(w.waiting, n)
		}
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Sources are the files, the workflow's own first: what a plan pins, and what LoadPinned reads back.
func (w *Workflow) Sources() []Source {
	all := make([]Source, len(w.files), len(w.files)+len(w.beside))
	for i, f := range w.files {
		all[i] = f.Source
	}
	return append(all, w.beside...)
}

// TextFile is what the text NAME/FILE that a workflow has beside it is called among its Sources, "" for the name of a
// workflow.
func TextFile(name string) string {
	workflow, file, is := strings.Cut(name, "/")
	if !is {
		return ""
	}
	return workflow + "." + file
}

// LoadPinned is Load for files that a plan has pinned, in the order of Sources.
func LoadPinned(files []Source) (*Workflow, error) {
	if len(files) == 0 {
		return nil, errors.New("the plan has no workflow file")
	}
	return Load(files[0], func(name string) (Source, error) {
		for _, s := range files[1:] {
			if s.Name == cmp.Or(TextFile(name), name+".yaml") {
				return s, nil
			}
		}
		return Source{}, fmt.Errorf("the plan has not pinned the workflow %s", plain.Quote(name))
	})
}

// Name is the workflow's name.
func (w *Workflow) Name() string { return w.files[0].head.Workflow }

// Version is the version that the file gives itself.
func (w *Workflow) Version() int { return w.files[0].head.Version }

// About is one line for people.
func (w *Workflow) About() string { return w.files[0].head.About }

// Guide says for which sentences the workflow is, and what may follow it.
func (w *Workflow) Guide() Guide { return w.files[0].head.Guide }

// Scores reports whether points for the sentence or for facts suggest values of params.
func (w *Workflow) Scores() bool { return len(w.files[0].head.Score.Rules) > 0 }

// DeliverAccepted reports whether an export takes what was accepted because its rounds were used up.
func (w *Workflow) DeliverAccepted() bool { return w.files[0].head.DeliverAccepted }

var (
	quoted = pattern.Compile(`"[^"]*"|'[^']*'`)
	bare   = pattern.Compile(`[\[{].*\{\{`) // a reference within brackets, in a line without what is quoted
)

// unquoted says which line has a reference that YAML takes for a mapping: the parser names one before it.
func unquoted(src Source, err error) error {
	var fs plan.Findings
	if !errors.As(err, &fs) || len(fs) != 1 || fs[0].Code != "syntax" {
		return err
	}
	lines := strings.Split(string(src.Data), "\n")
	for i := max(fs[0].Line-1, 0); i < min(fs[0].Line+1, len(lines)); i++ {
		if bare.Get().MatchString(quoted.Get().ReplaceAllString(lines[i], "")) {
			fs = slices.Clone(fs)
			fs[0].Line, fs[0].Expected = i+1, "quotes around what has {{...}}, within brackets"
			fs[0].Found, fs[0].Example = plain.Quote(strings.TrimSpace(lines[i])), `needs: ["DEV-{{t.n}}"]`
			return fs
		}
	}
	return err
}

type loader struct {
	w       *Workflow
	find    func(string) (Source, error)
	lenient bool // goes on without what has not the right form
}

// file reads one file, once.
func (l *loader) file(src Source) (*file, error) {
	for _, f := range l.w.files {
		if f.Name == src.Name && bytes.Equal(f.Data, src.Data) {
			return f, nil
		}
	}
	root, err := plandoc.ReadTree(src.Name, src.Data, "workflow", MaxFileBytes)
	if err != nil {
		return nil, unquoted(src, err)
	}
	whole, err := parsedSchema()
	if err != nil {
		return nil, err
	}
	f := &file{Source: src, root: root}
	fs := slices.Concat(l.texts(f, root.Child("roles"), "roles"), l.texts(f, root.Child("tasks"), "tasks"),
		f.misfits(whole))
	if len(fs) > 0 && l.lenient {
		for _, finding := range fs {
			without(f.root, finding.Path)
		}
		if len(f.misfits(whole)) == 0 {
			l.w.fs, fs = append(l.w.fs, fs...), nil
		}
	}
	if len(fs) == 0 {
		if err := decode(root, &f.head); err != nil {
			fs = plan.Findings{{Code: "bad-value", File: f.Name, Line: int(root.Line),
				Message: plain.Line(err.Error())}}
		}
	}
	if len(fs) > 0 {
		return nil, fs.Capped()
	}
	f.readParams()
	l.w.files = append(l.w.files, f)
	l.w.take(f)
	return f, nil
}

var textName = pattern.Compile(`^[a-z][a-z0-9-]{0,39}\.md$`)

// texts puts the texts that stand in files beside the workflow in their places: {file: survey.md} is what find gets by
// NAME/survey.md, where NAME is the workflow's.
func (l *loader) texts(f *file, n *document.Node, path string) (fs plan.Findings) {
	if n == nil {
		return nil
	}
	for i := range n.Kids {
		kid, at := &n.Kids[i], path+"."+n.Kids[i].Key
		if n.Kind == document.Array {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		name := kid.Child("file")
		if kid.Key != "text" || name == nil || len(kid.Kids) != 1 {
			fs = append(fs, l.texts(f, kid, at)...)
			continue
		}
		src, err := Source{}, errors.New("no name of a text")
		if of := f.root.Child("workflow"); of != nil && textName.Get().MatchString(name.Text) {
			src, err = l.find(of.Text + "/" + name.Text)
		}
		if len(src.Data) > MaxFileBytes || !utf8.Valid(src.Data) {
			err = errors.New("is not UTF-8, or too large")
		}
		text := strings.TrimSpace(string(src.Data))
		if err != nil {
			text = "-"
			fs = append(fs, plan.Finding{
				Code: "unknown-name", File: f.Name, Line: int(kid.Line), Path: at + ".file",
				Message:  "no such text is beside the workflow, in the folder of its name",
				Expected: "a file NAME.md of lower-case letters, digits and hyphens",
				Found:    plain.Quote(name.Text) + ": " + plain.Line(err.Error()), Example: "text: {file: survey.md}",
			})
		} else if !slices.ContainsFunc(l.w.beside, func(s Source) bool { return s.Name == src.Name }) {
			l.w.beside = append(l.w.beside, src)
		}
		*kid = document.Node{Kind: document.String, Line: kid.Line, Key: kid.Key, Text: text}
	}
	return fs
}

// misfits are the findings about the form of the file.
func (f *file) misfits(whole *schema.Schema) plan.Findings {
	fs := append(plandoc.Misfits(whole, f.root), f.kinds(f.root.Child("tasks"), "tasks")...)
	for i := range fs {
		if fs[i].File = f.Name; fs[i].Code == "unknown-field" {
			known := strings.Split(strings.TrimPrefix(fs[i].Expected, "one of "), ", ")
			name := fs[i].Path[strings.LastIndexByte(fs[i].Path, '.')+1:]
			fs[i].Example = cmp.Or(plandoc.Nearest(name, known), known[0]) + ": ..."
		}
	}
	return fs
}

// without takes the value at a path out of a document, and leaves the list that it stood in as it is. Items of lists
// stay.
func without(root *document.Node, path string) {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for k, part := range parts {
		last := k == len(parts)-1
		switch i, err := strconv.Atoi(part); {
		case root.Kind == document.Object && last:
			root.Kids = slices.DeleteFunc(slices.Clone(root.Kids),
				func(kid document.Node) bool { return kid.Key == part })
			return
		case root.Kind == document.Object && root.Child(part) != nil:
			root = root.Child(part)
		case root.Kind == document.Array && err == nil && i < len(root.Kids) && !last:
			root = &root.Kids[i]
		default:
			return
		}
	}
}

// kinds refuses nodes that are nothing, or several things at once.
func (f *file) kinds(list *document.Node, path string) (fs plan.Findings) {
	if list == nil || list.Kind != document.Array {
		return nil
	}
	for i := range list.Kids {
		n, at := &list.Kids[i], fmt.Sprintf("%s[%d]", path, i)
		is := each.If([]string{"id", "group", "use"}, func(key string) bool {
			return n.Child(key) != nil
		})
		if len(is) != 1 && n.Kind == document.Object {
			fs = append(fs, plan.Finding{
				Code: "bad-value", Line: int(n.Line), Path: at,
				Message:  "is neither a task, a group nor another workflow",
				Expected: "one of id, group, use", Found: cmp.Or(strings.Join(is, " and "), "none"),
				Example: "id: DEV-1",
			})
		}
		fs = append(fs, f.kinds(n.Child("tasks"), at+".tasks")...)
	}
	return fs
}

// decode fills a value from a node, by the json tags. Fields that the value lacks are left alone.
func decode(n *document.Node, into any) error {
	data, err := json.Marshal(n.Value(document.Exact))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// take adds what a file declares to the whole. Equal names must be equal: with another meaning a role of one file
// would speak in the other.
func (w *Workflow) take(f *file) {
	for name, r := range f.head.Roles {
		merge(w, f, w.roles, "roles", name, r)
	}
	for name, r := range f.head.Rubrics {
		merge(w, f, w.rubrics, "rubrics", name, r)
	}
	for name, s := range f.head.Schemas {
		merge(w, f, w.schemas, "schemas", name, s)
	}
	for _, name := range keys(f.root.Child("facts")) {
		fact := f.head.Facts[name]
		fact.Name = name
		i := slices.IndexFunc(w.facts, func(have Fact) bool { return have.Name == name })
		if i < 0 {
			w.facts = append(w.facts, fact)
		} else if !slices.Equal(w.facts[i].Any, fact.Any) {
			w.differsIn(f, "facts", name)
		}
	}
	for i, c := range f.root.Child("criteria").Items() {
		same := slices.IndexFunc(w.criteria, func(have rootCriterion) bool {
			return have.raw.Child("id").Text == c.Child("id").Text
		})
		switch {
		case same < 0:
			w.criteria = append(w.criteria, rootCriterion{&c, []*file{f}})
		case w.criteria[same].raw.Child("statement").Text != c.Child("statement").Text ||
			w.criteria[same].files[0] == f:
			have := w.criteria[same]
			w.differs(f, fmt.Sprintf("criteria[%d]", i), c.Child("id").Text, have.files[0].Name, int(have.raw.Line))
		default:
			w.criteria[same].files = append(w.criteria[same].files, f)
		}
	}
}

func merge[T any](w *Workflow, f *file, all map[string]T, field, name string, value T) {
	have, taken := all[name]
	if !taken {
		all[name] = value
		return
	}
	one, _ := json.Marshal(have) // both came from JSON
	other, _ := json.Marshal(value)
	if !bytes.Equal(one, other) {
		w.differsIn(f, field, name)
	}
}

// differsIn is differs of a mapping of names.
func (w *Workflow) differsIn(f *file, field, name string) {
	for _, other := range w.files {
		if other != f && other.root.Child(field).Child(name) != nil {
			w.differs(f, field+"."+name, name, other.Name, plandoc.LineOf(other.root, field+"."+name))
			return
		}
	}
}

func (w *Workflow) differs(f *file, path, name, other string, line int) {
	w.fs = append(w.fs, plan.Finding{
		Code: "id-clash", File: f.Name, Line: plandoc.LineOf(f.root, path), Path: path,
		Message: "the name has another meaning already", Expected: "a name of its own, or the same content as there",
		Found: fmt.Sprintf("%s, also at %s:%d", plain.Quote(name), other, line),
	})
}

func keys(n *document.Node) []string {
	return each.Of(n.Items(), func(kid document.Node) string { return kid.Key })
}

// nodes makes the tree of a list of nodes. via are the workflows on the way here.
func (l *loader) nodes(f *file, list *document.Node, path, pointer string, via []string) ([]*node, error) {
	nodes := make([]*node, 0, len(list.Kids))
	for i := range list.Kids {
		n := &node{raw: &list.Kids[i], file: f, path: fmt.Sprintf("%s[%d]", path, i),
			pointer: fmt.Sprintf("%s/%d", pointer, i)}
		for _, key := range []string{"id", "group"} {
			if id := n.raw.Child(key); id != nil {
				n.id = id.Text
			}
		}
		n.readLoop()
		var err error
		switch {
		case n.group():
			n.kids, err = l.nodes(f, n.raw.Child("tasks"), n.path+".tasks", n.pointer+"/tasks", via)
		case n.used():
			n.kids, err = l.use(n, via)
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (n *node) readLoop() {
	if each := n.raw.Child("each"); each != nil {
		n.loop = &loop{raw: each, name: each.Child("as").Text, of: each.Child("of") != nil}
	} else if repeat := n.raw.Child("repeat"); repeat != nil {
		n.loop = &loop{raw: repeat, name: roundName, repeat: true}
	} else if n.group() && n.branches() {
		n.loop = &loop{raw: n.raw.Child("when"), of: true, branch: true}
	}
}

// branches reports whether the node's when speaks of an approved file, not of params, facts and items.
func (n *node) branches() bool {
	where := n.raw.Child("when").Child("where")
	return where != nil && n.raw.Child("when").Child("of") != nil && len(where.Kids) > 0
}

// use is the tree of another workflow's tasks.
func (l *loader) use(n *node, via []string) ([]*node, error) {
	name := n.raw.Child("use").Text
	finding := plan.Finding{
		Code: "use-cycle", File: n.file.Name, Line: int(n.raw.Child("use").Line), Path: n.path + ".use",
		Found:   strings.Join(append(slices.Clone(via), name), " -> "),
		Example: "{id: DEV-1, title: The change, make: report.md}",
	}
	switch {
	case slices.Contains(via, name):
		finding.Message, finding.Expected = "the workflow uses itself", "another workflow, or tasks of its own"
		return nil, plan.Findings{finding}
	case len(via) > maxUse:
		finding.Message, finding.Expected = "is too deep", fmt.Sprintf("at most %d levels of use", maxUse)
		return nil, plan.Findings{finding}
	}
	src, err := l.find(name)
	if err != nil {
		finding.Code, finding.Message = "unknown-name", "no such workflow is here"
		finding.Expected, finding.Example = "the name of a workflow: yours is "+name+".yaml in "+
			".git/wf/templates/workflows/ or ~/.config/git-wf/templates/workflows/", "use: spec"
		finding.Found = plain.Quote(name) + ": " + plain.Line(err.Error())
		return nil, plan.Findings{finding}
	}
	f, err := l.file(src)
	if err != nil {
		return nil, err
	}
	if f.head.Workflow != name {
		return nil, plan.Findings{{
			Code: "unknown-name", File: f.Name, Line: plandoc.LineOf(f.root, "workflow"), Path: "workflow",
			Message: "the file is another workflow than its name says", Expected: name, Found: f.head.Workflow,
			Example: "workflow: " + name,
		}}
	}
	return l.nodes(f, f.root.Child("tasks"), "tasks", n.pointer+"/tasks", append(slices.Clone(via), name))
}

// walk visits nodes and all below them, in the order of the files.
func walk(nodes []*node, visit func(*node)) {
	for _, n := range nodes {
		visit(n)
		walk(n.kids, visit)
	}
}

// Commands are the command lines of all sections, also of those that are rendered later, in the order of the files and
// each once: what a user trusts with the workflow.
func (w *Workflow) Commands() []string {
	var lines []string
	add := func(n *document.Node) {
		if n != nil && !slices.Contains(lines, n.Text) {
			lines = append(lines, n.Text)
		}
	}
	walk(w.nodes, func(n *node) {
		add(n.raw.Child("run"))
		for _, c := range n.raw.Child("criteria").Items() {
			add(c.Child("run"))
		}
	})
	return lines
}
