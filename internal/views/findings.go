package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/audit"
	"gitwf/internal/checkout"
	"gitwf/internal/exchange"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Findings reports views that differ from the plan, and markers that mislead (seed 1, "Recovery Strategies"). It looks
// only at plans that were checked out in this worktree, and at markers. sound are the plans that can be read.
func (v *Views) Findings(ctx context.Context, sound []plan.ID) ([]audit.Finding, error) {
	store := v.Store
	if store.WorkTree() == "" {
		return nil, nil
	}
	groups, err := placeOf(store).Groups()
	if err != nil {
		return nil, err
	}
	var findings []audit.Finding
	for _, group := range groups {
		v := &Views{Store: store, ID: plan.ID(group), Now: v.Now, Warn: v.Warn, Force: broken}
		_, tipErr := store.Tip(ctx, v.ID)
		switch {
		case slices.Contains(sound, v.ID):
			more, err := v.stale(ctx)
			if err != nil {
				return nil, err
			}
			findings = append(findings, more...)
		case errors.Is(tipErr, gitstore.ErrNoPlan):
			findings = append(findings, v.lost())
		}
	}
	return append(findings, markerFindings(ctx, store)...), ctx.Err()
}

func viewFinding(id plan.ID, place, mend, format string, args ...any) audit.Finding {
	return audit.Finding{Code: "view", PlanID: id, Place: plain.Line(place), Mend: mend,
		Message: fmt.Sprintf(format, args...)}
}

// lost is the finding about the views of a plan that is gone.
func (v *Views) lost() audit.Finding {
	dir := Dir + "/" + string(v.ID)
	f := viewFinding(v.ID, dir, "rm -rf "+shell.Word(dir), "shows a plan that is not here any more")
	f.Fix = func(ctx context.Context) (string, error) {
		unlock, err := v.Store.LockWorktree(ctx, "checkout")
		if err != nil {
			return "", err
		}
		defer unlock()
		r, err := placeOf(v.Store).Sync(string(v.ID), nil, checkout.Options{})
		return fmt.Sprintf("removed %s that nobody had edited", plain.Count(len(r.Removed), "file")), err
	}
	return f
}

// stale compares the views with what the plan says. A view in JSON that is no longer JSON is broken rather than edited:
// the fix writes it again and keeps a copy.
func (v *Views) stale(ctx context.Context) ([]audit.Finding, error) {
	id := v.ID
	snap, err := v.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	_, files, err := v.files(ctx, snap)
	if err != nil {
		return nil, err
	}
	dir, mend := Dir+"/"+string(id), "git wf checkout --plan "+string(id)
	r, err := placeOf(v.Store).Sync(string(id), files, checkout.Options{Force: broken, Look: true})
	var inTheWay *checkout.InTheWayError
	if errors.As(err, &inTheWay) {
		return []audit.Finding{viewFinding(id, inTheWay.Path,
			"mv "+shell.Word(inTheWay.Path)+" "+shell.Word(inTheWay.Path+".orig")+" && "+mend, "%v", inTheWay)}, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []audit.Finding
	if n := len(r.Written) + len(r.Removed); n > 0 {
		f := viewFinding(id, dir, mend, "%s %s missing, broken or older than the plan",
			plain.Count(n, "file"), map[bool]string{true: "is", false: "are"}[n == 1])
		f.Fix = func(ctx context.Context) (string, error) {
			done, err := v.Update(ctx)
			return fmt.Sprintf("wrote %d, removed %d, kept %s of what was broken", len(done.Written), len(done.Removed),
				map[bool]string{true: "a copy", false: "copies"}[len(done.Kept) == 1]), err
		}
		findings = append(findings, f)
	}
	for _, ed := range r.Edited {
		findings = append(findings, viewFinding(id, path.Join(Dir, ed.Name),
			mend+", which shows what was edited and how to hand it in", "was edited, and the plan does not know of it"))
	}
	return findings, nil
}

// broken reports whether a view that should be JSON is not.
func broken(name string, have []byte) bool {
	return path.Ext(name) == ".json" && have != nil && !json.Valid(have)
}

// markerFindings reports markers of missing sessions, and all but one of several: the active plan's, or else the
// newest. A marker is an empty file; any other file is left alone.
func markerFindings(ctx context.Context, store *gitstore.Store) []audit.Finding {
	root, err := os.OpenRoot(store.WorkTree())
	if err != nil {
		return nil
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), Dir+"/.active-*")
	if err != nil {
		return nil
	}
	active, _ := store.Active(ctx) // "" if there is none
	var findings []audit.Finding
	find := func(name, why string) {
		f := viewFinding("", name, "rm "+shell.Word(name), "%s", why)
		f.Fix = func(context.Context) (string, error) { return "removed it", removeMarker(store.WorkTree(), name) }
		findings = append(findings, f)
	}
	var stay string // the marker that is right
	var newest time.Time
	var markers []string
	for _, name := range names {
		session := strings.TrimPrefix(path.Base(name), exchange.Marker(""))
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
			continue
		}
		if dir, err := root.Lstat(filepath.Join(Dir, session)); err != nil || !dir.IsDir() {
			find(name, "marks a session as active whose directory is not there")
			continue
		}
		markers = append(markers, name)
		if stay == "" || plan.ID(session) == active || stay != path.Join(Dir, exchange.Marker(active)) &&
			info.ModTime().After(newest) {
			stay, newest = name, info.ModTime()
		}
	}
	for _, name := range markers {
		if name != stay {
			find(name, "is one of several markers of the active session; "+path.Base(stay)+" stays")
		}
	}
	return findings
}

// removeMarker removes a file if it still is a marker.
func removeMarker(top, name string) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
		return fmt.Errorf("%s is no empty file any more", name)
	}
	return root.Remove(filepath.FromSlash(name))
}
