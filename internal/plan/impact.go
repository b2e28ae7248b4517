package plan

import "slices"

// Impact are the tasks that new approved versions of some tasks have made again, in plan order, as the plan is now:
// those that follow them, directly or not, and those that judge any of them. A person is asked about what a person made,
// and what these yield stays until then. What has no approved version yet is made anyway.
func (s *State) Impact(ids ...TaskID) (again, asks []TaskID) {
	changed := map[TaskID]bool{}
	of := s.actions(ids)
	for _, leaf := range of {
		changed[leaf] = true
	}
	asked := map[TaskID]bool{}
	for grows := true; grows; {
		grows = false
		for _, t := range s.order {
			if t.NodeType != Action || t.Approved == 0 || changed[t.TaskID] || asked[t.TaskID] || !t.follows() ||
				t.Status == StatusAbandoned ||
				!slices.ContainsFunc(s.Inputs(t.TaskID), func(in TaskID) bool { return changed[in] }) {
				continue
			}
			grows = true
			if s.Records.Of(t.TaskID).saysFrom(t.Approved) {
				changed[t.TaskID] = true
			} else {
				asked[t.TaskID] = true
			}
		}
	}
	for _, t := range s.order {
		switch {
		case asked[t.TaskID]:
			asks = append(asks, t.TaskID)
		case changed[t.TaskID] && !slices.Contains(of, t.TaskID):
			again = append(again, t.TaskID)
		}
	}
	return again, asks
}
