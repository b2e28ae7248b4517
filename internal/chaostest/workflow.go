package chaostest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed workflow_agent.sh
var workflowAgent string

//go:embed workflow_git.sh
var workflowGit string

//go:embed constructs.yaml
var constructs []byte

// Workflow is a plan that one of the program's workflows made, with a script for each role, at the point from where on
// no person is needed.
type Workflow struct {
	*Repo
	Events int      // that a run without a fault records; KillAtEvents counts them
	run    []string // the command that carries it out
	want   []string // the subjects of all events then, sorted
}

// flow is a workflow in a small size.
type flow struct {
	set    []string
	roles  string     // that take part
	person [][]string // what is done first, by a person too
	run    []string
}

var (
	approveScheme = [][]string{{"run"}, {"review", "SCHEME-1", "--approve"}}

	flows = map[string]flow{
		"brainstorm": {[]string{"mode=quick"}, "ideator challenger synthesizer product technical risk", nil, nil},
		"iterdev":    {[]string{"variant=sprint", "sprints=1"}, "architect developer tester reviewer", nil, nil},
		"lifecycle":  {[]string{"pipeline=impl-only"}, "planner executor tester reviewer architect explorer", approveScheme, nil},
		"spec": {[]string{"rounds=2", "views=user"}, "analyst researcher writer product technical quality risk coverage gatekeeper",
			[][]string{{"run"}, {"review", "CONFIRM-1", "--approve"}}, nil},
		"blackboard": {nil, "main test dev review", approveScheme, []string{"--orchestrator", "policy"}},
		"constructs": {nil, "maker architect judge", [][]string{{"run"}, {"answer", "SIZE-1", "large"}}, nil},
	}
)

// Workflows returns the names of the workflows, in order.
func Workflows() []string { return slices.Sorted(maps.Keys(flows)) }

// NewWorkflow makes a plan of a workflow.
func (l *Lab) NewWorkflow(ctx context.Context, name string) (*Workflow, error) {
	f := flows[name]
	w := &Workflow{run: append([]string{"run", "--jobs", "1"}, f.run...)}
	var err error
	if w.Repo, err = l.NewRepo(ctx); err != nil {
		return nil, err
	}
	if err := w.play(ctx, name, f.roles); err != nil {
		return nil, err
	}
	plan := []string{"plan", "--workflow", name, "chaos"}
	if name == "constructs" { // it is none of the program's
		plan[2] = w.Dir + "-constructs.yaml"
		if err := os.WriteFile(plan[2], constructs, 0o666); err != nil {
			return nil, err
		}
	}
	for _, set := range f.set {
		plan = append(plan, "--set", set)
	}
	for _, args := range append([][]string{{"init", "--no-strict"}, plan, {"trust", "--code", "--yes"}}, f.person...) {
		if o, err := w.WF(ctx, args...); err != nil || o.Exit != 0 && o.Exit != 3 {
			return nil, errors.Join(err, fmt.Errorf("workflow %s: expected success of %s", name, o))
		}
	}
	return w, nil
}

// learn carries a copy out without a fault.
func (w *Workflow) learn(ctx context.Context) error {
	before, err := w.subjects(ctx)
	if err != nil {
		return err
	}
	done, err := w.Copy()
	if err != nil {
		return err
	}
	defer done.Remove()
	if _, err := done.Must(ctx, w.run...); err != nil {
		return err
	}
	if w.want, err = done.subjects(ctx); err != nil {
		return err
	}
	w.Events = len(w.want) - len(before)
	slices.Sort(w.want)
	return done.tidy(ctx)
}

