package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// landLines is the setting with the number of lines of landed tasks that a tree has to pass at most.
const landLines = "wf.land.lines"

// key names a version's task among those of all plans.
func (c *arrival) key() string { return string(c.snap.ID) + "/" + string(c.TaskID) }

// undoes is the key of the task whose change the version takes back; "" if it takes none back.
func (c *arrival) undoes() string {
	if u := c.task.DeliverableSpec.Undoes; u != nil {
		return string(u.PlanID) + "/" + string(u.TaskID)
	}
	return ""
}

func (c *arrival) changes() map[string]bool {
	if c.paths == nil {
		c.paths = map[string]bool{}
		for _, f := range plandoc.ChangedFiles(c.Files) {
			c.paths[f.Path] = true
		}
	}
	return c.paths
}

// meets reports whether a landed version changes a file that the group changes, too.
func meets(landed *arrival, group []arrival) bool {
	mine := landed.changes()
	for i := range group {
		for path := range group[i].changes() {
			if mine[path] {
				return true
			}
		}
	}
	return false
}

// lines are those that a tree must pass: the run lines of the versions that are to land, unless they were approved on
// just that tree; the user's own; and those of landed tasks that the group may break.
func (l *landing) lines(ctx context.Context, group []arrival, tree plan.OID) ([]line, error) {
	var lines []line
	for _, c := range group {
		if c.Base.After != tree {
			own, err := l.linesOf(c, true, nil)
			if err != nil {
				return nil, err
			}
			lines = append(lines, own...)
		}
	}
	own, err := l.ownCheck(ctx)
	if err != nil {
		return nil, err
	}
	landed, err := l.landedLines(ctx, group)
	return slices.Concat(lines, own, landed), err
}

// ownCheck is the user's own line, if there is one.
func (l *landing) ownCheck(ctx context.Context) ([]line, error) {
	own, _, err := l.engine.Store.Config(ctx, landCheck)
	if err != nil || own == "" {
		return nil, err
	}
	if !l.engine.Trust.Code() {
		return nil, fault.Waiting("git wf trust --code", "%s runs code that was just written, as you and unreviewed",
			landCheck)
	}
	return []line{{criterion: plan.Criterion{ID: landCheck, Statement: "What lands passes " + landCheck + ".",
		CheckMethod: plan.StaticCheck, Severity: plan.Must, Run: own}}}, nil
}

// greenBase fails if the user's own line fails on the commit with which an attempt would begin: none could pass it.
func (e *Engine) greenBase(ctx context.Context, snap *gitstore.Snapshot, commit plan.OID) error {
	if !e.Trust.Code() {
		return nil
	}
	l := landing{engine: e, snap: snap, passed: e.openPassed()}
	lines, err := l.ownCheck(ctx)
	if err != nil || len(lines) == 0 {
		return err
	}
	tree, err := e.Store.TreeOf(ctx, commit)
	if err != nil {
		return err
	}
	r, err := l.try(ctx, lines[0], commit, tree)
	if err == nil && r.Result != plan.ResultPass {
		err = fault.Refused("git -c "+landCheck+"= wf run, if the plan mends it",
			"%s fails on %.12s before anything is changed: %s", landCheck, commit, firstLine(r.Evidence))
	}
	return err
}

// linesOf are the run lines of a version, of a landed one its MUSTs. Those of that which are given up are named.
func (l *landing) linesOf(c arrival, own bool, givenUp map[string]string) (lines []line, err error) {
	if w := l.engine.Trust.lacks(c.task.Task); w.Text != "" {
		return nil, fault.Waiting(w.Command+" --plan "+string(c.snap.ID), "%s: %s", c.TaskID, w.Text)
	}
	for _, k := range c.task.AcceptanceCriteria {
		x := line{c, k, own, k.RedFirst()}
		x.criterion.Red = ""
		why := givenUp[c.key()] + givenUp[c.key()+":"+k.ID]
		if slices.ContainsFunc(c.snap.Records.Of(c.TaskID).Waivers, func(w plan.WaiverRecord) bool {
			return w.Version >= plan.VersionNumber(c.ArtifactID) && w.Criterion == plan.EscapeName(k.ID)
		}) {
			why = "waived"
		}
		switch said := x.name() + ", " + why; {
		case k.Run == "" || !own && k.Severity != plan.Must:
		case why == "":
			lines = append(lines, x)
		case !own && !slices.Contains(l.GivenUp, said):
			l.GivenUp = append(l.GivenUp, said)
		}
	}
	return lines, nil
}

