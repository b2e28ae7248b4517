package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// importFlags read a plan of another system, or one that is incomplete.
func importFlags() []cli.Flag {
	return []cli.Flag{
		boolFlag("partial",
			"take what can be read of an incomplete plan as a candidate; its review says what is missing"),
		textFlag("session", "of several sessions, tags or changes, import `NAME`", ""),
		boolFlag("list,l", "only list the plans that there are to import, here or at --file"),
		textFlag("output,o",
			"write the plan to `FILE` instead (- is standard output), with comments where something is missing", ""),
		&cli.Float64Flag{Name: "estimate", Usage: "give tasks without an estimate this many person-`DAYS`"},
		boolFlag("fill", "have the planner add what is missing, as the next version"),
		boolFlag("hand-in", "hand in the files of tasks marked done, for review"),
	}
}

// importing is the first of the flags that is set, "" if none is.
func importing(c *cli.Context) string {
	for _, f := range importFlags() {
		if name := f.Names()[0]; c.IsSet(name) {
			return name
		}
	}
	return ""
}

// importPlan makes a plan of what is at a path: another system's, or one that may be incomplete. None of its command
// lines is trusted. data is what standard input had.
func (e *env) importPlan(c *cli.Context, file string, data []byte) error {
	if c.Bool("hand-in") {
		return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
			return e.handInImported(c, store, snap.ID)
		})
	}
	for _, name := range []string{"attach", "type", "complexity", "message"} {
		if c.IsSet(name) {
			return usage("--%s does not go with a plan that is imported", name)
		}
	}
	days, err := daysOf(c, "estimate")
	switch {
	case err != nil:
		return err
	case e.json && c.String("output") == "-":
		return usage("--json and --output - both write to standard output")
	}
	src, err := e.openSource(file, data)
	if err != nil {
		return err
	}
	defer src.close()
	found, findings := exchange.Find(src.fsys, src.name)
	chosen, err := e.chooseSource(c, found, findings)
	if err != nil || c.Bool("list") {
		return err
	}
	read := func(store *gitstore.Store) error { // nil where a draft needs none
		o := exchange.Options{EstimateDays: days}
		if store != nil {
			o.Exists = repositoryHas(store)
		}
		i := exchange.Read(src.fsys, chosen, o)
		i.Findings = append(findings, i.Findings...)
		data, err := e.soundImport(c, i)
		switch {
		case err != nil:
			return err
		case c.IsSet("output") || c.Bool("dry-run"):
			return e.importDraft(c, i, data)
		}
		return e.recordImport(c, store, i, data)
	}
	err = e.withStore(c.Context, read)
	if errors.Is(err, gitstore.ErrNoRepository) && (c.IsSet("output") || c.Bool("dry-run")) {
		return read(nil)
	}
	return err
}

// source is what an import may read: one directory, or one file. No name and no link leads out of it.
type source struct {
	fsys  fs.FS
	name  string
	close func()
}

// openSource opens the path that the user names.
func (e *env) openSource(arg string, data []byte) (source, error) {
	if arg == "-" {
		return source{exchange.Text("stdin", data), "stdin", func() {}}, nil
	}
	full := e.absolute(arg)
	info, err := os.Stat(full)
	if err != nil {
		return source{}, unreadable(plain.Line(arg), reasonOf(err), "git wf plan -f PATH")
	}
	dir, base := full, "."
	if !info.IsDir() {
		dir, base = filepath.Dir(full), filepath.Base(full)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return source{}, unreadable(plain.Line(arg), reasonOf(err), "git wf plan -f PATH")
	}
	prefix := shownPath(arg, full)
	if base != "." {
		prefix = path.Dir(prefix)
	}
	return source{exchange.Below(prefix, root.FS()), path.Join(prefix, base), func() { root.Close() }}, nil
}

// shownPath is the path in findings: as the user wrote it, if it can be the name of a file in a tree. Systems are
// recognised by their directories' names, also from inside them.
func shownPath(arg, full string) string {
	p := path.Clean(filepath.ToSlash(arg))
	base := filepath.Base(full)
	switch own := strings.HasPrefix(base, "WFS-") || strings.HasPrefix(base, "."); {
	case p == "." && !own:
		return "."
	case p != "." && fs.ValidPath(p):
		return p
	case fs.ValidPath(base):
		return base
	}
	return "."
}

