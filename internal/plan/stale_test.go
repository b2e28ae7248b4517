package plan

import (
	"strings"
	"testing"
)

// What is stale goes on to all that was made from it, and ends with the cause. A version that does not say what it was
// made from is as it was before versions did.
func TestStale(t *testing.T) {
	no := false
	const chain = "B-1: +1, artifacts/v1/from/A-1-v1; C-1: +1, artifacts/v1/from/B-1-v1; "
	for _, tt := range []struct{ name, records, want string }{
		{"nothing has changed", chain + "A-1: +1", "DONE DONE DONE"},
		{"what it was made from is rejected", chain + "A-1: -1", "TO_BE_MODIFY TO_BE_MODIFY TO_BE_MODIFY"},
		{"a newer version of that awaits review", chain + "A-1: +1, v2", "READY_TO_CHECK TO_BE_MODIFY TO_BE_MODIFY"},
		{"another version is approved", chain + "A-1: -1, +2", "DONE TO_BE_MODIFY TO_BE_MODIFY"},
		{"it still holds", chain + "A-1: -1, +2; B-1: +1, artifacts/v1/from/A-1-v1, holds/h1-v1-A-1-v2.json", "DONE DONE DONE"},
		{"it held for another", chain + "A-1: -1, -2, +3; B-1: +1, artifacts/v1/from/A-1-v1, holds/h1-v1-A-1-v2.json",
			"DONE TO_BE_MODIFY TO_BE_MODIFY"},
		{"it is made again", chain + "A-1: -1, +2; B-1: +1, +2, artifacts/v1/from/A-1-v1, artifacts/v2/from/A-1-v2",
			"DONE DONE TO_BE_MODIFY"},
		{"what it was made from is given up", chain + "A-1: -1, marks/0001-abandoned.json", "ABANDONED DONE DONE"},
		{"versions of before", "A-1: -1, +2; B-1: +1; C-1: +1", "DONE DONE DONE"},
		{"one of before between them", "A-1: -1, +2; B-1: +1; C-1: +1, artifacts/v1/from/B-1-v1", "DONE DONE DONE"},
		{"made from each other", "A-1: +1, +2, artifacts/v2/from/B-1-v1; B-1: +1, +2, artifacts/v2/from/A-1-v2",
			"TO_BE_MODIFY TO_BE_MODIFY PENDING"},
		{"no task, and no deliverable", "A-1: +1, artifacts/v1/from/X-1-v1, artifacts/v1/from/CHECK-B-1-v1", "DONE READY PENDING"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			action := func(id TaskID, deps ...TaskID) *Task {
				return &Task{TaskID: id, NodeType: Action, ParentTaskID: "GOAL-1", DependsOn: deps}
			}
			p := &Plan{RootTaskID: "GOAL-1", Config: Config{MaxAttempts: 9}, Tasks: []*Task{{TaskID: "GOAL-1", NodeType: Goal},
				action("C-1", "B-1"), action("B-1", "A-1"), action("A-1")}}
			statuses := func() string {
				s := Derive(p, rowsRecords(tt.records), nil, noon)
				var got []string
				for _, id := range []TaskID{"A-1", "B-1", "C-1"} {
					got = append(got, string(s.Tasks[id].Status))
				}
				return strings.Join(got, " ")
			}
			if got := statuses(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			p.SchemaVersion, p.Task("B-1").Follows, p.Task("C-1").Follows = 2, &no, &no
			if got := statuses(); strings.Contains(strings.TrimPrefix(got, "TO_BE_MODIFY"), "TO_BE_MODIFY") {
				t.Errorf("what does not follow is %s", got)
			}
		})
	}
}
