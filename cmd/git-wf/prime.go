package main

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
	"gitwf/internal/shell"
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
	text, err := e.briefText(c, e.caller().Session)
	if err == nil {
		_, err = e.stdout.Write(text)
	}
	return err
}

// briefText is the brief for an agent of a session; empty where there is nothing that it could do.
func (e *env) briefText(c *cli.Context, session string) ([]byte, error) {
	if e.caller().Task != "" {
		return nil, nil // an attempt of a run, whose prompt says all
	}
	var out bytes.Buffer
	err := e.inActivePlan(c, func(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
		x, err := e.reader(eng).Explain(c.Context, snap)
		if err != nil {
			return err
		}
		b := sessionBrief{Plan: x}
		if b.Mine, err = e.heldHere(c, eng, snap, session); err != nil {
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

// inActivePlan does something with the active plan of the worktree, or nothing where there is none.
func (e *env) inActivePlan(c *cli.Context, f func(*cli.Context, *engine.Engine, *gitstore.Snapshot) error) error {
	err := e.onEnginePlan(warmPlan, f)(c)
	if errors.Is(err, gitstore.ErrNoRepository) || errors.Is(err, gitstore.ErrNoActive) {
		return nil
	}
	return err
}

// heldHere are the tasks that the agent of this session has claimed: that of the worktree that it is in, else those of
// its session or, where none is known, of its name.
func (e *env) heldHere(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, session string) (all []heldTask,
	err error) {
	claims, err := eng.ClaimStates(c.Context, snap.ID)
	claims = slices.DeleteFunc(claims, func(c engine.ClaimState) bool { return c.PID > 0 })
	if err != nil || len(claims) == 0 {
		return nil, err
	}
	name, err := e.claimAgent(c, eng.Store, true)
	trees, treesErr := eng.Store.Worktrees(c.Context)
	if err = errors.Join(err, treesErr); err != nil {
		return nil, err
	}
	for _, claim := range claims {
		t := snap.State().Tasks[claim.Task]
		if t == nil || t.NodeType != plan.Action {
			continue
		}
		h := heldTask{TaskState: t, Claim: claim, HandIn: (&engine.Offer{Task: t, Claim: &claim.Claim}).HandIn()}
		branch := regexp.MustCompile("(?i)^refs/heads/" + gate.WorkBranches + regexp.QuoteMeta(string(t.TaskID)) +
			`(-\d+)?$`)
		for _, w := range trees {
			if branch.MatchString(w.Branch) {
				h.Dir = w.Dir
			}
		}
		if t.Changes() && h.Dir != "" {
			h.HandIn = "cd " + shell.Word(h.Dir) + " && " + h.HandIn
		}
		if h.Rejection, err = eng.Feedback(c.Context, snap, t); err != nil {
			return nil, err
		}
		known := session != "" && strings.Contains(claim.Session, "-") // another one
		switch {
		case h.Dir != "" && filepath.Clean(h.Dir) == filepath.Clean(eng.Store.WorkTree()):
			return []heldTask{h}, nil
		case claim.Session == session || claim.Agent == name && claim.Holds && !known:
			all = append(all, h)
		}
	}
	return all, nil
}