// landedLines are the lines of tasks of any plan that landed before and changed the same files as the group; of those
// that landed since what it takes back, all. They are the newest, up to the user's limit.
func (l *landing) landedLines(ctx context.Context, group []arrival) (lines []line, err error) {
	most := 200
	value, set, err := l.engine.Store.Config(ctx, landLines)
	if set && err == nil {
		if most, err = strconv.Atoi(value); err != nil || most < 0 {
			err = fault.Usage("git config "+landLines+" 200", "%s is %q: expected a number", landLines, value)
		}
	}
	all := slices.Concat(l.landed, l.others)
	givenUp, undone, undos := map[string]string{}, "", map[string]time.Time{}
	for _, c := range slices.Concat(group, all) {
		for _, k := range c.task.AcceptanceCriteria {
			for _, name := range k.Supersedes {
				givenUp[string(c.snap.ID)+"/"+name] = "superseded by " + string(c.TaskID) + ":" + k.ID
			}
		}
		if of := c.undoes(); of != "" && c.commit == "" {
			undone, givenUp[of] = of, "taken back"
		} else if c.at.After(undos[of]) {
			undos[of] = c.at
		}
	}
	all = slices.DeleteFunc(all, func(c arrival) bool {
		at, taken := undos[c.key()]
		return taken && !c.at.After(at)
	})
	each.Sort(all, func(a, b arrival) int { return b.at.Compare(a.at) })
	since := slices.IndexFunc(all, func(c arrival) bool { return c.key() == undone })
	for i, c := range all {
		isLater := undone != "" && (since < 0 || !c.at.Before(all[since].at))
		if err != nil || !isLater && !meets(&all[i], group) {
			continue
		}
		var of []line
		if of, err = l.linesOf(c, false, givenUp); len(lines)+len(of) > most {
			for _, x := range of[most-len(lines):] {
				l.NotRun = append(l.NotRun, x.name())
			}
			of = of[:most-len(lines)]
		}
		lines = append(lines, of...)
	}
	return lines, err
}

// findOthers finds by the records of the other plans what has landed on the branch.
func (l *landing) findOthers(ctx context.Context) error {
	store := l.engine.Store
	plans, err := store.Plans(ctx)
	for _, p := range plans {
		if p.ID == l.snap.ID {
			continue
		}
		snap, err := store.Snapshot(ctx, p.ID)
		if err != nil {
			return fmt.Errorf("read what has landed: %w", err)
		}
		for _, id := range snap.State().Changes() {
			docs, err := export.DocumentsOf(ctx, store, snap, id).Landings()
			if err != nil {
				return err
			}
			at := len(docs) - 1
			for at >= 0 && !l.hasLanded(ctx, docs[at]) {
				at--
			}
			if at < 0 {
				continue
			}
			a, err := export.ReadArtifact(ctx, store, snap, id, plan.VersionNumber(docs[at].ArtifactID))
			if err != nil {
				return err
			}
			l.others = append(l.others, arrival{snap: snap, task: snap.State().Tasks[id], Artifact: a,
				commit: docs[at].Commit, at: docs[at].CreatedAt})
		}
	}
	return err
}

// hasLanded reports whether the branch has the commit with which a version landed, or the change.
func (l *landing) hasLanded(ctx context.Context, doc plan.Landing) bool {
	if doc.Commit == "" {
		return false
	}
	if has, err := l.engine.Store.IsAncestor(ctx, doc.Commit, l.tip); err == nil && has {
		return true
	}
	tree, conflicts, err := l.engine.Store.NewBatch().ApplyChange(ctx, doc.Tree, l.tipTree)
	return err == nil && len(conflicts) == 0 && tree == l.tipTree
}
