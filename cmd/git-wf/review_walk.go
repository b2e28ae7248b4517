package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// walker asks for a decision on each item of the inbox in turn, as git add -p does for each hunk. The command that
// a person would type for a decision carries it out.
type walker struct {
	*env
	ctx      context.Context
	store    *gitstore.Store
	eng      *engine.Engine
	item     engine.Item // that is asked about
	comments []string    // on lines of its version, that go with the verdict
	flags    []string    // that go with it, too
	decided  []plan.ID
}

// walkChoice is what a person can do about an item.
type walkChoice struct {
	key, does string
	act       func(*walker) (done bool, err error)
}

// What ends the walk, and what ends one item without a decision.
var (
	errQuit = errors.New("quit")
	errSkip = errors.New("skip")
)

// walkInbox is git wf review without a task.
func (e *env) walkInbox(c *cli.Context, eng *engine.Engine) error {
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; name != "plan" && c.IsSet(name) {
			return usage("--%s goes with a task; without one, git wf review asks for all that waits for you",
				name)
		}
	}
	only := plan.ID("")
	if c.IsSet("plan") {
		var err error
		if only, err = planID(c, eng.Store); err != nil {
			return err
		}
	}
	items, err := e.inboxItems(c.Context, eng, only)
	if err == nil && len(items) == 0 {
		fmt.Fprintln(e.stdout, "nothing waits for you")
	}
	if err != nil {
		return err
	}
	w := &walker{env: e, ctx: c.Context, store: eng.Store, eng: eng}
	return w.walk(items)
}

// walkTask is git wf review with a task and no verdict.
func (e *env) walkTask(c *cli.Context, eng *engine.Engine, id plan.ID, task plan.TaskID) error {
	if e.caller().Kind != caller.Person {
		return usage("no verdict, and no terminal to ask on: add --approve or --reject")
	}
	items, err := e.inboxItems(c.Context, eng, id)
	items = slices.DeleteFunc(items, func(i engine.Item) bool { return i.On != task })
	if err == nil && len(items) == 0 {
		err = usage("%s waits for nobody: add --approve or --reject", task)
	}
	if err != nil {
		return err
	}
	w := &walker{env: e, ctx: c.Context, store: eng.Store, eng: eng}
	for _, name := range []string{"as", "reviewer"} {
		if c.IsSet(name) {
			w.flags = append(w.flags, "--"+name+"="+c.String(name))
		}
	}
	return w.walk(items)
}

// walk settles items in turn, and then says what each plan waits for.
func (w *walker) walk(items []engine.Item) error {
	for i, item := range items {
		err := w.settleItem(item, fmt.Sprintf("(%d/%d)", i+1, len(items)))
		if errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errSkip) {
			return err
		}
	}
	slices.Sort(w.decided)
	for _, id := range slices.Compact(w.decided) {
		if err := w.printNextOf(w.ctx, w.eng, id); err != nil {
			return err
		}
	}
	return nil
}

// settleItem shows an item, and asks until it is settled, skipped, or the walk ends.
func (w *walker) settleItem(item engine.Item, number string) error {
	w.item, w.comments = item, nil
	defer func() {
		if len(w.comments) > 0 {
			fmt.Fprintln(w.stderr, "not recorded: your comments go with a verdict")
		}
	}()
	if ok, err := w.stillWaits(); !ok || err != nil {
		return err
	}
	fmt.Fprintf(w.stdout, "%s %s  %s  %s\n%s, since %s\n", number, w.paint("1", string(item.Plan)),
		w.paint("1", string(item.On)), plain.Line(item.Title), plain.Line(cmp.Or(w.item.About, w.item.Text)),
		date(item.Since))
	if err := w.show(false); err != nil {
		return err
	}
	question, list := w.choices()
	keys := ""
	for _, c := range list {
		keys += c.key + ","
	}
	for {
		key, err := w.prompt(fmt.Sprintf("%s %s [%s?]?", number, question, keys))
		if err != nil {
			return err
		}
		at := slices.IndexFunc(list, func(c walkChoice) bool { return c.key == key })
		if at < 0 {
			for _, c := range list {
				fmt.Fprintf(w.stderr, "%s - %s\n", c.key, c.does)
			}
			continue
		}
		if done, err := list[at].act(w); done || err != nil {
			return err
		}
	}
}

