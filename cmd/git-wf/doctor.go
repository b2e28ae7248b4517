package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/audit"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check that what is recorded is sound and that the hooks are active",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			return e.withStore(c.Context, func(store *gitstore.Store) error { return e.doctor(c, store) })
		},
	}
}

func (e *env) doctor(c *cli.Context, store *gitstore.Store) error {
	findings, err := e.hookFindings(c, store)
	if err != nil {
		return err
	}
	refs, err := store.Plans(c.Context)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		more, err := audit.Plan(c.Context, store, ref.ID)
		if err != nil {
			return err
		}
		findings = append(findings, more...)
	}
	more, err := policyFindings(c.Context, store, refs)
	if err != nil {
		return err
	}
	findings = append(findings, more...)
	if c.Bool("json") {
		if err := e.printJSON(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintln(e.stdout, plan.OneLine(fmt.Sprintf("%s: %s %s: %s", f.Code, f.PlanID, f.Place, f.Message)))
			if f.Mend != "" {
				fmt.Fprintf(e.stdout, "  %s\n", plan.OneLine(f.Mend))
			}
		}
		fmt.Fprintf(e.stdout, "%s, %s\n", plan.Count(len(refs), "plan"), plan.Count(len(findings), "finding"))
	}
	if len(findings) > 0 {
		return errSaid
	}
	return nil
}

// policyFindings reports what the policy does not allow: in its own history, and in the plans'.
func policyFindings(ctx context.Context, store *gitstore.Store, refs []gitstore.PlanRef) ([]audit.Finding, error) {
	findings, err := audit.Policy(ctx, store)
	if err != nil {
		return nil, err
	}
	policy, err := store.Policy(ctx)
	if err != nil || !policy.FourEyes {
		return findings, nil // what is wrong with the policy has been found
	}
	for _, ref := range refs {
		more, err := audit.FourEyes(ctx, store, ref.ID, "", ref.Tip)
		if err != nil {
			continue // so has been what can't be read
		}
		findings = append(findings, more...)
	}
	return findings, nil
}

// hookFindings reports the hooks that do not run the gate. A bare repository has none of them.
func (e *env) hookFindings(c *cli.Context, store *gitstore.Store) ([]audit.Finding, error) {
	findings := []audit.Finding{}
	if store.WorkTree() == "" {
		return findings, nil
	}
	o, err := e.hookOptions(c.Context, store, false)
	if err != nil {
		return nil, err
	}
	all, err := hooks.Status(c.Context, o)
	if err != nil {
		return nil, err
	}
	active := 0
	for _, h := range all {
		if h.Reason != "" || !h.Active {
			findings = append(findings, audit.Finding{Code: "hook", Place: h.Name, Message: h.Reason, Mend: "git wf hooks install"})
		}
		if h.Active {
			active++
		}
	}
	if active > 0 {
		if err := hooks.Probe(c.Context, o); err != nil && !errors.Is(err, hooks.ErrBare) {
			findings = append(findings, audit.Finding{Code: "hook-probe", Place: "hooks", Message: err.Error(), Mend: "git wf hooks install"})
		}
	}
	return findings, nil
}
