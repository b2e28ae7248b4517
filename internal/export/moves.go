package export

import (
	"context"
	"slices"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Move is something that a decision said when it took effect: an order, a question, an answer or the end.
type Move struct {
	Said
	By       plan.TaskID `json:"by_task"`  // the deciding task
	Decision string      `json:"decision"` // its version
	Time     time.Time   `json:"created_at"`
}

// Moves are what a plan's decisions said, at most so many of these, newest first.
func Moves(ctx context.Context, store reader, snap *gitstore.Snapshot, most int) (all []Move, err error) {
	t := TalkOf(ctx, store, snap)
	if t == nil {
		return nil, nil
	}
	for _, task := range snap.Plan.Tasks {
		if task.Decides == nil {
			continue
		}
		docs := DocumentsOf(ctx, store, snap, task.TaskID)
		event := gitstore.LogEntry{Trailers: map[string]string{"Wf-Task": string(task.TaskID)}}
		for _, rec := range slices.Backward(docs.records().Acts) {
			var act struct {
				Wrote     []string  `json:"wrote"`
				CreatedAt time.Time `json:"created_at"`
			}
			if most--; most < 0 {
				break
			}
			if err := docs.Read(rec.Path(), &act); err != nil {
				return nil, err
			}
			for _, said := range t.Tell(event, act.Wrote) {
				all = append(all, Move{said, task.TaskID, plan.VersionID(rec.Version), act.CreatedAt})
			}
		}
	}
	return all, nil
}
