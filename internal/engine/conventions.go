package engine

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/each"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
)

// conventionsKey is the setting whose false keeps from agents what the repository tells them.
const conventionsKey = "wf.conventions"

// tellRepository gives a prompt what the repository says of itself: its conventions and its own check. It reads
// the commit that the work begins with, so that no attempt writes what it, or its reviewer, is told.
func (e *Engine) tellRepository(ctx context.Context, w *workDir, d *prompt.Data) error {
	base, err := e.toldFrom(ctx, w)
	if err != nil || base == "" || w.role == contract.RoleConsult || w.role == contract.RoleFeasibility {
		return err
	}
	read := func(name string) (string, bool) {
		data, err := e.Store.ReadFile(ctx, base, name)
		return string(data), err == nil
	}
	d.OwnCheck, d.Stack, _, _ = check.Own(read)
	told, _, err := e.Store.Config(ctx, conventionsKey)
	off := slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(told))
	if off || err != nil || d.HandIn != "" { // whoever works in a session of their own has them
		return err
	}
	known := "" // where it works in a checkout or, as a reviewer, may read the repository
	if (w.checkout || w.reviewer != "") &&
		e.Agents.ReadsOwnRules(cmp.Or(w.reviewer, e.agentOf(w.snap.Plan, w.task.Task))) {
		known = "GEMINI.md"
	}
	d.Conventions = prompt.ConventionsOf(read, dirsOf(plandoc.TouchedPaths(w.task.Task)), known)
	return ctx.Err()
}

// hideConventions removes from a candidate's directory what gemini would obey there: it takes such a file beside one
// that it reads for its own rules. The prompt shows these files like all others.
func (e *Engine) hideConventions(dir, reviewer string) error {
	if !slices.ContainsFunc(e.Agents.Chain(reviewer), e.Agents.ReadsOwnRules) {
		return nil
	}
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains(prompt.ConventionFiles(), d.Name()) {
			err = os.RemoveAll(name)
		}
		return err
	})
}

// toldFrom is the commit from which an agent is told what the repository says of itself, "" for none. A record may
// name any commit: one that is not in the history of the branch here is no approved one.
func (e *Engine) toldFrom(ctx context.Context, w *workDir) (tip plan.OID, err error) {
	if w.role.Usual() == contract.Artifact {
		return w.source, nil
	}
	if tip, err = e.Store.CommitOf(ctx, "HEAD"); w.task.Changes() {
		_, tip, err = e.Store.Trunk(ctx)
	}
	if err == nil && tip != "" && w.source != "" && w.source != tip {
		if in, _ := e.Store.IsAncestor(ctx, w.source, tip); in {
			tip = w.source
		}
	}
	return tip, err
}

// dirsOf are the top of the repository, and the directories that lead to paths.
func dirsOf(paths []string) []string {
	dirs := []string{""}
	for _, p := range paths {
		p, _, _ = strings.Cut(p+"x", "*")
		for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
			dirs = each.Add(dirs, dir)
		}
	}
	return dirs
}
