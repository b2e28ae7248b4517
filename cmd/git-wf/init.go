package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/gitstore"
)

func (e *env) initCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "set up this repository: hooks and settings",
		Description: "Installs the hooks that let only approved bundles land below deliverables/, and the settings that keep the\n" +
			"plans' refs out of git log's decorations. Running it again changes nothing. Hooks that exist keep running.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "no-strict",
				Usage: "judge commits and pushes only, not every move of a branch that --no-verify, a rebase or git update-ref makes"},
			&cli.BoolFlag{Name: "strict", Usage: "judge those moves too, after --no-strict"},
			&cli.StringFlag{Name: "server", Usage: "set up the bare repository in `DIR` to judge what is pushed to it"},
			forceFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			if dir := c.String("server"); dir != "" {
				return e.initServer(c, dir)
			}
			return e.withStore(c.Context, func(store *gitstore.Store) error { return e.init(c, store) })
		},
	}
}

func (e *env) init(c *cli.Context, store *gitstore.Store) error {
	changed, err := settle(c.Context, store)
	if err != nil {
		return err
	}
	if err := setStrict(c, store); err != nil {
		return err
	}
	report, err := e.installHooks(c.Context, store, c.Bool("force"))
	if err != nil {
		return err
	}
	for _, a := range report.Actions {
		fmt.Fprintf(e.stdout, "%s: %s\n", a.Path, a.Did)
	}
	if !changed && len(report.Actions) == 0 {
		fmt.Fprintln(e.stdout, "already set up; nothing changed")
		return nil
	}
	fmt.Fprintln(e.stdout, "set up; next: git wf plan -f FILE")
	return nil
}

// setStrict records the user's choice of strict mode, if they make one.
func setStrict(c *cli.Context, store *gitstore.Store) error {
	on, off := c.Bool("strict"), c.Bool("no-strict")
	switch {
	case on && off:
		return usage("--strict and --no-strict exclude each other")
	case !on && !off:
		return nil
	}
	_, set, err := store.Config(c.Context, "wf.strict")
	if err != nil {
		return err
	}
	if _, err := store.Git(c.Context, "config", "--local", "wf.strict", strconv.FormatBool(on)); err != nil || set {
		return err
	}
	return remember(c.Context, store, "wf.strict", "")
}

// initServer sets up a bare repository: its pre-receive hook judges each push as a whole.
func (e *env) initServer(c *cli.Context, dir string) error {
	server := *e
	server.dir = e.absolute(dir)
	return server.withStore(c.Context, func(store *gitstore.Store) error {
		o, err := server.hookOptions(c.Context, store, c.Bool("force"))
		if err != nil {
			return err
		}
		report, err := hooks.InstallServer(c.Context, o)
		if errors.Is(err, hooks.ErrNotBare) {
			return usage("%v", err)
		}
		if err != nil {
			return err
		}
		for _, key := range serverSettings() {
			did, err := setTrue(c.Context, store, key)
			if err != nil {
				return err
			}
			if did {
				report.Actions = append(report.Actions, hooks.Action{Path: key, Did: "set to true"})
			}
		}
		e.printHookActions(report)
		return hooks.ProbeServer(c.Context, o)
	})
}

// serverSettings are those by which git itself refuses what no git would write, before the hook is asked: trees that
// programs read differently.
func serverSettings() []string { return []string{"receive.fsckObjects", "transfer.fsckObjects"} }

// isOn reports whether a setting is true.
func isOn(ctx context.Context, store *gitstore.Store, key string) bool {
	value, err := store.Git(ctx, "config", "--type=bool", "--get", key)
	return err == nil && value == "true"
}

// setTrue sets a setting of this repository to true, unless it is.
func setTrue(ctx context.Context, store *gitstore.Store, key string) (bool, error) {
	if isOn(ctx, store, key) {
		return false, ctx.Err()
	}
	if _, err := store.Git(ctx, "config", "--local", "--replace-all", key, "true"); err != nil {
		return false, err
	}
	return true, remember(ctx, store, key, "true")
}

// settle makes the settings that go with plans: their refs stay out of git log's decorations, and a fetch brings what a
// remote has of them into a place of its own, where it can't overwrite a plan of this repository.
func settle(ctx context.Context, store *gitstore.Store) (changed bool, err error) {
	all, err := settings(ctx, store)
	if err != nil {
		return false, err
	}
	for _, s := range all {
		did, err := addSetting(ctx, store, s[0], s[1])
		if err != nil {
			return changed, err
		}
		changed = changed || did
	}
	return changed, nil
}