// chooseSource returns the only plan that there is to import, or the one that --session names.
func (p printer) chooseSource(c *cli.Context, found []exchange.Found, findings plan.Findings) (exchange.Found, error) {
	if c.Bool("list") {
		return exchange.Found{}, p.listSources(c, found, findings)
	}
	name := c.String("session")
	var fit []exchange.Found
	for _, f := range found {
		if name == "" || f.Name == name || f.Path == name {
			fit = append(fit, f)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(found) == 0 && len(findings) > 0:
		return exchange.Found{}, fault.Usage("git wf plan --help says what can be read", "%w", findings)
	case len(found) == 0:
		return exchange.Found{},
			fault.Usage("git wf plan -f PATH, with the path of a session, tasks.json, tasks.md, issues.jsonl or Markdown",
				"there is no plan to read")
	case len(fit) == 0:
		return exchange.Found{}, fault.Usage("git wf plan --list shows what there is",
			"nothing here is called %q", name)
	}
	const most = 20
	var names []string
	for i, f := range fit {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(fit)-most))
			break
		}
		names = append(names, plain.Line(f.String()))
	}
	return exchange.Found{}, fault.Usage("git wf plan -f PATH --session NAME, with the name or the path of one of them",
		"there is more than one plan to import:\n  %s", strings.Join(names, "\n  "))
}

func (p printer) listSources(c *cli.Context, found []exchange.Found, findings plan.Findings) error {
	return p.out(struct {
		Found    []exchange.Found `json:"found"`
		Findings plan.Findings    `json:"findings"`
	}{orEmpty(found), append(plan.Findings{}, findings...)}, func(w io.Writer) {
		for _, f := range found {
			fmt.Fprintf(w, "%-12s %s  %s\n", f.Format, plain.Line(f.Name), plain.Line(f.Path))
		}
		for _, f := range findings {
			fmt.Fprintln(p.stderr, f.Error())
		}
	})
}

// soundImport prints what is wrong. It refuses what was not read whole, unless the user accepts that.
func (p printer) soundImport(c *cli.Context, i *exchange.Imported) ([]byte, error) {
	p.warn("note: ", i.Notes)
	if i.Plan == nil {
		return nil, fault.Usage("mend what is said above; nothing was written", "%w", i.Findings)
	}
	if len(i.Findings) > 0 && !c.Bool("partial") {
		return nil, fault.Usage("mend what is said above, or take what could be read with --partial; nothing was written",
			"%w", i.Findings)
	}
	p.warn("warning: ", i.Findings)
	draft, err := i.Draft(true)
	if err != nil {
		return nil, fault.Usage("nothing was written", "%w", err)
	}
	return draft, nil
}

// warn prints findings, unless the command prints a document, which has them.
func (p printer) warn(lead string, findings plan.Findings) {
	for _, f := range findings {
		if !p.json {
			fmt.Fprintln(p.stderr, lead+f.Error())
		}
	}
}

// importReport is what --json prints.
type importReport struct {
	*exchange.Imported
	Gaps    plan.Findings `json:"gaps"`
	Output  string        `json:"output,omitempty"`
	PlanID  plan.ID       `json:"plan_id,omitempty"`
	Version string        `json:"version,omitempty"`
	Verdict plan.Verdict  `json:"verdict,omitempty"`
	HandIn  []handedIn    `json:"handed_in,omitempty"`
}

func (p printer) printImport(i *exchange.Imported, r importReport) error {
	r.Imported, i.Done = i, orEmpty(i.Done)
	i.Findings, i.Notes, r.Gaps = orEmpty(i.Findings), orEmpty(i.Notes), orEmpty(i.Gaps())
	return p.out(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s, %s", plain.Line(i.Path), i.Format, plain.Count(i.Tasks, "task"))
		if len(i.Done) > 0 {
			there := 0
			for _, d := range i.Done {
				if len(d.Files) > 0 && len(d.Missing) == 0 || d.Summary {
					there++
				}
			}
			fmt.Fprintf(w, "; %d marked done there, %d of them with something to review", len(i.Done), there)
		}
		fmt.Fprintln(w)
		printSome(w, r.Gaps, 20, "  and %d more\n", func(g plan.Finding) {
			fmt.Fprintf(w, "  %s %s\n", g.TaskID, plain.Line(g.Message))
		})
	})
}

// importDraft writes the plan into a file, or only shows it.
func (e *env) importDraft(c *cli.Context, i *exchange.Imported, draft []byte) error {
	name := c.String("output")
	switch {
	case name == "-":
		_, err := e.stdout.Write(draft)
		return err
	case name != "":
		if err := e.writeNew(name, draft); err != nil {
			return err
		}
	}
	err := e.printImport(i, importReport{Output: name})
	if name != "" {
		e.tell("written to %s\nnext: fill in what is marked as missing, then git wf plan -f %[1]s", plain.Line(name))
	}
	return err
}

