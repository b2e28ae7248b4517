package web

import (
	"context"
	"html/template"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// version is one version of a deliverable with its checks and reviews.
type version struct {
	plan.ArtifactRecord
	ID       string
	Verdict  plan.Verdict // "" while it awaits review
	Artifact plan.Artifact
	Files    []file
	Changed  []change // instead of Files, of a task that changes the repository
	Reviews  []review
	Checks   []plan.Checked // what the engine ran, while a person's part is awaited
	Waived   []string
	Active   bool
	Approved bool
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

type attempt struct {
	plan.Attempt
	N      int
	HasLog bool
}

// documents are the records of one task. Problems names the unreadable ones, and the rest is still there: a foreign ref
// may hold anything.
type documents struct {
	Versions  []version // newest first
	Tries     []attempt // newest first
	Questions []export.Asked
	HandedIn  []plan.InputDocument
	Waivers   []plan.WaiverDocument
	Problems  []string
}

// reading is the source of documents.
type reading struct {
	export.Documents
	ctx   context.Context
	store *gitstore.Store
	snap  *gitstore.Snapshot
	state *plan.State
	id    plan.TaskID
	docs  documents
}

func (s *Server) documents(ctx context.Context, snap *gitstore.Snapshot, state *plan.State, id plan.TaskID) documents {
	r := reading{Documents: export.DocumentsOf(ctx, s.Store, snap, id), ctx: ctx, store: s.Store, snap: snap, state: state,
		id: id}
	rec := snap.Records.Of(id)
	r.versions()
	for _, a := range slices.Backward(rec.Attempts) {
		if doc, err := r.Attempt(a); r.ok(err) {
			r.docs.Tries = append(r.docs.Tries, attempt{doc, a.N, snap.Document(id, a.Log()) != ""})
		}
	}
	r.docs.Questions = readable(&r, rec.Questions, r.Question)
	r.docs.HandedIn = readable(&r, r.Inputs(), r.Input)
	r.docs.Waivers = readable(&r, rec.Waivers, r.Waiver)
	return r.docs
}

// ok records what can't be read.
func (r *reading) ok(err error) bool {
	if err != nil {
		r.docs.Problems = append(r.docs.Problems, plain.Line(err.Error()))
	}
	return err == nil
}

// readable are the documents of the readable records.
func readable[R, D any](r *reading, records []R, read func(R) (D, error)) []D {
	var all []D
	for _, rec := range records {
		if doc, err := read(rec); r.ok(err) {
			all = append(all, doc)
		}
	}
	return all
}

func (r *reading) versions() {
	rec := r.snap.Records.Of(r.id)
	t := r.state.Tasks[r.id]
	for _, a := range slices.Backward(rec.Artifacts) {
		v := version{
			ArtifactRecord: a, ID: plan.VersionID(a.Version), Verdict: r.state.VersionVerdict(r.id, plan.VersionID(a.Version)),
			Active: a.Version == t.Active, Approved: a.Version == t.Approved,
		}
		var err error
		v.Artifact, err = r.Artifact(a)
		r.ok(err)
		if t.Changes() {
			r.changedIn(&v)
		} else {
			r.files(&v)
		}
		for _, rev := range slices.Backward(rec.Reviews) {
			if rev.Version == a.Version {
				r.review(&v, rev)
			}
		}
		for _, k := range rec.Checks {
			if k.Version != a.Version {
				continue
			}
			if doc, err := r.Check(k); r.ok(err) {
				v.Checks = append(v.Checks, doc)
			}
		}
		for _, w := range rec.Waivers {
			if w.Version == a.Version {
				v.Waived = append(v.Waived, plan.UnescapeName(w.Criterion))
			}
		}
		r.docs.Versions = append(r.docs.Versions, v)
	}
}

func (r *reading) files(v *version) {
	entries, err := r.store.ListTree(r.ctx, v.ArtifactRecord.Files, "")
	r.ok(err)
	recorded := map[string]plan.FileInfo{}
	for _, f := range v.Artifact.Files {
		recorded[f.Path] = f
	}
	for _, e := range entries {
		f := file{TreeEntry: e, Size: -1, URL: planURL(r.snap.ID, "task", string(r.id), "file", v.ID) + "/" +
			filePath(e.Path)}
		if info, ok := recorded[e.Path]; ok {
			f.Size, f.SHA256 = info.Size, info.SHA256
		}
		v.Files = append(v.Files, f)
	}
}

// largestReview is how much of a review file the page shows.
const largestReview = 256 << 10

func (r *reading) review(v *version, rec plan.ReviewRecord) {
	doc, err := r.Review(rec)
	if !r.ok(err) {
		return
	}
	text, err := r.ReviewFile(rec)
	r.ok(err)
	rendered, _ := markdown(text[:min(len(text), largestReview)])
	v.Reviews = append(v.Reviews, review{Review: doc, Rendered: rendered})
}
