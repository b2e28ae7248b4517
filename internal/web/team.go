package web

import (
	"context"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// team is what the page of a plan with roles shows of those who work on it.
type team struct {
	Verified, OnlyDone int // deliverables that are verified, and merely done; zeros if nothing is judged
	Judged             bool
	Waiting            []waiting
	MoreWaiting        int
	Moves              []export.Move // newest first
}

// waiting is a task that waits for others.
type waiting struct {
	Task plan.TaskID
	Role string
	Why  string
	For  []awaited
}

// awaited is a task, or an empty seat of a review, that another task waits for.
type awaited struct {
	Task   plan.TaskID // "" for a seat
	Role   string
	Status plan.Status
}

// How much of it a page shows.
const (
	mostWaiting = 50
	mostMoves   = 100
)

// team finds out who waits for whom, and what was decided.
func (s *Server) team(ctx context.Context, snap *gitstore.Snapshot, state *plan.State) (t team, err error) {
	if len(snap.Plan.Roles) == 0 {
		return t, nil
	}
	for _, id := range state.Leaves(snap.Plan.RootTaskID) {
		t.Judged = t.Judged || len(state.JudgesOf(id)) > 0
		switch {
		case state.Verified(id):
			t.Verified++
		case state.Tasks[id].Status == plan.StatusDone:
			t.OnlyDone++
		}
	}
	for _, task := range snap.Plan.Tasks {
		ts := state.Tasks[task.TaskID]
		if ts == nil || ts.NodeType != plan.Action {
			continue
		}
		w := waiting{Task: ts.TaskID, Role: ts.Role, Why: state.Reason(ts)}
		for _, id := range state.WaitsFor(ts) {
			if on := state.Tasks[id]; on != nil {
				w.For = append(w.For, awaited{Task: id, Role: on.Role, Status: on.Status})
			}
		}
		if ts.Status == plan.StatusReadyToCheck {
			for _, role := range state.OpenSeats(ts.TaskID) {
				w.For = append(w.For, awaited{Role: role})
			}
			w.Why = strings.Join(state.StandingNotes(ts), ", ")
		}
		switch {
		case len(w.For) == 0:
		case len(t.Waiting) == mostWaiting:
			t.MoreWaiting++
		default:
			t.Waiting = append(t.Waiting, w)
		}
	}
	t.Moves, err = export.Moves(ctx, s.Store, snap, mostMoves)
	return t, err
}

// tell adds to moments what was said in them, of a plan with roles.
func (s *Server) tell(ctx context.Context, snap *gitstore.Snapshot, moments []moment) error {
	talk := export.TalkOf(ctx, s.Store, snap)
	if talk == nil {
		return nil
	}
	var commits []plan.OID
	for _, m := range moments {
		commits = append(commits, m.Commit)
	}
	added, err := s.Store.Added(ctx, commits)
	if err != nil {
		return err
	}
	for i := range moments {
		m := &moments[i]
		m.Said = talk.Tell(gitstore.LogEntry{Author: plan.Actor{Name: m.Author}, Subject: m.Subject,
			Trailers: map[string]string{"Wf-Task": string(m.Task)}}, added[m.Commit])
	}
	return nil
}

// mostNotes is how many notes a page shows, the newest.
const mostNotes = 200
