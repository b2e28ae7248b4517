package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// landLines is the setting with the number of lines of landed tasks that a tree has to pass at most.
const landLines = "wf.land.lines"

// key names a version's task among those of all plans.
func (c *arrival) key() string {
	if c.snap == nil {
		return ""
	}
	return string(c.snap.ID) + "/" + string(c.TaskID)
}

func (c *arrival) changes() map[string]bool {
	if c.paths == nil {
		c.paths = map[string]bool{}
		for _, f := range plandoc.Changed(c.Files) {
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
// just that tree; the user's own; and those of tasks that landed before and that the group may break.
func (l *landing) lines(ctx context.Context, group []arrival, tree plan.OID) ([]line, error) {
	var lines []line
	for _, c := range group {
		if c.Base.After == tree {
			continue
		}
		own, err := l.linesOf(c, nil)
		if err != nil {
			return nil, err
		}
		for i := range own {
			own[i].own = true
		}
		lines = append(lines, own...)
	}
	own, set, err := l.engine.Store.Config(ctx, landCheck)
	if err != nil {
		return nil, err
	}
	if set && own != "" {
		if !l.engine.Trust.Code() {
			return nil, fault.Waiting("git wf trust --code", "%s runs code that was just written, as you and unreviewed",
				landCheck)
		}
		lines = append(lines, line{criterion: plan.Criterion{ID: landCheck, Statement: "What lands passes " + landCheck + ".",
			CheckMethod: plan.StaticCheck, Severity: plan.Must, Run: own}})
	}
	landed, err := l.landedLines(ctx, group)
	return append(lines, landed...), err
}

// linesOf are the run lines of a version but those that are waived or superseded. Without own lines, they are those of
// a task that has landed: its MUSTs, and what is left out is named.
func (l *landing) linesOf(c arrival, superseded map[string]string) ([]line, error) {
	landed := superseded != nil
	var lines []line
	for _, k := range c.task.AcceptanceCriteria {
		if k.Run == "" || landed && k.Severity != plan.Must {
			continue
		}
		x := line{of: c, criterion: k, red: k.RedFirst(), elsewhere: landed && c.snap.ID != l.snap.ID}
		x.criterion.Red = ""
		why := superseded[c.key()+":"+k.ID]
		for _, w := range c.snap.Records.Of(c.TaskID).Waivers {
			if w.Version >= plan.VersionNumber(c.ArtifactID) && w.Criterion == plan.EscapeName(k.ID) {
				why = "waived"
			}
		}
		switch {
		case why == "":
			lines = append(lines, x)
		case landed:
			l.giveUp(x, why)
		}
	}
	if w := l.engine.Trust.lacks(c.task.Task); w.Text != "" && len(lines) > 0 {
		return nil, fault.Waiting(w.Command+" --plan "+string(c.snap.ID), "%s: %s", c.TaskID, w.Text)
	}
	return lines, nil
}

func (l *landing) giveUp(x line, why string) {
	l.GivenUp = union(l.GivenUp, []string{x.name() + ", " + why})
}

// landedLines are the lines of tasks that landed on the branch before, of any plan, and changed the files that the
// group changes. What takes a change back has to leave whole all that came after it, too. The plan's own come first,
// then the newest, up to the user's limit.
func (l *landing) landedLines(ctx context.Context, group []arrival) ([]line, error) {
	most, err := l.mostLines(ctx)
	if err != nil {
		return nil, err
	}
	before, err := l.before(ctx)
	if err != nil {
		return nil, err
	}
	superseded := map[string]string{}
	for _, c := range slices.Concat(before, group) {
		for _, k := range c.task.AcceptanceCriteria {
			for _, name := range k.Supersedes {
				superseded[string(c.snap.ID)+"/"+name] = "superseded by " + string(c.TaskID) + ":" + k.ID
			}
		}
	}
	undone := map[string]plan.OID{} // what the group takes back, and with which commit that landed
	for _, c := range group {
		if of := undoes(c.snap.Plan); of != "" {
			undone[of] = ""
		}
	}
	for _, c := range before {
		if _, ok := undone[c.key()]; ok {
			undone[c.key()] = c.commit
		}
	}
	var lines []line
	for i := range before {
		c := &before[i]
		_, taken := undone[c.key()]
		since, err := l.landedSince(ctx, c, undone)
		if err != nil {
			return nil, err
		}
		if !taken && !since && !meets(c, group) {
			continue
		}
		of, err := l.linesOf(*c, superseded)
		if err != nil {
			return nil, err
		}
		for _, x := range of {
			switch {
			case taken:
				l.giveUp(x, "taken back")
			case len(lines) < most:
				lines = append(lines, x)
			default:
				l.NotRun = union(l.NotRun, []string{x.name()})
			}
		}
	}
	return lines, nil
}

// landedSince reports whether a version landed after one that is taken back.
func (l *landing) landedSince(ctx context.Context, c *arrival, undone map[string]plan.OID) (bool, error) {
	for _, commit := range undone {
		if commit == "" { // nobody knows
			return true, nil
		}
		earlier, err := l.engine.Store.IsAncestor(ctx, c.commit, commit)
		if err != nil || !earlier {
			return err == nil, err
		}
	}
	return false, nil
}

func (l *landing) mostLines(ctx context.Context) (int, error) {
	value, set, err := l.engine.Store.Config(ctx, landLines)
	if err != nil || !set {
		return 200, err
	}
	most, err := strconv.Atoi(value)
	if err != nil || most < 0 {
		return 0, fault.Usage("git config "+landLines+" 200", "%s is %q: expected a number", landLines, value)
	}
	return most, nil
}

// before lists what has landed on the branch and is not taken back: of this plan, newest first, then of the others.
func (l *landing) before(ctx context.Context) ([]arrival, error) {
	if err := l.batch.Flush(ctx); err != nil { // git is asked about commits of this landing
		return nil, err
	}
	all := slices.Clone(l.landed)
	slices.Reverse(all)
	all = append(all, l.others...)
	undos := map[string][]plan.OID{} // with which commits what was taken back
	for _, c := range all {
		if of := undoes(c.snap.Plan); of != "" {
			undos[of] = append(undos[of], c.commit)
		}
	}
	var err error
	return slices.DeleteFunc(all, func(c arrival) bool {
		return slices.ContainsFunc(undos[c.key()], func(undo plan.OID) bool {
			later, failed := l.engine.Store.IsAncestor(ctx, c.commit, undo)
			err = cmp.Or(err, failed)
			return later
		})
	}), err
}

// findOthers finds by the records of the other plans what has landed on the branch.
func (l *landing) findOthers(ctx context.Context) error {
	store := l.engine.Store
	plans, err := store.Plans(ctx)
	if err != nil {
		return err
	}
	var found []plan.Landing // in the order of l.others
	for _, p := range plans {
		if p.ID == l.snap.ID {
			continue
		}
		snap, err := store.Snapshot(ctx, p.ID)
		if err != nil {
			return fmt.Errorf("read what has landed: %w", err)
		}
		for _, id := range snap.State().Changes() {
			all, err := export.DocumentsOf(ctx, store, snap, id).Landings()
			if err != nil {
				return err
			}
			for _, doc := range slices.Backward(all) {
				if doc.Commit == "" {
					continue
				}
				a, err := export.ReadArtifact(ctx, store, snap, id, plan.VersionNumber(doc.ArtifactID))
				if err != nil {
					return err
				}
				there, err := l.hasLanded(ctx, doc)
				if err != nil {
					return err
				}
				if there {
					at, _ := slices.BinarySearchFunc(found, doc, func(x, doc plan.Landing) int {
						return doc.CreatedAt.Compare(x.CreatedAt)
					})
					found = slices.Insert(found, at, doc)
					l.others = slices.Insert(l.others, at, arrival{snap: snap, task: snap.State().Tasks[id], Artifact: a,
						commit: doc.Commit})
					break
				}
			}
		}
	}
	return nil
}

// hasLanded reports whether the branch has the commit with which a version landed or, where it was rewritten, the
// change.
func (l *landing) hasLanded(ctx context.Context, doc plan.Landing) (bool, error) {
	there, err := l.engine.Store.TreeOf(ctx, doc.Commit)
	if err != nil {
		return false, err
	}
	if there != "" {
		if has, err := l.engine.Store.IsAncestor(ctx, doc.Commit, l.tip); err != nil || has {
			return has, err
		}
	}
	tree, conflicts, err := l.engine.Store.NewBatch().ApplyChange(ctx, doc.Tree, l.tipTree)
	return err == nil && len(conflicts) == 0 && tree == l.tipTree, err
}
