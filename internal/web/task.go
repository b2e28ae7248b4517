package web

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

type taskPage struct {
	page
	*plan.TaskState
	Seen      *readmodel.Detail
	Versions  []version // newest first
	Problems  []string  // records that can't be read: a foreign ref may hold anything
	CheckTask *plan.TaskState
	Inputs    []*plan.TaskState
	Consumers []*plan.TaskState
	Open      []*plan.TaskState // dependencies that are not done
	Lineage   []*plan.TaskState // the goals above, outermost first
	Parts     []*plan.TaskState // of a goal
	Reason    string
	Stale     string
	Idle      string // why no work begins in the plan
	Session   plan.SessionStatus
	MinScore  int
	Quorum    int
	Rubric    *plan.Rubric
	Notes     []string // its round, the seats that have spoken, a warning
	Reviewers []string
	Vacant    []string    // seats that a person may take
	Days      float64     // of its estimate
	Assumed   bool        // by the rule
	Claim     *plan.Claim // who works on the task, or on its CHECK
	Tail      string
	Waits     []engine.Item // what only a person can do about it
	Submits   bool          // a version can be handed in
	Typed     []typed       // of its files, those that can be written here
	Due       bool          // a person is to hand one in
	Outdated  bool          // a person is to say whether theirs still holds
	Reruns    bool          // what is approved of it can be made again
	Candidate *version      // the version to review
	Evidence  map[string]plan.CriterionResult
	Asks      *export.Asked      // the first open one
	Lacks     []plan.Requirement // missing inputs
	Judged    map[string]bool    // criteria that a person judges
	Blocked   bool               // retry would unblock it
	Abandons  bool
	Restores  bool
}

func (s *Server) taskPage(w http.ResponseWriter, r *http.Request) error {
	snap, state, t, at, err := s.askedTask(r)
	if err != nil {
		return err
	}
	p := taskPage{page: s.planHead(r, snap, "task"), TaskState: t, Reason: state.Reason(t), Judged: map[string]bool{},
		Evidence: map[string]plan.CriterionResult{}}
	p.Title, p.Past = string(t.TaskID)+" "+plain.Line(t.Title), at
	p.Said, p.Live = s.said(r), at == nil
	if on := state.Subject(t.TaskID); on != t {
		http.Redirect(w, r, p.TaskURL(on.TaskID), http.StatusSeeOther) // a CHECK's records are its target's
		return nil
	}
	p.Seen, err = readmodel.ReadTask(r.Context(), s.Store, snap, state, t, s.Weights)
	if err != nil {
		p.Problems = strings.Split(plain.Text(err.Error()), "\n")
	}
	slices.Reverse(p.Seen.Tries)
	slices.Reverse(p.Seen.Notes)
	p.versions(r.Context(), s.Store, snap)
	if err := s.signReviews(r.Context(), snap, t.TaskID, p.Versions); err != nil {
		p.Problems = append(p.Problems, plain.Line(err.Error()))
	}
	p.bind(state)
	if t.NodeType == plan.Action {
		p.judge(state)
		weights, err := s.Weights()
		if err != nil {
			return err
		}
		p.Days, p.Assumed = weights.Days(t.Task)
	}
	p.Abandons = t.NodeType != plan.Check && t.TaskID != state.Plan.RootTaskID && t.Status != plan.StatusAbandoned &&
		t.Status != plan.StatusDone && !t.Planning()
	p.Reruns = t.Status == plan.StatusDone && !t.Planning() && t.Judges == nil && t.Decides == nil
	p.Restores = t.NodeType != plan.Check && t.Status == plan.StatusAbandoned
	if at != nil {
		return s.show(w, r, http.StatusOK, "task", &p)
	}
	if err := state.MayBegin(); err != nil {
		p.Idle = plain.Line(err.Error())
	}
	if p.Session = state.SessionStatus(); p.Session == plan.SessionCompleted {
		p.Token = "" // nothing is added to it
	}
	now, err := s.Read(r.Context(), snap)
	if err != nil {
		return err
	}
	p.Stale = now.Task(t.TaskID).Stale
	for _, w := range todos(now) {
		if w.On == t.TaskID {
			p.Waits = append(p.Waits, w)
			p.Due = p.Due || w.Act == engine.ActSubmit
			p.Outdated = p.Outdated || w.Act == engine.ActHolds
		}
	}
	if p.Submits = p.May() && t.DeliverableSpec != nil && p.Idle == "" &&
		(p.Due || p.Outdated || mayHandIn(t)); p.Submits && !t.Changes() {
		if p.Typed, err = typedFiles(r.Context(), s.Store, t, p.Candidate); err != nil {
			return err
		}
	}
	for _, one := range s.running(now) {
		if one.Task == t.TaskID || p.CheckTask != nil && one.Task == p.CheckTask.TaskID {
			p.Claim, p.Tail = &plan.Claim{Task: one.Task, Agent: one.Agent, Started: one.Started}, one.Tail
		}
	}
	return s.show(w, r, http.StatusOK, "task", &p)
}

