package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) waive(c *cli.Context, store *gitstore.Store) error {
	if strings.TrimSpace(c.String("message")) == "" {
		return usage("a waiver needs a --message")
	}
	policy, err := store.Policy(c.Context)
	if err != nil {
		return err
	}
	if policy.NoWaivers {
		return fault.Refused("git wf policy show", "the policy allows no waivers")
	}
	decision, _, err := e.decision(c, store)
	if err != nil {
		return err
	}
	if task := plan.TaskID(c.Args().First()); task.Valid() {
		return e.waiveCriterion(c, store, task, decision)
	}
	return e.waivePath(c, store, decision)
}

func (e *env) waiveCriterion(c *cli.Context, store *gitstore.Store, task plan.TaskID, d plan.Decision) error {
	if c.String("criterion") == "" {
		return fault.Usage(fmt.Sprintf("git wf show %s lists the criteria", task),
			"%s: say which criterion passes, with --criterion", task)
	}
	id, err := planID(c, store)
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
	if err := e.printDecision(id, task, done); err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, id)
}

// waivePath records the staged content of a path, or its removal.
func (e *env) waivePath(c *cli.Context, store *gitstore.Store, d plan.Decision) error {
	if store.WorkTree() == "" {
		return gitstore.ErrBare
	}
	w, err := gate.StagedContent(c.Context, store, e.absolute(c.Args().First()))
	if err != nil {
		return err
	}
	w.By, w.Reason, w.CreatedAt = d.By, d.Reason, d.CreatedAt
	subject := fmt.Sprintf("waive %s (%.12s)", w.Path, w.OID)
	if w.OID == "" {
		subject = "waive the removal of " + w.Path
	}
	err = e.appendPolicy(c, store, subject, func(p *gitstore.Policy) (plan.Change, error) {
		return plan.Change{Body: w.Reason, Add: []plan.Entry{{Path: p.NextRecord("waivers"),
			Data: plan.Document(w)}}}, nil
	})
	if err != nil {
		return err
	}
	manifest, err := gate.ListWaiver(c.Context, store, w.Path)
	if manifest != "" {
		fmt.Fprintln(e.stdout, plain.Line(manifest+" lists the waiver, and is staged"))
	}
	return err
}
