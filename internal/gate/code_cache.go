package gate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// What plans approve, and the ledgers of tips, are kept in the git directory, so that what is judged next costs what is
// new. None of it comes with a push. What a plan approves counts for its tip and the policy. A ledger counts for the
// policy, and as long as no version has come that could explain its commit otherwise.

// keptLedger is the file. Versions are PLAN/TASK/vN/TREE.
type keptLedger struct {
	Known []string // the approved versions then, sorted
	Tasks []keptStack
}

type keptStack struct {
	Plan  plan.ID
	Task  plan.TaskID
	Floor int
	Stack []keptLanding
}

type keptLanding struct {
	Version string
	At      plan.OID
	Effect  map[string]turn
	Moves   map[string]string
}

// keptPlan is what a plan's tip says of the versions that change protected code.
type keptPlan struct {
	Tip      plan.OID
	Versions []keptVersion
}

type keptVersion struct {
	Task          plan.TaskID
	N             int
	Tree          plan.OID
	Turns         map[string]turn
	Undoes        *plan.Undo
	Never, Lapsed string
}

const plansFile = "changes"

// keepPlans keeps what plans say, if one was read that was not kept as it is.
func (c *code) keepPlans() {
	if c.plansRead && c.policy.Commit != "" {
		maps.DeleteFunc(c.plans, func(id plan.ID, _ keptPlan) bool { return !c.lib.read[id] })
		c.store.WriteCache(c.keptName(plansFile), c.plans)
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
			ch.task, ch.version, ch.tree, ch.turns, ch.undoes, ch.never, ch.lapsed,
		})
	}
	c.plans[id] = kept
}

func (c *code) takeKept(ctx context.Context, id plan.ID, kept keptPlan) error {
	for _, v := range kept.Versions {
		ch := &change{
			changeName: changeName{id, v.Task, v.N}, tip: kept.Tip, tree: v.Tree, turns: v.Turns, undoes: v.Undoes,
			never: v.Never, lapsed: v.Lapsed, unproven: v.Never != "",
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

// keptName is the cache of a commit's ledger, or another one, under the policy.
func (c *code) keptName(of string) string {
	return fmt.Sprintf("%s%.16s-%s", keptPrefix, c.policy.Commit, of)
}

// recall takes the ledger of a commit from the git directory, if one was kept there that still counts.
func (c *code) recall(ctx context.Context, commit plan.OID) (bool, error) {
	if _, judged := c.visits[commit]; judged || c.policy.Commit == "" {
		return false, nil
	}
	var kept keptLedger
	if !c.store.ReadCache(c.keptName(string(commit)), &kept) {
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
func (c *code) keep(commit plan.OID) {
	l, judged := c.ledgers[commit]
	if !judged || c.open[commit] || c.policy.Commit == "" {
		return
	}
	var kept keptLedger
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
	c.store.WriteCache(c.keptName(string(commit)), kept)
	c.forgetOldest()
}

// forgetOldest bounds how many ledgers are kept.
func (c *code) forgetOldest() {
	const most = 32
	dir := filepath.Join(c.store.CommonDir(), "wf", "cache")
	entries, _ := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), keptPrefix) })
	written := func(e os.DirEntry) (at time.Time) {
		if info, err := e.Info(); err == nil {
			at = info.ModTime()
		}
		return at
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return written(b).Compare(written(a)) })
	for _, e := range entries[min(most, len(entries)):] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
