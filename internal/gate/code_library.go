package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// changeName names a version of a task that changes the repository.
type changeName struct {
	plan    plan.ID
	task    plan.TaskID
	version int
}

func (n changeName) String() string { return fmt.Sprintf("%s %s", n.task, plan.VersionID(n.version)) }

// turn is what a change makes of one path.
type turn struct{ old, new threeway.Entry }

// change is a version of a task, as far as its paths are protected.
type change struct {
	changeName
	tree  plan.OID // the version's identity
	place int      // in the order of the plans and, in each, of what builds on what
	paths []string
	turns map[string]turn

	evidence   *export.Evidence
	snap       *gitstore.Snapshot // in which it is approved
	overturned bool               // it was, until a later review rejected it
	why        string             // why it does not count; "" if it does
	base       plan.OID           // the tree that it was made on
	weighed    bool
}

// library holds the changes of the plans read so far.
type library struct {
	read    map[plan.ID]bool
	all     []*change
	byName  map[changeName][]*change
	byTask  map[changeName][]*change // without the version
	indexed int                      // how many changes the index has
	index   map[pathEntry][]*change  // by what they make, and make something of
	absent  []plan.ID                // named, and not here
}

// pathEntry is what some tree has at a path.
type pathEntry struct {
	path  string
	entry threeway.Entry
	back  bool
}

func newLibrary() library {
	return library{read: map[plan.ID]bool{}, byName: map[changeName][]*change{}, byTask: map[changeName][]*change{}}
}

