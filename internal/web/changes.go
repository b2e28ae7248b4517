package web

import (
	"context"
	"fmt"
	"net/http"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

const submodule = "160000"

// changed compares two trees file by file: renames, modes and lines. pages shows each file as a whole beside them.
func (s *Server) changed(r *http.Request, from, to plan.OID, whole, pages bool) ([]change, error) {
	list, err := s.Store.Changed(r.Context(), from, to)
	if err != nil {
		return nil, err
	}
	var all []change
	for i, f := range list {
		c := describeChanged(f, "", i)
		if len(all) < mostCompared && c.OldMode != submodule && c.Mode != submodule {
			if pages || c.Binary() {
				err = s.wholeSides(r, &c, from, to)
			}
			if err == nil && !c.Binary() {
				err = s.changedLines(r, &c, from, to, whole)
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// describeChanged describes a file; page is where the lines of the nth one are.
func describeChanged(f gitstore.Changed, page string, n int) change {
	return change{Changed: f, Link: fmt.Sprintf("%s#file-%d", page, n)}
}

// Kind says what became of the file.
func (c change) Kind() string {
	switch c.How {
	case 'A':
		return "added"
	case 'D':
		return "removed"
	case 'R':
		return "renamed"
	}
	return "changed"
}

// changedLines fills in the lines of a text.
func (s *Server) changedLines(r *http.Request, c *change, from, to plan.OID, whole bool) (err error) {
	if c.OldOID == c.OID {
		return nil // its name or its mode alone
	}
	for _, side := range []struct {
		oid plan.OID
		not byte
	}{{c.OldOID, 'A'}, {c.OID, 'D'}} {
		if c.How == side.not {
			continue
		}
		if _, all, err := s.Store.BlobHead(r.Context(), side.oid, largestCompared); err != nil || !all {
			c.Large = err == nil
			return err
		}
	}
	c.Lines, c.Large, err = s.lines(r.Context(), c, from, to, whole)
	return err
}

// wholeSides fills in what to show of a file on either side.
func (s *Server) wholeSides(r *http.Request, c *change, from, to plan.OID) error {
	for _, side := range []struct {
		tree  plan.OID
		entry gitstore.TreeEntry
		not   byte
		to    **preview
	}{
		{from, gitstore.TreeEntry{Path: c.OldPath, Mode: c.OldMode, OID: c.OldOID}, 'A', &c.A},
		{to, gitstore.TreeEntry{Path: c.Path, Mode: c.Mode, OID: c.OID}, 'D', &c.B},
	} {
		if c.How == side.not {
			continue
		}
		p, err := s.preview(r, side.tree, side.entry)
		if err != nil {
			return err
		}
		*side.to = &p
	}
	return nil
}

// Binary reports whether git compares the file as bytes.
func (c change) Binary() bool { return c.Added < 0 }

// Modes says how the file's mode changed: "" if it did not, or if the file is new or gone.
func (c change) Modes() string {
	if c.How == 'A' || c.How == 'D' || c.OldMode == c.Mode {
		return ""
	}
	return c.OldMode + " → " + c.Mode
}

// Renamed is the name that the file had, "" if it kept it.
func (c change) Renamed() string {
	if c.OldPath == c.Path {
		return ""
	}
	return c.OldPath
}

// place puts what a review says of a version's lines below those lines. What names a line that is not shown
// stands above the file's lines.
func place(files []change, r plan.Review) {
	paths := each.Of(files, func(f change) string { return f.Path })
	for _, p := range export.Remarks(r, paths) {
		for i := range files {
			if files[i].Path == p.Path {
				files[i].place(p)
			}
		}
	}
}

func (c *change) place(p export.Remark) {
	for i := range c.Lines {
		l := &c.Lines[i]
		if at := l.B; at == p.Line || c.How == 'D' && l.A == p.Line {
			l.Remarks = append(l.Remarks, p)
			return
		}
	}
	c.Remarks = append(c.Remarks, p)
}

// changedIn lists what a version changes in the repository.
func (p *taskPage) changedIn(ctx context.Context, store *gitstore.Store, v *version) {
	from, to, err := store.ChangeSides(ctx, v.Record.Files)
	if !p.ok(err) {
		return
	}
	list, err := store.Changed(ctx, from, to)
	p.ok(err)
	page := planURL(p.Plan, "task", string(p.TaskID), "compare") + "?b=" + v.ID
	for i, f := range list {
		v.Changed = append(v.Changed, describeChanged(f, page, i))
	}
}
