package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) waiveCommand() *cli.Command {
	return &cli.Command{
		Name:      "waive",
		Usage:     "in an emergency, let one thing pass that was not approved",
		ArgsUsage: "PATH | TASK",
		Description: "Of a path, exactly the content that is staged may land below a protected directory. Of a task, one criterion of\n" +
			"the newest version passes. Both are records with your name and the reason, and show wherever the gate reports.",
		Flags: []cli.Flag{
			planFlag(),
			&cli.StringFlag{Name: "reason", Aliases: []string{"m"}, Usage: "why; needed"},
			&cli.StringFlag{Name: "criterion", Usage: "of a task, the criterion that passes"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "one path or task"); err != nil {
				return err
			}
			if strings.TrimSpace(c.String("reason")) == "" {
				return usage("a waiver needs a --reason")
			}
			return e.withStore(c.Context, func(store *gitstore.Store) error { return e.waive(c, store) })
		},
	}
}

func (e *env) waive(c *cli.Context, store *gitstore.Store) error {
	if err := e.inAttempt(); err != nil {
		return err
	}
	policy, err := store.Policy(c.Context)
	if err != nil {
		return err
	}
	if policy.NoWaivers {
		return refused("git wf policy show", "the policy allows no waivers")
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	decision := plan.Decision{By: person.Name, CreatedAt: plan.Second(e.now()), Reason: c.String("reason")}
	if task := plan.TaskID(c.Args().First()); task.Valid() {
		return e.waiveCriterion(c, store, task, decision)
	}
	return e.waivePath(c, store, decision)
}

func (e *env) waiveCriterion(c *cli.Context, store *gitstore.Store, task plan.TaskID, d plan.Decision) error {
	if c.String("criterion") == "" {
		return usage("%s: say which criterion passes, with --criterion", task)
	}
	id, err := e.planID(c, store)
	if err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	done, err := eng.Waive(c.Context, id, task, c.String("criterion"), d)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, plan.OneLine(done.Change.Subject))
	s, err := e.state(c.Context, store, done.Snapshot)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s is %s\n", task, s.Tasks[task].Status)
	return nil
}

// waivePath records the staged content of a path, or its removal.
func (e *env) waivePath(c *cli.Context, store *gitstore.Store, d plan.Decision) error {
	if store.WorkTree() == "" {
		return gitstore.ErrBare
	}
	w, err := e.stagedContent(c.Context, store, c.Args().First())
	if err != nil {
		return err
	}
	w.By, w.Reason, w.CreatedAt = d.By, d.Reason, d.CreatedAt
	subject := fmt.Sprintf("waive %s (%.12s)", w.Path, w.OID)
	if w.OID == "" {
		subject = "waive the removal of " + w.Path
	}
	return e.appendPolicy(c, store, subject, func(p *gitstore.Policy) (plan.Change, error) {
		return plan.Change{Body: w.Reason, Add: []plan.Entry{{Path: p.NextRecord("waivers"), Data: plan.Document(w)}}}, nil
	})
}

// stagedContent is what the index has at a path; a path that HEAD has and the index does not is a removal.
func (e *env) stagedContent(ctx context.Context, store *gitstore.Store, name string) (plan.Waiver, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(e.dir, name)
	}
	rel, err := filepath.Rel(store.WorkTree(), name)
	if err != nil {
		return plan.Waiver{}, err
	}
	rel = filepath.ToSlash(rel)
	if err := plan.CheckPath(rel); err != nil {
		return plan.Waiver{}, &failure{code: exitUsage, err: err}
	}
	spec := ":(top,literal)" + rel
	staged, err := store.Git(ctx, "ls-files", "--stage", "-z", "--", spec)
	if err != nil {
		return plan.Waiver{}, err
	}
	info, path, _ := strings.Cut(strings.TrimRight(staged, "\x00"), "\t")
	if f := strings.Fields(info); len(f) == 3 && path == rel {
		return plan.Waiver{Path: rel, Mode: f[0], OID: plan.OID(f[1])}, nil
	}
	tracked, err := store.Git(ctx, "ls-tree", "--name-only", "HEAD", "--", rel)
	if err != nil || tracked == "" || staged != "" {
		return plan.Waiver{}, &failure{code: exitUsage, err: fmt.Errorf("%s is not a staged file", rel), hint: "git add -- " + rel}
	}
	return plan.Waiver{Path: rel}, nil
}
