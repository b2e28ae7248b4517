package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/each"
	"gitwf/internal/expand"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/process"
)

// candidate is the newest version of a planning task, parsed.
type candidate struct {
	name  string
	data  []byte
	plan  *plan.Plan // nil if the file breaks rules
	whole *plan.Plan // what plan.json would become
	wrong plan.Findings
	fills []*plan.Task // that its graft adds, of a plan that is made from a workflow
}

// reviewedPlan is the first plan that a review has just approved: its graft need not read the text again, which takes
// most of the time of a long one. It is taken once, because a graft changes it.
type reviewedPlan struct {
	id    plan.ID
	files plan.OID // the tree of its version
	plan  *plan.Plan
}

// candidate reads and validates the newest version of a planning task.
func (e *Engine) candidate(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (candidate, error) {
	c := candidate{name: t.DeliverableSpec.Filename}
	v, ok := snap.Records.Of(t.TaskID).Version(t.Active)
	if !ok {
		return c, fmt.Errorf("%s has no version", t.TaskID)
	}
	var err error
	if c.data, err = e.Store.ReadFile(ctx, v.Files, c.name); err != nil {
		return c, err
	}
	s := snap.State()
	if c.fills, err = e.rendered(ctx, snap, t, c.data); errors.As(err, &c.wrong) {
		return c, nil
	} else if err != nil {
		return c, err
	}
	if r := e.reviewed.Swap(nil); r != nil && r.id == snap.ID && r.files == v.Files && len(s.Plan.Grafts) == 0 {
		c.plan = r.plan
	} else {
		c.plan, err = plandoc.ParseCandidate(s, t.TaskID, c.name, c.data, e.Policy.Floors)
	}
	if err != nil {
		err = taken(s.Plan, t.Task, err)
	} else {
		c.whole, err = s.Merged(t.TaskID, c.plan, t.Active)
	}
	if err == nil {
		err = c.whole.FillsTooDeep(c.fills).Err()
	}
	if errors.As(err, &c.wrong) {
		return c, nil
	}
	return c, err
}

// reviewPlan has the built-in review judge the newest version of a plan. A plan that breaks no rule is judged only once
// its command lines may run: first, its criteria must fail on an empty candidate.
func (e *Engine) reviewPlan(h *hold) error {
	ctx, snap, t := h.work, h.snap, h.task
	subject, err := e.subject(ctx, snap, h.state, t.TaskID, t.Active)
	if err != nil {
		return err
	}
	c, err := e.candidate(ctx, snap, t)
	if err != nil {
		return err
	}
	findings := c.wrong
	if len(findings) == 0 {
		if findings, err = e.typeFindings(c.whole); err != nil {
			return err
		}
		if t.Fill == nil { // it may be of a workflow that was pinned before
			findings = append(findings, plandoc.ObsoleteFindings(c.plan)...)
		}
	}
	byAgent := subject.Artifact.Session != "" // a person's file was tried before it was handed in
	if len(findings) == 0 && byAgent {
		findings = append(c.forbidden(h.state, subject.Artifact.Agent), c.whole.ChecksAlone(snap.Plan)...)
	}
	draft := Draft{Name: c.name, Data: c.data, Plan: c.plan}
	if len(findings) == 0 && byAgent {
		if findings, err = e.MissingPaths(ctx, draft); err != nil {
			return err
		}
	}
	if len(findings) == 0 && byAgent {
		fresh := e.Untrusted(c.plan)
		if len(fresh) > 0 && !e.Agents.TrustsCommandsOf(subject.Artifact.Agent) {
			return &untrustedError{t.TaskID, t.Active, CountUntrusted(fresh)}
		}
		if err := e.Trust.Add(fresh); err != nil {
			return err
		}
		if findings, err = e.RedFirst(ctx, draft); err != nil {
			return err
		}
	}
	judged := judgedAs(t.Task, c.plan, c.whole)
	days := plandoc.Stated // the agent that estimates its plan has the first word on what it leaves out
	if !subject.Artifact.Estimated(t.Agent) {
		weights, err := e.Weights()
		if err != nil {
			return err
		}
		days = weights.Days
	}
	rev := check.OfPlan(subject, judged, findings, days, e.Now())
	if t.SplitTargetTaskID != "" && c.plan != nil {
		if fields := c.plan.Ignored(); len(fields) > 0 {
			rev.Reason += " " + Ignored(fields) + "."
		}
	}
	if err := e.recordReview(ctx, h.plan, rev, subject, nil, textsOf(findings)); err != nil {
		return err
	}
	if rev.Verdict == plan.Approved && len(snap.Plan.Grafts) == 0 {
		e.reviewed.Store(&reviewedPlan{h.plan, subject.Artifact.Tree, c.plan})
	}
	return nil
}

// Ignored says that fields of a fragment have no effect.
func Ignored(fields []string) string {
	return strings.Join(fields, ", ") + ": ignored, because the plan's hold"
}

// forbidden is what an agent's plan may not do, and a person's may.
func (c candidate) forbidden(s *plan.State, by string) plan.Findings {
	fs := append(plandoc.Locate(c.name, c.data, s.Amended(c.whole)), c.whole.Loosens(s.Plan)...)
	if by == plan.AgentOutline { // it reads by rule what somebody has written
		return fs
	}
	if c.whole.Register && !s.Plan.Register {
		fs = append(fs, plan.Finding{Code: "loosens", Path: "register", Expected: "none", Found: "true",
			Message: "an agent's plan can't be a register: nobody would do what was asked for"})
	}
	before := s.Plan.Index()
	for i, t := range c.whole.Tasks {
		old := before.Task(t.TaskID)
		if old == nil {
			old = &plan.Task{}
		}
		if d, was := t.Decides, old.Decides; d != nil && was != nil && d.Max > was.Max {
			fs = append(fs, plan.Finding{Code: "loosens", Path: fmt.Sprintf("tasks[%d].decides.max", i),
				TaskID: t.TaskID, Message: "an agent's plan can't set this limit wider than it is",
				Expected: fmt.Sprintf("at most %d", was.Max), Found: fmt.Sprint(d.Max)})
		}
		if t.Closes != old.Closes || t.DoneElsewhere != "" && old.DoneElsewhere == "" ||
			t.Meta["imported"] != nil && old.Meta["imported"] == nil {
			fs = append(fs, plan.Finding{Code: "loosens", Path: fmt.Sprintf("tasks[%d]", i), TaskID: t.TaskID,
				Message:  "an agent's plan can't say that its tasks are from another system",
				Expected: "neither done_elsewhere, closes nor meta.imported", Found: "one of them"})
		}
	}
	return fs
}

// judgedAs is what the built-in review looks at: of a fragment, the part of the whole that it stands in.
func judgedAs(t *plan.Task, candidate, whole *plan.Plan) *plan.Plan {
	switch {
	case candidate == nil:
		return nil
	case t.SplitTargetTaskID != "":
		return whole.Below(t.SplitTargetTaskID)
	case t.FillTargetTaskID != "":
		return whole.Below(t.FillTargetTaskID)
	}
	return candidate
}

// untrustedError: a plan can't be judged before its user has seen its command lines.
type untrustedError struct {
	task    plan.TaskID
	version int
	what    string
}

func (e *untrustedError) Error() string {
	return fmt.Sprintf("%s: %s of the plan not trusted here", e.task, e.what)
}

// NewLines are the command lines of a plan, and of its candidates that await review, that may not run here yet.
func (e *Engine) NewLines(ctx context.Context, snap *gitstore.Snapshot) ([]plandoc.CommandLine, error) {
	var later []plandoc.CommandLine
	if snap.Plan.Workflow != nil {
		w, err := expand.Of(ctx, e.Store, snap)
		if err != nil {
			return nil, err
		}
		later = expand.Later(w.Commands())
	}
	lines, err := e.newRules(ctx, snap)
	if err != nil {
		return nil, err
	}
	lines = append(e.Untrusted(snap.Plan, later...), lines...)
	s := snap.State()
	for _, t := range snap.Plan.Tasks {
		ts := s.Tasks[t.TaskID]
		if t.NodeType != plan.Action || !t.Planning() || ts.Status != plan.StatusReadyToCheck {
			continue
		}
		c, err := e.candidate(ctx, snap, ts)
		if err != nil {
			return nil, err
		}
		if c.plan != nil {
			lines = append(lines, e.Untrusted(c.plan)...)
		}
	}
	return lines, nil
}

// redFirstTimeout bounds one criterion on an empty candidate. One that takes longer has not passed.
const redFirstTimeout = time.Minute

// RedFirst tries the run lines of the draft's criteria on an empty candidate, and finds the ACTIONs that would pass
// without any work, placed in the draft's file. Every line must be trusted, or handed in just now by the person who
// runs this. It tries each line once, several at a time, and reports progress through the context.
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
						"WF_CONTEXT="+os.DevNull, "WF_PLAN="+string(p.PlanID), "WF_TASK="+string(id))
				}
				known[key] = &trial{criterion: c, environ: slices.Clip(environ)}
				trials = append(trials, known[key])
			}
			of[id][c.ID] = known[key]
		}
	}
	lines := each.Of(trials, func(t *trial) plan.Criterion { return t.criterion })
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
