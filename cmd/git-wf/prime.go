package main

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

// mostBrief bounds the brief, in bytes: a token has about four.
const mostBrief = 6000

// A heldTask is a task that a chat agent has claimed.
type heldTask struct {
	*plan.TaskState
	Claim     engine.ClaimState
	Dir       string // its worktree, "" if there is none
	HandIn    string
	Rejection string
}

// sessionBrief is what matters now to an agent.
type sessionBrief struct {
	*readmodel.Plan
	Mine      []heldTask
	Free      *plan.TaskState // that it could take
	Questions []plan.Question
	Persons   []string // commands that are a person's decision
}

func (e *env) prime(c *cli.Context) error {
	text, err := e.briefText(c, e.dir, e.caller().Session)
	if err == nil {
		_, err = e.stdout.Write(text)
	}
	return err
}

// briefText is the brief for an agent in a directory; empty where there is nothing that it could do.
func (e *env) briefText(c *cli.Context, dir, session string) ([]byte, error) {
	if e.caller().Task != "" {
		return nil, nil // an attempt of a run, whose prompt says all
	}
	var out bytes.Buffer
	err := e.inActivePlan(c, dir, func(eng *engine.Engine, snap *gitstore.Snapshot) error {
		x, err := e.reader(eng).Explain(c.Context, snap)
		if err != nil {
			return err
		}
		b := sessionBrief{Plan: x}
		if b.Mine, err = e.heldHere(c, eng, snap, x.Claims, session); err != nil {
			return err
		}
		for _, t := range x.State.Ready() {
			if t.NodeType == plan.Action && !t.Planning() && b.Free == nil {
				b.Free = t
			}
		}
		for _, w := range slices.Concat(x.Waits, x.Open) {
			b.Questions = append(b.Questions, w.Questions...)
		}
		for _, name := range slices.Sorted(maps.Keys(rules)) {
			if p := rules[name].person; p == "*" || strings.HasPrefix(string(p), "!") {
				b.Persons = append(b.Persons, name)
			}
		}
		return style{}.render(&out, "prime", b)
	})
	text := out.Bytes()
	if len(text) > mostBrief {
		text = append(bytes.ToValidUTF8(text[:mostBrief-4], nil), "...\n"...)
	}
	return text, err
}

// inActivePlan does something with the active plan of a directory's worktree, or nothing where there is none.
func (e *env) inActivePlan(c *cli.Context, dir string, f func(*engine.Engine, *gitstore.Snapshot) error) error {
	store, err := gitstore.Open(c.Context, dir)
	if errors.Is(err, gitstore.ErrNoRepository) {
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	store.Warm(c.Context, false)
	id, err := store.Active(c.Context)
	if errors.Is(err, gitstore.ErrNoActive) {
		return nil
	}
	if err != nil {
		return err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	return f(eng, snap)
}

// heldHere are the tasks that the agent of this session has claimed: those of the worktree that it is in, else those of
// its session or, where none is known, of its name.
func (e *env) heldHere(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, claims []engine.ClaimState,
	session string) (all []heldTask, err error) {
	claims = slices.DeleteFunc(slices.Clone(claims), func(c engine.ClaimState) bool { return c.PID > 0 })
	if len(claims) == 0 {
		return nil, nil
	}
	name, err := e.claimAgent(c, eng.Store, true)
	if err != nil {
		return nil, err
	}
	trees, err := eng.Store.Worktrees(c.Context)
	if err != nil {
		return nil, err
	}
	for _, claim := range claims {
		t := snap.State().Tasks[claim.Task]
		if t == nil || t.NodeType != plan.Action {
			continue
		}
		h := heldTask{TaskState: t, Claim: claim,
			HandIn: (&engine.Offer{Snapshot: snap, Task: t, Claim: &claim.Claim}).HandIn()}
		branch := "refs/heads/" + gate.WorkBranches + strings.ToLower(string(claim.Task))
		for _, w := range trees {
			rest, ok := strings.CutPrefix(w.Branch, branch)
			if ok && (rest == "" && h.Dir == "" || strings.Trim(rest, "-0123456789") == "" && rest != "") {
				h.Dir = w.Dir
			}
		}
		if h.Rejection, err = eng.Feedback(c.Context, snap, t); err != nil {
			return nil, err
		}
		others := session != "" && claim.Session != session && strings.Contains(claim.Session, "-") // a known session
		switch here := eng.Store.WorkTree(); {
		case h.Dir != "" && filepath.Clean(h.Dir) == filepath.Clean(here):
			return []heldTask{h}, nil
		case claim.Session == session || claim.Agent == name && claim.Holds && !others:
			all = append(all, h)
		}
	}
	return all, nil
}
