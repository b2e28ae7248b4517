package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

const planFile = "plan.json"

// Snapshot is a plan at one commit of its history, or as much of it as one task needs (Store.Near). Snapshots are
// shared; don't change them.
type Snapshot struct {
	ID      plan.ID
	Commit  plan.OID
	Tree    plan.OID
	Time    time.Time // of the commit
	Plan    *plan.Plan
	Records plan.Records

	index   *index // nil in one that was not read from a commit
	once    sync.Once
	from    *plan.State   // state of the plan at another commit to derive from; may be nil
	changed []plan.TaskID // tasks whose records differ from those of from
	state   atomic.Pointer[plan.State]
}

// State is derived once, from the records alone, without the claims. It is shared; don't change it.
func (s *Snapshot) State() *plan.State {
	s.once.Do(func() {
		if s.from == nil {
			s.state.Store(plan.Derive(s.Plan, s.Records, nil, s.Time))
			return
		}
		s.state.Store(s.from.Advance(s.Records, s.changed, nil, s.Time))
		s.from = nil
	})
	return s.state.Load()
}

// StateUnder is the State with claims, as of a time.
func (s *Snapshot) StateUnder(claims plan.Claims, now time.Time) *plan.State {
	if len(claims) == 0 {
		return s.State()
	}
	return s.State().Advance(s.Records, nil, claims, now)
}

// With is the snapshot with other records. Document still answers for the snapshot's commit.
func (s *Snapshot) With(records plan.Records) *Snapshot {
	return &Snapshot{ID: s.ID, Commit: s.Commit, Tree: s.Tree, Time: s.Time, Plan: s.Plan, Records: records,
		index: s.index}
}

// Document is the object id of a file of a task, by its path in the task's directory, such as
// artifacts/v1/artifact.json. It is "" if only the repository could tell; it always is for paths below files/.
func (s *Snapshot) Document(task plan.TaskID, path string) (oid plan.OID) {
	if s.index == nil || !task.Valid() {
		return ""
	}
	for _, n := range s.index.task(task).Names {
		if n.Path != path {
			continue
		}
		if oid != "" {
			return "" // twice in a malformed tree: git decides which one counts
		}
		oid = n.OID
	}
	return oid
}

// Setting is what a record of the snapshot's tree is held against, by the plan as it is now.
func (s *Snapshot) Setting(task plan.TaskID, name string) plan.Setting {
	return plan.Setting{
		State: s.State(), Since: true, Task: task, Name: name,
		Tree: func(id plan.TaskID, version int) plan.OID {
			v, _ := s.Records.Of(id).Version(version)
			return v.Files
		},
		Beside: func(name string) plan.OID { return s.Document(task, name) },
		Waived: s.Records.Of(task).Waived,
	}
}

// Listed are the records of a task that show lists by name (plan.Name.Listed).
func (s *Snapshot) Listed(task plan.TaskID) []string {
	names := []string{}
	if s.index == nil || !task.Valid() {
		return names
	}
	for _, n := range s.index.task(task).Names {
		if n.Listed() {
			names = append(names, n.Path)
		}
	}
	return names
}

// known is what we last read of a plan, so that the next read covers only changes.
type known struct {
	at       commitInfo
	index    *index
	records  plan.Records
	planOID  plan.OID
	planSize int
	stored   *cachedPlan // plan.json as the cache has it; nil if it was read from the repository

	mu   sync.Mutex
	snap *Snapshot                 // of the whole plan; nil until somebody needs more than a few tasks of stored
	near map[plan.TaskID]*Snapshot // of the tasks near one

	// What the cache files lack.
	unsavedTasks int
	unsavedPlan  *plan.Plan
}

// Snapshot reads the newest state of a plan.
func (s *Store) Snapshot(ctx context.Context, id plan.ID) (*Snapshot, error) {
	return s.snapshot(ctx, id, "", s.wholePlan)
}

// SnapshotAt reads the state of a plan at one commit.
func (s *Store) SnapshotAt(ctx context.Context, id plan.ID, commit plan.OID) (*Snapshot, error) {
	return s.snapshot(ctx, id, string(commit), s.wholePlan)
}

// Near is Snapshot for one task. If the plan is cached, its cost does not grow with the plan: Plan then has only the
// tasks of plan.Near, whose comment says which of their states are right. Records are those of the whole plan.
func (s *Store) Near(ctx context.Context, id plan.ID, task plan.TaskID) (*Snapshot, error) {
	return s.snapshot(ctx, id, "", s.nearTask(task))
}

// A view makes a snapshot from what is known of a plan.
type view func(ctx context.Context, id plan.ID, k *known) (*Snapshot, error)

// snapshot reads a plan at a named commit, or at its newest without a name.
func (s *Store) snapshot(ctx context.Context, id plan.ID, name string, of view) (*Snapshot, error) {
	if name == "" {
		var err error
		if name, err = planRef(id); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoPlan, err)
		}
	}
	snap, err := s.readNamed(ctx, id, name, of)
	if err != nil {
		return nil, s.damaged(ctx, id, name, fmt.Errorf("read plan %s: %w", id, err))
	}
	s.mu.Lock()
	s.saveCache(id, s.plans[id])
	s.mu.Unlock()
	return snap, nil
}

