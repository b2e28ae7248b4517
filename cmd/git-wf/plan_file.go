package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/readmodel"
)

// isPlanFile reports whether -f was most likely left out.
func isPlanFile(word string) bool {
	return (isYAML(word) || isMarkdown(word)) && !strings.ContainsAny(word, " \t\n")
}

// planFile makes a plan from a file: one that is a plan, or Markdown.
func (e *env) planFile(c *cli.Context, eng *engine.Engine, file string, data []byte) error {
	given := givenFlags(c, "attach|from")
	switch kind := kindOf(file, data); {
	case kind == aSentence:
		return e.planWords(c, eng, file, data)
	case len(given) > 0:
		return usage("--%s belongs to what an agent is to plan; in a plan of one's own, a task's requires says which "+
			"files it needs", given[0])
	}
	data = exchange.Inner(data)
	d, err := draft(file, data, eng.Policy.Floors)
	if err != nil {
		return mendFile(err, "mend "+fileWord(file)+" and try it: git wf plan -f FILE --dry-run; git wf plan "+
			"--schema prints the form")
	}
	if err := beginType(c, eng, d); err != nil {
		return mendFile(err, "mend "+fileWord(file)+", or leave out --type; docs/sessions.md says what each type "+
			"demands")
	}
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, d, planFromFile)
	}
	return e.createPlan(c, eng, d)
}

// isYAML reports whether a file is YAML, or JSON, by its name.
func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func isMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdown"}, strings.ToLower(filepath.Ext(name)))
}

// What a file holds.
const (
	aPlan     = iota // git wf's own form: YAML, JSON, or Markdown that says so
	aSentence        // what is to be made
	aForeign         // another system's tasks, or a text that may hold some
)

var planKey = pattern.Compile(`(?m)^\s*(- )?"?(schema_version|plan_id|title|top_task|task_id|tasks|config` +
	`|root_task_id|root_acceptance_criteria|final_deliverable_spec)"?\s*:`)