// namesIn finds the versions that a message names.
func namesIn(message string) []changeName {
	var list []changeName
	for _, b := range gitstore.Brings(message) {
		if n := (changeName{b.Plan, b.Task, plan.VersionNumber(b.Artifact)}); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

var revertLine = pattern.Compile(`(?m)^[ \t]*This reverts commit ([0-9a-f]{40})`)

// named returns the changes that a commit's message names, and those of the commits that it says it reverts, in the
// order of their plans.
func (c *code) named(ctx context.Context, message string) ([]*change, error) {
	const mostReverted = 100
	names, queue := namesIn(message), []string{message}
	for n := 0; len(queue) > 0 && n < mostReverted; n++ {
		for _, m := range revertLine.Get().FindAllStringSubmatch(queue[0], -1) {
			text, err := c.store.Message(ctx, plan.OID(m[1]))
			if err != nil && !gitstore.IsAbsent(err) {
				return nil, err
			}
			names, queue = append(names, namesIn(text)...), append(queue, text)
		}
		queue = queue[1:]
	}
	var list []*change
	for _, n := range names {
		if err := c.load(ctx, n.plan); err != nil {
			return nil, err
		}
		for _, ch := range c.lib.byName[n] {
			if !slices.Contains(list, ch) {
				list = append(list, ch)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *change) int {
		return cmp.Or(slices.IndexFunc(names, ofPlan(a.plan))-slices.IndexFunc(names, ofPlan(b.plan)), a.place-b.place)
	})
	return list, nil
}

func ofPlan(id plan.ID) func(changeName) bool { return func(n changeName) bool { return n.plan == id } }

// loadAll reads the changes of every plan that the gate reads.
func (c *code) loadAll(ctx context.Context) error {
	out, err := c.store.Git(ctx, "for-each-ref", "--format=%(refname)", "refs/workflow", "refs/workflow-remotes")
	if err != nil {
		return err
	}
	var ids []plan.ID
	for id := range c.tips {
		ids = append(ids, id)
	}
	for ref := range strings.FieldsSeq(out) {
		if ref != gitstore.PolicyRef && !strings.HasSuffix(ref, "/policy") {
			ids = append(ids, plan.ID(ref[strings.LastIndexByte(ref, '/')+1:]))
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := c.load(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// load reads the changes of a plan, at each of its tips. A plan that can't be read approves nothing.
func (c *code) load(ctx context.Context, id plan.ID) error {
	if c.lib.read[id] || !id.Valid() {
		return nil
	}
	c.lib.read[id] = true
	tips, err := c.tipsOf(ctx, id)
	if err != nil {
		return err
	}
	if len(tips) == 0 {
		c.lib.absent = append(c.lib.absent, id)
		return nil
	}
	ahead, err := c.aheadOf(ctx, id) // proves nothing, but may have revoked an approval
	if err != nil {
		return err
	}
	for i, tip := range slices.Concat(tips, ahead) {
		if err := c.loadTip(ctx, id, tip, i < len(tips)); err != nil {
			var refused *refusal
			if ctx.Err() != nil || gitstore.IsAbsent(err) && !errors.As(err, &refused) {
				return err
			}
		}
	}
	return nil
}

func (c *code) loadTip(ctx context.Context, id plan.ID, tip plan.OID, proves bool) error {
	if proves {
		if err := c.legal(ctx, id, tip); err != nil {
			return err
		}
	}
	snap, err := c.at(ctx, id, tip)
	if err != nil {
		return err
	}
	evidence, err := c.proof(ctx, snap, c.policy)
	if err != nil {
		return err
	}
	counted := evidence.Snapshot
	for _, t := range counted.State().Changes() {
		for _, rec := range counted.Records.Of(t).Artifacts {
			if err := c.addVersion(ctx, changeName{id, t, rec.Version}, rec.Files, evidence, proves); err != nil {
				return err
			}
		}
	}
	return nil
}

// addVersion adds a version. The same version at several tips is one, which counts if one tip approves it and none has
// rejected it since.
func (c *code) addVersion(ctx context.Context, n changeName, tree plan.OID, e *export.Evidence, proves bool) error {
	i := slices.IndexFunc(c.lib.byName[n], func(ch *change) bool { return ch.tree == tree })
	snap, why, overturned := verdictOn(e, n)
	if i >= 0 {
		have := c.lib.byName[n][i]
		switch {
		case overturned && have.why == "":
			have.overturned = true
		case proves && why == "" && have.why != "":
			have.evidence, have.snap, have.why = e, snap, ""
		}
		return nil
	}
	if !proves {
		return nil
	}
	turns, err := c.turnsOf(ctx, tree)
	if err != nil || len(turns) == 0 {
		return err
	}
	ch := &change{
		changeName: n, tree: tree, place: len(c.lib.all), turns: turns, evidence: e, snap: snap, overturned: overturned,
		why: why,
	}
	for path := range turns {
		ch.paths = append(ch.paths, path)
	}
	slices.Sort(ch.paths)
	c.lib.all = append(c.lib.all, ch)
	c.lib.byName[n] = append(c.lib.byName[n], ch)
	n.version = 0
	c.lib.byTask[n] = append(c.lib.byTask[n], ch)
	return nil
}

// verdictOn says why a version does not count, and in which snapshot it is approved. One that a later review rejected
// counts for what was made before.
func verdictOn(e *export.Evidence, n changeName) (snap *gitstore.Snapshot, why string, overturned bool) {
	snap = e.Snapshot
	id := plan.VersionID(n.version)
	switch snap.State().VersionVerdict(n.task, id) {
	case plan.Approved:
		return snap, snap.State().KeptBack(n.task, n.version), false
	case plan.Rejected:
		if before := approvedBefore(snap, n); before != nil {
			return before, "", snap.State().LastingVerdict(n.task, id) == plan.Rejected
		}
		return snap, "was rejected", false
	}
	if missing := e.Missing(n.task, id); len(missing) > 0 {
		return snap, "lacks approvals that are signed with a key of the policy: " + missing[0].Why, false
	}
	return snap, "nobody has approved", false
}

// approvedBefore returns the plan as it was when a rejected version was approved, nil if it never was.
func approvedBefore(snap *gitstore.Snapshot, n changeName) *gitstore.Snapshot {
	reviews := snap.Records.Of(n.task).Reviews
	for _, last := range slices.Backward(reviews) {
		if last.Version != n.version || last.Verdict != plan.Approved {
			continue
		}
		records := snap.Records
		records.Tasks = make(map[plan.TaskID]*plan.TaskRecords, len(snap.Records.Tasks))
		for id, r := range snap.Records.Tasks {
			records.Tasks[id] = r
		}
		kept := *records.Tasks[n.task]
		kept.Reviews = slices.DeleteFunc(slices.Clone(reviews), func(r plan.ReviewRecord) bool { return r.N > last.N })
		records.Tasks[n.task] = &kept
		before := snap.With(records)
		if before.State().Delivers(n.task, n.version) {
			return before
		}
	}
	return nil
}

// turnsOf reads what a version makes of the protected paths. A malformed one makes nothing.
func (c *code) turnsOf(ctx context.Context, version plan.OID) (map[string]turn, error) {
	if err := c.readNodes(ctx, []plan.OID{version}); err != nil {
		return nil, err
	}
	n := c.nodes[version]
	var both pair
	for _, e := range n.entries {
		switch {
		case e.path == gitstore.ChangeBefore && e.isTree():
			both.old = e
		case e.path == gitstore.ChangeAfter && e.isTree():
			both.new = e
		default:
			return nil, nil
		}
	}
	if n.flaw != nil {
		return nil, nil
	}
	both.old.path, both.new.path = "", ""
	d := &differ{g: c.Gate, skip: c.guard.skips}
	if err := d.level(ctx, []pair{both}); err != nil || len(d.flaws) > 0 {
		return nil, err
	}
	turns := map[string]turn{}
	for _, ch := range d.changes {
		if c.guard.protects(ch.Path) {
			turns[ch.Path] = turn{fileOf(ch.was), threeway.Entry{Mode: ch.Mode, OID: ch.OID}}
		}
	}
	return turns, nil
}

// counts reports whether a version is proven to be approved, as the policy demands. It reads what it needs once.
func (c *code) counts(ctx context.Context, ch *change) (bool, error) {
	if ch.weighed || ch.why != "" {
		return ch.why == "", nil
	}
	ch.weighed = true
	artifact, err := export.ReadArtifact(ctx, c.store, ch.snap, ch.task, ch.version)
	if err == nil {
		_, err = export.ApprovedBy(ctx, c.store, ch.snap, ch.task, ch.version)
	}
	if ctx.Err() != nil || gitstore.IsAbsent(err) {
		return false, cmp.Or(ctx.Err(), err)
	}
	if err != nil {
		ch.why = "is not what its records say: " + err.Error()
		return false, nil
	}
	if artifact.Base != nil {
		ch.base = artifact.Base.Tree
	}
	v := export.Version{TaskID: ch.task, Number: ch.version}
	lacks, err := c.lacks(ctx, ch.snap, c.policy.Changes.Demands(), []export.Version{v})
	if err != nil {
		return false, err
	}
	if lacks[v] != "" {
		ch.why = "lacks the approvals that the policy demands for code (" + lacks[v] + ")"
	}
	return ch.why == "", nil
}

// from returns the changes that make something of what a tree has at a path; back: that made it.
func (l *library) from(path string, e threeway.Entry, back bool) []*change {
	if l.indexed != len(l.all) {
		l.index, l.indexed = map[pathEntry][]*change{}, len(l.all)
		for _, ch := range l.all {
			for p, t := range ch.turns {
				l.index[pathEntry{p, t.old, false}] = append(l.index[pathEntry{p, t.old, false}], ch)
				l.index[pathEntry{p, t.new, true}] = append(l.index[pathEntry{p, t.new, true}], ch)
			}
		}
	}
	return l.index[pathEntry{path, e, back}]
}
