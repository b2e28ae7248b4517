package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Landings returns how the versions of a task that changes the repository came to branches, or did not, oldest first.
func (d Documents) Landings() ([]plan.Landing, error) {
	var list []plan.Landing
	for _, rec := range d.snap.Records.Of(d.id).Landings {
		var l plan.Landing
		if err := d.Read(rec.Path(), &l); err != nil {
			return list, err
		}
		list = append(list, l)
	}
	return list, nil
}

// Standing returns, of each task that changes the repository, what the records say of its approved version: the newest
// landing on each branch. It proves nothing: what is on a branch, the branch says.
func Standing(ctx context.Context, store reader, snap *gitstore.Snapshot) (map[plan.TaskID][]plan.Landing, error) {
	newest := map[plan.TaskID][]plan.Landing{}
	for _, t := range snap.State().Tasks {
		if !t.Changes() || len(snap.Records.Of(t.TaskID).Landings) == 0 {
			continue
		}
		all, err := DocumentsOf(ctx, store, snap, t.TaskID).Landings()
		if err != nil {
			return nil, err
		}
		branches := map[string]bool{}
		var list []plan.Landing
		for _, l := range slices.Backward(all) {
			if l.ArtifactID == plan.VersionID(t.Approved) && !branches[l.Branch] {
				branches[l.Branch] = true
				list = append(list, l)
			}
		}
		newest[t.TaskID] = list
	}
	return newest, nil
}

// LandingNotes says for people where the approved version of a task landed and where it did not, and why.
func LandingNotes(s *plan.State, t *plan.TaskState, list []plan.Landing) []string {
	if !t.Changes() || t.Approved == 0 {
		return nil
	}
	var notes []string
	for _, l := range list {
		switch {
		case l.Commit != "":
			notes = append(notes, fmt.Sprintf("landed on %s as %.12s", plain.Line(l.Branch), l.Commit))
		case l.Head != "":
			notes = append(notes, l.Outcome())
		default:
			notes = append(notes, fmt.Sprintf("did not land on %s: %s", plain.Line(l.Branch), plain.Line(l.Reason)))
		}
	}
	if len(notes) == 0 && t.Status == plan.StatusDone && s.Delivers(t.TaskID, t.Approved) {
		notes = append(notes, "lands by git wf land")
	}
	return notes
}

// Kinds reports what the deliverables of a plan are: changes of the repository, which land by git wf land, and
// documents, which export writes. Open are the approved changes without a record that they landed.
func Kinds(s *plan.State) (changes, documents bool, open []plan.TaskID) {
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		if !t.Changes() {
			documents = true
			continue
		}
		changes = true
		landed := false
		for _, l := range s.Records.Of(id).Landings {
			if l.Version == t.Approved {
				landed = l.Landed()
			}
		}
		if t.Approved > 0 && !landed && s.Delivers(id, t.Approved) {
			open = append(open, id)
		}
	}
	return changes, documents, open
}

// Next lists the commands with which the deliverables of a plan that is done land; once they have, what ends it. The
// roots are where bundles may be.
func Next(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, roots []string) ([]string, error) {
	s := snap.State()
	changes, documents, open := Kinds(s)
	var next []string
	for _, id := range open {
		command := "git wf land"
		if s.Records.Of(id).Proposed(s.Tasks[id].Approved) {
			command += " --prs"
		}
		next = each.Add(next, command)
	}
	if documents || !changes {
		if there, err := exported(ctx, store, snap, roots); err != nil {
			return nil, err
		} else if !there {
			next = append(next, "git wf export --commit")
		}
	}
	if len(next) == 0 && s.SessionStatus() == plan.SessionActive {
		next = append(next, "git wf complete")
	}
	return next, nil
}

// exported reports whether HEAD has the bundle that an export would write now.
func exported(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, roots []string) (bool, error) {
	head, err := store.CommitOf(ctx, "HEAD")
	if err != nil || head == "" {
		return false, err
	}
	for _, root := range roots {
		data, err := store.ReadFile(ctx, head, BundleDir(root, snap.ID)+"/"+ManifestName)
		var m Manifest
		if err != nil || json.Unmarshal(data, &m) != nil || !m.Complete {
			continue // there is none, or none that counts
		}
		now, err := PlanCommit(ctx, store, snap.Commit)
		if err != nil || m.PlanCommit == now {
			return err == nil, err
		}
	}
	return false, nil
}
