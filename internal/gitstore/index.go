package gitstore

import (
	"context"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// index is what a plan's tree says about its tasks, by fan-out directory and task. Each entry has the id of the tree it
// came from, so an equal id need not be read again. An index never changes once it is made.
type index struct {
	tasks   plan.OID // id of the tree tasks/
	fans    map[string]*fan
	records plan.Records
	fresh   int           // number of tasks read for this index
	changed []plan.TaskID // tasks whose records differ from the previous index
}

// fan is one fan-out directory. Its fields, and those of taskNames, are cached.
type fan struct {
	Name  string
	OID   plan.OID
	Tasks []taskNames
}

// taskNames is one task's directory with its names.
type taskNames struct {
	ID    plan.TaskID
	OID   plan.OID
	Names []plan.Name
}

// readIndex builds the index of a tasks/ tree from an earlier tree's index, or from nothing.
func (s *Store) readIndex(ctx context.Context, old *index, tasks plan.OID) (*index, error) {
	if old == nil {
		old = &index{}
	}
	if old.tasks == tasks && old.records.Tasks != nil {
		same := *old
		same.fresh, same.changed = 0, nil
		return &same, nil
	}
	next := &index{tasks: tasks, fans: map[string]*fan{}}
	var changed []*fan
	var before [][]taskNames
	if tasks != "" {
		entries, err := s.tree(ctx, tasks)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			was := old.fans[e.name]
			switch {
			case !e.isTree():
			case was != nil && was.OID == e.oid:
				next.fans[e.name] = was
			default:
				f := &fan{Name: e.name, OID: e.oid}
				next.fans[e.name] = f
				changed = append(changed, f)
				before = append(before, was.taskNames())
			}
		}
	}
	fresh, err := s.readFans(ctx, changed, before)
	if err != nil {
		return nil, err
	}
	next.fresh = len(fresh)
	next.records, next.changed = nextRecords(old, next, fresh, before)
	if old.records.Tasks == nil || len(old.records.Newer) > 0 || slices.ContainsFunc(fresh, func(t *taskNames) bool {
		return len(next.records.Of(t.ID).Newer) > 0
	}) {
		next.records.Newer = next.records.CollectNewer()
	}
	return next, nil
}

// task finds one task; its names are empty if it has no directory.
func (x *index) task(id plan.TaskID) taskNames {
	for _, t := range x.fans[path.Base(path.Dir(id.Dir()))].taskNames() {
		if t.ID == id {
			return t
		}
	}
	return taskNames{}
}

func (f *fan) taskNames() []taskNames {
	if f == nil {
		return nil
	}
	return f.Tasks
}

// readFans lists the tasks of the fan-out directories, reads those that changed and returns them.
func (s *Store) readFans(ctx context.Context, fans []*fan, before [][]taskNames) ([]*taskNames, error) {
	oids := each.Of(fans, func(f *fan) plan.OID { return f.OID })
	err := s.eachTree(ctx, oids, true, func(i int, entries []rawEntry) {
		was := each.By(before[i], func(t taskNames) plan.TaskID { return t.ID })
		for _, e := range entries {
			t := was[plan.TaskID(e.name)]
			if t.OID != e.oid {
				t = taskNames{ID: plan.TaskID(e.name), OID: e.oid}
				if !e.isTree() || misplaced(fans[i].Name, t.ID) {
					continue
				}
			}
			fans[i].Tasks = append(fans[i].Tasks, t)
		}
	})
	if err != nil {
		return nil, err
	}
	var fresh []*taskNames
	for _, f := range fans {
		for i := range f.Tasks {
			if f.Tasks[i].Names == nil {
				fresh = append(fresh, &f.Tasks[i])
			}
		}
	}
	return fresh, s.readTasks(ctx, fresh)
}

// branch is a directory below a task that is yet to be read.
type branch struct {
	task   *taskNames
	prefix string
	oid    plan.OID
}

// readTasks reads the names below all given tasks level by level, so the number of round trips to git does not grow
// with the number of tasks. A files/ tree is a name and is not entered.
func (s *Store) readTasks(ctx context.Context, tasks []*taskNames) error {
	level := make([]branch, len(tasks))
	for i, t := range tasks {
		level[i] = branch{task: t, oid: t.OID}
		t.Names = []plan.Name{}
	}
	for len(level) > 0 {
		oids := each.Of(level, func(b branch) plan.OID { return b.oid })
		var deeper []branch
		err := s.eachTree(ctx, oids, len(level) < many, func(i int, entries []rawEntry) {
			b := level[i]
			for _, e := range entries {
				path := b.prefix + e.name
				if e.isTree() && e.name != "files" {
					deeper = append(deeper, branch{b.task, path + "/", e.oid})
				} else {
					b.task.Names = append(b.task.Names, plan.Name{Path: path, OID: e.oid})
				}
			}
		})
		if err != nil {
			return err
		}
		level = deeper
	}
	return nil
}