// choices is what an item asks, and what a person can do about it.
func (w *walker) choices() (question string, list []walkChoice) {
	switch w.item.Asks {
	case engine.ActReview:
		question = "Approve " + w.item.Artifact
		list = []walkChoice{
			{"a", "approve it", (*walker).approve}, {"r", "reject it, and say why", (*walker).reject},
			{"c", "comment at a line; comments go with your verdict", (*walker).comment},
			{"v", "view the version again, a document whole",
				func(w *walker) (bool, error) { return false, w.show(true) }},
		}
	case engine.ActAnswer:
		question, list = "Answer", []walkChoice{{"a", "answer it", (*walker).answer}}
	case engine.ActHolds:
		question = "Does " + w.item.Artifact + " still hold"
		list = []walkChoice{{"y", "yes, it holds for what its inputs are now", (*walker).holds},
			{"h", "no, hand in another version", (*walker).handIn}}
	case engine.ActSubmit:
		question, list = "Hand in", []walkChoice{{"h", "hand in a version", (*walker).handIn}}
	default:
		question = "Go on"
	}
	return question, append(list,
		walkChoice{"s", "skip it", func(*walker) (bool, error) { return false, errSkip }},
		walkChoice{"q", "quit; what is decided stays", func(*walker) (bool, error) { return false, errQuit }})
}

// show prints what a person has to see before they decide.
func (w *walker) show(whole bool) error {
	snap, t, err := w.task()
	if err != nil {
		return err
	}
	if w.item.Asks == engine.ActReview {
		text, err := w.versionText(w.ctx, w.store, snap, t, whole)
		if err != nil {
			return err
		}
		if err := w.page(w.ctx, w.store, text); err != nil {
			return err
		}
		return w.printSubject(w.ctx, w.stdout, w.store, snap, t)
	}
	if w.item.Asks == engine.ActSubmit {
		if t.Description != "" {
			fmt.Fprintln(w.stdout, plain.Text(t.Description))
		}
		if err := w.printSubject(w.ctx, w.stdout, w.store, snap, t); err != nil {
			return err
		}
	}
	if err := w.render(w.stdout, "questions", w.item.Wait); err != nil {
		return err
	}
	for _, command := range strings.Split(w.item.Command, "; ") {
		fmt.Fprintf(w.stdout, "  %s\n", plain.Line(command))
	}
	return nil
}

// stillWaits reads the item anew. If somebody else has settled it, it says so.
func (w *walker) stillWaits() (bool, error) {
	if waits, err := w.readItem(); waits || err != nil {
		return waits, err
	}
	fmt.Fprintf(w.stdout, "%s  %s does not wait for you any more: git wf show %s --plan %s says what it came to\n",
		w.item.Plan, w.item.On, w.item.On, w.item.Plan)
	return false, nil
}

// readItem reads the item anew, and reports whether it still waits.
func (w *walker) readItem() (bool, error) {
	items, err := w.inboxItems(w.ctx, w.eng, w.item.Plan)
	for _, now := range items {
		if now.Task == w.item.Task && now.Asks == w.item.Asks && now.Artifact == w.item.Artifact {
			w.item = now
			return true, err
		}
	}
	return false, err
}

// run carries out a decision on the item with its command, unless somebody else has settled the item. done is
// false if the command refuses, which has said why. Nothing typed becomes a flag: it is part of one, or after "--".
func (w *walker) run(command string, flags []string, words ...string) (done bool, err error) {
	if ok, err := w.stillWaits(); !ok || err != nil {
		return true, err
	}
	own := *w.env
	own.stdin, own.interactive, own.step = bytes.NewReader(nil), false, true
	args := append([]string{command, "--plan=" + string(w.item.Plan)}, flags...)
	args = append(append(args, "--", string(w.item.On)), words...)
	if own.run(w.ctx, args) != fault.ExitDone {
		return false, w.ctx.Err()
	}
	w.decided, w.comments = append(w.decided, w.item.Plan), nil
	return true, nil
}

// task is the item's plan and task as they are now.
func (w *walker) task() (*gitstore.Snapshot, *plan.TaskState, error) {
	snap, err := w.store.Snapshot(w.ctx, w.item.Plan)
	if err != nil {
		return nil, nil, err
	}
	return snap, snap.State().Subject(w.item.Task), nil
}

