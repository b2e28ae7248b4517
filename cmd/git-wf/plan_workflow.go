package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/expand"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/workflow"
	"gitwf/templates"
)

// isWorkflowFile reports whether the user means a file of theirs rather than the name of a workflow.
func isWorkflowFile(name string) bool {
	return name == "-" || strings.ContainsAny(name, `/\`) || isYAML(name)
}

// namedWorkflow finds a workflow by its name: among the user's own of this repository, then among all of the user's,
// then in the program. What the repository's commits have is never looked at.
func (u user) namedWorkflow(store *gitstore.Store, name string) (workflow.Source, error) {
	src, file := workflow.Source{Name: name + ".yaml"}, name+".yaml"
	text := workflow.TextFile(name)
	if text != "" {
		src.Name, file = text, name
	}
	f, err := u.templates(store).Open(path.Join(templates.WorkflowDir, file))
	if text == "" && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no workflow %s; those there are: %s", plain.Quote(name),
			strings.Join(u.workflowNames(store), ", "))
	}
	if err != nil {
		return src, err
	}
	defer f.Close()
	src.Data, err = io.ReadAll(io.LimitReader(f, workflow.MaxFileBytes+1)) // one more says that it is too large
	return src, err
}

// workflowNames lists the workflows that can be named.
func (u user) workflowNames(store *gitstore.Store) []string {
	var names []string
	for _, layer := range append(u.layers(store), programLayer()) {
		files, _ := fs.Glob(layer.FS, templates.WorkflowDir+"/*.yaml") // the pattern is sound
		for _, f := range files {
			names = append(names, strings.TrimSuffix(path.Base(f), ".yaml"))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// loadWorkflow reads a workflow by its name or from a file, with those that it uses.
func (e *env) loadWorkflow(store *gitstore.Store, name string) (*workflow.Workflow, error) {
	var src workflow.Source
	var err error
	if isWorkflowFile(name) {
		src.Name = path.Base(filepath.ToSlash(fileWord(name)))
		if name == "-" {
			src.Name = "workflow.yaml"
		}
		if src.Data, err = e.readInput(name, workflow.MaxFileBytes+1); err != nil {
			return nil, unreadable("the workflow "+fileWord(name), err, "git wf workflow lint FILE")
		}
	} else if src, err = e.namedWorkflow(store, name); err != nil {
		return nil, fault.Usage("git wf workflow list; a file is given with its path: ./"+plain.Line(name)+".yaml",
			"%w", err)
	}
	w, err := workflow.Load(src, func(of string) (workflow.Source, error) {
		beside := strings.TrimSuffix(name, filepath.Ext(name))
		if dir, file, is := strings.Cut(of, "/"); is && isWorkflowFile(name) && dir == filepath.Base(beside) {
			data, err := e.readInput(filepath.Join(beside, file), workflow.MaxFileBytes+1)
			return workflow.Source{Name: workflow.TextFile(of), Data: data}, err
		}
		return e.namedWorkflow(store, of)
	})
	if err != nil {
		return nil, mendFile(err, "mend "+src.Name+
			" and try it: git wf workflow lint FILE; git wf workflow schema prints the form")
	}
	return w, nil
}

// loadSoundWorkflow is loadWorkflow, and fails with what is wrong with the workflow.
func (e *env) loadSoundWorkflow(store *gitstore.Store, name string) (*workflow.Workflow, error) {
	w, err := e.loadWorkflow(store, name)
	if err != nil {
		return nil, err
	}
	if fs := w.Lint(); len(fs) > 0 {
		return nil, fault.Usage("mend it and try it: git wf workflow lint FILE", "%w", fs)
	}
	return w, nil
}

// setFlags reads --set NAME=VALUE.
func setFlags(c *cli.Context) (map[string]string, error) {
	set := map[string]string{}
	for _, text := range c.StringSlice("set") {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := set[name]; !ok || name == "" || twice {
			return nil, usage("--set: expected NAME=VALUE, each name once, found %s", plain.Quote(text))
		}
		set[name] = value
	}
	return set, nil
}

// workflowInputs settles the params of a workflow: flags, answers on a terminal, what the score suggests, defaults.
func (e *env) workflowInputs(c *cli.Context, store *gitstore.Store, w *workflow.Workflow,
	sentence string) (*workflow.Inputs, error) {
	set, err := setFlags(c)
	if err != nil {
		return nil, err
	}
	facts, err := expand.Facts(c.Context, store, w.Facts())
	if err != nil {
		return nil, err
	}
	if e.asks() && !e.json {
		if err := e.askParams(c.Context, w, sentence, facts, set); err != nil {
			return nil, err
		}
	}
	if err := takeItems(c.Context, store, w, set); err != nil {
		return nil, err
	}
	in, err := w.Inputs(sentence, facts, set)
	if err == nil {
		return in, nil
	}
	name, again, fs := cmp.Or(c.String("workflow"), c.Args().First()), "", plan.Findings(nil)
	if errors.As(err, &fs) && c.Command.Name == "do" {
		name = cmp.Or(c.String("workflow"), w.Name())
		again = e.again(c, name, sentence, fs...) + "; "
	}
	return nil, fault.Usage(again+"git wf workflow show "+plain.Line(name)+" says what each param means", "%w", err)
}

// takeItems puts open tasks of a register, which is named with or without some of its tasks, in the place of its name.
func takeItems(ctx context.Context, store *gitstore.Store, w *workflow.Workflow, set map[string]string) error {
	for _, p := range w.Params() {
		text, given := set[p.Name]
		if !given || !p.TakesItems() {
			continue
		}
		name, tasks, _ := strings.Cut(text, ":")
		id, err := planNamed(ctx, store, name)
		if err != nil {
			return err
		}
		named := strings.FieldsFunc(tasks, func(r rune) bool { return r == ',' })
		items, err := engine.RegisterItems(ctx, store, id, named)
		if err != nil {
			return err
		}
		set[p.Name] = string(plan.Document(items))
	}
	return nil
}

// askParams asks for the params that no flag sets: those with a question, or without a value. An empty answer takes the
// suggestion.
func (e *env) askParams(ctx context.Context, w *workflow.Workflow, sentence string, facts map[string]bool,
	set map[string]string) error {
	_, suggested := w.Suggest(sentence, facts)
	for _, p := range w.Params() {
		value := suggested[p.Name]
		if value == nil {
			value = p.Default
		}
		if _, given := set[p.Name]; given || value != nil && (p.Ask == "" || p.TakesItems()) {
			continue
		}
		for {
			fmt.Fprintf(e.stderr, "%s %s ", plain.Line(cmp.Or(p.Ask, p.Name+":")), paramChoices(p, value))
			line, err := e.readLine(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fault.Waiting("--set "+p.Name+"=VALUE", "%s is not answered: %w", p.Name, err)
			}
			if line == "" && value != nil {
				break
			}
			if _, wrong := p.Parse(line); wrong != nil && !p.TakesItems() {
				fmt.Fprintln(e.stderr, plain.Text(wrong.Error()))
				continue
			}
			set[p.Name] = line
			break
		}
	}
	return nil
}

// paramChoices is what may be answered, with the suggestion marked.
func paramChoices(p workflow.Param, suggestion any) string {
	text := paramText(suggestion)
	var options []string
	for _, o := range p.Options {
		if o == text {
			o += "*"
		}
		options = append(options, o)
	}
	switch {
	case len(options) > 0 && p.Type == "choice":
		return "[" + strings.Join(options, "/") + "]"
	case len(options) > 0:
		return fmt.Sprintf("(%s) [%s]", strings.Join(p.Options, ", "), text)
	case p.TakesItems():
		text = "a register, or REGISTER:TASK,..."
	}
	return "[" + text + "]"
}

// paramText is a param's value as --set takes it.
func paramText(v any) string {
	list, ok := v.([]any)
	switch {
	case v == nil:
		return ""
	case !ok:
		return fmt.Sprint(v)
	}
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = fmt.Sprint(item)
		if task, ok := item.(map[string]any); ok {
			items[i] = fmt.Sprintf("%s/%s", task["plan"], task["id"])
		}
	}
	return strings.Join(items, ",")
}

// madePlan is a plan that a workflow comes to.
type madePlan struct {
	*workflow.Workflow
	inputs    *workflow.Inputs
	rendering *workflow.Rendering
	draft     engine.Draft
}

// makeWorkflow renders the plan of a workflow.
func (e *env) makeWorkflow(c *cli.Context, eng *engine.Engine, name, sentence string) (*madePlan,
	error) {
	w, err := e.loadSoundWorkflow(eng.Store, name)
	if err != nil {
		return nil, err
	}
	in, err := e.workflowInputs(c, eng.Store, w, sentence)
	if err != nil {
		return nil, err
	}
	m := &madePlan{Workflow: w, inputs: in}
	if m.rendering, err = w.Render(in); err == nil {
		m.draft = engine.Draft{Name: "plan.json", Data: m.rendering.Text, Later: expand.Later(w.Commands())}
		m.draft.Plan, err = plandoc.ParseFrom(w.Name()+".yaml", m.rendering.Text, eng.Policy.Floors, w.Origin())
	}
	if err == nil {
		m.draft.Plan.Workflow = w.Origin()
		m.draft.Whole, m.draft.Placed, err = w.Sampled(in)
	}
	if err != nil {
		return nil, mendFile(err, "another --set NAME=VALUE, or another sentence")
	}
	if m.draft.Material, err = e.material(c, eng.Store); err != nil {
		return nil, err
	}
	for _, src := range w.Sources() {
		m.draft.Pinned = append(m.draft.Pinned, engine.Pinned{Input: expand.Files, Name: src.Name, Data: src.Data})
	}
	params := engine.Pinned{Input: expand.Params, Name: "params.json", Data: plan.Document(in)}
	m.draft.Pinned = append(m.draft.Pinned, params)
	return m, nil
}

// planWorkflow makes a plan from a workflow: the same events as those of a plan that a person hands in.
func (e *env) planWorkflow(c *cli.Context, eng *engine.Engine, name, sentence string) error {
	m, err := e.makeWorkflow(c, eng, name, sentence)
	if err != nil {
		return err
	}
	e.printMade(m)
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, m.draft, "git wf plan --workflow NAME")
	}
	return e.createPlan(c, eng, m.draft)
}

// setText are the params with their values.
func (m *madePlan) setText() string {
	set := each.Of(m.Params(), func(p workflow.Param) string {
		return p.Name + "=" + paramText(m.inputs.Params[p.Name])
	})
	return cmp.Or(strings.Join(set, ", "), "without params")
}

// printMade says what a workflow comes to with the params.
func (p printer) printMade(m *madePlan) {
	if p.json {
		return
	}
	fmt.Fprintf(p.stderr, "%s %d: %s\n", m.Name(), m.Version(), plain.Line(m.About()))
	if len(m.Params()) > 0 {
		score := ""
		if m.Scores() {
			score = fmt.Sprintf("score %d, ", m.inputs.Score)
		}
		fmt.Fprintln(p.stderr, score+plain.Line(m.setText()))
	}
	if text := m.boundsLine(); text != "" {
		fmt.Fprintln(p.stderr, text)
	}
}

// boundsLine says how much can come of the workflow with these params.
func (m *madePlan) boundsLine() string {
	b, err := m.Bounds(m.inputs)
	if err != nil {
		return ""
	}
	return boundsText(b)
}

func boundsText(b workflow.Bounds) string {
	text := fmt.Sprintf("at most %s; usually %s of agents, at most %s", plain.Count(b.Tasks, "task"),
		plain.Count(b.Usual, "call"), plain.Count(b.Most, "call"))
	if b.MaxDecisions > 0 {
		text += fmt.Sprintf("; %s needed, at most %d", plain.Count(b.Decisions, "decision"), b.MaxDecisions)
	}
	return text
}