// play sets up an agent for each role, and what the workflows expect of the repository.
func (r *Repo) play(ctx context.Context, workflow, roles string) error {
	agent, git := r.Dir+"-agent.sh", r.Dir+"-bin/git"
	real, err := exec.LookPath("git")
	if err := errors.Join(err, os.Mkdir(filepath.Dir(git), 0o777), os.WriteFile(git, []byte(workflowGit), 0o777),
		os.WriteFile(agent, []byte(workflowAgent), 0o666),
		os.WriteFile(filepath.Join(r.Dir, "test.sh"), []byte("test -s README\n"), 0o666)); err != nil {
		return err
	}
	r.Env = []string{"CHAOS_GIT=" + real, "CHAOS_REF=" + planRef, "CHAOS_KILL=",
		"PATH=" + filepath.Dir(git) + string(os.PathListSeparator) + r.file("bin") + string(os.PathListSeparator) +
			os.Getenv("PATH")}
	commands := [][]string{{"add", "test.sh"}, {"commit", "-q", "-m", "second"},
		{"config", "wf.env", "CHAOS_GIT"}} // a run line may call git
	for _, role := range strings.Fields(roles) {
		commands = append(commands, []string{"config", "wf.agent." + role + ".kind", "command"},
			[]string{"config", "wf.agent." + role + ".command", "sh " + agent + " " + workflow},
			[]string{"config", "wf.role." + role, role})
	}
	for _, args := range commands {
		if _, err := r.Git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Acts returns the subjects of the events by which something takes effect: verdicts, decisions, pieces of the plan.
func (w *Workflow) Acts() []string {
	return slices.DeleteFunc(slices.Clone(w.want), func(s string) bool {
		return !strings.Contains(s, " applied") && !strings.Contains(s, ": graft ")
	})
}

// KillAtEvents runs the workflow and kills the program whenever it records something: before the plan's ref moves, so
// that the event is lost, and after it, before the program hears of it. The next run must go on from there, until the
// plan is done. With more, the program also dies after the next run has recorded that the worker did not come back, and
// after every fourth kill, which comes to all these moments in turn, a copy is carried out to the end.
func (w *Workflow) KillAtEvents(ctx context.Context, more bool) (kills int, err error) {
	if err := w.learn(ctx); err != nil {
		return 0, err
	}
	r, err := w.Copy()
	if err != nil {
		return 0, err
	}
	defer r.Remove()
	calm, moments := r.Env, []string{"lose", "keep"}
	if more {
		moments = []string{"lose", "lost", "keep"}
	}
	for {
		before, err := r.Remember(ctx)
		if err != nil {
			return kills, err
		}
		r.Env = append(slices.Clone(calm), "CHAOS_KILL="+moments[kills%len(moments)])
		o, err := r.WF(ctx, w.run...)
		r.Env = calm
		if err != nil {
			return kills, err
		}
		fail := func(err error) error { return fmt.Errorf("after kill %d: %w\nbefore that: %s", kills, err, o) }
		if o.Exit != -1 {
			if err := w.finished(ctx, r, o); err != nil {
				return kills, fail(err)
			}
			return kills, nil
		}
		kills++
		err = errors.Join(r.kept(ctx, before), r.truthful(ctx, []*Outcome{o}))
		if err == nil && more && kills%4 == 0 {
			err = errors.Join(r.sound(ctx), w.carryOn(ctx, r))
		}
		if err != nil {
			return kills, fail(err)
		}
	}
}

// carryOn carries a copy out to the end.
func (w *Workflow) carryOn(ctx context.Context, r *Repo) error {
	r, err := r.Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	o, err := r.WF(ctx, w.run...)
	if err != nil {
		return err
	}
	return w.finished(ctx, r, o)
}

// finished checks a plan that is carried out: it has the same events as without a fault, each as often, and nothing is
// left behind.
func (w *Workflow) finished(ctx context.Context, r *Repo, o *Outcome) error {
	if o.Exit != 0 || !strings.Contains(o.Out, ": done, ") {
		return fmt.Errorf("expected a plan that is done by %s", o)
	}
	got, err := r.subjects(ctx)
	if err != nil {
		return err
	}
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, ": lost") })
	slices.Sort(got)
	if !slices.Equal(got, w.want) {
		return fmt.Errorf("the events differ:\n%s\nwithout a fault\n%s", strings.Join(got, "\n"),
			strings.Join(w.want, "\n"))
	}
	return errors.Join(r.sound(ctx), r.tidy(ctx))
}
