package engine

import (
	"maps"
	"sync"
	"time"

	"gitwf/internal/plan"
)

// sightings are the misdated claims that a run has seen. Their times say nothing here, so what counts is how long they
// have not been renewed, by the clock of the run.
type sightings struct {
	mu    sync.Mutex
	first map[plan.TaskID]sighting
}

type sighting struct {
	claim plan.Claim
	at    time.Time // when it was first seen as it is
}

// note takes up what the claims are now.
func (s *sightings) note(claims plan.Claims, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.first, func(id plan.TaskID, old sighting) bool { return claims[id] != old.claim })
	for id, c := range claims {
		if _, known := s.first[id]; !known && c.Misdated(now) {
			s.first[id] = sighting{c, now}
		}
	}
}

// overdue reports whether a claim has been seen for longer than its owner can have gone without renewing it.
func (s *sightings) overdue(c plan.Claim, now time.Time, lease time.Duration) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.first[c.Task]
	longest := max(lease, min(c.Expires.Sub(c.Started), plan.MaxLease)) // the owner may have another lease than we
	return ok && seen.claim == c && now.Sub(seen.at) > longest
}
