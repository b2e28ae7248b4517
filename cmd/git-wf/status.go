package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/act"
	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

func (e *env) status(c *cli.Context) error {
	switch as := c.String("as"); {
	case as != "" && as != "dev-plan":
		return usage("--as: expected dev-plan, found %s", plain.Quote(as))
	case as != "":
		return e.onReadable(wholePlan, e.showDevPlan)(c)
	case c.Bool("watch"):
		return e.onPlan(wholePlan, e.watch)(c)
	case c.Bool("cost"):
		return e.onReadable(warmPlan, e.showCost)(c)
	}
	return e.onReadable(warmPlan, e.showStatus)(c)
}

// showDevPlan prints the plan as a document, each task with one of five words for where it stands.
func (e *env) showDevPlan(_ *cli.Context, _ *gitstore.Store, snap *gitstore.Snapshot) error {
	_, err := io.WriteString(e.stdout, act.DevPlan(snap.State()))
	return err
}

func (e *env) showStatus(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	p, err := e.reader(eng).Read(c.Context, snap)
	if err != nil {
		return err
	}
	e.warnUnguarded(&eng.Policy)
	return e.print("status", p)
}

// A treeRow is a task in the tree of a plan, after the lines that lead to it.
type treeRow struct {
	Lead safe
	*readmodel.Task
}

// treeRows are the goals and actions of a plan.
func treeRows(p *readmodel.Plan) (rows []treeRow) {
	seen := map[plan.TaskID]bool{} // tasks of a plan that no rule has checked may be below themselves
	var add func(id plan.TaskID, lead, under string)
	add = func(id plan.TaskID, lead, under string) {
		t := p.Task(id)
		if t == nil || seen[id] {
			return
		}
		seen[id] = true
		rows = append(rows, treeRow{safe(lead), t})
		children := p.State.Children(id)
		for i, child := range children {
			if i == len(children)-1 {
				add(child, under+"└─ ", under+"   ")
			} else {
				add(child, under+"├─ ", under+"│  ")
			}
		}
	}
	add(p.State.Plan.RootTaskID, "", "")
	return rows
}

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
	totals := []costTotal{}
	for _, i := range items {
		at := slices.IndexFunc(totals, func(t costTotal) bool { return t.Agent == i.Agent && t.Model == i.Model })
		if at < 0 {
			at = len(totals)
			totals = append(totals, costTotal{Agent: i.Agent, Usage: plan.Usage{Model: i.Model}})
		}
		t := &totals[at]
		t.Replies++
		t.InputTokens += i.InputTokens
		t.CachedTokens += i.CachedTokens
		t.OutputTokens += i.OutputTokens
		t.CostUSD += i.CostUSD
	}
	each.Sort(totals, func(a, b costTotal) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return totals
}

// dollars is a cost, if one was reported: most services report tokens alone.
func dollars(cost float64) string {
	if cost == 0 {
		return "no cost reported"
	}
	return fmt.Sprintf("$%.4f", cost)
}