// wholePlan is the view of all tasks.
func (s *Store) wholePlan(ctx context.Context, id plan.ID, k *known) (*Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.snap != nil {
		return k.snap, nil
	}
	p := k.stored.plan()
	if p == nil { // the file is damaged
		var err error
		if p, _, err = s.readPlan(ctx, k.planOID); err != nil {
			return nil, err
		}
	}
	k.snap = k.snapshot(id, p)
	return k.snap, nil
}

// nearTask makes the view of the tasks near one: of the whole plan, if that has been read or is needed.
func (s *Store) nearTask(task plan.TaskID) view {
	return func(ctx context.Context, id plan.ID, k *known) (*Snapshot, error) {
		k.mu.Lock()
		snap := k.snap
		if snap == nil {
			snap = k.near[task]
		}
		if snap == nil {
			if p := k.stored.near(k.records, task); p != nil {
				snap = k.snapshot(id, p)
				if k.near == nil {
					k.near = map[plan.TaskID]*Snapshot{}
				}
				k.near[task] = snap
			}
		}
		k.mu.Unlock()
		if snap == nil {
			return s.wholePlan(ctx, id, k)
		}
		return snap, nil
	}
}

func (k *known) snapshot(id plan.ID, p *plan.Plan) *Snapshot {
	return &Snapshot{ID: id, Commit: k.at.oid, Tree: k.at.tree, Time: k.at.time, Plan: p, Records: k.records,
		index: k.index}
}

// commitInfo is what a snapshot takes from its commit.
type commitInfo struct {
	oid, tree plan.OID
	parent    plan.OID // the first, "" if it has none
	time      time.Time
	rule      string // of a join
	message   string
}

// commit has git find a commit by a ref's name or its id. For a missing ref hasRef decides, since the long-lived reader
// may remember an old packed-refs file; usually it is the policy's ref, and there is none. For other names, commit asks
// once more with a new reader, and again for a ref that exists: gits that repack may have taken its pack away.
func (s *Store) commit(ctx context.Context, name string) (commitInfo, error) {
	const tries, interval = 20, 10 * time.Millisecond
	old := s.objects.started()
	c, err := s.lookCommit(ctx, name)
	for try := 1; errors.Is(err, ErrNoPlan) && try < tries; try++ {
		if isRef := strings.HasPrefix(name, "refs/"); isRef && !s.hasRef(ctx, name) || !isRef && !old {
			break
		}
		if !old {
			if err := Pause(ctx, interval); err != nil {
				return c, err
			}
		}
		old = false
		s.forget()
		c, err = s.lookCommit(ctx, name)
	}
	return c, err
}

// forget ends the long-lived reader, which caches, so that the next answers come from the repository as it is now.
// Before refusing anything unexpected, we forget and look once more.
func (s *Store) forget() { s.objects.close() }

// hasRef reports whether a ref exists, whatever it names. Like git, it looks into packed-refs after the ref's own file:
// a ref that is packed meanwhile is in one of the two.
func (s *Store) hasRef(ctx context.Context, name string) bool {
	st := lstat(filepath.Join(s.commonDir, filepath.FromSlash(name)))
	if has, known := s.inPackedRefs(" " + name + "\n"); known {
		return has || st != nil && !st.IsDir()
	}
	out, err := s.Git(ctx, "for-each-ref", "--format=%(refname)", "--", name)
	return err == nil && out == name
}

// inPackedRefs reports whether packed-refs has a text; known is false where only git can tell.
func (s *Store) inPackedRefs(text string) (has, known bool) {
	packed, err := os.ReadFile(s.packedRefs())
	return bytes.Contains(packed, []byte(text)), (err == nil || errors.Is(err, fs.ErrNotExist)) &&
		lstat(filepath.Join(s.commonDir, "reftable")) == nil
}

func (s *Store) lookCommit(ctx context.Context, name string) (c commitInfo, err error) {
	names, mistakable := append([]string{name}, s.mistakable(name)...), false
	err = s.objects.each(ctx, names, func(i int, o object) error {
		switch {
		case i > 0:
			mistakable = mistakable || o.Kind != ""
			return nil
		case o.Kind == "commit":
			c = parseCommit(string(o.Data))
			c.oid = o.OID
			return nil
		case o.Kind == "":
			return ErrNoPlan
		}
		return fmt.Errorf("%s is a %s, not a commit", name, o.Kind)
	})
	if err == nil && mistakable && !s.hasRef(ctx, name) {
		return commitInfo{}, errors.Join(ErrNoPlan, ctx.Err())
	}
	return c, err
}

