package views

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"gitwf/internal/audit"
	"gitwf/internal/exchange"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// misleading are the files that are reported unless the session should have them.
var misleading = [...]struct{ pattern, message, mend string }{
	{"/WFS-*/.task/*.json", "is of a task that the plan does not have", "mv %[1]s %[1]s.orig"},
	{"/WFS-*/.summaries/*.md", "is the summary of a task that is not approved", "mv %[1]s %[1]s.orig"},
	{"/.active-*", "marks a session that is not active", "rm %[1]s"},
}

// Findings reports what misleads in the directory of the views: sessions of no plan, documents of
// tasks that the plan does not have, summaries before the approval, and wrong markers. all are the
// plans that there are, sound those that can be read.
func (v *Views) Findings(ctx context.Context, all, sound []plan.ID) (findings []audit.Finding, err error) {
	if v.Store.WorkTree() == "" {
		return nil, nil
	}
	top := os.DirFS(v.Store.WorkTree())
	right := map[plan.ID]files{} // of the sessions whose files are looked at
	active := false              // a plan is
	sessions, _ := fs.Glob(top, Dir+"/WFS-*")
	for _, dir := range sessions {
		id := plan.ID(path.Base(dir))
		switch ours, _ := readRecord(v.recordFile(id)); {
		case slices.Contains(sound, id):
			if right[id], err = v.files(ctx, id); err != nil {
				return nil, err
			}
			active = active || right[id][exchange.Marker(id)] != nil
		case slices.Contains(all, id):
		case len(ours) > 0:
			right[id] = files{}
			for name := range ours {
				right[id][name] = nil
			}
			f := viewFinding(id, dir, "rm -r "+shell.Word(dir), "shows a plan that is not here any more")
			f.Fix = v.bringing(id, right[id], false)
			findings = append(findings, f)
		default:
			mend := fmt.Sprintf("git wf plan -f %[1]s, or rm -r %[1]s", shell.Word(dir))
			findings = append(findings, viewFinding(id, dir, mend, "is a session that is no plan here"))
		}
	}
	for _, kind := range misleading {
		names, _ := fs.Glob(top, Dir+kind.pattern)
		for _, name := range names {
			below := strings.TrimPrefix(name, Dir+"/")
			session, _, inside := strings.Cut(below, "/")
			id := plan.ID(strings.TrimPrefix(session, exchange.Marker("")))
			info, err := fs.Stat(top, name)
			theirs := right[id] == nil && slices.Contains(sessions, path.Join(Dir, string(id)))
			switch want := right[id]; {
			case err != nil || !info.Mode().IsRegular(), want[below] != nil:
			case inside && !want.haveTasks(id): // it is of another system, or what a plan is to be made from
			case !inside && (info.Size() > 0 || theirs && !active):
			default:
				f := viewFinding(id, name, fmt.Sprintf(kind.mend, shell.Word(name)), kind.message)
				f.Fix = v.bringing(id, files{below: nil}, true)
				findings = append(findings, f)
			}
		}
	}
	return findings, ctx.Err()
}

func (f files) haveTasks(id plan.ID) bool {
	for name := range f {
		if strings.HasPrefix(name, string(id)+"/.task/") && f[name] != nil {
			return true
		}
	}
	return false
}

func viewFinding(id plan.ID, place, mend, message string) audit.Finding {
	return audit.Finding{Code: "view", PlanID: id, Place: plain.Line(place), Mend: mend, Message: message}
}

// bringing is a fix that brings some files of a session up to date.
func (v *Views) bringing(id plan.ID, files files, force bool) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		unlock, err := v.Store.LockWorktree(ctx, "checkout")
		if err != nil {
			return "", err
		}
		defer unlock()
		forced := Views{Store: v.Store, Force: force}
		u, err := forced.write(v.Store.WorkTree(), Dir, v.recordFile(id), id, files)
		for _, k := range u.Kept {
			return fmt.Sprintf("it is %s now", k.Copy), err
		}
		return "removed " + plain.Count(len(u.Removed), "file"), err
	}
}
