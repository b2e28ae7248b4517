package readmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Detail is all that is seen of one task: itself, its records, and what is around it.
type Detail struct {
	Task
	Spec *plan.Task `json:"task"`
	export.Work
	Questions []export.Asked        `json:"questions"`
	HandedIn  []plan.InputDocument  `json:"handed_in"`
	Waivers   []plan.WaiverDocument `json:"waivers,omitempty"`
	Seats     []Seat                `json:"seats,omitempty"`
	Moves     []export.Move         `json:"decisions,omitempty"` // that it took, or that are about it, newest first
	Notes     []plan.Note           `json:"notes,omitempty"`     // that came with its records
	Consumers []plan.TaskID         `json:"consumers"`
	// oldest first; of a task that makes plans, of each leaf
	Feasibility []engine.Judgement `json:"feasibility"`
	Assumed     *estimate.Estimate `json:"assumed_estimate,omitempty"` // by the rule, where the plan gives none
	LocalPath   string             `json:"tree_path"`                  // of the task's records in the plan's tree
	Others      []string           `json:"records"`                    // below it, that nothing above shows

	Versions []Version `json:"-"` // oldest first
	Tries    []Try     `json:"-"` // oldest first
	Days     float64   `json:"-"` // of its estimate, assumed or not
}

// Version is one version of a deliverable with what was said of it.
type Version struct {
	plan.Artifact
	Record   plan.ArtifactRecord
	Verdict  plan.Verdict // "" while it awaits review
	Said     string       // the verdict in words, with what else is to be said of it
	Reviews  []Reviewed
	Checks   []plan.Checked // what the engine ran, while a person's part is awaited
	Waived   []string
	Active   bool
	Approved bool
}

// Reviewed is a review with its record.
type Reviewed struct {
	plan.Review
	Record plan.ReviewRecord
}

// Try is an attempt without a version or a review.
type Try struct {
	plan.Attempt
	N      int
	Path   string // of its record
	HasLog bool
}

// Seat is a role among a task's reviewers, and who has spoken for it on the newest version.
type Seat struct {
	Role     string       `json:"role"`
	ReviewID string       `json:"review_id,omitempty"` // "" while the seat is open
	Verdict  plan.Verdict `json:"verdict,omitempty"`
	Agent    string       `json:"agent,omitempty"`
	Review   *plan.Review `json:"-"`
}

// How many of a plan's newest notes and decisions are looked through for those of one task.
const (
	mostNotes = 200
	mostMoves = 200
)

// ReadTask reads everything about a task. Unreadable records are left out and reported in the error: a
// foreign ref may hold anything. weights is called only for a task without an estimate.
func ReadTask(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, s *plan.State, t *plan.TaskState,
	weights func() (estimate.Weights, error)) (*Detail, error) {
	r := recordReader{Documents: export.DocumentsOf(ctx, store, snap, t.TaskID)}
	d := &Detail{Task: TaskOf(s, t), Spec: t.Task, Consumers: []plan.TaskID{}, LocalPath: t.TaskID.Dir(),
		Others: snap.Listed(t.TaskID), Days: t.EstimatedPersonDays}
	rec := snap.Records.Of(t.TaskID)
	d.Artifacts, d.Reviews, d.Work.Attempts = []plan.Artifact{}, []plan.Review{}, []plan.Attempt{}
	var reviews []Reviewed
	for _, rev := range rec.Reviews {
		if doc, err := r.Review(rev); r.readable(err) {
			d.Reviews, reviews = append(d.Reviews, doc), append(reviews, Reviewed{doc, rev})
		}
	}
	for _, a := range rec.Artifacts {
		v := r.version(s, t, rec, a)
		for _, one := range reviews {
			if one.Record.Version == a.Version {
				v.Reviews = append(v.Reviews, one)
			}
		}
		d.Versions, d.Artifacts = append(d.Versions, v), append(d.Artifacts, v.Artifact)
	}
	for _, a := range rec.Attempts {
		if doc, err := r.Attempt(a); r.readable(err) {
			d.Work.Attempts = append(d.Work.Attempts, doc)
			d.Tries = append(d.Tries, Try{doc, a.N, a.Path(), snap.Document(t.TaskID, a.Log()) != ""})
		}
	}
	d.Questions, d.HandedIn = readAll(&r, rec.Questions, r.Question), readAll(&r, r.Inputs(), r.Input)
	d.Waivers = readAll(&r, rec.Waivers, r.Waiver)
	var err error
	d.Landings, err = r.Landings()
	r.readable(err)
	d.Notes, err = export.Notes(ctx, store, snap, mostNotes)
	r.readable(err)
	d.Notes = slices.DeleteFunc(d.Notes, func(n plan.Note) bool { return !n.Is(t.TaskID) && !n.Is(t.TaskID.CheckID()) })
	d.Moves, err = export.Moves(ctx, store, snap, mostMoves)
	r.readable(err)
	d.Moves = slices.DeleteFunc(d.Moves, func(m export.Move) bool { return m.By != t.TaskID && m.Task != t.TaskID })
	d.Feasibility, err = engine.Judgements(ctx, store, snap, t.TaskID)
	r.readable(err)
	if t.NodeType == plan.Action {
		d.Consumers = append(d.Consumers, s.Dependents(t.TaskID)...)
	}
	d.Seats = seatsOf(s, t, d.Reviews)
	if t.NodeType == plan.Action && !t.Planning() && t.EstimatedPersonDays == 0 {
		if w, err := weights(); r.readable(err) {
			rule := w.Estimate(t.Task)
			d.Assumed, d.Days = &rule, rule.Days
		}
	}
	return d, errors.Join(r.problems...)
}

