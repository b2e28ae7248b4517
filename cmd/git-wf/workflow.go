package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/expand"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
	"gitwf/internal/readmodel"
	"gitwf/internal/workflow"
	"gitwf/templates"
)

func setFlag() cli.Flag {
	return listFlag("set", "a param of the workflow, `NAME=VALUE`; list items have commas between them")
}

func programLayer() prompt.Layer { return prompt.Layer{FS: templates.FS} }

func (e *env) workflowCommand() *cli.Command {
	return parent("workflow", "look at ways of working that plans are made from, and write your own",
		command("list", "list the workflows", e.anywhere(e.workflowList), jsonFlag()),
		command("show WORKFLOW", "show a workflow: params, roles, tasks, how much work it can become, command lines",
			e.anywhere(e.workflowShow), setFlag(), boolFlag("graph", "draw the tasks that it begins with"),
			textFlag("format", "of the graph, as for git wf graph", "ascii"), jsonFlag()),
		command("lint FILE...", "say what is wrong with workflow files", e.anywhere(e.workflowLint), jsonFlag()),
		command("render WORKFLOW [TEXT...]", "print the plan that a workflow comes to", e.anywhere(e.workflowRender),
			setFlag(), jsonFlag()),
		command("new NAME", "write a small workflow to begin with, or a copy of one, as NAME.yaml",
			e.anywhere(e.workflowNew), textFlag("copy", "copy this `WORKFLOW`, under the new name", "")),
		command("schema", "print the JSON Schema of workflow files", e.printSchema(workflow.Schema)))
}

// workflowSummary is a line of the list.
type workflowSummary struct {
	Name    string `json:"workflow"`
	Version int    `json:"version"`
	About   string `json:"about"`
	Error   string `json:"error,omitempty"` // why it can't be used
}

func (e *env) workflowList(c *cli.Context, store *gitstore.Store) error {
	all := []workflowSummary{}
	for _, name := range e.workflowNames(store) {
		sum := workflowSummary{Name: name}
		if w, err := e.loadWorkflow(store, name); err != nil {
			sum.Error = plain.Line(err.Error())
		} else {
			sum.Version, sum.About = w.Version(), w.About()
		}
		all = append(all, sum)
	}
	return e.print("workflows", all)
}

// workflowDocument is what show --json prints.
type workflowDocument struct {
	workflowSummary
	Params   []paramDocument      `json:"params"`
	Roles    map[string]plan.Role `json:"roles"`
	Files    []string             `json:"files"`
	Bounds   workflow.Bounds      `json:"bounds"`
	Commands []string             `json:"commands"`
	Graph    *graph.Graph         `json:"graph,omitempty"`
}

type paramDocument struct {
	Name string `json:"name"`
	workflow.Param
}

func (e *env) workflowShow(c *cli.Context, store *gitstore.Store) error {
	w, err := e.loadSoundWorkflow(store, c.Args().First())
	if err != nil {
		return err
	}
	m, err := e.exampleOf(c, store, w)
	if err != nil {
		return err
	}
	s := m.firstState(e)
	g := graph.FromState(s, graph.Options{})
	if c.Bool("graph") {
		return e.writeGraph(c, g)
	}
	b, err := m.Bounds(m.inputs)
	if err != nil {
		return err
	}
	doc := workflowDocument{
		workflowSummary: workflowSummary{Name: w.Name(), Version: w.Version(), About: w.About()},
		Params:          []paramDocument{}, Roles: m.draft.Plan.Roles, Files: []string{}, Bounds: b,
		Commands: orEmpty(w.Commands()), Graph: &g,
	}
	for _, p := range w.Params() {
		doc.Params = append(doc.Params, paramDocument{p.Name, p})
	}
	for _, src := range w.Sources() {
		doc.Files = append(doc.Files, src.Name)
	}
	shown := struct {
		workflowSummary
		Params, Commands any
		Roles            map[string]plan.Role
		Plan             *readmodel.Plan
		Set              string
		Bounds, Widest   string
	}{doc.workflowSummary, w.Params(), w.Commands(), m.draft.Plan.Roles, readmodel.Of(s),
		m.setText(), m.boundsLine(), ""}
	if b, err := m.Widest(); err == nil {
		shown.Widest = boundsText(b)
	}
	return e.printAs("workflow", doc, shown)
}

// exampleOf renders a workflow with the params that are set; those without a value have the first that they may have.
func (e *env) exampleOf(c *cli.Context, store *gitstore.Store, w *workflow.Workflow) (*madePlan, error) {
	set, err := setFlags(c)
	if err != nil {
		return nil, err
	}
	facts, err := expand.Facts(c.Context, store, w.Facts())
	if err != nil {
		return nil, err
	}
	const sentence = "What is to be made"
	_, suggested := w.Suggest(sentence, facts)
	for _, p := range w.Params() {
		if _, given := set[p.Name]; given || p.Default != nil || suggested[p.Name] != nil {
			continue
		}
		set[p.Name] = p.Sample()
	}
	in, err := w.Inputs(sentence, facts, set)
	if err != nil {
		return nil, fault.Usage("git wf workflow show "+w.Name(), "%w", err)
	}
	m := &madePlan{Workflow: w, inputs: in}
	if m.rendering, err = w.Render(in); err != nil {
		return nil, mendFile(err, "another --set NAME=VALUE")
	}
	m.draft.Plan, err = plandoc.Parse(w.Name()+".yaml", m.rendering.Text)
	return m, err
}