// kindOf says what a file holds, by its name or else by its text.
func kindOf(file string, data []byte) int {
	ext := strings.ToLower(filepath.Ext(file))
	known, own := exchange.Known(filepath.Base(file), data)
	switch {
	case ext == ".txt":
		return aSentence
	case own || ext == ".yaml" || ext == ".yml":
		return aPlan
	case known || isMarkdown(file) || ext == ".jsonl" || ext == ".ndjson":
		return aForeign
	case ext == ".json":
		return aPlan
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(text) == 0 || text[0] == '{' || text[0] == '[' || bytes.HasPrefix(text, []byte("---")) ||
		planKey.Get().Match(text) || !utf8.Valid(text) {
		return aPlan
	}
	return aSentence
}

// planWords has an agent plan what a file says.
func (e *env) planWords(c *cli.Context, eng *engine.Engine, file string, data []byte) error {
	text := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	var wrong string
	switch {
	case len(data) >= maxPlanFile:
		wrong = fmt.Sprintf("has more than %d bytes; the long part of what is asked for goes into --attach FILE",
			plandoc.MaxFileBytes)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		wrong = "is no text in UTF-8"
	case text == "":
		wrong = "is empty; it is to say what is to be made"
	default:
		return e.planSentence(c, eng, text)
	}
	return fault.Usage("git wf plan 'what is to be made' --attach FILE", "%s %s", fileWord(file), wrong)
}

// fileWord is the name of a file, or of standard input, in messages.
func fileWord(file string) string {
	if file == "-" {
		return "standard input"
	}
	return plain.Line(file)
}

// unreadable is the error of a file that can't be read; command is the one that wanted it.
func unreadable(what string, err error, command string) error {
	return fault.Usage(command+", with the path of a file that is there and readable, or - for standard input",
		"read %s: %w", what, err)
}

// mendFile adds a hint to what is wrong with a person's plan.
func mendFile(err error, hint string) error {
	var findings plan.Findings
	if !errors.As(err, &findings) || findings.Has("too-large") { // which says all there is to say
		return err
	}
	return fault.Usage(hint, "%w", err)
}

// maxPlanFile is one byte more than a plan may have, so that the parser reports a file that is too large.
const maxPlanFile = plandoc.MaxFileBytes + 1

// draft validates a plan file.
func draft(name string, data []byte, floors policy.Floors) (engine.Draft, error) {
	name = fileWord(name)
	p, err := plandoc.ParseValid(name, data, floors)
	if err != nil {
		return engine.Draft{}, err
	}
	return engine.Draft{Name: name, Data: data, Plan: p}, nil
}

// readInput is what a file has, or standard input for "-": at most so many bytes of it.
func (e *env) readInput(name string, most int64) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(e.stdin, most))
	}
	name = e.absolute(name)
	info, err := os.Stat(name) // before opening, which would wait for ever for a pipe's other end
	if err != nil {
		return nil, fault.Reason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.Reason(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func (e *env) createPlan(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	state, err := e.recordPlan(c, eng, d, e.tryLines)
	if err != nil {
		return err
	}
	return e.planOutcome(c, eng, state, plan.PlanTaskID, planFromFile)
}

// recordPlan records a draft as the active plan, unless try finds something wrong.
func (e *env) recordPlan(c *cli.Context, eng *engine.Engine, d engine.Draft,
	try func(*cli.Context, *engine.Engine, engine.Draft) error) (state *plan.State, err error) {
	if d.Source, err = eng.Store.Head(c.Context); err != nil {
		return nil, err
	}
	if d.Author, err = eng.Store.Person(c.Context); err != nil {
		return nil, err
	}
	if err := try(c, eng, d); err != nil {
		return nil, err
	}
	id, state, err := eng.CreatePlan(c.Context, d)
	if err != nil {
		return nil, err
	}
	return state, eng.Store.SetActive(c.Context, id)
}

// tryLines trusts the command lines of a person's file, and tries its criteria on an empty candidate. An agent's
// wait.
func (e *env) tryLines(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	if err := lacksNoPath(c, eng, d); err != nil {
		return err
	}
	for _, f := range plandoc.Locate(d.Name, d.Data, plandoc.OverlappingChanges(d.Plan)) {
		fmt.Fprintln(e.stderr, "warning: "+f.Error())
	}
	fresh := eng.UntrustedIn(d)
	person, err := e.mayDecide(c.Context, eng.Store)
	if err != nil {
		return err
	}
	if !person {
		e.showLines(fresh, "not trusted here until a person runs git wf trust")
		return nil
	}
	e.showLines(fresh, "trusted on this machine because you hand this file in")
	if err := e.failsFirst(c, eng, d); err != nil {
		return err
	}
	if err := eng.TrustDraft(d); err != nil {
		return fmt.Errorf("trust the plan's command lines: %w", err)
	}
	return nil
}

// lacksNoPath refuses a draft with focus_paths that HEAD lacks.
func lacksNoPath(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	missing, err := eng.MissingPaths(c.Context, d)
	if err == nil && len(missing) > 0 {
		err = fault.Usage("name what HEAD has, or commit it first", "%w", missing)
	}
	return err
}

// failsFirst refuses a draft whose criteria pass on an empty candidate.
func (e *env) failsFirst(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	green, err := e.redFirst(c, eng, d)
	if err == nil && len(green) > 0 {
		err = fault.Usage("make the criterion fail while there is no deliverable, then hand the file in again",
			"%w", green)
	}
	return err
}

// redFirst tries the criteria of a draft on an empty candidate, with progress on a terminal.
func (e *env) redFirst(c *cli.Context, eng *engine.Engine, d engine.Draft) (plan.Findings, error) {
	ctx, end := e.metered(c)
	defer end()
	return eng.RedFirst(ctx, d)
}

// showLines lists command lines, each whole: who lets a line run must have seen it. what says whether they may run.
func (p printer) showLines(lines []plandoc.CommandLine, what string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(p.stderr, "%s, %s:\n", engine.CountUntrusted(lines), what)
	for _, l := range lines {
		text := strings.ReplaceAll(plain.Text(strings.TrimSpace(l.Line)), "\n", "\n    ")
		fmt.Fprintf(p.stderr, "  %s: %s\n", l.TaskID, text)
		for _, r := range l.Remarks {
			fmt.Fprintf(p.stderr, "    look twice: it %s\n", r)
		}
	}
}

// planOutcome says whether the plan was approved, and prints the review if not. If the policy names more reviewers than
// the built-in one, it asks them. again is the command that hands in a mended plan.
func (e *env) planOutcome(c *cli.Context, eng *engine.Engine, s *plan.State,
	task plan.TaskID, again string) error {
	t := s.Tasks[task]
	if t.Verdict != plan.Rejected && !s.Plan.Grafted(task) {
		return e.makePlan(c, eng, s.Plan.PlanID)
	}
	reviews := s.Records.Of(t.TaskID).Reviews
	last := reviews[len(reviews)-1]
	accepted := last.Verdict == plan.Approved
	if err := e.out(readmodel.Of(s), func(w io.Writer) {
		score := fmt.Sprintf(" (score %d)", last.Score)
		if !accepted && last.Score >= s.MinScore(task) {
			score = "" // the score is not the reason
		}
		fmt.Fprintf(w, "%s: %s %s %s%s, %s\n", s.Plan.PlanID, planName(task), plan.VersionID(last.Version),
			verdictWord(last.Verdict), score, plain.Count(len(s.Leaves(s.Plan.RootTaskID)), "task"))
	}); err != nil {
		return err
	}
	if accepted {
		return e.printNextOf(c.Context, eng, s.Plan.PlanID)
	}
	snap, err := eng.Store.Snapshot(c.Context, s.Plan.PlanID)
	if err != nil {
		return err
	}
	text, err := export.DocumentsOf(c.Context, eng.Store, snap, t.TaskID).ReviewFile(last)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "\n%s\n", plain.Text(string(text)))
	return fault.Refused("mend it, then "+again+": it becomes the next version",
		"the plan was rejected")
}

func verdictWord(v plan.Verdict) string {
	if v == plan.Approved {
		return "approved"
	}
	return "REJECTED"
}