// approve asks for each criterion that a person judges and each dimension of a rubric, then approves.
func (w *walker) approve() (bool, error) {
	snap, t, err := w.task()
	if err != nil {
		return false, err
	}
	flags := append([]string{"--approve", "--artifact=" + w.item.Artifact}, w.flags...)
	for _, c := range t.AcceptanceCriteria {
		if !c.Manual() {
			continue
		}
		flag, err := w.ruling(c)
		if err != nil {
			return false, err
		}
		flags = append(flags, flag...)
	}
	if rubric := snap.State().RubricOf(t.TaskID); rubric != nil {
		for _, name := range rubric.Names() {
			value, err := w.prompt(fmt.Sprintf("%s, %s:", plain.Line(name), rubric.RatingForm("none")))
			if err != nil {
				return false, err
			}
			flags = append(flags, "--rating="+name+"="+value)
		}
	}
	if len(w.comments) > 0 {
		flags = append(flags, "--message="+strings.Join(w.comments, "\n"))
	}
	return w.run("review", flags)
}

// ruling asks for the word on one criterion; none is no flag.
func (w *walker) ruling(c plan.Criterion) ([]string, error) {
	for {
		fmt.Fprintf(w.stderr, "%s %s: %s\n", plain.Line(c.ID), c.Severity, plain.Line(c.Statement))
		said, err := w.prompt("  p(ass), f(ail) or n(one), then evidence; Enter: not looked at:")
		word, evidence, _ := strings.Cut(said, " ")
		if err != nil || said == "" {
			return nil, err
		}
		for _, result := range []string{"pass", "fail", "none"} {
			if word == result || word == result[:1] {
				return []string{"--criterion=" + c.ID + "=" + result + ":" + evidence}, nil
			}
		}
	}
}

func (w *walker) reject() (bool, error) {
	why, err := w.paragraph("Why, and what to change")
	if err != nil {
		return false, err
	}
	message := strings.TrimSpace(strings.Join(append([]string{why}, w.comments...), "\n"))
	flags := append([]string{"--reject", "--artifact=" + w.item.Artifact}, w.flags...)
	return w.run("review", append(flags, "--message="+message))
}

// comment takes a remark on a line of the version. A review names the line as PATH:LINE (export.Remark).
func (w *walker) comment() (bool, error) {
	snap, t, err := w.task()
	if err != nil {
		return false, err
	}
	made, err := export.ReadArtifact(w.ctx, w.store, snap, t.TaskID, plan.VersionNumber(w.item.Artifact))
	if err != nil {
		return false, err
	}
	names := map[string][]string{}
	if t.Changes() {
		for _, f := range plandoc.ChangedFiles(made.Files) {
			names[f.Path] = []string{gitstore.ChangeAfter + "/" + f.Path, gitstore.ChangeBefore + "/" + f.Path}
		}
	} else {
		for _, f := range made.Files {
			names[f.Path] = []string{f.Path}
		}
	}
	said, err := w.prompt("FILE:LINE COMMENT:")
	if err != nil {
		return false, err
	}
	for name, places := range names {
		if len(names) == 1 && said != "" && said[0] >= '0' && said[0] <= '9' {
			said = name + ":" + said
		}
		rest, ok := strings.CutPrefix(said, name+":")
		number, text, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 || strings.TrimSpace(text) == "" {
			continue
		}
		if lines, ok := export.LinesOf(w.ctx, w.store, made.Tree, places...); ok && n > lines {
			fmt.Fprintf(w.stderr, "%s has %s\n", plain.Line(name), plain.Count(lines, "line"))
			return false, nil
		}
		w.comments = append(w.comments, said)
		fmt.Fprintln(w.stderr, "noted; it goes with your verdict")
		return false, nil
	}
	example := append(slices.Sorted(maps.Keys(names)), "FILE")[0]
	fmt.Fprintf(w.stderr, "expected a line and a comment, such as %s:1 Name the authors.\n", plain.Line(example))
	return false, nil
}

