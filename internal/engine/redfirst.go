package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// redFirstTimeout bounds one criterion that is tried on nothing. One that takes longer has not passed.
const redFirstTimeout = time.Minute

// RedFirst tries the run lines of the draft's criteria on an empty candidate and finds the ACTIONs that would pass
// without any work, placed in the draft's file. Every line must be trusted, or handed in just now by the person who
// runs this. A line is tried once, however many criteria share it.
func (e *Engine) RedFirst(ctx context.Context, d Draft) (plan.Findings, error) {
	p := d.Plan
	dir, err := process.Scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		return nil, err
	}
	ground := check.Ground{
		Candidate: func(context.Context, string) error { return nil },
		Bundle:    func(context.Context, string) error { return nil },
		Scratch:   dir,
		Timeout:   min(redFirstTimeout, time.Duration(p.Limits().CheckTimeoutSeconds)*time.Second),
	}
	passed := map[plan.TaskID]map[string]bool{}
	tried := map[string]bool{}
	for _, t := range p.RedFirst() {
		id := t.TaskID
		passed[id] = map[string]bool{}
		ground.Environ = process.Environ(e.Environ, "WF_ROLE="+agent.RoleCheck, "WF_REPO="+e.repo(), "WF_IN="+in,
			"WF_CONTEXT="+os.DevNull, "WF_PLAN="+string(p.PlanID), "WF_TASK="+string(id))
		for _, c := range t.AcceptanceCriteria {
			key := c.CheckMethod + "\x00" + c.Run
			if strings.Contains(c.Run, "WF_TASK") {
				key += "\x00" + string(id) // the only thing in its surroundings that differs between tasks
			}
			pass, known := tried[key]
			if !known && c.Severity == plan.Must && !c.Manual() {
				res, err := check.Run(ctx, []plan.Criterion{c}, ground)
				if err != nil {
					return nil, err
				}
				pass = res[0].Passed()
				tried[key] = pass
			}
			passed[id][c.ID] = pass
		}
	}
	return plan.Locate(d.Name, d.Data, p.GreenBeforeWork(passed)), nil
}
