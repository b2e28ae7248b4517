package audit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// A prune begins a history anew, by a commit without parents whose tree says which history it goes on from. Where that one
// is here, the tree must be exactly what a prune of it makes; where it is not, all that the history before is known to have
// recorded must be in it.

// continues reports whether a history goes on, over one prune or several, from one that has old.
func (a *auditor) continues(old, next plan.OID) (bool, error) {
	seen := map[plan.OID]bool{}
	for tip := next; !seen[tip]; {
		seen[tip] = true
		roots, err := a.roots(string(tip))
		if err != nil || len(roots) != 1 {
			return false, err
		}
		archives, err := a.store.Archives(a.ctx, roots[0])
		if err != nil || len(archives) == 0 {
			return false, err
		}
		before := archives[len(archives)-1].Tip
		here, err := a.store.HasWhole(a.ctx, before)
		if err != nil {
			return false, err
		}
		if !here {
			return a.covers(roots[0], old)
		}
		if grew, err := a.store.IsAncestor(a.ctx, old, before); err != nil || grew {
			return grew, err
		}
		if tip != next {
			if err := a.prune(roots[0], old); err != nil {
				return false, err
			}
		}
		tip = before
	}
	return false, nil
}

// roots lists the commits without parents among those that the revisions select; the end of a shallow clone is none.
func (a *auditor) roots(revs ...string) ([]plan.OID, error) {
	out, err := a.store.Git(a.ctx, append([]string{"rev-list", "--max-parents=0", "--end-of-options"}, revs...)...)
	if err != nil {
		return nil, fmt.Errorf("find where the history of %s begins: %w", a.id, err)
	}
	cut, err := a.store.Cut(a.ctx, revs...)
	if err != nil {
		return nil, err
	}
	var roots []plan.OID
	for oid := range strings.FieldsSeq(out) {
		if !slices.Contains(cut, plan.OID(oid)) {
			roots = append(roots, plan.OID(oid))
		}
	}
	return roots, nil
}

// prunes audits what the commits that the revisions select have to do with prunes. Old, if there is one, is a commit up to
// which all was legal.
func (a *auditor) prunes(old plan.OID, revs ...string) error {
	roots, err := a.roots(revs...)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := a.prune(root, old); err != nil {
			return err
		}
	}
	return a.stubs(revs...)
}

// prune audits the first commit of a history.
func (a *auditor) prune(root, old plan.OID) error {
	archives, err := a.store.Archives(a.ctx, root)
	if err != nil {
		return err
	}
	place := fmt.Sprintf("%.12s: %s", root, plan.PrunedDir)
	if len(archives) == 0 {
		if snap, err := a.store.SnapshotAt(a.ctx, a.id, root); err == nil && len(taken(snap.Records)) > 0 {
			a.find("bad-prune", place, "", "files of versions are gone, and no prune says so")
		}
		return nil
	}
	last := archives[len(archives)-1]
	doc, err := a.store.ReadPrune(a.ctx, root, last)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return errors.Join(err, a.ctx.Err())
	}
	if err == nil && doc.PlanID != a.id {
		err = fmt.Errorf("it is a prune of %s", doc.PlanID)
	}
	if err != nil {
		a.find("bad-prune", place, "", "%v", err)
		return nil
	}
	here, err := a.store.HasWhole(a.ctx, last.Tip)
	if err != nil {
		return err
	}
	if !here {
		return a.plausible(root, last, place)
	}
	revs := []string{string(last.Tip)}
	if old != "" {
		revs = append(revs, "^"+string(old))
	}
	if err := a.history(revs...); err != nil {
		return err
	}
	return a.exact(root, doc, place)
}

// exact compares the tree of a prune with the one that its history yields.
func (a *auditor) exact(root plan.OID, doc plan.PruneDocument, place string) error {
	tree, err := a.store.Git(a.ctx, "rev-parse", "--verify", "--end-of-options", string(root)+"^{tree}")
	if err != nil {
		return err
	}
	want, err := a.store.PruneTree(a.ctx, doc)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return errors.Join(err, a.ctx.Err())
	}
	switch {
	case err != nil:
		a.find("bad-prune", place, "", "%v", err)
	case string(want) != tree:
		a.find("bad-prune", place, "git diff "+string(doc.Archive)+" "+string(root),
			"it is not what a prune of %.12s that keeps %d versions makes", doc.Archive, doc.Keep)
	}
	return nil
}

// plausible audits a prune whose history is not here: what it says of it can be read, and no approved version's files are gone.
func (a *auditor) plausible(root plan.OID, last gitstore.Archive, place string) error {
	_, err := a.store.ArchivedEvents(a.ctx, root, last)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return errors.Join(err, a.ctx.Err())
	}
	if err != nil {
		a.find("bad-prune", place, "", "%v", err)
	}
	snap, err := a.store.SnapshotAt(a.ctx, a.id, root)
	if err != nil {
		return nil //nolint:nilerr // what can't be read is found by the audit of the records
	}
	state := snap.State()
	for _, d := range taken(snap.Records) {
		if state.VersionVerdict(d.task, plan.VersionID(d.version)) == plan.Approved {
			a.find("bad-prune", place, "", "%s %s is approved, and its files are gone", d.task, plan.VersionID(d.version))
		}
	}
	return nil
}

type taskVersion struct {
	task    plan.TaskID
	version int
}

