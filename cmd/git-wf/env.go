package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/audit"
	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/secret"
	"gitwf/internal/shell"
)

// env is all that a command gets from its surroundings.
type env struct {
	printer
	user
	stdin       io.Reader
	dir         string // where the command was started
	now         func() time.Time
	program     string // absolute path of git-wf
	interactive bool   // input and output are a terminal
	looks       bool   // the command records or lands, so it looks whether git reaches the gate
	lands       bool   // it leads to what lands
	decides     bool   // it is a person's decision, and a person makes it
	inOwnName   bool   // an agent reviews, in a role that the policy opens to it
	offline     bool   // connect to no remote for a shared plan
	args        []string
	origin      func() caller.Origin // where the command comes from
}

// printer is where a command prints.
type printer struct {
	style
	stdout, stderr io.Writer
	// stdout gets one JSON document and nothing else; set when a command begins, so actions are env's
	json bool
	step bool // of several, of which the last says what is next
}

// style is how text looks there.
type style struct{ colour bool }

// user is who runs the command: their environment, and the files that it leads to.
type user struct{ environ []string }

func (u user) getenv(key string) string { return shell.Getenv(u.environ, key) }

// absolute is the path of a file that the user names, from where the command was started.
func (e *env) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.dir, name)
}

// open opens the repository, to take over what other clones have recorded soundly.
func (e *env) open(ctx context.Context) (*gitstore.Store, error) {
	store, err := gitstore.Open(ctx, e.dir)
	if err == nil {
		store.Offline = e.offline
		store.Sound = func(ctx context.Context, id plan.ID, tip plan.OID) error {
			return audit.Sound(ctx, store, id, tip)
		}
	}
	return store, err
}

// withStore opens the repository for one command.
func (e *env) withStore(ctx context.Context, f func(*gitstore.Store) error) error {
	store, err := e.open(ctx)
	if err != nil {
		return err
	}
	if err := e.warnUnreached(ctx, store); err != nil {
		return errors.Join(err, store.Close())
	}
	if err := e.noteTries(store); err != nil {
		return errors.Join(err, store.Close())
	}
	store.Notice = func(text string) { fmt.Fprintln(e.stderr, plain.Line(text)) }
	return errors.Join(f(store), store.Close())
}

// A view reads as much of a plan as a command needs.
type view func(*cli.Context, *gitstore.Store, plan.ID) (*gitstore.Snapshot, error)

func wholePlan(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
	return store.Snapshot(c.Context, id)
}

// warmPlan is wholePlan for a command that also asks for git's configuration.
func warmPlan(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
	store.Warm(c.Context, false)
	return wholePlan(c, store, id)
}

// recordNear is nearTask for a command that records an event about the task.
func recordNear(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
	store.Warm(c.Context, true)
	return nearTask(c, store, id)
}

// nearTask reads what is near the task that the first argument names (Store.Near).
func nearTask(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
	return store.Near(c.Context, id, plan.TaskID(c.Args().First()))
}

// onStore is the action of a command that needs the repository.
//
//go:noinline // in all of its calls it weighs 50 KB
func (e *env) onStore(f func(*cli.Context, *gitstore.Store) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		return e.withStore(c.Context, func(store *gitstore.Store) error { return f(c, store) })
	}
}

// anywhere is onStore for a command that works outside of a repository too: store is nil there.
func (e *env) anywhere(f func(*cli.Context, *gitstore.Store) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := e.onStore(f)(c)
		if errors.Is(err, gitstore.ErrNoRepository) {
			return f(c, nil)
		}
		return err
	}
}

// onPlan is the action of a command that needs the plan, too: the one that --plan names, or the active one.
func (e *env) onPlan(read view, f func(*cli.Context, *gitstore.Store, *gitstore.Snapshot) error) cli.ActionFunc {
	return e.onStore(func(c *cli.Context, store *gitstore.Store) error {
		id, err := planID(c, store)
		if err != nil {
			return err
		}
		snap, err := read(c, store, id)
		if err != nil {
			return err
		}
		return f(c, store, snap)
	})
}

// onEngine is onStore for a command that works on plans.
func (e *env) onEngine(f func(*cli.Context, *engine.Engine) error) cli.ActionFunc {
	return e.onStore(func(c *cli.Context, store *gitstore.Store) error {
		eng, err := e.engine(c, store)
		if err != nil {
			return err
		}
		return f(c, eng)
	})
}

