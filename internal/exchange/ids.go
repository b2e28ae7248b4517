package exchange

import (
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// namer gives items ids that are legal here: what the source calls them where that is possible, else the next free
// number.
type namer struct {
	taken  map[plan.TaskID]bool
	next   int
	below  map[plan.TaskID]int
	listed map[string]plan.TaskID // by the id of the source
}

func newNamer() *namer {
	return &namer{taken: map[plan.TaskID]bool{plan.RootID: true}, below: map[plan.TaskID]int{},
		listed: map[string]plan.TaskID{}}
}

var numbered = pattern.Compile(`^[0-9]{1,9}(\.[0-9]{1,9})*$`)

var glued = pattern.Compile(`^((?:[A-Z][A-Z0-9]*-)*[A-Z]+)([0-9]+(?:\.[0-9]+)*)$`)

// legalID is the id itself, in upper case, or with IMPL- before a bare number; "" if it can't be made one.
func legalID(s string) plan.TaskID {
	s = strings.ToUpper(strings.TrimSpace(s))
	if numbered.Get().MatchString(s) {
		s = "IMPL-" + s
	}
	id := plan.TaskID(s)
	if m := glued.Get().FindStringSubmatch(s); !id.Valid() && m != nil {
		id = plan.TaskID(m[1] + "-" + m[2]) // T001 and M1-T2 are T-001 and M1-T-2
	}
	if !id.Valid() || len(s) > 80 || strings.HasPrefix(s, "PLAN-") || strings.HasPrefix(s, "CHECK-") ||
		strings.HasPrefix(s, "GOAL-") {
		return ""
	}
	return id
}

// wanted takes the id that an item wishes to have, if it is legal and free.
func (n *namer) wanted(it *item) bool {
	id := legalID(it.wish)
	if id == "" || n.taken[id] {
		return false
	}
	n.take(it, id)
	return true
}

func (n *namer) take(it *item, id plan.TaskID) {
	n.taken[id] = true
	n.listed[it.source] = id
}

// given takes the next free id: a number of its own, or one below its parent's.
func (n *namer) given(it *item, parent plan.TaskID) {
	const most = 60 // below it, ids stay within the limit
	for {
		var id plan.TaskID
		if parent != "" && len(parent) < most {
			n.below[parent]++
			id = parent + plan.TaskID("."+strconv.Itoa(n.below[parent]))
		} else {
			n.next++
			id = plan.TaskID(fmt.Sprintf("IMPL-%d", n.next))
		}
		if !n.taken[id] {
			n.take(it, id)
			return
		}
	}
}
