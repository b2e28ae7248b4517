package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
	"gitwf/internal/shell"
)

// answered reads a task's answered questions, in the order of their answers.
func (e *Engine) answered(ctx context.Context, snap *gitstore.Snapshot, task plan.TaskID) ([]export.Asked, error) {
	r := snap.Records.Of(task)
	known := slices.DeleteFunc(slices.Clone(r.Answers), func(n int) bool { return !slices.Contains(r.Questions, n) })
	return export.All(known, e.documents(ctx, snap, task).Question)
}

// documents reads the records of a task.
func (e *Engine) documents(ctx context.Context, snap *gitstore.Snapshot, task plan.TaskID) export.Documents {
	return export.DocumentsOf(ctx, e.Store, snap, task)
}

// Reply is a person's answer to a question.
type Reply struct {
	Task   plan.TaskID
	Number int    // of the question; zero means the first open one
	Text   string // one of these three, as the question asks
	Option string
	Files  []string // absolute paths
	Person plan.Actor
}

// Answer records the answer to a question of a task.
func (e *Engine) Answer(ctx context.Context, id plan.ID, r Reply) (*gitstore.Appended, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Number == 0 {
		open := snap.Records.Of(r.Task).OpenQuestions()
		if len(open) == 0 {
			return nil, &plan.RefusedError{Task: r.Task, Reason: "has no open question",
				Hint: "git wf status lists what is asked"}
		}
		r.Number = open[0]
	}
	ev := plan.AnswerQuestion{
		Task: r.Task, Number: r.Number, Author: r.Person,
		Answer: plan.Answer{Text: r.Text, OptionID: r.Option, By: r.Person.Name, CreatedAt: plan.Second(e.Now())},
	}
	if slices.Contains(snap.Records.Of(r.Task).Questions, r.Number) {
		q, err := e.documents(ctx, snap, r.Task).Question(r.Number)
		if err != nil {
			return nil, err
		}
		ev.Question = q.Question
	}
	batch := e.Store.NewBatch()
	if ev.Files, err = e.handedIn(ctx, batch, snap.Plan.Limits(), ev.Question.Name, nil, r.Files,
		r.Person); err != nil {
		return nil, hinted(err, fmt.Sprintf("git wf answer %s --question q%d --file FILE", r.Task, r.Number))
	}
	if r.Option == stop.OptionID && slices.Contains(ev.Question.Options, stop) &&
		slices.Contains(snap.Records.Of(r.Task).OpenQuestions(), r.Number) {
		// First, so that nothing goes on where this is killed between the two.
		why := plan.Decision{By: r.Person.Name, CreatedAt: plan.Second(e.Now()),
			Reason: fmt.Sprintf("%s q%d: %s", r.Task, r.Number, stop.OptionID)}
		if _, err := e.append(ctx, id, plan.Pause{Decision: why, Author: r.Person}, nil, nil); err != nil &&
			snap.State().SessionStatus() != plan.SessionPaused {
			return nil, err
		}
	}
	done, err := e.append(ctx, id, ev, nil, batch)
	first := slices.Index(snap.Records.Of(r.Task).OpenQuestions(), r.Number) == 0
	return done, hinted(err, answerCommand(r.Task, ev.Question, !first))
}

// badInput is the error of a file that can't be handed in.
func badInput(file, format string, args ...any) error {
	return fault.Usage("", "hand in %s: %w", plain.Line(file), fmt.Errorf(format, args...))
}

// hinted adds the command that hands in what is right, if what was handed in is the problem.
func hinted(err error, command string) error {
	if wrong, ok := errors.AsType[*fault.Error](err); ok && wrong.Code == fault.ExitUsage {
		return fault.Usage(command, "%w", wrong.Err)
	}
	return err
}

// TakesText reports whether what a task requires can be typed in: it is a text or a choice, or may be anything.
func TakesText(r plan.Requirement) bool {
	return r.Kind == plan.AskText || r.Kind == "" && len(r.Formats) == 0 || len(r.Options) > 0
}

// HandIn records files, or a text as one more file, for a requirement of a task, or the only one that lacks some.
func (e *Engine) HandIn(ctx context.Context, id plan.ID, task plan.TaskID, name string, files []string, text string,
	person plan.Actor) (*gitstore.Appended, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	t := snap.State().Tasks[task]
	if t == nil {
		return nil, &plan.RefusedError{Task: task, Reason: "no such task", Hint: "git wf status"}
	}
	req, err := wanted(snap.State(), t.Task, name, files, text != "")
	if err != nil {
		return nil, err
	}
	batch := e.Store.NewBatch()
	docs, err := e.handedIn(ctx, batch, snap.Plan.Limits(), req.Name, req.Formats, files, person)
	if most := snap.Plan.Limits().MaxArtifactBytes; err == nil && int64(len(text)) > most {
		err = badInput(req.Name, "has %d bytes, more than the plan's max_artifact_bytes of %d", len(text), most)
	} else if err == nil && text != "" {
		docs, err = e.pin(batch, docs, typed(req, text), person)
	}
	ev := plan.HandIn{Task: task, Files: docs, Author: person}
	if err == nil {
		_, err = ev.Apply(snap.State())
	}
	if err == nil {
		err = e.distinct(ctx, snap, task, req.Name, docs)
	}
	if err != nil {
		batch.Discard()
		return nil, hinted(err, handInCommand(task, req))
	}
	return e.append(ctx, id, ev, nil, batch)
}

