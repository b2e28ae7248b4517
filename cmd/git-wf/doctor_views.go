package main

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

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/checkout"
	"gitwf/internal/exchange"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// viewFindings reports views that are not what the plan says, and markers that mislead (seed 1, "Recovery Strategies").
// It looks only at plans that were checked out in this working tree, and at markers.
func (e *env) viewFindings(c *cli.Context, store *gitstore.Store, sound []plan.ID) ([]audit.Finding, error) {
	if store.WorkTree() == "" {
		return nil, nil
	}
	groups, err := placeOf(store).Groups()
	if err != nil {
		return nil, err
	}
	var findings []audit.Finding
	for _, group := range groups {
		id := plan.ID(group)
		_, tipErr := store.Tip(c.Context, id)
		switch {
		case slices.Contains(sound, id):
			more, err := e.staleViews(c, store, id)
			if err != nil {
				return nil, err
			}
			findings = append(findings, more...)
		case errors.Is(tipErr, gitstore.ErrNoPlan):
			findings = append(findings, e.lostViews(store, id))
		}
	}
	return append(findings, markerFindings(c.Context, store)...), c.Context.Err()
}

func viewFinding(id plan.ID, place, mend, format string, args ...any) audit.Finding {
	return audit.Finding{Code: "view", PlanID: id, Place: plan.OneLine(place), Mend: mend,
		Message: fmt.Sprintf(format, args...)}
}

// lostViews are those of a plan that there is none of any more.
func (e *env) lostViews(store *gitstore.Store, id plan.ID) audit.Finding {
	dir := viewDir + "/" + string(id)
	f := viewFinding(id, dir, "rm -rf "+shell.Word(dir), "shows a plan that is not here any more")
	f.Fix = func(ctx context.Context) (string, error) {
		unlock, err := store.LockWorktree(ctx, "checkout")
		if err != nil {
			return "", err
		}
		defer unlock()
		r, err := placeOf(store).Sync(string(id), nil, checkout.Options{Now: e.now()})
		return fmt.Sprintf("removed %s that nobody had edited", plan.Count(len(r.Removed), "file")), err
	}
	return f
}

// staleViews compares the views of a plan with what it says. What is no JSON any more, where a view is JSON, is broken
// rather than edited: it is put right, and a copy of it kept.
func (e *env) staleViews(c *cli.Context, store *gitstore.Store, id plan.ID) ([]audit.Finding, error) {
	v := &views{e: e, c: c, store: store, id: id, force: brokenView}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return nil, err
	}
	_, files, err := v.files(snap)
	if err != nil {
		return nil, err
	}
	dir, mend := viewDir+"/"+string(id), "git wf checkout --plan "+string(id)
	r, err := placeOf(store).Sync(string(id), files, checkout.Options{Now: e.now(), Force: brokenView, Look: true})
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
		f := viewFinding(id, dir, mend, "%s missing, broken or older than the plan", plural(n, "file is", "files are"))
		f.Fix = func(ctx context.Context) (string, error) {
			done, err := v.update()
			return fmt.Sprintf("wrote %d, removed %d, kept %s of what was broken", len(done.Written), len(done.Removed),
				pick(len(done.Kept), "a copy", "copies")), err
		}
		findings = append(findings, f)
	}
	for _, ed := range r.Edited {
		findings = append(findings, viewFinding(id, path.Join(viewDir, ed.Name),
			mend+", which shows what was edited and how to hand it in", "was edited, and the plan does not know of it"))
	}
	return findings, nil
}

// brokenView reports whether a view that should be JSON is none.
func brokenView(name string, have []byte) bool {
	return path.Ext(name) == ".json" && have != nil && !json.Valid(have)
}

// markerFindings reports markers of sessions that are not there, and all but one of several: that of the active plan,
// or else the newest. A marker is an empty file; one that has something in it is left to its owner.
func markerFindings(ctx context.Context, store *gitstore.Store) []audit.Finding {
	root, err := os.OpenRoot(store.WorkTree())
	if err != nil {
		return nil
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), viewDir+"/.active-*")
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
		if dir, err := root.Lstat(filepath.Join(viewDir, session)); err != nil || !dir.IsDir() {
			find(name, "marks a session as active whose directory is not there")
			continue
		}
		markers = append(markers, name)
		if stay == "" || plan.ID(session) == active || stay != path.Join(viewDir, exchange.Marker(active)) &&
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

// removeMarker removes a marker, if it still is one.
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
