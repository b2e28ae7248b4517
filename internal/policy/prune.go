package policy

import (
	"cmp"
	"fmt"
	"strconv"
)

// PruneRules are what a policy says of prunes.
type PruneRules struct {
	Keep int      `json:"keep,omitempty"` // of each task's newest versions; zero means 3
	By   []string `json:"by,omitempty"`   // who may prune; none: anybody may
}

// Newest is how many of a task's newest versions a prune keeps whole.
func (r PruneRules) Newest() int { return cmp.Or(r.Keep, 3) }

func (p *Policy) checkPrune(bad func(code, where, text, found string)) {
	if p.Prune.Keep < 0 {
		bad("bad-number", "prune.keep", "can't be negative", strconv.Itoa(p.Prune.Keep))
	}
	for i, name := range p.Prune.By {
		if len(p.Keys) > 0 && !p.hasKey(name) {
			bad("pruner-without-key", fmt.Sprintf("prune.by[%d]", i), noKey, name)
		}
	}
}

// MayPrune says why somebody may not begin a new history of a plan; "" if they may. The arguments are those of
// MayChange.
func (p *Policy) MayPrune(committer, signer string) string {
	return p.mayOnly("the policy lets only these prune", "the commit", p.Prune.By, committer, signer)
}