// firstState is the state of the plan when it has just begun, with the tasks that fill GOALs later.
func (m *madePlan) firstState(e *env) *plan.State {
	p := *m.draft.Plan
	p.PlanID, p.Tasks = plan.NewID(p.Title, 1), slices.Clone(p.Tasks)
	_ = p.AddFills(expand.Fills(m.rendering), plan.Planner{}) // each is below a GOAL of the rendering
	return plan.Derive(&p, plan.Records{}, nil, e.now())
}

func (e *env) workflowLint(c *cli.Context, store *gitstore.Store) error {
	all := plan.Findings{}
	for _, name := range c.Args().Slice() {
		w, err := e.loadWorkflow(store, name)
		var fs plan.Findings
		if errors.As(err, &fs) {
			all = append(all, fs...)
			continue
		}
		if err != nil {
			return err
		}
		fs = w.Lint()
		all = append(all, fs...)
		if len(fs) == 0 {
			b, err := w.Widest()
			if err != nil {
				return err
			}
			e.tell("%s: nothing found; %s", plain.Line(name), boundsText(b))
		}
	}
	if err := e.out(all, func(io.Writer) {}); err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	lines := each.Of(all, func(f plan.Finding) string { return fmt.Sprintf("%v [%s]", f, f.Code) })
	return fault.Usage("git wf workflow schema prints the form, docs/workflows.md says what each code means", "%s",
		strings.Join(lines, "\n"))
}

// workflowRender prints what a workflow comes to.
func (e *env) workflowRender(c *cli.Context, store *gitstore.Store) error {
	w, err := e.loadSoundWorkflow(store, c.Args().First())
	if err != nil {
		return err
	}
	sentence := strings.TrimSpace(strings.Join(c.Args().Tail(), " "))
	if sentence == "" {
		sentence = "What is to be made"
	}
	in, err := e.workflowInputs(c, store, w, sentence)
	if err != nil {
		return err
	}
	r, err := w.Render(in)
	if err != nil {
		return mendFile(err, "another --set NAME=VALUE")
	}
	return e.out(struct {
		Text  string          `json:"text"`
		Fills []workflow.Fill `json:"fills"`
	}{string(r.Text), orEmpty(r.Fills)}, func(w io.Writer) {
		fmt.Fprintf(w, "%s", r.Text)
		for _, f := range r.Fills {
			fmt.Fprintf(e.stderr, "%s is filled from %s of %s\n", f.Target, plain.Line(f.File), f.Source)
		}
	})
}

var workflowName = pattern.Compile(`^[a-z][a-z0-9-]{0,39}$`)

// newWorkflow is what git wf workflow new writes.
const newWorkflow = `workflow: NAME
version: 1
about: what it is for, in one line
params:
  parts: {type: integer, default: 3, max: 5, ask: "At most how many parts?"}
roles:
  writer: {text: "Write for those who build on it."}
  critic: {kind: read-only, text: "Name each fault with its place. What is not wrong, let be."}
criteria: [{id: R1, statement: What was asked for is there}]
tasks:
  - id: DRAFT-1
    role: writer
    title: The draft
    text: "{{sentence}}\nIn at most {{parts}} parts."
    make: draft.md
    covers: [R1]
    criteria: [{id: A1, statement: draft.md has at least 1 heading, run: 'grep -q "^#" draft.md'}]
    review: {by: [critic], max_rounds: 3}
`

// workflowNew writes a workflow, a small one or a copy.
func (e *env) workflowNew(c *cli.Context, store *gitstore.Store) error {
	name, text, files := c.Args().First(), newWorkflow, map[string][]byte{}
	if !workflowName.Get().MatchString(name) {
		return fault.Usage("git wf workflow new NAME",
			"new takes a name of lower-case letters, digits and hyphens, found %s", plain.Quote(name))
	}
	if c.IsSet("copy") {
		w, err := e.loadWorkflow(store, c.String("copy"))
		if err != nil {
			return err
		}
		head, rest, _ := strings.Cut("\n"+string(w.Sources()[0].Data), "\nworkflow:")
		_, rest, _ = strings.Cut(rest, "\n")
		text = strings.TrimPrefix(head+"\nworkflow: NAME\n"+rest, "\n")
		for _, src := range w.Sources()[1:] {
			if file, is := strings.CutPrefix(src.Name, w.Name()+"."); is && file != "yaml" {
				files[name+"/"+file] = src.Data
			}
		}
	}
	files[name+".yaml"] = []byte(strings.Replace(text, "workflow: NAME", "workflow: "+name, 1))
	for _, file := range slices.Sorted(maps.Keys(files)) { // NAME.yaml first
		err := os.MkdirAll(filepath.Dir(e.absolute(file)), 0o777)
		if err == nil {
			err = createFile(e.absolute(file), files[file])
		}
		if err != nil {
			return fault.Usage("git wf workflow new NAME, with another name", "write %s: %w", file, fault.Reason(err))
		}
	}
	fmt.Fprintf(e.stdout, "%s.yaml written; next: git wf workflow lint %[1]s.yaml, then "+
		"git wf plan --workflow ./%[1]s.yaml 'what is to be made'\n", name)
	return nil
}
