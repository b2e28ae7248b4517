package web

import (
	"context"
	"html/template"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

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
	entries, err := store.ListTree(ctx, v.Record.Files, "")
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
