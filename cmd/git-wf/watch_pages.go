package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/watch"
)

// overview reads where the plan stands.
func (w *watcher) overview(ctx context.Context) (o watch.Overview, err error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	snap, err := w.store.Snapshot(ctx, w.id)
	if err != nil {
		return o, err
	}
	st, err := w.standing(w.c, w.store, snap)
	if err != nil {
		return o, err
	}
	s := st.state
	o = watch.Overview{ID: w.id, Title: s.Plan.Title, Status: s.Root().Status, Running: running(s, st.claims)}
	o.Done, o.Total = s.Progress()
	var text strings.Builder
	printSession(&text, s)
	o.Notes = strings.TrimSpace(text.String())
	if o.Notes != "" {
		o.Notes += ", "
	}
	o.Notes += st.evidence.Worth(s)
	o.Tasks = w.tasks(st)
	return o, nil
}

// running are the running tasks, the oldest first.
func running(s *plan.State, claims []engine.ClaimState) []watch.Running {
	var all []watch.Running
	for _, c := range claims {
		t := s.Tasks[c.Task]
		if !c.Holds || t == nil || t.Status != plan.StatusInProgress {
			continue
		}
		all = append(all, watch.Running{Task: c.Task, Title: s.Subject(c.Task).Title, Agent: c.Agent, Since: c.Started})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Since.Before(all[j].Since) })
	return all
}

// tasks are the lines of the tree.
func (w *watcher) tasks(st standing) []watch.Task {
	s := st.state
	waits, held, neededBy := map[plan.TaskID]engine.Wait{}, map[plan.TaskID]engine.Wait{}, map[plan.TaskID][]plan.TaskID{}
	for _, wait := range st.waits {
		id := wait.Task
		if t := s.Tasks[id]; t != nil && t.NodeType == plan.Check {
			id = t.ReviewTargetTaskID
		}
		waits[id] = wait
	}
	for _, o := range st.open {
		held[o.Task] = o
	}
	for _, t := range s.Plan.Tasks {
		for _, d := range t.DependsOn {
			neededBy[d] = append(neededBy[d], t.TaskID)
		}
	}
	printer := treePrinter{s: s, at: st}
	var all []watch.Task
	seen := map[plan.TaskID]bool{}
	var add func(id plan.TaskID, depth int)
	add = func(id plan.TaskID, depth int) {
		t := s.Tasks[id]
		if t == nil || seen[id] {
			return
		}
		seen[id] = true
		line := watch.Task{
			ID: id, Depth: depth, Title: t.Title, Status: t.Status, Notes: printer.notes(t), Needs: t.DependsOn,
			NeededBy: neededBy[id],
			Held:     held[id].Text, Command: held[id].Command, Review: reviewOf(t),
		}
		if wait, ok := waits[id]; ok {
			line.Waits, line.Held, line.Command = true, wait.Text, wait.Command
		}
		all = append(all, line)
		for _, c := range s.Children(id) {
			add(c, depth+1)
		}
	}
	add(s.Plan.RootTaskID, 0)
	return all
}

// reviewOf is what a person would review of a task.
func reviewOf(t *plan.TaskState) (r watch.Review) {
	if t.NodeType != plan.Action || t.Active == 0 || t.Status == plan.StatusAbandoned {
		return r
	}
	r.Version = plan.VersionID(t.Active)
	for _, c := range t.AcceptanceCriteria {
		if c.Manual() {
			r.Criteria = append(r.Criteria, watch.Criterion{ID: c.ID, Statement: c.Statement, Severity: string(c.Severity)})
		}
	}
	return r
}

// page fills a page with what git wf show prints, or with a version.
func (w *watcher) page(ctx context.Context, want watch.Want) (p watch.Page, err error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	snap, err := w.store.Snapshot(ctx, w.id)
	if err != nil {
		return p, err
	}
	s, err := w.state(ctx, w.store, snap)
	if err != nil {
		return p, err
	}
	t, err := findTask(s, string(want.Task))
	if err != nil {
		return p, err
	}
	p.Want, p.Title = want, string(t.TaskID)+" "+t.Title
	if want.Kind == watch.ReviewPage {
		var text strings.Builder
		err := printer{stdout: &text}.showReviewFile(ctx, w.store, snap, t)
		p.Title = "Newest review of " + p.Title
		p.Lines = lines(text.String())
		return p, err
	}
	d, err := readTask(ctx, w.store, snap, s, t)
	if err != nil {
		return p, err
	}
	switch want.Kind {
	case watch.TaskPage:
		var text strings.Builder
		style{}.printTask(&text, s, t, d)
		if tail := runningLog(w.store.CommonDir(), w.id, t.TaskID); len(tail) > 0 {
			fmt.Fprintf(&text, "\nEnd of its log\n%s\n", strings.ToValidUTF8(string(tail), "\ufffd"))
		}
		p.Lines = lines(text.String())
	case watch.VersionsPage:
		p.Title = "Versions of " + p.Title
		if len(d.Artifacts) == 0 {
			return p, fault.Refused("", "%s has no version yet", t.TaskID)
		}
		p.Versions = versions(s, t.TaskID, d)
	case watch.VersionPage:
		p.Title = fmt.Sprintf("%s of %s", plan.VersionID(want.Version), p.Title)
		p.Lines, err = w.version(ctx, snap, s, t.TaskID, d, want.Version)
	case watch.DiffPage:
		p.Title = fmt.Sprintf("%s of %s against the one before", plan.VersionID(want.Version), p.Title)
		p.Lines, err = w.diff(ctx, snap, t.TaskID, want.Version)
	}
	return p, err
}

