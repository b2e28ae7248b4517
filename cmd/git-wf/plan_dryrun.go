package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/readmodel"
)

// dryRun shows what a plan would be. It runs only trusted lines.
func (e *env) dryRun(c *cli.Context, eng *engine.Engine, d engine.Draft, again string) error {
	weights, err := eng.Weights()
	if err != nil {
		return err
	}
	review := plandoc.ReviewPlan(d.Plan, weights.Days)
	review.Suggestions = append([]plandoc.PlanSuggestion{}, review.Suggestions...) // in JSON a list, never null
	missing, err := eng.MissingPaths(c.Context, d)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fault.Usage("name what HEAD has, or commit it first", "%w", missing)
	}
	untrusted := eng.UntrustedIn(d)
	var green plan.Findings
	if len(untrusted) == 0 {
		if green, err = e.redFirst(c, eng, d); err != nil {
			return err
		}
	}
	s := d.After
	if s == nil {
		d.Plan.PlanID = cmp.Or(d.Plan.PlanID, plan.NewID(d.Plan.Title, 1)) // a session's own
		s = plan.Derive(d.Plan, plan.Records{}, nil, e.now())
	}
	doc := struct {
		*readmodel.Plan
		Review    plandoc.PlanReview    `json:"review"`
		Findings  plan.Findings         `json:"findings"`
		Untrusted []plandoc.CommandLine `json:"untrusted"`
		Redo      *engine.Redo          `json:"redo,omitempty"` // what an amendment has made again
	}{readmodel.Of(s, nil), review, append(plan.Findings{}, green...), orEmpty(untrusted), nil}
	if d.After != nil {
		doc.Redo = &d.Redo
	}
	if err := e.out(doc, func(w io.Writer) {
		err = errors.Join(e.render(w, "plan", doc.Plan), e.render(w, "redo", d.Redo), e.render(w, "plan-review", review))
	}); err != nil {
		return err
	}
	if len(untrusted) > 0 && !e.json {
		fmt.Fprintln(e.stderr) // apart from the review above it
		e.showLines(untrusted, "not tried on an empty candidate because they are not trusted yet")
	}
	switch {
	case len(green) > 0:
		return fault.Usage("make the criterion fail while there is no deliverable", "%w", green)
	case review.Verdict != plan.Approved:
		return fault.Refused("mend what is marked FAIL above, then "+again,
			"the review would reject this plan (score %d)", review.Score)
	}
	return nil
}