// eachTree reads many trees at once. Known trees cost nothing; keep says whether to cache the others.
func (s *Store) eachTree(ctx context.Context, oids []plan.OID, keep bool, fn func(i int, entries []rawEntry)) error {
	have := make([][]rawEntry, len(oids))
	var names []string
	var at []int
	for i, oid := range oids {
		entries, ok := s.trees.get(oid)
		if ok {
			have[i] = entries
			continue
		}
		names = append(names, string(oid))
		at = append(at, i)
	}
	if len(names) > 0 {
		err := s.objects.each(ctx, names, func(i int, o object) (err error) {
			if err := o.want("tree", names[i]); err != nil {
				return err
			}
			have[at[i]], err = parseTree(o.Data)
			if keep && err == nil {
				s.trees.put(o.OID, have[at[i]])
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, entries := range have {
		fn(i, entries)
	}
	return nil
}

// nextRecords sorts the names just read into records and takes the rest from the previous index. If there is a previous
// index, it also lists the tasks whose records changed.
func nextRecords(old, next *index, fresh []*taskNames, before [][]taskNames) (plan.Records, []plan.TaskID) {
	if old.records.Tasks == nil {
		var all []*taskNames
		for _, f := range next.fans {
			for i := range f.Tasks {
				all = append(all, &f.Tasks[i])
			}
		}
		return plan.Records{Tasks: parseAll(all)}, nil
	}
	tasks := maps.Clone(old.records.Tasks)
	for _, list := range before {
		for _, t := range list {
			delete(tasks, t.ID)
		}
	}
	gone := before
	for name, f := range old.fans {
		if next.fans[name] == nil {
			gone = append(gone, f.Tasks)
			for _, t := range f.Tasks {
				delete(tasks, t.ID)
			}
		}
	}
	parsed := parseAll(fresh)
	for name, f := range next.fans {
		if old.fans[name] == f {
			continue
		}
		for _, t := range f.Tasks {
			if r := parsed[t.ID]; r != nil {
				tasks[t.ID] = r
			} else {
				tasks[t.ID] = old.records.Tasks[t.ID]
			}
		}
	}
	changed := slices.Collect(maps.Keys(parsed))
	for _, list := range gone {
		for _, t := range list {
			if tasks[t.ID] == nil {
				changed = append(changed, t.ID)
			}
		}
	}
	return plan.Records{Tasks: tasks}, changed
}

// parseAll uses all processors: parsing is much of the cost of a long plan's snapshot.
func parseAll(tasks []*taskNames) map[plan.TaskID]*plan.TaskRecords {
	parsed := make([]*plan.TaskRecords, len(tasks))
	workers := min(runtime.GOMAXPROCS(0), len(tasks)/64+1)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(tasks); i += workers {
				parsed[i] = plan.ParseTaskRecords(tasks[i].Names)
			}
		})
	}
	wg.Wait()
	records := make(map[plan.TaskID]*plan.TaskRecords, len(tasks))
	for i, t := range tasks {
		records[t.ID] = parsed[i]
	}
	return records
}

// misplaced reports whether a task's directory is outside its own fan-out directory. Such a directory has no effect: it
// could be a second set of records for the same task.
func misplaced(fan string, id plan.TaskID) bool {
	return !id.Valid() || !strings.HasPrefix(id.Dir(), "tasks/"+fan+"/")
}

// withSession adds what the trees session/ and notes/ say to the tasks' records; either tree may be "". newer lists
// directories of kinds that this program does not know.
func (s *Store) withSession(ctx context.Context, records plan.Records, session, notes plan.OID,
	newer []string) (plan.Records, error) {
	records.Newer = append(slices.Clip(records.Newer), newer...)
	var names [2][]string
	for i, oid := range []plan.OID{session, notes} {
		if oid == "" {
			continue
		}
		entries, err := s.tree(ctx, oid)
		if err != nil {
			return records, err
		}
		for _, e := range entries {
			if e.isFile() {
				names[i] = append(names[i], e.name)
			}
		}
	}
	return records.WithSession(names[0], names[1]), nil
}
