package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/check"
	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/readmodel"
	"gitwf/internal/shell"
	"gitwf/internal/terminal"
	"gitwf/internal/views"
)

// importFlags read a plan of another system.
func importFlags() []cli.Flag {
	return []cli.Flag{
		boolFlag("partial", "take what can be read of a plan that is broken, or of your own one that is incomplete"),
		textFlag("session", "of several sessions, tags or changes, the one called `NAME`", ""),
		boolFlag("list,l", "only list the plans that there are to read"),
		boolFlag("open-only", "leave out what is done there"),
		textFlag("check", "have every change pass `COMMAND`", "what the repository's manifests say"),
		boolFlag("no-check", "have changes pass no command"),
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
	for _, name := range []string{"attach", "from", "type", "complexity", "message"} {
		if c.IsSet(name) {
			return usage("--%s does not go with a plan that is imported", name)
		}
	}
	src, err := e.openSource(file, data)
	if err != nil {
		return err
	}
	defer src.close()
	found, findings := exchange.Find(src.fsys, src.name)
	if len(found) == 0 && findings.Has("unknown-format") && data != nil && !c.Bool("list") {
		return e.planUnknown(c, file, data, findings)
	}
	chosen, err := e.chooseSource(c, found, findings)
	if err != nil || c.Bool("list") {
		return err
	}
	read := func(store *gitstore.Store) error { // nil where a draft needs none
		o := exchange.Options{Check: c.String("check"), OpenOnly: c.Bool("open-only")}
		if store != nil && !c.IsSet("check") && !c.Bool("no-check") {
			line, proposed, from := ownCheck(store.WorkTree())
			if o.Check = line; proposed != "" && !chosen.Own() && !e.json {
				fmt.Fprintf(e.stderr, "note: %s names another check: --check %s takes it\n", from,
					shell.Quote(plain.Line(proposed)))
			}
		}
		i := exchange.Read(src.fsys, chosen, o)
		i.Findings = append(findings, i.Findings...)
		data, err := e.soundImport(c, i)
		switch {
		case err != nil:
			return err
		case c.Bool("dry-run"):
			return e.importDraft(c, i, data)
		}
		return e.recordImport(c, store, i, data)
	}
	err = e.withStore(c.Context, read)
	if errors.Is(err, gitstore.ErrNoRepository) && c.Bool("dry-run") {
		return read(nil)
	}
	return err
}

// ownCheck is check.Own of a work tree.
func ownCheck(top string) (line, proposed, from string) {
	line, _, proposed, from = check.Own(func(name string) (string, bool) {
		const most = 1 << 20
		info, err := os.Lstat(filepath.Join(top, name))
		if top == "" || err != nil || !info.Mode().IsRegular() || info.Size() > most {
			return "", top != "" && err == nil && info.Mode().IsRegular()
		}
		data, err := os.ReadFile(filepath.Join(top, name))
		return string(data), err == nil
	})
	return line, proposed, from
}

// planUnknown has the planner make the plan of a text that no reader knows. Without a planner it says what there is and
// what would do.
func (e *env) planUnknown(c *cli.Context, file string, data []byte, findings plan.Findings) error {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		return fault.Usage("git wf plan --schema prints the form of a plan; git wf plan --help says what can be read",
			"%w", findings)
	}
	return e.withStore(c.Context, func(store *gitstore.Store) error {
		eng, err := e.engine(c, store)
		if err != nil {
			return err
		}
		settings, err := eng.Agents.Settings()
		if err != nil {
			return err
		}
		if settings.Planner != "" && !c.Bool("dry-run") && importing(c) == "" {
			return e.planWords(c, eng, file, data)
		}
		return fault.Usage("git wf plan -f FILE --planner AGENT has an agent plan it; or mark its tasks with "+
			"boxes (- [ ]), or its head with git-wf: plan (docs/import.md)",
			"%s has no tasks that could be read: no box, and no task with a status", fileWord(file))
	})
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
		return source{}, unreadable(plain.Line(arg), fault.Reason(err), "git wf plan -f PATH")
	}
	dir, base := full, "."
	if !info.IsDir() {
		dir, base = filepath.Dir(full), filepath.Base(full)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return source{}, unreadable(plain.Line(arg), fault.Reason(err), "git wf plan -f PATH")
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
	fit := each.If(found, func(f exchange.Found) bool {
		return name == "" || f.Name == name || f.Path == name
	})
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(found) == 0 && len(findings) > 0:
		return exchange.Found{}, fault.Usage("git wf plan --help says what can be read", "%w", findings)
	case len(found) == 0:
		return exchange.Found{},
			fault.Usage("git wf plan -f PATH, with the path of a session, tasks.json, tasks.md, issues.jsonl or "+
				"Markdown", "there is no plan to read")
	case len(fit) == 0:
		return exchange.Found{}, fault.Usage("git wf plan --list shows what there is",
			"nothing here is called %q", name)
	}
	names := plain.Some(fit, 20, func(f exchange.Found) string { return plain.Line(f.String()) })
	return exchange.Found{}, fault.Usage("git wf plan -f PATH --session NAME, with the name or the path of one of them",
		"there is more than one plan to import:\n  %s", strings.Join(names, "\n  "))
}

