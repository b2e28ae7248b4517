package export

import (
	"context"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Notes reads a plan's notes, oldest first: those of the categories, or all without any, and of these the newest most;
// zero means no limit.
func Notes(ctx context.Context, store reader, snap *gitstore.Snapshot, most int, categories ...string) ([]plan.Note,
	error) {
	var notes []plan.Note
	all := snap.Records.Notes
	for i := len(all) - 1; i >= 0 && (most == 0 || len(notes) < most); i-- {
		if len(categories) > 0 && !slices.Contains(categories, all[i].Category) {
			continue
		}
		data, err := store.ReadFile(ctx, snap.Commit, all[i].Path())
		if err != nil {
			return nil, err
		}
		notes = append(notes, all[i].Read(data))
	}
	slices.Reverse(notes)
	return notes, nil
}
