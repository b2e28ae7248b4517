package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// reader reads documents.
type reader interface {
	ReadFile(ctx context.Context, treeish plan.OID, path string) ([]byte, error)
}

// Bundle is what an export writes.
type Bundle struct {
	Manifest Manifest
	Data     []byte               // manifest.json
	Entries  []gitstore.TreeEntry // every file, paths relative to the bundle
}

// unfinished says that the plan has deliverables without approval.
func unfinished(id plan.ID, open []plan.TaskID) error {
	which := ""
	if len(open) > 0 {
		which = ": " + plan.JoinIDs(open)
	}
	return fault.Refused("git wf run, or git wf export --partial", "%s is not done%s", id, which)
}

// keptBack says that deliverables are approved and may not leave the plan: a task that judges them has not approved
// them, or they were taken because the rounds of their review were used up.
func keptBack(s *plan.State, ids []plan.TaskID) error {
	unjudged := slices.DeleteFunc(slices.Clone(ids), func(id plan.TaskID) bool {
		return s.Unjudged(id, s.Tasks[id].Approved) == ""
	})
	if len(unjudged) > 0 {
		return fault.Refused("git wf run, or git wf export --partial", "not verified: %s", plan.JoinIDs(unjudged))
	}
	return fault.Refused("git wf submit TASK PATH, and a review of that; or "+
		"final_deliverable_spec.deliver_accepted: true "+
		"in the plan; git wf export --partial leaves it out", "accepted with a warning, and so not "+
		"delivered: %s", plan.JoinIDs(ids))
}

// staleness says which inputs or criteria of an approved version have changed since; "" if none has, or if its task
// follows none and the criteria are the same.
func staleness(s *plan.State, i Item, o Options) string {
	why, known := s.Stale(i.TaskID)
	switch {
	case why != "" && !o.Partial && onlyStale(s, i.TaskID):
		return why
	case known && why == "" && !i.otherCriteria:
		return ""
	}
	return i.Stale
}

// onlyStale reports whether a task would be done, but that what its version was made from is no longer approved.
func onlyStale(s *plan.State, id plan.TaskID) bool {
	t := s.Tasks[id]
	why, _ := s.Stale(id)
	return why != "" && t.Status == plan.StatusToBeModified && t.Approved == t.Active
}

// allStale reports whether nothing is open but what is stale.
func allStale(s *plan.State) bool {
	open := s.Open()
	for _, w := range open {
		if !onlyStale(s, w.Task) {
			return false
		}
	}
	return len(open) > 0
}

// isComplete reports whether the whole is there. What is assembled may be while a part of it is to be made again.
func isComplete(s *plan.State) bool {
	last := s.Root()
	if f := last.FinalDeliverableSpec; f != nil && f.Mode == plan.Assemble && last.Status != plan.StatusAbandoned {
		last = s.Tasks[f.AssembleTaskID]
	}
	return last != nil && last.Status == plan.StatusDone
}

// Build builds the bundle from the evidence. If approvals that do not count leave tasks open it fails with an
// *UnprovenError; with Options.Partial it leaves those tasks out or takes an older approved version. Same commit,
// options and keys, same bytes.
func (s *Shelf) Build(ctx context.Context, e *Evidence, o Options) (*Bundle, error) {
	snap, state := e.Snapshot, e.Snapshot.State()
	b := builder{ctx: ctx, shelf: s, snap: snap, state: state, options: o}
	m := Manifest{
		FormatVersion: formatVersion,
		PlanID:        snap.ID,
		Title:         snap.Plan.Title,
		PlanCommit:    snap.Commit,
		ExportedAt:    plan.Second(snap.Time),
		Mode:          plan.PassThrough,
		Complete:      isComplete(state),
		Options:       o,
		Signatures:    e.SignedWord(),
		PolicyCommit:  e.policy,
		Items:         []Item{},
		Files:         []File{blobFile(attributesName, []byte(attributes))},
	}
	ids, final := b.wanted()
	if final != "" {
		m.Mode = plan.Assemble
	}
	if err := s.fill(ctx, snap, b.versions(ids)); err != nil {
		return nil, err
	}
	var open, kept []plan.TaskID
	var stale []string
	for _, id := range ids {
		item, ok, err := b.item(id)
		if err != nil {
			return nil, err
		}
		t := state.Tasks[id]
		if t.Status != plan.StatusDone && !onlyStale(state, id) {
			open = append(open, id)
		} else if !state.Delivers(id, t.Approved) {
			kept = append(kept, id)
		}
		if !ok {
			continue
		}
		item.Final = id == final
		if item.CandidateID == "" {
			item.Approvals = e.ApprovalsOf(id, item.ApprovedArtifactID)
		}
		if why := staleness(state, item, o); why != "" && item.CandidateID == "" {
			stale = append(stale, fmt.Sprintf("%s %s (%s)", id, item.ApprovedArtifactID, why))
		}
		m.Items = append(m.Items, item)
	}
	if !o.Partial && !o.IncludeCandidates && (len(open) > 0 || !m.Complete && !allStale(state)) {
		if lost := e.Lost(ids); len(lost) > 0 {
			return nil, &UnprovenError{lost}
		}
		return nil, unfinished(snap.ID, open)
	}
	if len(kept) > 0 && !o.Partial && !o.IncludeCandidates {
		return nil, keptBack(state, kept)
	}
	if len(stale) > 0 && !o.AllowStale {
		return nil, fault.Refused("git wf run makes it again where the plan follows what has changed; "+
			"git wf rerun TASK, or "+
			"git wf review TASK --still-holds, decides; git wf export --allow-stale takes it as it is", "stale: %s",
			strings.Join(stale, "; "))
	}
	var err error
	if m.RootCriteria, err = s.Checklist(ctx, snap, state, ids); err != nil {
		return nil, err
	}
	return assemble(m), nil
}