// mayHandIn reports whether a person's version of the task would be taken.
func mayHandIn(t *plan.TaskState) bool {
	if t.NodeType != plan.Action || t.DeliverableSpec == nil || t.Planning() || t.Fill != nil {
		return false
	}
	switch t.Status {
	case plan.StatusReady, plan.StatusReadyToCheck, plan.StatusToBeModified, plan.StatusWaitingExternal:
		return true
	}
	return false
}

// bind finds the tasks around this one.
func (p *taskPage) bind(s *plan.State) {
	states := func(ids []plan.TaskID) (all []*plan.TaskState) {
		for _, id := range ids {
			if s.Tasks[id] != nil {
				all = append(all, s.Tasks[id])
			}
		}
		return all
	}
	p.Inputs, p.Open = states(s.Inputs(p.TaskID)), states(s.WaitsFor(p.TaskState))
	p.Parts = states(s.Children(p.TaskID))
	if p.NodeType == plan.Action {
		p.Consumers = states(s.Dependents(p.TaskID))
	}
	p.Lineage = states(s.Lineage(p.Task)[1:])
	slices.Reverse(p.Lineage)
}

// judge finds out what a review of the task is about, and what a person can do.
func (p *taskPage) judge(s *plan.State) {
	p.CheckTask = s.CheckOf(p.TaskID)
	p.Vacant = s.OpenSeats(p.TaskID)
	if len(p.Vacant) > 0 && len(s.Reviewers(p.TaskID)) > len(p.Seen.Seats) {
		p.Vacant = append([]string{""}, p.Vacant...) // a person may review without a seat, too
	}
	p.MinScore, p.Quorum, p.Reviewers = s.MinScore(p.TaskID), s.Quorum(p.TaskID), s.Reviewers(p.TaskID)
	p.Rubric, p.Notes = s.RubricOf(p.TaskID), s.StandingNotes(p.TaskState)
	for _, c := range p.AcceptanceCriteria {
		p.Judged[c.ID] = c.Manual()
	}
	if len(p.Versions) > 0 {
		p.Candidate = &p.Versions[0]
		for _, k := range p.Candidate.Checks {
			p.take(k.Criteria)
		}
		for _, r := range slices.Backward(p.Candidate.Reviews) {
			p.take(r.Criteria)
		}
	}
	p.Blocked = p.Status == plan.StatusWaitingExternal || p.CheckTask != nil &&
		p.CheckTask.Status == plan.StatusWaitingExternal
	if i := slices.IndexFunc(p.Seen.Questions, func(q export.Asked) bool { return q.Answer == nil }); i >= 0 {
		p.Asks = &p.Seen.Questions[i]
	}
	if p.Asks == nil && p.Status == plan.StatusWaitingInput {
		p.Lacks = s.Lacking(p.Task)
	}
}