// writeNew writes a new file.
func (e *env) writeNew(name string, data []byte) error {
	full := e.absolute(name)
	f, err := os.OpenFile(full, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fault.Usage("--output with another name; what is written by hand is never overwritten",
			"%s is there already", plain.Line(name))
	}
	if err != nil {
		return fault.Usage("--output FILE, in a directory that is there",
			"write %s: %w", plain.Line(name), reasonOf(err))
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// recordImport hands the plan in as the first version of a new plan.
func (e *env) recordImport(c *cli.Context, store *gitstore.Store, i *exchange.Imported, data []byte) error {
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	p, err := plandoc.Parse(i.Path, data)
	if err != nil {
		return err
	}
	d := engine.Draft{Name: path.Base(i.Path), Data: data, Plan: p}
	if d.Source, err = store.Head(c.Context); err != nil {
		return err
	}
	if d.Author, err = store.Person(c.Context); err != nil {
		return err
	}
	complete, err := e.tryImport(c, eng, d)
	if err != nil {
		return err
	}
	if c.Bool("fill") && !complete {
		return e.fillImport(c, store, eng, i, d)
	}
	id, state, err := eng.CreatePlan(c.Context, d)
	if err != nil {
		return err
	}
	if err := store.SetActive(c.Context, id); err != nil {
		return err
	}
	t := state.Tasks[plan.PlanTaskID]
	r := importReport{PlanID: id, Version: plan.VersionID(t.Active), Verdict: t.Verdict}
	if state.Plan.Grafted(t.TaskID) {
		if r.HandIn, err = e.handIn(c, store, id); err != nil {
			return err
		}
	}
	if err := e.printImport(i, r); err != nil {
		return err
	}
	return e.importOutcome(c, eng, state, r)
}

// importOutcome prints the result and the next command.
func (e *env) importOutcome(c *cli.Context, eng *engine.Engine, s *plan.State, r importReport) error {
	switch {
	case s.Plan.Grafted(plan.PlanTaskID):
		e.tell("%s: plan %s approved", r.PlanID, r.Version)
		e.printHandIn(r.HandIn)
		return e.printNextOf(c.Context, eng, s.Plan.PlanID)
	case r.Verdict == plan.Rejected:
		e.tell("%s: plan %s is a candidate that the review rejected, for what is missing (git wf show PLAN-1 --review)\n"+
			"next: git wf plan --edit\n"+
			"or git wf plan -f PATH --output FILE writes it with comments, for git wf plan -f FILE", r.PlanID, r.Version)
	default:
		e.tell("%s: plan %s awaits review\nnext: git wf status", r.PlanID, r.Version)
	}
	return errWaiting
}

// tryImport reports whether a plan keeps the rules. Such a plan would be accepted at once, so its criteria are first
// tried on an empty candidate; that runs them, and only trusted lines run.
func (e *env) tryImport(c *cli.Context, eng *engine.Engine, d engine.Draft) (complete bool, err error) {
	if _, err := plandoc.ParseValid(d.Name, d.Data, eng.Policy.Floors); err != nil {
		var fs plan.Findings
		if errors.As(err, &fs) {
			return false, nil
		}
		return false, err
	}
	missing, err := eng.MissingPaths(c.Context, d)
	if err != nil {
		return true, err
	}
	if len(missing) > 0 {
		return true, fault.Usage("name what HEAD has, or commit it first; git wf plan -f PATH --output FILE writes the plan for that",
			"%w", missing)
	}
	if fresh := eng.Untrusted(d.Plan); len(fresh) > 0 {
		e.showLines(fresh, "not trusted on this machine")
		return true, fault.Waiting("git wf plan -f PATH --output plan.yaml, read its lines, then git wf plan -f plan.yaml",
			"nothing is missing, but the plan's criteria can't be tried before somebody trusts their command lines; nothing was written")
	}
	green, err := e.redFirst(c, eng, d)
	if err != nil {
		return true, err
	}
	if len(green) > 0 {
		return true, fault.Usage("make the criterion fail while there is no deliverable; git wf plan -f PATH --output FILE writes the plan for that",
			"%w", green)
	}
	return true, nil
}

// fillImport has the planner make the next version of the imported plan, whose review says what is missing.
func (e *env) fillImport(c *cli.Context, store *gitstore.Store, eng *engine.Engine, i *exchange.Imported,
	d engine.Draft) error {
	name, err := e.plannerOf(c, store, eng, "leave out --fill")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "git-wf-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "imported-plan.yaml")
	if err := os.WriteFile(file, d.Data, 0o666); err != nil {
		return err
	}
	asked := d.Plan.Title +
		"\n\nThe file imported-plan.yaml holds this plan as it was taken from another system. Keep its tasks, their ids, meta, context and " +
		"flow_control as they are, and add what its comments call missing."
	if top := strings.TrimSpace(d.Plan.TopTask); top != "" && top != d.Plan.Title {
		asked += "\n\nWhat was asked for there:\n\n" + top
	}
	id, err := eng.BeginPlan(c.Context, engine.Asked{TopTask: asked, Files: []string{file}, Planner: name,
		Config: d.Plan.Config, Person: d.Author})
	if err != nil {
		return err
	}
	if err := store.SetActive(c.Context, id); err != nil {
		return err
	}
	if _, err := eng.HandInPlan(c.Context, id, plan.PlanTaskID, d); err != nil {
		return err
	}
	if !e.json {
		if err := e.printImport(i, importReport{}); err != nil {
			return err
		}
	}
	return e.makePlan(c, store, eng, id)
}
