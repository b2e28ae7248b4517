package web

import (
	"context"
	"slices"
	"strconv"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// seat is a role among a task's reviewers, and who spoke for it on the newest version; nobody while it is open.
type seat struct {
	Role, By string
	Verdict  plan.Verdict
	Score    string // "" without one
	Rated    string
}

// seat finds out who has taken which seat.
func (p *taskPage) seat(s *plan.State) {
	p.Vacant = s.OpenSeats(p.TaskID)
	seats := s.Seats(p.TaskID)
	if len(p.Vacant) > 0 && len(s.Reviewers(p.TaskID)) > len(seats) {
		p.Vacant = append([]string{""}, p.Vacant...) // a person may review without a seat, too
	}
	for _, role := range seats {
		one := seat{Role: role}
		if len(p.Versions) > 0 && !slices.Contains(p.Vacant, role) {
			for _, r := range p.Versions[0].Reviews {
				if r.Reviewer == role && one.By == "" { // the newest is the first
					one.By, one.Verdict, one.Rated = r.By(), r.Verdict, rated(r.Review)
					if r.HasScore() {
						one.Score = strconv.Itoa(r.Score)
					}
				}
			}
		}
		p.Seats = append(p.Seats, one)
	}
}

// mostNotes is how many notes a page shows, the newest.
const mostNotes = 200

// notes are the plan's newest or, of these, those that came with a task.
func (s *Server) notes(ctx context.Context, snap *gitstore.Snapshot, task plan.TaskID) ([]plan.Note, error) {
	notes, err := export.Notes(ctx, s.Store, snap, mostNotes)
	if task != "" {
		notes = slices.DeleteFunc(notes, func(n plan.Note) bool { return !n.Is(task) && !n.Is(task.CheckID()) })
	}
	slices.Reverse(notes)
	return notes, err
}