func (p *taskPage) take(results []plan.CriterionResult) {
	for _, c := range results {
		p.Evidence[c.ID] = c
	}
}

// Reviewable reports whether a person's verdict on the newest version can be recorded.
func (p *taskPage) Reviewable() bool {
	return p.May() && p.Candidate != nil && p.Status != plan.StatusAbandoned && !p.Planning()
}

// Names are the files that a task declares.
func (p *taskPage) Names() string {
	names := append([]string{p.DeliverableSpec.Filename}, p.DeliverableSpec.Files...)
	return plain.Line(strings.TrimPrefix(strings.Join(names, ", "), ", "))
}

// taskTail is the end of the log of a task that somebody works on now.
func (s *Server) taskTail(w http.ResponseWriter, r *http.Request) error {
	_, state, t, _, err := s.askedTask(r)
	if err != nil {
		return err
	}
	return writeText(w, s.tail(state.Plan.PlanID, t.TaskID))
}

// largestLog is how much of an attempt's log is shown: all that is ever recorded.
const largestLog = 2 << 20

func (s *Server) attemptLog(w http.ResponseWriter, r *http.Request) error {
	snap, _, t, _, err := s.askedTask(r)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 {
		return notFound("there is no such attempt")
	}
	oid := snap.Document(t.TaskID, plan.AttemptRecord{N: n}.Log())
	if oid == "" {
		return notFound("attempt a%d of %s has no log", n, t.TaskID)
	}
	data, _, err := s.Store.BlobHead(r.Context(), oid, largestLog)
	if err != nil {
		return err
	}
	return writeText(w, plain.Text(strings.ToValidUTF8(string(data), "\ufffd")))
}

func writeText(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err := w.Write([]byte(text))
	return err
}

// version is one version of a deliverable with its files and reviews.
type version struct {
	readmodel.Version
	ID      string
	Files   []file
	Changed []change // instead of Files, of a task that changes the repository
	Reviews []review // newest first
}

// file is one file of a version, from its tree.
type file struct {
	gitstore.TreeEntry
	Size   int64  // from its artifact.json; -1 if missing there
	SHA256 string // likewise, as the manifest has it
	URL    string
}

type review struct {
	plan.Review
	Rendered template.HTML // APPROVED.md or REJECTED.md
	Signed   signed
}

// ok records what can't be read.
func (p *taskPage) ok(err error) bool {
	if err != nil {
		p.Problems = append(p.Problems, plain.Line(err.Error()))
	}
	return err == nil
}

// largestReview is how much of a review file the page shows.
const largestReview = 256 << 10

// versions adds to the task's versions what a page shows besides: their files, and the review files.
func (p *taskPage) versions(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) {
	docs := export.DocumentsOf(ctx, store, snap, p.TaskID)
	for _, seen := range slices.Backward(p.Seen.Versions) {
		v := version{Version: seen, ID: plan.VersionID(seen.Record.Version)}
		if p.Changes() {
			p.changedIn(ctx, store, &v)
		} else {
			p.files(ctx, store, &v)
		}
		for _, r := range slices.Backward(seen.Reviews) {
			text, err := docs.ReviewFile(r.Record)
			p.ok(err)
			rendered, _ := markdown(text[:min(len(text), largestReview)])
			v.Reviews = append(v.Reviews, review{Review: r.Review, Rendered: rendered})
		}
		p.Versions = append(p.Versions, v)
	}
}

func (p *taskPage) files(ctx context.Context, store *gitstore.Store, v *version) {
	entries, err := store.ListTree(ctx, v.Record.Files)
	p.ok(err)
	for _, e := range entries {
		f := file{TreeEntry: e, Size: -1, URL: planURL(p.Plan, "task", string(p.TaskID), "file", v.ID) + "/" +
			filePath(e.Path)}
		for _, info := range v.Artifact.Files {
			if info.Path == e.Path {
				f.Size, f.SHA256 = info.Size, info.SHA256
			}
		}
		v.Files = append(v.Files, f)
	}
}