func (w *walker) answer() (bool, error) {
	flags, kind, recommended := []string{}, plan.AskFile, ""
	var options []string
	if len(w.item.Questions) > 0 {
		q := w.item.Questions[0]
		flags, kind, recommended = append(flags, "--question="+q.QuestionID), q.Kind, q.RecommendedOptionID
		if kind == plan.AskChoice {
			options = plain.Some(q.Options, len(q.Options), func(o plan.Option) string { return o.OptionID })
		}
	} else if len(w.item.Missing) > 0 {
		flags, options = append(flags, "--for="+w.item.Missing[0].Name), w.item.Missing[0].Options
		if engine.TakesText(w.item.Missing[0].Requirement) {
			kind = plan.AskText
		}
	}
	if len(options) > 0 {
		option, err := w.choose(options, recommended)
		if err != nil || option == "" {
			return false, err
		}
		return w.answered(append(flags, "--option="+option))
	}
	if kind == plan.AskText {
		text, err := w.paragraph("Answer")
		if text == "-" {
			text = "- " // alone it is standard input
		}
		if err != nil || text == "" {
			return false, err
		}
		return w.answered(flags, text)
	}
	files, err := w.files("")
	if err != nil || len(files) == 0 {
		return false, err
	}
	for _, f := range files {
		flags = append(flags, "--file="+f)
	}
	return w.answered(flags)
}

// choose asks for one of some options, by its word or its number.
func (w *walker) choose(options []string, recommended string) (string, error) {
	list := ""
	for i, option := range options {
		list += fmt.Sprintf("%d %s, ", i+1, plain.Line(option))
	}
	said, err := w.prompt(fmt.Sprintf("Option (%sEnter: %s):", list, plain.Line(cmp.Or(recommended, "none"))))
	if n, no := strconv.Atoi(said); no == nil && n > 0 && n <= len(options) && !slices.Contains(options, said) {
		said = options[n-1]
	}
	return cmp.Or(said, recommended), err
}

// answered records an answer, and asks the next question of the task, if there is one.
func (w *walker) answered(flags []string, words ...string) (bool, error) {
	done, err := w.run("answer", flags, words...)
	if !done || err != nil {
		return done, err
	}
	again, err := w.readItem()
	return !again, err
}

func (w *walker) handIn() (bool, error) {
	_, t, err := w.task()
	if err != nil {
		return false, err
	}
	var flags, files []string
	if t.Changes() {
		commit, err := w.prompt("Commit (Enter: none):")
		if err != nil || commit == "" {
			return false, err
		}
		flags = append(flags, "--commit="+commit)
	} else if files, err = w.files(t.DeliverableSpec.Only()); err != nil || len(files) == 0 {
		return false, err
	}
	message, err := w.prompt("What was done (Enter: nothing to say):")
	if err != nil {
		return false, err
	}
	if message != "" {
		flags = append(flags, "--message="+message)
	}
	return w.run("submit", flags, files...)
}

func (w *walker) holds() (bool, error) {
	why, err := w.prompt("Why (Enter: nothing to say):")
	if err != nil {
		return false, err
	}
	flags := []string{"--still-holds"}
	if why != "" {
		flags = append(flags, "--message="+why)
	}
	return w.run("review", flags)
}

// prompt asks for a line.
func (w *walker) prompt(question string) (string, error) {
	fmt.Fprint(w.stderr, w.paint("1;34", question)+" ")
	line, err := w.readLine(w.ctx)
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(w.stderr)
	}
	return line, err
}

// paragraph asks for lines up to an empty one.
func (w *walker) paragraph(question string) (string, error) {
	var lines []string
	fmt.Fprintln(w.stderr, w.paint("1;34", question+" (an empty line ends it):"))
	line, err := w.readLine(w.ctx)
	for ; err == nil && line != ""; line, err = w.readLine(w.ctx) {
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), err
}

// files asks for names of files: one that may have spaces in it, or several between spaces. Nothing typed is the name
// of the declared file.
func (w *walker) files(declared string) ([]string, error) {
	question, otherwise := "Files", ""
	if declared != "" {
		otherwise = path.Base(declared)
		question += " (Enter: " + plain.Line(otherwise) + ")"
	}
	line, err := w.prompt(question + ":")
	if line = cmp.Or(line, otherwise); err != nil {
		return nil, err
	}
	if _, err := os.Stat(w.absolute(line)); err == nil && line != "" {
		return []string{line}, nil
	}
	return strings.Fields(line), nil
}