// settings lists the settings that settle makes, keys and values.
func settings(ctx context.Context, store *gitstore.Store) ([][2]string, error) {
	all := [][2]string{{"log.excludeDecoration", "refs/workflow/*"}}
	remotes, err := store.Git(ctx, "remote")
	for _, r := range strings.Fields(remotes) {
		all = append(all, [2]string{"remote." + r + ".fetch", "+refs/workflow/*:refs/workflow-remotes/" + r + "/*"})
	}
	return all, err
}

// addSetting adds a value to a setting of this repository that may have several.
func addSetting(ctx context.Context, store *gitstore.Store, key, value string) (bool, error) {
	if _, err := store.Git(ctx, "config", "--local", "--get", "--fixed-value", key, value); err == nil {
		return false, nil
	}
	if _, err := store.Git(ctx, "config", "--local", "--add", key, value); err != nil {
		return false, err
	}
	return true, remember(ctx, store, key, value)
}

// addedSetting lists what init has put into this repository's settings, "<key> <value>", so that hooks uninstall takes
// away that and nothing that was there before. A key alone stands for whatever value it has by then.
const addedSetting = "wf.added"

func remember(ctx context.Context, store *gitstore.Store, key, value string) error {
	_, err := store.Git(ctx, "config", "--local", "--add", addedSetting, strings.TrimSpace(key+" "+value))
	return err
}

// unsettle takes away what init has put into the settings. Who has changed it since keeps the change.
func unsettle(ctx context.Context, store *gitstore.Store) (gone []string, err error) {
	out, err := store.Git(ctx, "config", "--local", "-z", "--get-all", addedSetting)
	if err != nil {
		return nil, ctx.Err() // there is none
	}
	for _, added := range strings.Split(strings.Trim(out, "\x00"), "\x00") {
		key, value, _ := strings.Cut(added, " ")
		args := []string{"config", "--local", "--fixed-value", "--unset-all", key}
		if value == "" {
			args = []string{"config", "--local", "--unset-all", key}
		} else {
			args = append(args, value)
		}
		if _, err := store.Git(ctx, args...); err == nil {
			gone = append(gone, key)
		} else if ctx.Err() != nil {
			return gone, ctx.Err()
		}
	}
	_, err = store.Git(ctx, "config", "--local", "--unset-all", addedSetting)
	return gone, err
}

// clearLocks removes the directory of locks where nothing is recorded that they could be of. The move of a ref does not
// rest on them: they only make writers wait for each other.
func clearLocks(ctx context.Context, store *gitstore.Store) error {
	refs, err := store.Git(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "refs/workflow",
		"refs/workflow-claims")
	if err != nil || refs != "" {
		return err
	}
	dir := filepath.Join(store.CommonDir(), "wf")
	if err := os.RemoveAll(filepath.Join(dir, "lock")); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		return os.Remove(dir)
	}
	return nil
}

func (e *env) hookOptions(ctx context.Context, store *gitstore.Store, force bool) (hooks.Options, error) {
	policy, err := store.Policy(ctx)
	if err != nil {
		return hooks.Options{}, err
	}
	strict, err := strictMode(ctx, store)
	if err != nil {
		return hooks.Options{}, err
	}
	return hooks.Options{
		Git: store.Git, Program: e.program, Roots: policy.RootPaths(), Policy: string(policy.Commit), Force: force,
		Strict: strict,
	}, nil
}

// strictMode reports whether moves of branches are judged: they are unless the user has chosen otherwise.
func strictMode(ctx context.Context, store *gitstore.Store) (bool, error) {
	if _, set, err := store.Config(ctx, "wf.strict"); err != nil || !set {
		return true, err
	}
	value, err := store.Git(ctx, "config", "--type=bool", "--get", "wf.strict")
	return value != "false", err
}

// installHooks installs and then proves that git reaches them. A bare repository has no client hooks, and needs none.
func (e *env) installHooks(ctx context.Context, store *gitstore.Store, force bool) (hooks.Report, error) {
	o, err := e.hookOptions(ctx, store, force)
	if err != nil {
		return hooks.Report{}, err
	}
	report, err := hooks.Install(ctx, o)
	switch {
	case errors.Is(err, hooks.ErrBare):
		return hooks.Report{}, usage("%v", err)
	case err != nil:
		return report, err
	}
	if err := hooks.Probe(ctx, o); err != nil {
		return report, err
	}
	common := e.sighting(store)
	common.File = filepath.Join(store.CommonDir(), sightingName)
	if _, err := common.Remember(ctx, o); err != nil {
		return report, err
	}
	_, err = e.sighting(store).Remember(ctx, o)
	return report, err
}
