package main

import (
	"cmp"
	"fmt"
	"io"
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
	totals := costTotals(items)
	return e.out(struct {
		PlanID plan.ID       `json:"plan_id"`
		Totals []costTotal   `json:"totals"`
		Items  []engine.Cost `json:"items"`
	}{snap.ID, totals, items}, func(w io.Writer) { printCosts(w, totals) })
}

func printCosts(w io.Writer, totals []costTotal) {
	if len(totals) == 0 {
		fmt.Fprintln(w, "no agent has reported what its work took")
		return
	}
	sum := 0.0
	for _, t := range totals {
		name := t.Agent
		if t.Model != "" {
			name += " (" + t.Model + ")"
		}
		fmt.Fprintf(w, "%-32s %4d replies  %10d tokens in  %10d out  %s\n", plain.Line(name), t.Replies,
			t.InputTokens, t.OutputTokens, dollars(t.CostUSD))
		sum += t.CostUSD
	}
	fmt.Fprintf(w, "%-32s %s\n", "all", dollars(sum))
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