// handInCommand hands in what a task requires.
func handInCommand(task plan.TaskID, r plan.Requirement) string {
	what := "--file FILE"
	if TakesText(r) {
		what = append(slices.Clone(r.Options), "TEXT")[0]
	}
	return fmt.Sprintf("git wf answer %s --for %s %s", task, shell.Word(plain.Line(r.Name)), what)
}

// typed is a text that was typed in, as a file.
func typed(r plan.Requirement, text string) Pinned {
	if len(r.Options) > 0 {
		file, data := r.ChoiceFile(text)
		return Pinned{r.Name, file, data}
	}
	ext := strings.TrimPrefix(append(slices.Clone(r.Formats), "txt")[0], ".")
	return Pinned{r.Name, plan.EscapeName(r.Name) + "." + plan.EscapeName(ext),
		[]byte(strings.TrimRight(text, "\n") + "\n")}
}

// pin adds a file in memory to what is handed in.
func (e *Engine) pin(batch *gitstore.Batch, docs []plan.InputDocument, p Pinned, by plan.Actor) ([]plan.InputDocument,
	error) {
	tree, infos, err := batch.AddFiles(map[string][]byte{p.Name: p.Data})
	if err != nil {
		return nil, err
	}
	return append(docs, plan.InputDocument{Name: p.Input, FileName: p.Name, Tree: tree, SHA256: infos[0].SHA256,
		Size: infos[0].Size, By: by.Name, CreatedAt: plan.Second(e.Now())}), nil
}

// given are the files that a task has under a name, by the hash of their content.
func (e *Engine) given(ctx context.Context, snap *gitstore.Snapshot, task plan.TaskID, name string) (map[string]string,
	error) {
	known := map[string]string{}
	for n := 1; n <= snap.Records.Of(task).Inputs[plan.EscapeName(name)]; n++ {
		doc, err := e.documents(ctx, snap, task).Input(export.InputRecord{Name: plan.EscapeName(name), N: n})
		if err != nil {
			return nil, err
		}
		known[doc.SHA256] = doc.FileName
	}
	return known, nil
}

// distinct refuses a file that is there already, under whatever name: two files are asked for to get two.
func (e *Engine) distinct(ctx context.Context, snap *gitstore.Snapshot, task plan.TaskID, name string,
	docs []plan.InputDocument) error {
	known, err := e.given(ctx, snap, task, name)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if have, ok := known[d.SHA256]; ok {
			return badInput(d.FileName, "%s has that content already, as %s", plain.Line(name),
				plain.Line(have))
		}
		known[d.SHA256] = d.FileName
	}
	return nil
}

// askedForFiles refuses a text for a task that wants files.
func askedForFiles(t *plan.Task) error {
	names := plain.Some(t.Requires, len(t.Requires), func(r plan.Requirement) string { return plain.Line(r.Name) })
	return &plan.RefusedError{
		Task: t.TaskID, Reason: "has no open question; what it requires is handed in as files: " +
			strings.Join(names, ", "),
		Hint: handInCommand(t.TaskID, t.Requires[0]),
	}
}

// wanted finds the requirement that files, or a text, are handed in for: the named one or, without a name, the only one
// that lacks some and accepts all of these.
func wanted(s *plan.State, t *plan.Task, name string, files []string, text bool) (plan.Requirement, error) {
	var names []string
	var lack []plan.Requirement
	for _, r := range t.Requires {
		if r.Name == name || name == "" && len(t.Requires) == 1 {
			if text && !TakesText(r) {
				return r, askedForFiles(t)
			}
			return r, nil
		}
		if text && name == "" && !TakesText(r) {
			continue
		}
		names = append(names, plain.Line(r.Name))
		if s.HandedIn(t, r.Name) < max(r.Count, 1) &&
			!slices.ContainsFunc(files, func(f string) bool { return !allowed(r.Formats, filepath.Base(f)) }) {
			lack = append(lack, r)
		}
	}
	switch {
	case name == "" && len(lack) == 1:
		return lack[0], nil
	case len(t.Requires) == 0:
		return plan.Requirement{}, &plan.RefusedError{Task: t.TaskID,
			Reason: "requires no input and has no open question",
			Hint:   "git wf status lists what is asked and required"}
	case len(names) == 0:
		return plan.Requirement{}, askedForFiles(t)
	}
	return plan.Requirement{}, fault.Usage("git wf answer "+string(t.TaskID)+" --for NAME --file FILE",
		"%s: requires %s; which of them is this?", t.TaskID, strings.Join(names, ", "))
}

