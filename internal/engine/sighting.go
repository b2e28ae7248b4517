package engine

import (
	"maps"
	"sync"
	"time"

	"gitwf/internal/plan"
)

// sightings are the misdated claims that a run has seen. Their times mean nothing here; what counts is how long they
// have not been renewed, by the clock of the run.
type sightings struct {
	mu    sync.Mutex
	first map[plan.TaskID]sighting
}

type sighting struct {
	claim plan.Claim
	at    time.Time // when we first saw it unchanged
}

// note records the current claims.
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

// overdue reports whether we have seen a claim unchanged for longer than its owner can go without renewing it.
func (s *sightings) overdue(c plan.Claim, now time.Time, lease time.Duration) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.first[c.Task]
	longest := max(lease, min(c.Expires.Sub(c.Started), plan.MaxLease)) // the owner's lease may differ from ours
	return ok && seen.claim == c && now.Sub(seen.at) > longest
}