// assemble lists every file of the bundle except the manifest.
func assemble(m Manifest) *Bundle {
	b := &Bundle{Manifest: m, Data: plan.Document(m)}
	own := append([]File{blobFile(ManifestName, b.Data)}, m.Files...)
	for _, item := range m.Items {
		own = append(own, item.Files...)
	}
	for _, f := range own {
		b.Entries = append(b.Entries, gitstore.TreeEntry{Path: f.DestPath, Mode: f.Mode, OID: f.OID})
	}
	return b
}

// blobFile describes a file that belongs to the bundle and to no task.
func blobFile(path string, data []byte) File {
	sum := sha256.Sum256(data)
	id, _ := gitstore.HashBlob(bytes.NewReader(data), int64(len(data))) // a reader of memory does not fail
	return File{
		DestPath: path, Mode: "100644", OID: id,
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)),
	}
}

type builder struct {
	ctx     context.Context
	shelf   *Shelf
	snap    *gitstore.Snapshot
	state   *plan.State
	options Options
}

// wanted returns the tasks whose deliverables belong in the bundle and, for an assembled plan, the assembling task.
func (b *builder) wanted() (ids []plan.TaskID, final plan.TaskID) {
	ids, final = b.included()
	return slices.DeleteFunc(ids, func(id plan.TaskID) bool {
		t := b.state.Tasks[id]
		return t != nil && t.Changes() // it lands in the repository itself
	}), final
}

func (b *builder) included() (ids []plan.TaskID, final plan.TaskID) {
	root := b.state.Root()
	leaves := slices.Clone(b.state.Leaves(root.TaskID))
	spec := root.FinalDeliverableSpec
	switch {
	case spec == nil:
		return leaves, ""
	case spec.Mode == plan.Assemble && b.options.FinalOnly:
		return []plan.TaskID{spec.AssembleTaskID}, spec.AssembleTaskID
	case spec.Mode == plan.Assemble:
		return leaves, spec.AssembleTaskID
	case len(spec.IncludeChildren) > 0:
		for _, c := range spec.IncludeChildren {
			for _, leaf := range b.state.Leaves(c) {
				if !slices.Contains(ids, leaf) { // the plan may name both a goal and its child
					ids = append(ids, leaf)
				}
			}
		}
		return ids, ""
	}
	return leaves, ""
}

// version returns the version of a task that the options allow, 0 if there is none.
func (b *builder) version(t *plan.TaskState) (version int, candidate bool) {
	delivers := b.state.Delivers(t.TaskID, t.Approved)
	switch {
	case b.options.IncludeCandidates && t.Active > 0 && (t.Active != t.Approved || !delivers):
		return t.Active, true
	case !delivers:
		return 0, false
	}
	return t.Approved, false
}

// versions lists the tasks' versions that the options allow.
func (b *builder) versions(ids []plan.TaskID) []Version {
	var list []Version
	for _, id := range ids {
		if t := b.state.Tasks[id]; t != nil {
			if v, _ := b.version(t); v > 0 {
				list = append(list, Version{id, v})
			}
		}
	}
	return list
}

