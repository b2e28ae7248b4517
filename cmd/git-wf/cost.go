package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// costTotal is the usage of one agent with one model.
type costTotal struct {
	Agent   string `json:"agent"`
	Replies int    `json:"replies"`
	plan.Usage
}

// showCost prints the usage that agents report for a plan.
func (e *env) showCost(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	items, err := eng.Costs(c.Context, snap)
	if err != nil {
		return err
	}
	totals, sum := costTotals(items), 0.0
	for _, t := range totals {
		sum += t.CostUSD
	}
	return e.print("costs", struct {
		PlanID plan.ID       `json:"plan_id"`
		Totals []costTotal   `json:"totals"`
		Items  []engine.Cost `json:"items"`
		Sum    float64       `json:"-"`
	}{snap.ID, totals, items, sum})
}

// Name is the agent's, with the model.
func (t costTotal) Name() string {
	if t.Model == "" {
		return plain.Line(t.Agent)
	}
	return plain.Line(t.Agent + " (" + t.Model + ")")
}

func costTotals(items []engine.Cost) []costTotal {
	type key struct{ agent, model string }
	by := map[key]*costTotal{}
	for _, i := range items {
		k := key{i.Agent, i.Model}
		if by[k] == nil {
			by[k] = &costTotal{Agent: i.Agent, Usage: plan.Usage{Model: i.Model}}
		}
		t := by[k]
		t.Replies++
		t.InputTokens += i.InputTokens
		t.CachedTokens += i.CachedTokens
		t.OutputTokens += i.OutputTokens
		t.CostUSD += i.CostUSD
	}
	totals := []costTotal{}
	for _, k := range slices.SortedFunc(maps.Keys(by), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.model, b.model))
	}) {
		totals = append(totals, *by[k])
	}
	return totals
}

// dollars is a cost, if one was reported: most services report tokens alone.
func dollars(cost float64) string {
	if cost == 0 {
		return "no cost reported"
	}
	return fmt.Sprintf("$%.4f", cost)
}