// taken lists the versions whose files are gone.
func taken(r plan.Records) []taskVersion {
	var list []taskVersion
	for id, t := range r.Tasks {
		for _, v := range t.Pruned {
			list = append(list, taskVersion{id, v})
		}
	}
	return list
}

var versionFile = pattern.Compile(`^tasks/[0-9a-f]{2}/([^/]+)/artifacts/(v[1-9][0-9]{0,8})/files/`)

// covers reports whether the first commit of a history has all that was recorded at an old one, but for the files of versions
// that left a stub.
func (a *auditor) covers(root, old plan.OID) (bool, error) {
	out, err := a.store.GitIn(a.ctx, gitstore.Invocation{Args: []string{
		"diff-tree", "-r", "--name-status", "--no-renames", "-z", "--end-of-options", string(old) + "^{tree}", string(root) + "^{tree}",
	}})
	if err != nil {
		return false, err
	}
	before, err := a.store.SnapshotAt(a.ctx, a.id, old)
	if err != nil {
		return false, err
	}
	now, err := a.store.SnapshotAt(a.ctx, a.id, root)
	if err != nil {
		return false, err
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		status, name := fields[i], fields[i+1]
		if status == "A" || name == "plan.json" {
			continue
		}
		m := versionFile.Get().FindStringSubmatch(name)
		if m == nil || status != "D" {
			return false, nil
		}
		task, version := plan.TaskID(m[1]), plan.VersionNumber(m[2])
		was, _ := before.Records.Of(task).Version(version)
		is, _ := now.Records.Of(task).Version(version)
		if was != is || !slices.Contains(now.Records.Of(task).Pruned, version) {
			return false, nil
		}
	}
	return true, nil
}

// stubs finds commits that do by themselves what only a prune does.
func (a *auditor) stubs(revs ...string) error {
	out, err := a.store.GitIn(a.ctx, gitstore.Invocation{Args: append(append([]string{
		"--no-literal-pathspecs", "-c", "log.showSignature=false", "log", "--full-history", "--min-parents=1", "-c", "--name-only", "--no-renames", "-z",
		"--format=%x01%H", "--end-of-options",
	}, revs...), "--", ":(top,glob)tasks/*/*/artifacts/*/pruned-*", ":(top)"+plan.PrunedDir)})
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	for _, commit := range strings.Split(string(out), "\x01")[1:] {
		fields := strings.Split(strings.Trim(commit, "\x00\n"), "\x00")
		for _, name := range fields[1:] {
			name = strings.TrimLeft(name, "\n")
			known := false
			if dir, base := path.Split(name); base == plan.DeletedFile {
				_, err := a.store.Resolve(a.ctx, fields[0]+"^:"+dir+plan.PruneFile)
				known = err == nil
			}
			if name != "" && !known {
				a.find("bad-prune", fmt.Sprintf("%.12s: %s", fields[0], name), "", "only a prune, which begins a history, writes this")
			}
		}
	}
	return nil
}

// ofPrune is placeOf for what is below pruned/.
func ofPrune(name string) (place string, known bool) {
	parts := strings.Split(name, "/")
	if len(parts) < 3 {
		return name, false
	}
	place = strings.Join(parts[:2], "/")
	if _, _, ok := plan.ParsePruneDir(parts[1]); !ok {
		return place, false
	}
	switch file := strings.Join(parts[2:], "/"); {
	case file == plan.PruneFile, file == plan.EventsFile, file == plan.DeletedFile:
		return name, true
	case len(parts) == 4 && parts[2] == plan.PlansDir:
		return name, true
	}
	return name, false
}

// PruneMove audits who pruned a plan, or recorded that an archive is deleted, in the move of its ref from an old commit, ""
// for none, to a new one: the policy may name who does.
func PruneMove(ctx context.Context, store *gitstore.Store, policy *gitstore.Policy, id plan.ID, old, next plan.OID) ([]Finding, error) {
	a := auditor{ctx: ctx, store: store, id: id}
	revs := []string{string(next)}
	if old != "" {
		revs = append(revs, "^"+string(old))
	}
	args := append([]string{"--no-literal-pathspecs", "rev-list", "--full-history", "--end-of-options"}, revs...)
	out, err := store.Git(ctx, append(args, "--", ":(top)"+plan.PrunedDir)...)
	if err != nil {
		return nil, fmt.Errorf("find who pruned %s: %w", id, err)
	}
	for commit := range strings.FieldsSeq(out) {
		if err := a.mayPrune(plan.OID(commit), policy); err != nil {
			return nil, err
		}
	}
	return a.findings, nil
}

func (a *auditor) mayPrune(commit plan.OID, by *gitstore.Policy) error {
	committer, err := a.store.Git(a.ctx, "-c", "log.showSignature=false", "log", "-1", "--no-color", "--no-notes", "--encoding=UTF-8", "--format=%cn", "--end-of-options", string(commit))
	if err != nil {
		return err
	}
	if _, err := a.store.Resolve(a.ctx, string(commit)+"^"); err == nil { // it begins nothing, so it says that archives are deleted
		if why := by.MayDeleteArchive(committer); why != "" {
			a.find("may-not-prune", fmt.Sprintf("%.12s", commit), "git wf policy show", "%s", why)
		}
		return nil
	}
	why, err := a.objection(commit, committer, by.Keys, by.MayPrune)
	if err != nil {
		return err
	}
	if why != "" {
		a.find("may-not-prune", fmt.Sprintf("%.12s", commit), "git wf policy show", "%s", why)
	}
	return nil
}