func (p printer) listSources(c *cli.Context, found []exchange.Found, findings plan.Findings) error {
	for _, f := range findings {
		if !p.json {
			fmt.Fprintln(p.stderr, f.Error())
		}
	}
	return p.print("sources", struct {
		Found    []exchange.Found `json:"found"`
		Findings plan.Findings    `json:"findings"`
	}{orEmpty(found), append(plan.Findings{}, findings...)})
}

// soundImport prints what is wrong. It refuses what would lose something, unless the user accepts that.
func (e *env) soundImport(c *cli.Context, i *exchange.Imported) ([]byte, error) {
	loss := len(i.Findings) > 0 && !c.Bool("partial") || i.Plan == nil
	if e.json {
		if !loss {
			return i.Draft()
		}
		if c.Bool("dry-run") {
			if err := e.printImport(c, i, importReport{}, nil); err != nil {
				return nil, err
			}
			return nil, errUnusable
		}
	}
	printSome(e.stderr, i.Notes, 20, "note: and %d more\n", func(n plan.Finding) {
		if !e.json {
			fmt.Fprintln(e.stderr, "note: "+n.Error())
		}
	})
	switch {
	case i.Plan == nil:
		return nil, fault.Usage("mend what is said above; nothing was written", "%w", i.Findings)
	case loss:
		return nil, fault.Usage("mend what is said above, or take what could be read with --partial; nothing was "+
			"written",
			"%w", i.Findings)
	}
	for _, f := range i.Findings {
		fmt.Fprintln(e.stderr, "warning: "+f.Error())
	}
	if text := assumedText(i); text != "" {
		fmt.Fprintln(e.stderr, "warning: assumed, as the source does not say it (meta.assumed of each task): "+text)
	}
	if n := len(i.Homeless); n > 0 {
		fmt.Fprintf(e.stderr, "warning: %d of %s are in no task and not in the plan's own text:\n", n,
			plain.Count(i.Lines, "line"))
		printSome(e.stderr, i.Homeless, 10, "  and %d more (--dry-run --json lists them)\n", func(l exchange.Line) {
			fmt.Fprintf(e.stderr, "  %s:%d: %s\n", plain.Line(l.File), l.No,
				terminal.Clip(plain.Line(strings.TrimSpace(l.Text)), 80))
		})
	}
	return i.Draft()
}

// assumedText says by count what a source did not say.
func assumedText(i *exchange.Imported) string {
	var parts []string
	a := i.Assumed
	add := func(n int, what, text string) {
		if n > 0 {
			parts = append(parts, plain.Count(n, what)+" "+text)
		}
	}
	add(a.Deliverables, "task", "may change any file")
	add(a.Criteria, "task", "judged by what the text says alone")
	add(a.Estimates, "estimate", "by the rule")
	if a.Check != "" {
		parts = append(parts, fmt.Sprintf("%s must pass %s (--check COMMAND, --no-check)", plain.Count(i.Tasks, "task"),
			plain.Quote(a.Check)))
	}
	return strings.Join(parts, ", ")
}

