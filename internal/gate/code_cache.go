package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// What plans approve, and the ledgers of tips, are kept in the git directory, so that what is judged next costs what is
// new. None of it comes with a push. What a plan approves counts for its tip and the policy. A ledger counts for the
// policy, and as long as no version has come that could explain its commit otherwise.

// keptLedger is the file. Versions are PLAN/TASK/vN/TREE.
type keptLedger struct {
	Known []string    `json:"known"` // the approved versions then, sorted
	Tasks []keptStack `json:"tasks"`
}

type keptStack struct {
	Plan  plan.ID       `json:"plan"`
	Task  plan.TaskID   `json:"task"`
	Floor int           `json:"floor,omitempty"`
	Stack []keptLanding `json:"stack"`
}

type keptLanding struct {
	Version string            `json:"version"`
	At      plan.OID          `json:"at"`
	Effect  map[string]turn   `json:"effect"`
	Moves   map[string]string `json:"moves,omitempty"`
}

// keptPlan is what a plan's tip says of the versions that change protected code.
type keptPlan struct {
	Tip      plan.OID      `json:"tip"`
	Versions []keptVersion `json:"versions"`
}

type keptVersion struct {
	Task   plan.TaskID       `json:"task"`
	N      int               `json:"n"`
	Tree   plan.OID          `json:"tree"`
	Turns  map[string]turn   `json:"turns"`
	Moves  map[string]string `json:"moves,omitempty"`
	Undoes *plan.Undo        `json:"undoes,omitempty"`
	Never  string            `json:"never,omitempty"`
	Lapsed string            `json:"lapsed,omitempty"`
}

const plansFile = "changes"

// readPlans reads what is kept of plans.
func (c *code) readPlans() {
	c.plans = map[plan.ID]keptPlan{}
	if data, err := os.ReadFile(c.keptName(plansFile)); err == nil {
		if json.Unmarshal(data, &c.plans) != nil {
			c.plans = map[plan.ID]keptPlan{}
		}
	}
}

// keepPlans keeps them, if a plan was read that was not kept as it is.
func (c *code) keepPlans() {
	if !c.plansRead || c.policy.Commit == "" {
		return
	}
	maps.DeleteFunc(c.plans, func(id plan.ID, _ keptPlan) bool { return !c.lib.read[id] })
	if data, err := json.Marshal(c.plans); err == nil {
		c.write(c.keptName(plansFile), data)
	}
}

func (c *code) notePlan(id plan.ID, tip plan.OID, versions []*change) {
	if c.plans == nil {
		return
	}
	c.plansRead = true
	kept := keptPlan{Tip: tip}
	for _, ch := range versions {
		kept.Versions = append(kept.Versions, keptVersion{
			Task: ch.task, N: ch.version, Tree: ch.tree, Turns: ch.turns, Moves: ch.moves, Undoes: ch.undoes,
			Never: ch.never, Lapsed: ch.lapsed,
		})
	}
	c.plans[id] = kept
}

func (c *code) takeKept(ctx context.Context, id plan.ID, kept keptPlan) error {
	for _, v := range kept.Versions {
		ch := &change{
			changeName: changeName{id, v.Task, v.N}, tip: kept.Tip, tree: v.Tree, turns: v.Turns,
			moves: v.Moves, undoes: v.Undoes, never: v.Never, lapsed: v.Lapsed, unproven: v.Never != "",
		}
		if err := c.addChange(ctx, ch); err != nil {
			return err
		}
	}
	return nil
}

func (ch *change) key() string {
	return fmt.Sprintf("%s/%s/%s/%s", ch.plan, ch.task, plan.VersionID(ch.version), ch.tree)
}

const keptPrefix = "ledger-"

// keptName is the file of a commit's ledger, or another one, under the policy.
func (c *code) keptName(of string) string {
	return filepath.Join(c.store.CommonDir(), "wf", "cache", fmt.Sprintf("%s%.16s-%s", keptPrefix, c.policy.Commit, of))
}

// recall takes the ledger of a commit from the git directory, if one was kept there that still counts.
func (c *code) recall(ctx context.Context, commit plan.OID) (bool, error) {
	if c.judging[commit] || c.policy.Commit == "" {
		return false, nil
	}
	data, err := os.ReadFile(c.keptName(string(commit)))
	if err != nil {
		return false, nil //nolint:nilerr // it is made again
	}
	var kept keptLedger
	if json.Unmarshal(data, &kept) != nil {
		return false, nil
	}
	byKey := map[string]*change{}
	for _, ch := range c.lib.all {
		if !ch.unproven {
			byKey[ch.key()] = ch
		}
	}
	for _, known := range kept.Known {
		if byKey[known] == nil {
			return false, nil
		}
	}
	for key, ch := range byKey {
		if _, known := slices.BinarySearch(kept.Known, key); known {
			continue
		}
		if ok, err := c.counts(ctx, ch); err != nil || !ok {
			if err != nil {
				return false, err
			}
			continue
		}
		if later, err := c.inBase(ctx, ch, commit); err != nil || !later {
			return false, err
		}
	}
	made := map[changeName]standing{}
	for _, t := range kept.Tasks {
		s := standing{floor: t.Floor}
		for _, k := range t.Stack {
			l := landing{change: byKey[k.Version], at: k.At, effect: k.Effect, moves: k.Moves}
			if l.change == nil {
				return false, nil
			}
			s.stack = append(s.stack, l)
		}
		made[changeName{plan: t.Plan, task: t.Task}] = s
	}
	c.ledgers[commit] = &ledger{own: made}
	return true, nil
}

// keep keeps the ledger of a commit whose history is all explained.
func (c *code) keep(commit plan.OID) error {
	l, judged := c.ledgers[commit]
	if !judged || c.open[commit] || c.policy.Commit == "" {
		return nil
	}
	kept := keptLedger{Known: []string{}}
	for _, ch := range c.lib.all {
		if !ch.unproven {
			kept.Known = append(kept.Known, ch.key())
		}
	}
	slices.Sort(kept.Known)
	for task, s := range l.all() {
		t := keptStack{Plan: task.plan, Task: task.task, Floor: s.floor}
		for _, landed := range s.stack {
			t.Stack = append(t.Stack, keptLanding{landed.key(), landed.at, landed.effect, landed.moves})
		}
		kept.Tasks = append(kept.Tasks, t)
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	c.write(c.keptName(string(commit)), data)
	return nil
}

// write writes a file whole. A cache that can't be written costs time, and nothing else.
func (c *code) write(name string, data []byte) {
	if os.MkdirAll(filepath.Dir(name), 0o777) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(name), keptPrefix+"*.tmp")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), name) != nil {
		os.Remove(f.Name())
	}
	forgetOldest(filepath.Dir(name))
}

// forgetOldest bounds how many ledgers are kept.
func forgetOldest(dir string) {
	const most = 32
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		at   int64
	}
	var kept []file
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), keptPrefix) {
			kept = append(kept, file{e.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(kept, func(a, b file) int { return int(b.at - a.at) })
	for _, f := range kept[min(most, len(kept)):] {
		os.Remove(filepath.Join(dir, f.name))
	}
}
