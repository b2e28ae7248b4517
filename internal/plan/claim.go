package plan

import (
	"time"
)

// How claims are judged across hosts (docs/format.md, section 6).
const (
	clockTolerance = time.Minute    // by which the clocks of two hosts may differ
	MaxLease       = 24 * time.Hour // of a claim, counted from its last renewal
)

// Vacant reports whether nobody holds the claim: it was given back and only keeps its number, or it can't be read.
func (c Claim) Vacant() bool { return c.Agent == "" && !c.HandedIn }

// Until is the time, by the clock of a host, from which others there may take the claim over. The owner's clock set
// Expires; that of another host may be ahead of it.
func (c Claim) Until(host string) time.Time {
	if c.Host == host {
		return c.Expires
	}
	return c.Expires.Add(clockTolerance)
}

// Misdated reports whether the claim's times are impossible by now, even within the tolerance: the owner's clock is
// ahead, or this one was set back. Only watching such a claim shows when it ends.
func (c Claim) Misdated(now time.Time) bool {
	return !c.Vacant() && (c.Started.After(now.Add(clockTolerance)) ||
		c.Expires.After(now.Add(MaxLease+clockTolerance)))
}

// ClaimsEnded returns a lower bound of the claims of an ACTION or CHECK that have ended, by their records. A new
// claim's number is above it: numbers grow although a claim is deleted once its work is recorded.
func (s *State) ClaimsEnded(id TaskID) int {
	t := s.Tasks[id]
	if t == nil {
		return 0
	}
	check := t.NodeType == Check
	if check {
		id = t.ReviewTargetTaskID
	}
	r := s.Records.Of(id)
	n := len(r.Artifacts)
	if check {
		n = len(r.Reviews) + len(r.Checks)
	}
	for _, a := range r.Attempts {
		if check == (a.Version > 0) {
			n++
		}
	}
	if !check {
		n += len(r.Acts)
	}
	if !check && s.Plan.Grafted(id) {
		n++
	}
	return n
}
