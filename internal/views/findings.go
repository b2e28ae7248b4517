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

// Findings reports what misleads in the directory of the views (seed 1, "Validation and Error Handling"): sessions of no
// plan, documents of tasks that the plan does not have, summaries before the approval, and wrong markers. all are the
// plans that there are, sound those that can be read.
func (v *Views) Findings(ctx context.Context, all, sound []plan.ID) ([]audit.Finding, error) {
	if v.Store.WorkTree() == "" {
		return nil, nil
	}
	top := os.DirFS(v.Store.WorkTree())
	dirs, _ := fs.Glob(top, Dir+"/WFS-*") // the pattern is right
	var findings []audit.Finding
	var markers, foreign []string // that may be there; those of other systems only if no plan is active here
	for _, dir := range dirs {
		id := plan.ID(path.Base(dir))
		if info, err := fs.Stat(top, dir); err != nil || !info.IsDir() {
			continue
		}
		switch ours, _ := readRecord(v.recordFile(id)); {
		case slices.Contains(sound, id):
			files, err := v.files(ctx, id)
			if err != nil {
				return nil, err
			}
			findings = append(findings, v.strayFindings(top, id, files)...)
			if marker := exchange.Marker(id); files[marker] != nil {
				markers = append(markers, marker)
			}
		case slices.Contains(all, id):
			markers = append(markers, exchange.Marker(id))
		case len(ours) > 0:
			f := viewFinding(id, dir, "rm -r "+shell.Word(dir), "shows a plan that is not here any more")
			gone := files{}
			for name := range ours {
				gone[name] = nil
			}
			f.Fix = v.bringing(id, gone)
			findings = append(findings, f)
		default:
			foreign = append(foreign, exchange.Marker(id))
			findings = append(findings, viewFinding(id, dir, "git wf plan -f "+shell.Word(dir)+", or rm -r "+shell.Word(dir),
				"is a session that is no plan here"))
		}
	}
	if len(markers) == 0 {
		markers = foreign
	}
	return append(findings, v.markerFindings(top, markers)...), ctx.Err()
}

func viewFinding(id plan.ID, place, mend, message string) audit.Finding {
	return audit.Finding{Code: "view", PlanID: id, Place: plain.Line(place), Mend: mend, Message: message}
}

// strayFindings reports documents and summaries that the session of a plan should not have. The fix keeps a copy of
// those that were not written here. Of a plan that is not accepted yet, a session may have what it is made from.
func (v *Views) strayFindings(top fs.FS, id plan.ID, right files) (findings []audit.Finding) {
	if !right.haveTasks(id) {
		return nil
	}
	for _, kind := range [...]struct{ pattern, message string }{
		{".task/*.json", "is of a task that the plan does not have"},
		{".summaries/*.md", "is the summary of a task that is not approved"},
	} {
		names, _ := fs.Glob(top, path.Join(Dir, string(id), kind.pattern)) // the pattern is right
		for _, name := range names {
			if below := strings.TrimPrefix(name, Dir+"/"); right[below] == nil {
				f := viewFinding(id, name, "mv "+shell.Word(name)+" "+shell.Word(name+".orig"), kind.message)
				forced := *v
				forced.Force = true
				f.Fix = forced.bringing(id, files{below: nil})
				findings = append(findings, f)
			}
		}
	}
	return findings
}

func (f files) haveTasks(id plan.ID) bool {
	for name := range f {
		if strings.HasPrefix(name, string(id)+"/.task/") {
			return true
		}
	}
	return false
}

// markerFindings reports the markers that should not be there. A marker is an empty file.
func (v *Views) markerFindings(top fs.FS, right []string) (findings []audit.Finding) {
	names, _ := fs.Glob(top, Dir+"/"+exchange.Marker("*")) // the pattern is right
	for _, name := range names {
		marker := path.Base(name)
		info, err := fs.Stat(top, name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 || slices.Contains(right, marker) {
			continue
		}
		f := viewFinding("", name, "rm "+shell.Word(name), "marks a session that is not active")
		f.Fix = v.bringing(plan.ID(strings.TrimPrefix(marker, exchange.Marker(""))), files{marker: nil})
		findings = append(findings, f)
	}
	return findings
}

// bringing is a fix that brings some files of a session up to date.
func (v *Views) bringing(id plan.ID, files files) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		unlock, err := v.Store.LockWorktree(ctx, "checkout")
		if err != nil {
			return "", err
		}
		defer unlock()
		u, err := v.write(v.Store.WorkTree(), Dir, v.recordFile(id), id, files)
		said := "removed " + plain.Count(len(u.Removed), "file")
		for _, k := range u.Kept {
			said = fmt.Sprintf("it is %s now", k.Copy)
		}
		return said, err
	}
}