// mistakable are the names of other refs that git takes for a missing ref: for refs/workflow/policy, a tag called
// refs/workflow/policy, which any fetch may bring. Git finds a ref with a file of its own before them.
func (s *Store) mistakable(ref string) []string {
	if !strings.HasPrefix(ref, "refs/") || lstat(filepath.Join(s.commonDir, filepath.FromSlash(ref))) != nil {
		return nil
	}
	return []string{"refs/" + ref, "refs/tags/" + ref, "refs/heads/" + ref, "refs/remotes/" + ref,
		"refs/remotes/" + ref +
			"/HEAD"}
}

func parseCommit(text string) (c commitInfo) {
	head, message, _ := strings.Cut(text, "\n\n")
	c.message = message
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.tree = plan.OID(value)
		case "parent":
			if oid := plan.OID(value); c.parent == "" && isOID(oid) {
				c.parent = oid
			} else if _, rule, ok := strings.Cut(message, "\n"+plan.TrailerJoin+": "); ok {
				c.rule = strings.TrimSpace(rule)
			}
		case "committer":
			c.time = parseTime(value[strings.LastIndexByte(value, '>')+1:])
		}
	}
	return c
}

// parseTime reads git's "seconds +hhmm".
func parseTime(s string) time.Time {
	seconds, zone, _ := strings.Cut(strings.TrimSpace(s), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	t := time.Unix(n, 0)
	if z, err := time.Parse("-0700", zone); err == nil {
		return t.In(z.Location())
	}
	return t.UTC()
}

// readNamed reads a plan by the name of a commit. It waits up to a second for objects that a gc deleted, which their
// writer rewrites (see awaitGC), or whose pack concurrent repacks replace.
func (s *Store) readNamed(ctx context.Context, id plan.ID, name string, of view) (snap *Snapshot, err error) {
	for wait := time.Millisecond; ; wait *= 2 {
		var c commitInfo
		var k *known
		if c, err = s.commit(ctx, name); err == nil {
			k, err = s.readKnown(ctx, id, c)
		}
		if err == nil {
			snap, err = of(ctx, id, k)
		}
		if !errors.Is(err, errMissing) || wait > time.Second {
			return snap, err
		}
		if err := Pause(ctx, wait); err != nil {
			return nil, err
		}
		s.forget()
	}
}

// readKnown finds out what a plan is at a commit, from what is known of the plan and what has changed since.
func (s *Store) readKnown(ctx context.Context, id plan.ID, c commitInfo) (*known, error) {
	s.mu.Lock()
	k := s.plans[id]
	s.mu.Unlock()
	if k != nil && k.at.oid == c.oid {
		return k, nil
	}
	if k == nil {
		k = s.loadCache(id)
	}
	next, err := s.readChanges(ctx, id, k, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.plans[id] = next
	s.mu.Unlock()
	return next, nil
}

func (s *Store) readChanges(ctx context.Context, id plan.ID, k *known, c commitInfo) (*known, error) {
	root, err := s.tree(ctx, c.tree)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	next := &known{at: c, unsavedTasks: k.unsavedTasks, unsavedPlan: k.unsavedPlan, planSize: k.planSize,
		stored: k.stored}
	s.mu.Unlock()
	var tasks, session, notes plan.OID
	var newer []string
	for _, e := range root {
		switch {
		case e.name == planFile && e.isFile():
			next.planOID = e.oid
		case e.name == "tasks" && e.isTree():
			tasks = e.oid
		case e.name == plan.SessionDir && e.isTree():
			session = e.oid
		case e.name == plan.NotesDir && e.isTree():
			notes = e.oid
		case e.isTree() && plan.IsNewKind(e.name, true):
			newer = append(newer, e.name+"/")
		}
	}
	if next.planOID == "" {
		return nil, fmt.Errorf("commit %s has no %s", c.oid, planFile)
	}
	if c.rule != "" && c.rule != plan.JoinRule {
		newer = append(newer, fmt.Sprintf("the join %.12s, by rule %.12q", c.oid, c.rule))
	}
	next.index, err = s.readIndex(ctx, k.index, tasks)
	if err != nil {
		return nil, err
	}
	next.unsavedTasks += next.index.fresh
	next.records, err = s.withSession(ctx, next.index.records, session, notes, newer)
	if err != nil {
		return nil, err
	}
	if next.planOID != k.planOID {
		p, size, err := s.readPlan(ctx, next.planOID)
		if err != nil {
			return nil, err
		}
		next.stored, next.unsavedPlan, next.planSize, next.snap = nil, p, size, next.snapshot(id, p)
		return next, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.snap != nil {
		next.snap = next.snapshot(id, k.snap.Plan)
		next.snap.from, next.snap.changed = k.snap.state.Load(), next.index.changed
	}
	return next, nil
}

func (s *Store) readPlan(ctx context.Context, oid plan.OID) (p *plan.Plan, size int, err error) {
	err = s.objects.each(ctx, []string{string(oid)}, func(_ int, o object) (err error) {
		if err := o.want("blob", string(oid)); err != nil {
			return err
		}
		size = len(o.Data)
		p, err = plandoc.Decode(o.Data)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", planFile, err)
	}
	return p, size, nil
}
