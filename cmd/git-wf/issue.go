package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

func (e *env) issueCommand() *cli.Command {
	register := &cli.StringFlag{Name: "register", Value: "WFS-issues", Usage: "the `REGISTER`"}
	return parent("issue", "keep issues, which a workflow solves",
		command("add WHAT...", "add an issue", e.onEngine(e.issueAdd),
			textFlag("text", "more about it", ""),
			textFlag("severity", "`HOW` bad it is: critical, high, medium or low", ""),
			listFlag("criterion,c", "what must be true when it is solved"),
			listFlag("path", "a `PATH` or pattern that has to do with it"), register, jsonFlag()),
		command("list", "list the open issues, and the plans that solve them", e.onEngine(e.issueList),
			boolFlag("all,a", "the closed ones, too, and by what"), register, jsonFlag()),
		command("import FILE", "add open issues of GitHub's JSON; - is standard input", e.onEngine(e.issueImport),
			boolFlag("dry-run,n", "show what would be added"), register, jsonFlag()))
}

// An issueOutcome says what became of an issue.
type issueOutcome struct {
	TaskID plan.TaskID `json:"task_id,omitempty"`
	Status string      `json:"status"` // added, there, or closed: there, where it comes from
	Title  string      `json:"title"`
	Number string      `json:"number,omitempty"`
}

func (e *env) issueAdd(c *cli.Context, eng *engine.Engine) error {
	i := exchange.Issue{Title: strings.Join(c.Args().Slice(), " "), Text: c.String("text"),
		Severity: c.String("severity"), Criteria: c.StringSlice("criterion"), Paths: c.StringSlice("path")}
	if i.Severity != "" && !slices.Contains(exchange.Severities, i.Severity) {
		return usage("--severity: expected %s, found %q", strings.Join(exchange.Severities, ", "), i.Severity)
	}
	done, err := e.addIssues(c, eng, []exchange.Issue{i})
	if err == nil && done[0].Status == "there" {
		err = fault.Refused("git wf issue list", "%s has this title already", done[0].TaskID)
	}
	if err != nil {
		return err
	}
	return e.printIssues(c, done)
}

func (e *env) issueImport(c *cli.Context, eng *engine.Engine) error {
	file := c.Args().First()
	data, err := e.readInput(file, maxPlanFile)
	if err != nil {
		return unreadable(fileWord(file), err, "git wf issue import FILE")
	}
	issues, wrong := exchange.Issues(fileWord(file), data)
	if len(wrong) > 0 {
		return fault.Usage("mend it; nothing was written", "%w", wrong)
	}
	done, err := e.addIssues(c, eng, issues)
	if err != nil {
		return err
	}
	return e.printIssues(c, done)
}

// addIssues adds what is not there yet. What is closed where it comes from is only named.
func (e *env) addIssues(c *cli.Context, eng *engine.Engine, issues []exchange.Issue) ([]issueOutcome, error) {
	snap, id, entries, err := eng.Register(c.Context, c.String("register"))
	if err != nil {
		return nil, err
	}
	there := map[string]*engine.Entry{} // by where they come from, and while they are open by title
	for i, en := range entries {
		if there[en.Name()] = &entries[i]; en.Open {
			there[en.Title] = &entries[i]
		}
	}
	var tasks []*plan.Task
	done, mask := make([]issueOutcome, len(issues)), eng.Secrets()
	for n, i := range issues {
		for _, text := range []*string{&i.Title, &i.Text, &i.URL} {
			*text = mask.Text(*text)
		}
		for n := range i.Criteria {
			i.Criteria[n] = mask.Text(i.Criteria[n])
		}
		t, err := i.Task()
		if err != nil {
			return nil, fault.Usage("shorten it, or put it into a file that --path names", "%w", err)
		}
		o := issueOutcome{Status: "added", Title: t.Title, Number: i.Number}
		en := engine.Entry{Task: t, Open: true}
		is := there[t.Title]
		if i.Number != "" {
			is = cmp.Or(there[en.Name()], is)
		}
		if is != nil {
			o.TaskID, o.Status = is.TaskID, "there"
		}
		if i.Closed && (is == nil || is.Open) {
			o.Status = "closed"
		}
		if o.Status == "added" {
			tasks = append(tasks, t)
			there[en.Name()], there[t.Title] = &en, &en
		}
		done[n] = o
	}
	if len(tasks) > 0 && !c.Bool("dry-run") {
		if err := eng.AddToRegister(c.Context, snap, id, "ISSUE-", tasks); err != nil {
			return nil, mendFile(withoutFile(err), "mend the options or the file")
		}
	}
	for n := range done {
		if done[n].Status == "added" {
			done[n].TaskID, tasks = tasks[0].TaskID, tasks[1:]
		}
	}
	return done, nil
}

func (e *env) printIssues(c *cli.Context, done []issueOutcome) error {
	count := map[string]int{}
	for _, o := range done {
		count[o.Status]++
	}
	return e.printAs("issues-done", done, struct {
		Register string
		Done     []issueOutcome
		Count    map[string]int
	}{c.String("register"), done, count})
}

func (e *env) issueList(c *cli.Context, eng *engine.Engine) error {
	_, id, all, err := eng.Register(c.Context, c.String("register"))
	if err != nil {
		return err
	}
	list := orEmpty(slices.DeleteFunc(all, func(en engine.Entry) bool { return !en.Open && !c.Bool("all") }))
	return e.printAs("issues", list, struct {
		Register plan.ID
		Issues   []engine.Entry
	}{id, list})
}
