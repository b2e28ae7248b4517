package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// Ledgers of tips are kept in the git directory, so that what is judged next costs what is new. None comes with a push.
// A kept ledger counts under the policy that it was made under, and as long as no version has come that could explain
// its commit otherwise.

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
	Version string               `json:"version"`
	At      plan.OID             `json:"at"`
	Effect  map[string][4]string `json:"effect"` // modes and ids before and after, by path
}

func (ch *change) key() string {
	return fmt.Sprintf("%s/%s/%s/%s", ch.plan, ch.task, plan.VersionID(ch.version), ch.tree)
}

const keptPrefix = "ledger-"

func (c *code) keptName(commit plan.OID) string {
	return filepath.Join(c.store.CommonDir(), "wf", "cache", fmt.Sprintf("%s%.16s-%s", keptPrefix, c.policy.Commit, commit))
}

// recall takes the ledger of a commit from the git directory, if one was kept there that still counts.
func (c *code) recall(ctx context.Context, commit plan.OID) (bool, error) {
	if c.judging[commit] || c.policy.Commit == "" {
		return false, nil
	}
	data, err := os.ReadFile(c.keptName(commit))
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
			l := landing{change: byKey[k.Version], at: k.At, effect: map[string]turn{}}
			if l.change == nil {
				return false, nil
			}
			for path, e := range k.Effect {
				l.effect[path] = turn{threeway.Entry{Mode: e[0], OID: plan.OID(e[1])},
					threeway.Entry{Mode: e[2], OID: plan.OID(e[3])}}
			}
			if len(l.change.moves) > 0 {
				if l.moves, err = c.renames(ctx, l.effect); err != nil {
					return false, err
				}
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
			k := keptLanding{Version: landed.key(), At: landed.at, Effect: map[string][4]string{}}
			for path, e := range landed.effect {
				k.Effect[path] = [4]string{e.old.Mode, string(e.old.OID), e.new.Mode, string(e.new.OID)}
			}
			t.Stack = append(t.Stack, k)
		}
		kept.Tasks = append(kept.Tasks, t)
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	name := c.keptName(commit)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil //nolint:nilerr // a cache that can't be written costs time, and nothing else
	}
	f, err := os.CreateTemp(filepath.Dir(name), keptPrefix+"*.tmp")
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	_, err = f.Write(data)
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), name) != nil {
		os.Remove(f.Name())
	}
	forgetOldest(filepath.Dir(name))
	return nil
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
