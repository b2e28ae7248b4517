package main

import (
	"gitwf/internal/plan"
)

// impactDocument is what show --impact --json prints.
type impactDocument struct {
	TaskID plan.TaskID   `json:"task_id"`
	Again  []plan.TaskID `json:"made_again"`   // in plan order
	Judges []plan.TaskID `json:"judged_again"` // those of them that judge others
	Asks   []plan.TaskID `json:"asked"`        // made by a person, or before versions named what they were made from
	Done   int           `json:"approved"`     // tasks that have an approved version
}

// showImpact says what a new version of a task has made again.
func (e *env) showImpact(s *plan.State, t *plan.TaskState) error {
	d := impactDocument{TaskID: t.TaskID, Again: []plan.TaskID{}, Judges: []plan.TaskID{}, Asks: []plan.TaskID{}}
	again, asks := s.Impact(t.TaskID)
	d.Again, d.Asks = append(d.Again, again...), append(d.Asks, asks...)
	for _, id := range again {
		if s.Tasks[id].Judges != nil {
			d.Judges = append(d.Judges, id)
		}
	}
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		if s.Tasks[id].Approved > 0 {
			d.Done++
		}
	}
	return e.print("impact", d)
}
