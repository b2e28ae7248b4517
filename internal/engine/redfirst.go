package engine

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/process"
)

// redFirstTimeout bounds one criterion on an empty candidate. One that takes longer has not passed.
const redFirstTimeout = time.Minute

// RedFirst tries the run lines of the draft's criteria on an empty candidate. It finds the ACTIONs that would pass
// without any work, placed in the draft's file. Every line must be trusted, or handed in just now by the person who
// runs this. It tries each line once, however many criteria share it, and several at a time, and reports progress
// through the context.
func (e *Engine) RedFirst(ctx context.Context, d Draft) (plan.Findings, error) {
	p := cmp.Or(d.Whole, d.Plan)
	dir, release, err := e.Store.Scratch(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		return nil, err
	}
	setup := check.Setup{
		Candidate: func(context.Context, string) error { return nil },
		Bundle:    func(context.Context, string) error { return nil },
		Scratch:   dir,
		Timeout:   min(redFirstTimeout, time.Duration(p.Limits().CheckTimeoutSeconds)*time.Second),
	}
	usual, err := e.commandEnv()
	if err != nil {
		return nil, err
	}
	var trials []*trial
	known := map[string]*trial{}
	of := map[plan.TaskID]map[string]*trial{}
	for _, t := range p.RedFirst() {
		id := t.TaskID
		of[id] = map[string]*trial{}
		var environ []string
		for _, c := range t.AcceptanceCriteria {
			if c.Severity != plan.Must || c.Manual() {
				continue
			}
			key := c.CheckMethod + "\x00" + c.Run
			if strings.Contains(c.Run, "WF_TASK") {
				key += "\x00" + string(id) // the only part of its environment that differs between tasks
			}
			if known[key] == nil {
				if environ == nil {
					environ = process.Environ(usual, "WF_ROLE="+contract.RoleCheck.Env(), "WF_IN="+in,
						"WF_CONTEXT="+os.DevNull,
						"WF_PLAN="+string(p.PlanID), "WF_TASK="+string(id))
				}
				known[key] = &trial{criterion: c, environ: slices.Clip(environ)}
				trials = append(trials, known[key])
			}
			of[id][c.ID] = known[key]
		}
	}
	lines := make([]plan.Criterion, len(trials))
	for i, t := range trials {
		lines[i] = t.criterion
	}
	var leave func()
	if setup.Repo, leave, err = e.cleanRepo(ctx, dir, lines); err != nil {
		return nil, err
	}
	defer leave()
	if err := try(ctx, trials, setup); err != nil {
		return nil, err
	}
	passed := map[plan.TaskID]map[string]bool{}
	for id, all := range of {
		passed[id] = map[string]bool{}
		for c, t := range all {
			passed[id][c] = t.passed
		}
	}
	green := p.GreenBeforeWork(passed)
	if d.Whole != nil {
		return d.Placed(green), nil
	}
	return plandoc.Locate(d.Name, d.Data, green), nil
}

// trial is a run line to try on an empty candidate.
type trial struct {
	criterion plan.Criterion
	environ   []string
	passed    bool
}

// try runs the lines on all processors, each in its own directory. It stops at the first line that can't be run.
func try(ctx context.Context, trials []*trial, setup check.Setup) error {
	progress := gitstore.Track(ctx, "Trying criteria", len(trials))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	var counting sync.Mutex
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, t := range trials {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			g := setup
			g.Environ = t.environ
			res, err := check.Run(ctx, []plan.Criterion{t.criterion}, g)
			if err != nil {
				stop(err)
				return
			}
			t.passed = res[0].Passed()
			counting.Lock()
			defer counting.Unlock()
			progress.File()
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