// onEnginePlan is onPlan for a command that works on the plan, as its remote has it now.
func (e *env) onEnginePlan(
	read view, f func(*cli.Context, *engine.Engine, *gitstore.Snapshot) error,
) cli.ActionFunc {
	newest := func(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
		store.Refresh(c.Context, id)
		return read(c, store, id)
	}
	return e.onPlan(newest, func(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
		eng, err := e.engine(c, store)
		if err != nil {
			return err
		}
		return f(c, eng, snap)
	})
}

// onEngineTask is onEnginePlan for a command about the task that its first argument names.
func (e *env) onEngineTask(
	read view, f func(*cli.Context, *engine.Engine, *gitstore.Snapshot, *plan.TaskState) error,
) cli.ActionFunc {
	return e.onEnginePlan(read, func(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
		t, err := findTask(snap.State(), c.Args().First())
		if err != nil {
			return err
		}
		return f(c, eng, snap, t)
	})
}

// onNamedPlan is onEnginePlan for a command whose plan may also be its argument.
func (e *env) onNamedPlan(f func(*cli.Context, *engine.Engine, *gitstore.Snapshot) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			if c.String("plan") != "" {
				return usage("the plan is named twice, as an argument and with --plan")
			}
			if err := c.Set("plan", c.Args().First()); err != nil {
				return err
			}
		}
		return e.onEnginePlan(wholePlan, f)(c)
	}
}

func planID(c *cli.Context, store *gitstore.Store) (plan.ID, error) {
	if name := c.String("plan"); c.IsSet("plan") {
		return planNamed(c.Context, store, name)
	}
	return store.Active(c.Context)
}

// planNamed finds a plan by its id, or by a part that no other id has; "-" is the plan that was active before.
func planNamed(ctx context.Context, store *gitstore.Store, name string) (plan.ID, error) {
	if name == "-" {
		id, err := store.Former(ctx)
		if errors.Is(err, gitstore.ErrNoActive) {
			return "", fault.Usage("git wf plans", "no plan was active before")
		}
		return id, err
	}
	id := plan.ID(strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "workflow/"))
	if id.Valid() {
		return id, nil // even if it is not here: it is no part of another
	}
	if name == "" { // such as an unset variable: every id contains it
		return "", fault.Usage("git wf plans", "the name of the plan is empty")
	}
	plans, err := store.Plans(ctx)
	if err != nil {
		return "", err
	}
	var fit []string
	for _, p := range plans {
		if strings.Contains(strings.ToLower(string(p.ID)), strings.ToLower(string(id))) {
			fit = append(fit, string(p.ID))
		}
	}
	switch {
	case len(fit) == 1:
		return plan.ID(fit[0]), nil
	case len(fit) > 1:
		return "", fault.Usage("git wf plans", "%q is a part of the ids of %s", name, strings.Join(fit, ", "))
	}
	return "", fault.Usage("git wf plans --all", "%q is no plan id, and no part of one", name)
}

// state derives the plan's state under the claims of now.
func (e *env) state(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot) (*plan.State, error) {
	return engine.StateNow(ctx, store, snap, e.now())
}

// engine makes the engine that works on the store's plans.
func (e *env) engine(c *cli.Context, store *gitstore.Store) (*engine.Engine, error) {
	trust, err := engine.OpenTrust(store.CommonDir())
	if err != nil {
		return nil, err
	}
	policy, err := store.Policy(c.Context)
	if err != nil {
		return nil, err
	}
	throwaway, err := store.Throwaway(c.Context)
	if err != nil {
		return nil, err
	}
	agents := e.agentSet(c, store)
	return &engine.Engine{
		Store: store, Trust: trust, Policy: policy.Policy, Throwaway: throwaway, Now: e.now, Environ: e.environ,
		Agents:    agents,
		Commands:  sync.OnceValues(func() ([]string, error) { return e.commandEnv(c.Context, store) }),
		Secrets:   sync.OnceValue(func() secret.Mask { return e.mask(agents) }),
		OwnRules:  filepath.Join(e.configDir(), "rules"),
		Templates: e.templates(store), Weights: func() (estimate.Weights, error) { return e.weights(store) },
		Assign: sync.OnceValues(func() (agent.Assignment, error) { return e.assignment(store) }),
		Labels: sync.OnceValue(func() []string {
			labels, _, _ := store.Config(c.Context, "wf.labels") // without it the machine has none
			return splitLabels(labels)
		}),
	}, nil
}

// gateOf makes the judge of this repository, under its own policy.
func gateOf(ctx context.Context, store *gitstore.Store) (*gate.Gate, error) {
	policy, err := store.Policy(ctx)
	if err != nil {
		return nil, err
	}
	return gate.New(store, policy), nil
}
