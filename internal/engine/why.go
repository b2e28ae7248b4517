package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// The answers to where a line comes from.
const (
	OriginApproved    = "approved"    // an approved version brought it
	OriginUnproven    = "unproven"    // its commit names a version that did not bring it, or is not approved
	OriginByHand      = "by-hand"     // its commit names no version
	OriginUncommitted = "uncommitted" // it is not committed yet
	OriginUnknown     = "unknown"     // its commit is not here
)

// Origin is where lines of a file come from.
type Origin struct {
	Lines   [][2]int   `json:"lines"`          // first and last of each range
	Text    string     `json:"text,omitempty"` // of a single line
	Answer  string     `json:"answer"`
	Reason  string     `json:"reason,omitempty"` // why it is not more
	Hint    string     `json:"hint,omitempty"`
	Commit  plan.OID   `json:"commit,omitempty"`
	Path    string     `json:"path,omitempty"` // of the file in that commit
	Author  string     `json:"author,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Subject string     `json:"subject,omitempty"`

	// of the version that the commit names; only the plan's records say that it is approved
	Plan     plan.ID      `json:"plan_id,omitempty"`
	Task     plan.TaskID  `json:"task_id,omitempty"`
	Title    string       `json:"title,omitempty"`
	Artifact string       `json:"artifact_id,omitempty"`
	Agent    string       `json:"agent,omitempty"`
	Review   *plan.Review `json:"review,omitempty"` // that approved it
}

// Why says which commit, task, version and review brought a line of a file in, or each of its lines if the number is
// zero. A message names the version; the plan's records and the content of the commit prove it.
func Why(ctx context.Context, store *gitstore.Store, policy *gitstore.Policy, rev, file string, line int) ([]Origin,
	error) {
	lines, err := store.Blame(ctx, rev, file, line)
	if err != nil {
		return nil, err
	}
	w := &tracing{store: store, policy: policy, plans: map[plan.ID]*told{}}
	var commits []plan.OID
	for _, l := range lines {
		if l.Commit != "" && !slices.Contains(commits, l.Commit) {
			commits = append(commits, l.Commit)
		}
	}
	said, err := store.Said(ctx, commits)
	if err != nil {
		return nil, err
	}
	type place struct {
		commit plan.OID
		path   string
	}
	found := map[place][]suspect{}
	var list []Origin
	for _, l := range lines {
		at := place{l.Commit, l.Path}
		if found[at] == nil {
			if found[at], err = w.trace(ctx, said[l.Commit], l); err != nil {
				return nil, err
			}
		}
		list = addLine(list, pick(found[at], l.Text), l.Number)
	}
	if line > 0 && len(list) == 1 {
		list[0].Text = lines[0].Text
	}
	return list, nil
}

// addLine adds a line to those of the same origin.
func addLine(list []Origin, o Origin, n int) []Origin {
	at := slices.IndexFunc(list, func(p Origin) bool {
		return p.Commit == o.Commit && p.Path == o.Path && p.Plan == o.Plan && p.Task == o.Task &&
			p.Artifact == o.Artifact
	})
	if at < 0 {
		list, at = append(list, o), len(list)
	}
	ranges := list[at].Lines
	if last := len(ranges) - 1; last >= 0 && ranges[last][1] == n-1 {
		ranges[last][1] = n
		return list
	}
	list[at].Lines = append(slices.Clip(ranges), [2]int{n, n})
	return list
}

// suspect is a version that may have brought lines in.
type suspect struct {
	Origin
	files plan.OID
	adds  map[string]bool // the lines that it adds, where there are several suspects
}

// pick is the origin of a line: of several versions, the last that adds such a line.
func pick(all []suspect, text string) Origin {
	for _, s := range slices.Backward(all) {
		if s.adds[text] {
			return s.Origin
		}
	}
	return all[len(all)-1].Origin
}

// tracing is one run of Why.
type tracing struct {
	store  *gitstore.Store
	policy *gitstore.Policy
	plans  map[plan.ID]*told
}

// told is what a plan's records say; missing says why they say nothing.
type told struct {
	snap    *gitstore.Snapshot // with the approvals that count
	missing error
}

// trace finds the versions that brought a file's lines in with a commit, in the order in which they apply. There is at
// least one, of which nothing may be known.
func (w *tracing) trace(ctx context.Context, c gitstore.SaidCommit, l gitstore.BlamedLine) ([]suspect, error) {
	o := Origin{Answer: OriginUncommitted}
	if l.Commit == "" {
		return []suspect{{Origin: o}}, nil
	}
	o = Origin{Answer: OriginByHand, Commit: l.Commit, Path: l.Path, Author: c.Author, Time: &c.Time,
		Subject: c.Subject}
	if c.Ends {
		o.Answer, o.Reason, o.Hint = OriginUnknown, "the history of this shallow clone ends with the commit",
			gitstore.Unshallow
		return []suspect{{Origin: o}}, nil
	}
	if s, found, err := w.bundled(ctx, o); err != nil || found {
		return []suspect{s}, err
	}
	var named, proven []suspect
	for _, b := range c.Brings {
		s, err := w.changed(ctx, o, b)
		if err != nil {
			return nil, err
		}
		if named = append(named, s); s.Answer == OriginApproved {
			proven = append(proven, s)
		}
	}
	switch {
	case len(named) == 0:
		return []suspect{{Origin: o}}, nil
	case len(proven) == 0:
		return named[:1], nil
	}
	ordered, err := w.yields(ctx, c, l.Path, proven)
	if err != nil || ordered != nil {
		return ordered, err
	}
	s := proven[0]
	s.Answer, s.Reason = OriginUnproven, fmt.Sprintf("%s in it is not what %s makes of it", l.Path, s.Artifact)
	return []suspect{s}, nil
}

// yields checks that the versions make of a path what the commit has there, in the order that its message names them,
// or the other way round, as a squash does. It returns them in the order in which they apply; none if they don't.
func (w *tracing) yields(ctx context.Context, c gitstore.SaidCommit, file string, versions []suspect) ([]suspect,
	error) {
	for range 2 {
		files := each.Of(versions, func(s suspect) plan.OID { return s.files })
		ok, err := w.store.Yields(ctx, files, c.Parent, c.Commit, file)
		if err != nil {
			return nil, err
		}
		if ok {
			return versions, w.additions(ctx, file, versions)
		}
		versions = slices.Clone(versions)
		slices.Reverse(versions)
	}
	return nil, nil
}

// additions reads which lines each of several versions adds to a file.
func (w *tracing) additions(ctx context.Context, file string, versions []suspect) error {
	for i := range versions {
		if len(versions) == 1 {
			break
		}
		counts := map[string]int{}
		for side, by := range map[string]int{gitstore.ChangeBefore: -1, gitstore.ChangeAfter: 1} {
			e, err := w.store.EntryAt(ctx, versions[i].files, side+"/"+file)
			if err != nil {
				return err
			}
			if e.OID == "" || !strings.HasPrefix(e.Mode, "100") {
				continue
			}
			data, err := w.store.ReadBlob(ctx, e.OID)
			if err != nil {
				return err
			}
			for text := range strings.Lines(string(data)) {
				counts[strings.TrimSuffix(text, "\n")] += by
			}
		}
		versions[i].adds = map[string]bool{}
		for text, n := range counts {
			versions[i].adds[text] = n > 0
		}
	}
	return nil
}

// changed looks a version that changes the repository up in its plan. It is a suspect if it changes the path.
func (w *tracing) changed(ctx context.Context, o Origin, b gitstore.Brought) (suspect, error) {
	s, snap, err := w.look(ctx, o, b)
	if err != nil || s.Answer != OriginApproved {
		return s, err
	}
	t := snap.Plan.Task(b.Task)
	if !t.Changes() {
		s.Answer, s.Reason = OriginUnproven, "its deliverable is no change of the repository"
		return s, nil
	}
	for _, side := range []string{gitstore.ChangeBefore, gitstore.ChangeAfter} {
		if e, err := w.store.EntryAt(ctx, s.files, side+"/"+o.Path); err != nil || e.OID != "" {
			return s, err
		}
	}
	s.Answer, s.Reason = OriginUnproven, fmt.Sprintf("%s does not change %s", b.Artifact, o.Path)
	return s, nil
}

// bundled answers for a file of an exported bundle, whose manifest names the version, and for no other.
func (w *tracing) bundled(ctx context.Context, o Origin) (suspect, bool, error) {
	dir, dest, ok := strings.Cut(o.Path, "/bundle/")
	if !ok {
		return suspect{}, false, nil
	}
	data, err := w.store.ReadFile(ctx, o.Commit, dir+"/bundle/"+export.ManifestName)
	if err != nil {
		return suspect{}, false, ctx.Err()
	}
	m, err := export.ParseManifest(data)
	if err != nil || path.Base(dir) != string(m.PlanID) {
		return suspect{}, false, nil
	}
	for _, item := range m.Items {
		for _, f := range item.Files {
			if f.DestPath != dest {
				continue
			}
			s, _, err := w.look(ctx, o, gitstore.Brought{Plan: m.PlanID, Task: item.TaskID, Artifact: item.Version()})
			if err != nil || s.Answer != OriginApproved {
				return s, true, err
			}
			_, source, _ := strings.Cut(f.SourcePath, "/files/")
			here, err := w.store.EntryAt(ctx, o.Commit, o.Path)
			if err != nil {
				return s, true, err
			}
			made, err := w.store.EntryAt(ctx, s.files, source)
			if here.OID != made.OID || here.Mode != made.Mode {
				s.Answer, s.Reason = OriginUnproven, fmt.Sprintf("%s in it is not the file of %s", o.Path, s.Artifact)
			}
			return s, true, err
		}
	}
	return suspect{}, false, nil
}

// look finds a version in its plan, and who approved it.
func (w *tracing) look(ctx context.Context, o Origin, b gitstore.Brought) (suspect, *gitstore.Snapshot, error) {
	s := suspect{Origin: o}
	s.Plan, s.Task, s.Artifact, s.Answer = b.Plan, b.Task, b.Artifact, OriginUnproven
	p := w.plans[b.Plan]
	if p == nil {
		p = &told{}
		p.snap, p.missing = w.read(ctx, b.Plan)
		w.plans[b.Plan] = p
	}
	if p.missing != nil {
		s.Reason = p.missing.Error()
		var known *fault.Error
		if errors.As(p.missing, &known) {
			s.Hint = known.Hint
		}
		return s, nil, ctx.Err()
	}
	t, version := p.snap.Plan.Task(b.Task), plan.VersionNumber(b.Artifact)
	if t == nil {
		s.Reason = "the plan has no such task"
		return s, nil, nil
	}
	s.Title = t.Title
	rec, ok := p.snap.Records.Of(b.Task).Version(version)
	if !ok {
		s.Reason = "the plan has no such version of it"
		return s, nil, nil
	}
	s.files = rec.Files
	if a, err := export.ReadArtifact(ctx, w.store, p.snap, b.Task, version); err == nil {
		s.Agent = a.Agent
	}
	if verdict := p.snap.State().LastingVerdict(b.Task, b.Artifact); verdict != plan.Approved {
		s.Reason = fmt.Sprintf("%s is not approved", b.Artifact)
		if verdict == plan.Rejected {
			s.Reason = fmt.Sprintf("%s is rejected", b.Artifact)
		}
		return s, nil, nil
	}
	review, err := export.ApprovedBy(ctx, w.store, p.snap, b.Task, version)
	if err != nil {
		return s, nil, err
	}
	s.Answer, s.Review = OriginApproved, &review
	return s, p.snap, nil
}

// read reads a plan with the approvals that count: the one here, or else as a remote had it.
func (w *tracing) read(ctx context.Context, id plan.ID) (*gitstore.Snapshot, error) {
	refs, err := w.store.AllPlanRefs(ctx)
	if err != nil {
		return nil, err
	}
	tips := refs[id].Tips()
	if len(tips) == 0 {
		return nil, fault.Refused("git fetch, in a repository that git wf init has set up", "the plan %s is not here",
			id)
	}
	snap, err := w.store.SnapshotAt(ctx, id, tips[0])
	if err != nil {
		return nil, err
	}
	e, err := export.Prove(ctx, w.store, snap, w.policy)
	if err != nil {
		return nil, err
	}
	return e.Snapshot, nil
}