// recordReader reads a task's records, and keeps why some can't be read.
type recordReader struct {
	export.Documents
	problems []error
}

func (r *recordReader) readable(err error) bool {
	if err != nil {
		r.problems = append(r.problems, err)
	}
	return err == nil
}

// readAll are the documents of the readable records.
func readAll[R, D any](r *recordReader, records []R, read func(R) (D, error)) []D {
	all := []D{}
	for _, rec := range records {
		if doc, err := read(rec); r.readable(err) {
			all = append(all, doc)
		}
	}
	return all
}

func (r *recordReader) version(s *plan.State, t *plan.TaskState, rec *plan.TaskRecords, a plan.ArtifactRecord) Version {
	id := plan.VersionID(a.Version)
	v := Version{Record: a, Verdict: s.VersionVerdict(t.TaskID, id), Said: saidOf(s, t.TaskID, id),
		Active: a.Version == t.Active, Approved: a.Version == t.Approved}
	var err error
	v.Artifact, err = r.Artifact(a)
	r.readable(err)
	v.ArtifactID = cmp.Or(v.ArtifactID, id)
	for _, k := range rec.Checks {
		if k.Version == a.Version {
			v.Checks = append(v.Checks, readAll(r, []plan.CheckRecord{k}, r.Check)...)
		}
	}
	for _, w := range rec.Waivers {
		if w.Version == a.Version {
			v.Waived = append(v.Waived, plan.UnescapeName(w.Criterion))
		}
	}
	return v
}

// saidOf returns a version's verdict in words, with its caveats.
func saidOf(s *plan.State, id plan.TaskID, version string) string {
	switch verdict, n := s.VersionVerdict(id, version), plan.VersionNumber(version); {
	case verdict == "":
		return "awaits review"
	case verdict == plan.Rejected && s.LastingVerdict(id, version) == plan.Approved:
		return string(plan.Approved) + ", and set aside"
	case s.Accepted(id, n):
		return string(verdict) + " with a warning: its rounds were used up"
	case s.Concerns(id, n) || s.JudgedUnclear(id, n):
		return string(verdict) + " with concerns"
	default:
		return string(verdict)
	}
}

// seatsOf are the seats of a task, with the newest review in each.
func seatsOf(s *plan.State, t *plan.TaskState, reviews []plan.Review) []Seat {
	var all []Seat
	for _, role := range s.Seats(t.TaskID) {
		one := Seat{Role: role}
		for i, r := range reviews {
			if r.Reviewer == role && r.ReviewedArtifactID == plan.VersionID(t.Active) {
				one.ReviewID, one.Verdict, one.Agent, one.Review = r.ReviewID, r.Verdict, r.Agent, &reviews[i]
			}
		}
		all = append(all, one)
	}
	return all
}

// Rated lists each dimension of a review's rubric with its rating, or that it does not apply.
func Rated(r plan.Review) string {
	if r.Rubric == nil || len(r.Ratings) == 0 {
		return ""
	}
	var all []string
	for _, name := range r.Rubric.Names() {
		said := "does not apply"
		if n := r.Ratings[name]; n != nil {
			said = fmt.Sprint(*n)
		}
		all = append(all, name+" "+said)
	}
	return strings.Join(all, ", ")
}
