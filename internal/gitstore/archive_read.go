package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// Archive is one history that a prune archived.
type Archive struct {
	N       int
	Tip     plan.OID // its newest commit, which need not be here
	Dir     string   // what the prune says of it, in the plan's tree
	Deleted bool     // somebody recorded that it was deleted
}

// Archives lists what the prunes of a plan archived, oldest first, as the tree of one of its commits says. A plan that
// was never pruned has none.
func (s *Store) Archives(ctx context.Context, commit plan.OID) ([]Archive, error) {
	oid, err := s.Resolve(ctx, string(commit)+"^{tree}:"+plan.PrunedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dirs, err := s.tree(ctx, oid)
	if err != nil {
		return nil, nil //nolint:nilerr // a file of that name, which only a forger makes, is no archive
	}
	var list []Archive
	for _, d := range dirs {
		n, tip, ok := plan.ParsePruneDir(d.name)
		if !ok || !d.isTree() {
			continue
		}
		files, err := s.tree(ctx, d.oid)
		if err != nil {
			return nil, err
		}
		deleted := slices.ContainsFunc(files, func(e rawEntry) bool { return e.name == plan.DeletedFile })
		list = append(list, Archive{n, tip, plan.PrunedDir + "/" + d.name, deleted})
	}
	slices.SortFunc(list, func(a, b Archive) int { return a.N - b.N })
	return list, nil
}

// HasWhole reports whether a commit is here, with all of its history.
func (s *Store) HasWhole(ctx context.Context, commit plan.OID) (bool, error) {
	if _, err := s.commit(ctx, string(commit)); errors.Is(err, ErrNoPlan) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	cut, err := s.Cut(ctx, string(commit))
	return err == nil && len(cut) == 0, err
}

// ReadPrune reads the prune.json of an archive, at a commit of the plan.
func (s *Store) ReadPrune(ctx context.Context, commit plan.OID, a Archive) (plan.PruneDocument, error) {
	data, err := s.ReadFile(ctx, commit, a.Dir+"/"+plan.PruneFile)
	if err != nil {
		return plan.PruneDocument{}, err
	}
	d, err := plan.DecodePrune(data)
	if err == nil && d.Archive != a.Tip {
		err = fmt.Errorf("%s/%s speaks of %s", a.Dir, plan.PruneFile, d.Archive)
	}
	return d, err
}

// PruneTree is the tree that a prune of the history up to doc.Archive, which must be here, makes by what the document says
// was chosen. Nothing is written.
func (s *Store) PruneTree(ctx context.Context, doc plan.PruneDocument) (plan.OID, error) {
	tip, err := s.commit(ctx, string(doc.Archive))
	if err != nil {
		return "", err
	}
	p, err := s.pruning(ctx, doc.PlanID, tip, doc)
	if err != nil {
		return "", err
	}
	return p.write(ctx, s.NewBatch())
}

// ArchivedEvents reads what a prune says of the history that it archived.
func (s *Store) ArchivedEvents(ctx context.Context, commit plan.OID, a Archive) ([]plan.ArchivedEvent, error) {
	data, err := s.ReadFile(ctx, commit, a.Dir+"/"+plan.EventsFile)
	if err != nil {
		return nil, err
	}
	return decodeEvents(data)
}

// SnapshotArchived reads the state of a plan at a commit that is not here any more, from what the prunes of the history
// up to tip keep of it. It fails with ErrNoPlan if none of them knows the commit.
func (s *Store) SnapshotArchived(ctx context.Context, id plan.ID, tip, commit plan.OID) (*Snapshot, error) {
	archives, err := s.Archives(ctx, tip)
	if err != nil || !isOID(commit) {
		return nil, errors.Join(ErrNoPlan, err)
	}
	for _, a := range archives {
		data, err := s.ReadFile(ctx, tip, a.Dir+"/"+plan.EventsFile)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(data, []byte(commit)) {
			continue
		}
		events, err := decodeEvents(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Dir, err)
		}
		if at := slices.IndexFunc(events, func(e plan.ArchivedEvent) bool { return e.Commit == commit }); at >= 0 {
			return s.archivedSnapshot(ctx, id, tip, events, at)
		}
	}
	return nil, fmt.Errorf("read plan %s: commit %s: %w", id, commit, ErrNoPlan)
}

func (s *Store) archivedSnapshot(ctx context.Context, id plan.ID, tip plan.OID, events []plan.ArchivedEvent, at int) (*Snapshot, error) {
	c, err := s.commit(ctx, string(tip))
	if err != nil {
		return nil, err
	}
	now, err := s.read(ctx, id, c)
	if err != nil {
		return nil, err
	}
	records, planOID := present(events, at)
	p, err := s.readPlan(ctx, &known{planOID: planOID})
	if err != nil {
		return nil, err
	}
	snap := &Snapshot{ID: id, Commit: events[at].Commit, Time: time.Unix(events[at].Time, 0).UTC(), Plan: p}
	snap.index = now.index.only(records)
	snap.Records = snap.index.records
	s.mu.Lock()
	if s.standIns == nil {
		s.standIns = map[plan.OID]plan.OID{}
	}
	s.standIns[snap.Commit] = tip
	s.mu.Unlock()
	return snap, nil
}

// standIn is the commit in which the records of an archived commit that is not here can be read: they were never changed.
func (s *Store) standIn(treeish plan.OID) plan.OID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tip := s.standIns[treeish]; tip != "" {
		return tip
	}
	return treeish
}

// only is the index with the records that are named, by task. A version is there with its artifact.json.
func (x *index) only(records map[plan.TaskID]map[string]bool) *index {
	next := &index{fans: map[string]*fan{}}
	var all []*taskNames
	for name, f := range x.fans {
		g := &fan{name: name, tasks: make([]taskNames, 0, len(f.tasks))}
		for _, t := range f.tasks {
			there := records[t.id]
			if there == nil {
				continue
			}
			kept := taskNames{id: t.id}
			for _, n := range t.names {
				if there[n.Path] || there[describedBy(n.Path)] {
					kept.names = append(kept.names, n)
				}
			}
			g.tasks = append(g.tasks, kept)
		}
		next.fans[name] = g
		for i := range g.tasks {
			all = append(all, &g.tasks[i])
		}
	}
	next.records = plan.Records{Tasks: parseAll(all)}
	for id, r := range next.records.Tasks { // whose names the cache does not keep
		r.Attempts = slices.DeleteFunc(slices.Clone(x.records.Tasks[id].Attempts), func(a plan.AttemptRecord) bool {
			return !records[id]["attempts/"+a.Name()]
		})
	}
	return next
}

// describedBy is the document beside the files of a version, or beside a stub: both came with it.
func describedBy(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || parts[0] != "artifacts" {
		return ""
	}
	return parts[0] + "/" + parts[1] + "/artifact.json"
}

// histories names the newest commits of all that happened up to a commit, as far as it is here: its own history, and what
// was archived before that began.
func (s *Store) histories(ctx context.Context, commit plan.OID) ([]string, error) {
	commit = s.standIn(commit)
	archives, err := s.Archives(ctx, commit)
	if err != nil {
		return nil, err
	}
	tips := []string{string(commit)}
	for _, a := range archives {
		if here, err := s.HasWhole(ctx, a.Tip); err != nil {
			return nil, err
		} else if here {
			tips = append(tips, string(a.Tip))
		}
	}
	return tips, nil
}