// Approved lists the versions that a partial bundle of the current plan would hold. It reads no documents.
func Approved(snap *gitstore.Snapshot, finalOnly bool) []Version {
	b := builder{state: snap.State(), options: Options{FinalOnly: finalOnly}}
	ids, _ := b.wanted()
	return b.versions(ids)
}

// Leaving lists the versions of deliverables that may leave the plan, changes too. It reads no documents.
func Leaving(snap *gitstore.Snapshot) []Version {
	b := builder{state: snap.State()}
	ids, _ := b.included()
	return b.versions(ids)
}

// item builds the entry of one task; ok is false if the options allow no version of it.
func (b *builder) item(id plan.TaskID) (item Item, ok bool, err error) {
	t := b.state.Tasks[id]
	if t == nil {
		return Item{}, false, fmt.Errorf("plan %s has no task %s", b.snap.ID, id)
	}
	version, candidate := b.version(t)
	if version == 0 {
		return Item{}, false, nil
	}
	a, err := b.shelf.artifact(b.ctx, b.snap, id, version)
	if err != nil {
		return Item{}, false, err
	}
	if err := b.sameFiles(a); err != nil {
		return Item{}, false, err
	}
	spec := t.DeliverableSpec
	item = Item{
		TaskID:    id,
		TaskTitle: t.Title,
		DeliverableSpec: specSummary{
			Format: spec.Format, Filename: spec.Filename, Files: spec.Files, SingleFile: spec.SingleFile,
			BundleMode: spec.BundleMode,
		},
		Tree:  a.Tree,
		Stale: staleReason(b.snap, b.state, a),
		Files: bundleFiles(t.Task, a),
	}
	if candidate {
		item.CandidateID = plan.VersionID(version)
		return item, true, nil
	}
	item.ApprovedArtifactID = plan.VersionID(version)
	rev, err := b.shelf.approval(b.ctx, b.snap, id, version)
	if err != nil {
		return Item{}, false, err
	}
	item.otherCriteria = rev.SpecHash != t.SpecHash()
	if item.otherCriteria && item.Stale == "" {
		item.Stale = "its criteria changed after " + rev.ReviewID
	}
	item.Review = &reviewSummary{
		rev.CheckTaskID, rev.ReviewID, rev.ReviewedArtifactID, rev.Verdict, rev.Score, rev.Reviewer, rev.Agent,
		rev.SelfReviewed,
		waivedCriteria(rev),
	}
	switch {
	case b.state.Accepted(id, version):
		item.Warning = "accepted"
	case b.state.Concerns(id, version):
		item.Warning = "concerns"
	}
	return item, true, nil
}

// sameFiles checks that artifact.json lists what its tree holds: the approval covers the tree.
func (b *builder) sameFiles(a plan.Artifact) error {
	held, err := b.shelf.files(b.ctx, a.Tree)
	if err != nil {
		return fmt.Errorf("%s %s: %w", a.TaskID, a.ArtifactID, err)
	}
	listed := each.By(a.Files, func(f plan.FileInfo) string { return f.Path })
	same := len(held) == len(a.Files) && len(held) == len(listed)
	for _, h := range held {
		f, ok := listed[h.Path]
		same = same && ok && f.Mode == h.Mode && f.OID == h.OID
	}
	if !same {
		return fmt.Errorf("%s %s: artifact.json does not list what its tree %s holds", a.TaskID, a.ArtifactID, a.Tree)
	}
	return nil
}

// bundleFiles returns the bundle's files for one version.
func bundleFiles(t *plan.Task, a plan.Artifact) []File {
	all := []File{}
	source := t.TaskID.Dir() + "/" + plan.ArtifactRecord{Version: plan.VersionNumber(a.ArtifactID)}.FilesPath() + "/"
	for _, f := range a.Files {
		all = append(all, File{DestPath: Dir(t) + "/" + f.Path, SourcePath: source + f.Path, Mode: f.Mode, OID: f.OID,
			SHA256: f.SHA256, Size: f.Size})
	}
	return all
}

// maxSlug limits the title's part of a directory name, in bytes.
const maxSlug = 80

// Dir returns the directory of a task in the bundle: its title as a safe name, and its full id.
func Dir(t *plan.Task) string {
	slug := plain.Slug(t.Title, '_')
	for len(slug) > maxSlug {
		_, size := utf8.DecodeLastRuneInString(slug)
		slug = slug[:len(slug)-size]
	}
	slug = plain.Slug(slug, '_')
	if slug == "" {
		return string(t.TaskID)
	}
	return slug + "_" + string(t.TaskID)
}