// handedIn adds the files to the batch and describes them. formats are the allowed extensions; none allows all.
func (e *Engine) handedIn(ctx context.Context, batch *gitstore.Batch, limits plan.Config, name string, formats,
	files []string, by plan.Actor) (docs []plan.InputDocument, err error) {
	defer func() {
		if err != nil {
			batch.Discard() // earlier files, if one can't be handed in
		}
	}()
	for _, file := range files {
		base := filepath.Base(file)
		info, err := os.Stat(file)
		var at *fs.PathError
		switch {
		case errors.As(err, &at):
			err = badInput(file, "%w", at.Err)
		case err != nil:
		case info.IsDir():
			err = badInput(file, "is a directory; its files are handed in one by one")
		case !info.Mode().IsRegular():
			err = badInput(file, "is no file")
		case info.Size() > limits.MaxArtifactBytes:
			err = badInput(file, "has %d bytes, more than the plan's max_artifact_bytes of %d",
				info.Size(), limits.MaxArtifactBytes)
		case !allowed(formats, base):
			err = badInput(file, "%s wants one of the formats %s", plain.Line(name),
				plain.Line(strings.Join(formats, ", ")))
		case relpath.Check(base) != nil:
			err = badInput(file, "%w", relpath.Check(base))
		}
		if err != nil {
			return nil, err
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return nil, err
		}
		ref := gitstore.FileRef{Path: base, Mode: "100644", Source: real}
		tree, added, err := batch.AddDir(ctx, "", []gitstore.FileRef{ref})
		if err != nil {
			return nil, err
		}
		docs = append(docs, plan.InputDocument{
			Name: name, FileName: base, Tree: tree, SHA256: added[0].SHA256, Size: added[0].Size,
			Source: e.source(file), By: by.Name, CreatedAt: plan.Second(e.Now()),
		})
	}
	return docs, nil
}

// source is where a file came from, as far as others may know: its path in the worktree, else nothing.
func (e *Engine) source(file string) string {
	rel, err := filepath.Rel(e.Store.WorkTree(), file)
	if err != nil || e.Store.WorkTree() == "" || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

func allowed(formats []string, name string) bool {
	if len(formats) == 0 {
		return true
	}
	ext := strings.TrimPrefix(path.Ext(name), ".")
	return slices.ContainsFunc(formats, func(f string) bool {
		return strings.EqualFold(strings.TrimPrefix(f, "."), ext)
	})
}

// InputDir is where a person can put the files for a requirement, below the top of the worktree.
func InputDir(id plan.ID, name string) string {
	return path.Join(".workflow", string(id), "inputs", plan.EscapeName(name))
}

// takeInputs hands in what lies in the plan's input directories for tasks that still lack it, and reports how many
// files it took. It skips content that was handed in before.
func (e *Engine) takeInputs(ctx context.Context, id plan.ID) error {
	top := e.Store.WorkTree()
	if top == "" {
		return nil
	}
	if !reallyBelow(top, ".workflow", string(id), "inputs") {
		return nil // nobody uses it
	}
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	person, err := e.Store.Person(ctx)
	if err != nil {
		return err
	}
	for _, t := range snap.Plan.Tasks {
		ts := snap.State().Tasks[t.TaskID]
		if ts.Status != plan.StatusWaitingInput || t.NodeType != plan.Action {
			continue
		}
		for _, req := range t.Requires {
			if err := e.takeInput(ctx, snap, t, req, filepath.Join(top, filepath.FromSlash(InputDir(id, req.Name))),
				person); err != nil {
				return err
			}
		}
	}
	return nil
}

// reallyBelow reports whether the directory exists without any link on its path: a repository's content must not choose
// files from outside it.
func reallyBelow(top string, parts ...string) bool {
	for _, part := range parts {
		top = filepath.Join(top, part)
		if st, err := os.Lstat(top); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

func (e *Engine) takeInput(ctx context.Context, snap *gitstore.Snapshot, t *plan.Task, req plan.Requirement, dir string,
	person plan.Actor) error {
	if len(req.Options) > 0 || !reallyBelow(filepath.Dir(dir), filepath.Base(dir)) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	known, err := e.given(ctx, snap, t.TaskID, req.Name)
	if err != nil {
		return err
	}
	var files []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && allowed(req.Formats, entry.Name()) && relpath.Check(entry.Name()) == nil {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	batch := e.Store.NewBatch()
	docs, err := e.handedIn(ctx, batch, snap.Plan.Limits(), req.Name, req.Formats, files, person)
	if err != nil {
		return hinted(err, "move it out of "+InputDir(snap.ID, req.Name)+", then git wf run")
	}
	docs = slices.DeleteFunc(docs, func(d plan.InputDocument) bool {
		_, have := known[d.SHA256]
		known[d.SHA256] = d.FileName
		return have
	})
	if len(docs) == 0 {
		batch.Discard()
		return nil
	}
	return e.record(ctx, snap.ID, t.TaskID, plan.HandIn{Task: t.TaskID, Files: docs, Author: person}, nil, batch, what)
}