// importReport is what --json prints.
type importReport struct {
	*exchange.Imported
	Whole     json.RawMessage       `json:"plan,omitempty"`
	Untrusted []plandoc.CommandLine `json:"untrusted"`
	PlanID    plan.ID               `json:"plan_id,omitempty"`
	Version   string                `json:"version,omitempty"`
	Verdict   plan.Verdict          `json:"verdict,omitempty"`
}

func (p printer) printImport(c *cli.Context, i *exchange.Imported, r importReport, lines []plandoc.CommandLine) error {
	if p.json {
		r.Imported = i
		i.Done, i.Homeless = orEmpty(i.Done), orEmpty(i.Homeless)
		i.Findings, i.Notes = append(plan.Findings{}, i.Findings...), append(plan.Findings{}, i.Notes...)
		r.Untrusted = orEmpty(lines)
		if i.Plan != nil {
			var err error
			if r.Whole, err = plandoc.Encode(i.Plan); err != nil {
				return err
			}
		}
		return p.out(r, nil)
	}
	fmt.Fprintf(p.stdout, "%s: %s, %s", plain.Line(i.Path), i.Format, plain.Count(i.Tasks, "task"))
	if len(i.Done) > 0 {
		fmt.Fprintf(p.stdout, ", %d of them done there", len(i.Done))
	}
	fmt.Fprintln(p.stdout)
	return nil
}

// importDraft shows the plan.
func (e *env) importDraft(c *cli.Context, i *exchange.Imported, draft []byte) error {
	p, err := plandoc.Parse(i.Path, draft)
	if err != nil {
		return err
	}
	if err := e.printImport(c, i, importReport{}, plandoc.CommandLines(p)); err != nil || e.json {
		return err
	}
	p.PlanID = plan.NewID(p.Title, 1)
	shown := readmodel.Of(plan.Derive(p, plan.Records{}, nil, e.now()))
	if err := e.render(e.stdout, "plan", shown); err != nil {
		return err
	}
	lines, seen := plandoc.CommandLines(p), map[string]bool{}
	lines = slices.DeleteFunc(lines, func(l plandoc.CommandLine) bool {
		twice := seen[l.Line]
		seen[l.Line] = true
		return twice
	})
	e.showLines(lines, "which would wait for git wf trust")
	return nil
}

// createFile writes a file that is not there yet.
func createFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
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
	state, err := e.recordPlan(c, eng, d, lacksNoPath) // in each of its tasks somebody judges, too
	if err != nil {
		return err
	}
	id, t := state.Plan.PlanID, state.Tasks[plan.PlanTaskID]
	fresh := eng.Untrusted(d.Plan)
	r := importReport{PlanID: id, Version: plan.VersionID(t.Active), Verdict: t.Verdict}
	if err := e.printImport(c, i, r, fresh); err != nil {
		return err
	}
	grafted := state.Plan.Grafted(plan.PlanTaskID)
	if e.json && !grafted {
		return errWaiting
	}
	if grafted && !e.json {
		err = e.adoptSession(c, store, i, id)
	}
	if err != nil || e.json {
		return err
	}
	if grafted && len(fresh) > 0 {
		e.showLines(fresh, "not trusted here until a person runs git wf trust")
		e.tell("%s: plan %s approved\nnext: git wf trust", id, r.Version)
		return nil
	}
	return e.planOutcome(c, eng, state, plan.PlanTaskID, "git wf plan --edit")
}

// adoptSession lets git wf checkout take over the files of a session that was read where checkout writes it.
func (e *env) adoptSession(c *cli.Context, store *gitstore.Store, i *exchange.Imported, id plan.ID) error {
	top := store.WorkTree()
	if top == "" {
		return nil
	}
	read, err := os.Stat(e.absolute(i.Path))
	ours, missing := os.Stat(filepath.Join(top, views.Dir, string(id)))
	if err != nil || missing != nil || !read.IsDir() || !os.SameFile(read, ours) {
		return nil
	}
	v, err := e.views(store)
	if err != nil {
		return err
	}
	return v.Adopt(c.Context, id)
}