// lines are a text's lines, safe to print.
func lines(text string) []string {
	return strings.Split(strings.TrimRight(plain.Text(text), "\n"), "\n")
}

// versions are the versions of a task in a line each, newest first.
func versions(s *plan.State, id plan.TaskID, d taskDocument) []watch.Version {
	var all []watch.Version
	for i, a := range slices.Backward(d.Artifacts) {
		text := fmt.Sprintf("by %s at %s, %s, %d bytes", plain.Line(a.Agent), date(a.CreatedAt),
			plain.Count(len(a.Files), "file"), a.Size)
		for _, r := range d.Reviews {
			if r.ReviewedArtifactID == a.ArtifactID {
				text += fmt.Sprintf("; %s %s %d by %s", r.ReviewID, strings.ToLower(string(r.Verdict)), r.Score,
					plain.Line(r.Reviewer))
			}
		}
		if i+1 == s.Tasks[id].Approved {
			text += "; approved version"
		}
		all = append(all, watch.Version{N: s.Records.Of(id).Artifacts[i].Version, Verdict: s.VersionVerdict(id, a.ArtifactID),
			Text: text})
	}
	return all
}

// How much of a version is shown: of each file, and of how many.
const (
	mostShownBytes = 64 << 10
	mostShownFiles = 40
	mostDiffLines  = 5000
)

// version is one version: its review files, and what its files say.
func (w *watcher) version(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, id plan.TaskID, d taskDocument,
	n int) ([]string, error) {
	rec, ok := snap.Records.Of(id).Version(n)
	if !ok {
		return nil, fault.Refused("", "%s has no version %d", id, n)
	}
	var all []string
	for _, v := range versions(s, id, d) {
		if v.N == n {
			all = append(all, v.Text)
		}
	}
	for _, r := range snap.Records.Of(id).Reviews {
		if r.Version != n {
			continue
		}
		data, err := export.DocumentsOf(ctx, w.store, snap, id).ReviewFile(r)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "", fmt.Sprintf("== r%d %s", r.N, r.Verdict.File()), ""), lines(string(data))...)
	}
	files, err := w.store.ListTree(ctx, rec.Files, "")
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if i == mostShownFiles {
			all = append(all, "", fmt.Sprintf("== and %d more files", len(files)-i))
			break
		}
		all = append(all, "", "== "+plain.Line(f.Path), "")
		more, err := w.content(ctx, f.OID)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// content is the start of a file, if it is text.
func (w *watcher) content(ctx context.Context, oid plan.OID) ([]string, error) {
	data, whole, err := w.store.BlobHead(ctx, oid, mostShownBytes)
	if err != nil {
		return nil, err
	}
	text := string(data)
	if !whole { // it may end inside a character
		for range utf8.UTFMax - 1 {
			if r, n := utf8.DecodeLastRuneInString(text); r == utf8.RuneError && n == 1 {
				text = text[:len(text)-1]
			}
		}
	}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return []string{"(no text: git wf ui shows it)"}, nil
	}
	all := lines(text)
	if !whole {
		all = append(all, "(only the beginning is shown)")
	}
	return all, nil
}

var errEnough = errors.New("enough has been read")

// diff is the difference of a version from the one before.
func (w *watcher) diff(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, n int) ([]string, error) {
	now, ok := snap.Records.Of(id).Version(n)
	before, hasBefore := snap.Records.Of(id).Version(n - 1)
	if !ok || !hasBefore {
		return nil, fault.Refused("", "there is no version before %s", plan.VersionID(n))
	}
	var all []string
	err := w.store.Follow(ctx, nil, func(out *bufio.Reader) error {
		for {
			line, err := out.ReadString('\n')
			if line != "" {
				all = append(all, plain.Text(strings.TrimRight(line, "\n")))
			}
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case len(all) == mostDiffLines:
				all = append(all, "(only the beginning is shown)")
				return errEnough
			}
		}
	}, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--end-of-options", string(before.Files),
		string(now.Files))
	if errors.Is(err, errEnough) {
		err = nil
	}
	if len(all) == 0 {
		all = []string{"Nothing is different."}
	}
	return all, err
}
