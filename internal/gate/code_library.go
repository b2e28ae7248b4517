package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// ofTask names the task.
func (n changeName) ofTask() changeName { n.version = 0; return n }

func (n changeName) compare(other changeName) int {
	return cmp.Or(cmp.Compare(n.plan, other.plan), cmp.Compare(n.task, other.task), n.version-other.version)
}

func (n changeName) String() string { return fmt.Sprintf("%s %s", n.task, plan.VersionID(n.version)) }

// turn is what a change makes of one path.
type turn struct{ Old, New threeway.Entry }

// change is a version of a task, as far as its paths are protected.
type change struct {
	changeName
	tree   plan.OID // the version's identity
	tip    plan.OID // of its plan, which says all below
	place  int      // in the order of the plans and, in each, of what builds on what
	paths  []string
	turns  map[string]turn
	moves  map[string]string // the files that it renames
	undoes *plan.Undo        // the landed version that this one undoes for good; nil if it is no undo

	evidence *export.Evidence   // nil until it is asked for: see prove
	snap     *gitstore.Snapshot // in which it was approved
	never    string             // why it never counted; "" if it once did
	lapsed   string             // why it is not in force now; "" if it is
	base     plan.Base          // what it was made on
	weighed  bool
	unproven bool // its plan never approved it
}

// library holds the changes of the plans read so far.
type library struct {
	read     map[plan.ID]bool
	complete bool // all plans are read
	all      []*change
	byName   map[changeName][]*change
	byPath   map[string][]*change
	movers   []*change // that rename files
	absent   []plan.ID // named, and not here
}

func newLibrary() library {
	return library{read: map[plan.ID]bool{}, byName: map[changeName][]*change{}, byPath: map[string][]*change{}}
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

// named returns the versions that a commit's message names, and those of the commits that it says it reverts.
func (c *code) named(ctx context.Context, message string) ([]changeName, error) {
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
	for _, n := range names {
		if err := c.load(ctx, n.plan); err != nil { // to know that it is not here
			return nil, err
		}
	}
	return names, nil
}

// loadAll reads the changes of every plan that the gate reads.
func (c *code) loadAll(ctx context.Context) error {
	if c.lib.complete {
		return nil
	}
	refs, err := c.allRefs(ctx)
	if err != nil {
		return err
	}
	ids := slices.Concat(slices.Collect(maps.Keys(c.tips)), slices.Collect(maps.Keys(refs)))
	if c.plans = map[plan.ID]keptPlan{}; !c.store.ReadCache(c.keptName(plansFile), &c.plans) || c.plans == nil {
		c.plans = map[plan.ID]keptPlan{}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := c.load(ctx, id); err != nil {
			return err
		}
	}
	c.lib.complete = true
	c.keepPlans()
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
	if kept, ok := c.plans[id]; ok && len(tips) == 1 && len(ahead) == 0 && kept.Tip == tips[0] {
		return c.takeKept(ctx, id, kept)
	}
	before := len(c.lib.all)
	for i, tip := range slices.Concat(tips, ahead) {
		if err := c.loadTip(ctx, id, tip, i < len(tips)); err != nil {
			if ctx.Err() != nil || gitstore.IsAbsent(err) && !errors.As(err, new(*refusal)) {
				return err
			}
		}
	}
	if len(tips) == 1 && len(ahead) == 0 {
		c.notePlan(id, tips[0], c.lib.all[before:])
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
			if err := c.addVersion(ctx, changeName{id, t, rec.Version}, tip, rec.Files, evidence, proves); err != nil {
				return err
			}
		}
	}
	return nil
}

// addVersion adds a version. The same version at several tips is one: it counts if one tip once approved it, and is in
// force if no tip has overtaken that.
func (c *code) addVersion(ctx context.Context, n changeName, tip, tree plan.OID, e *export.Evidence,
	proves bool) error {
	i := slices.IndexFunc(c.lib.byName[n], func(ch *change) bool { return ch.tree == tree })
	snap, never, lapsed := verdictOn(e, n)
	if i >= 0 {
		have := c.lib.byName[n][i]
		switch {
		case never != "":
		case have.never == "":
			have.lapsed = cmp.Or(have.lapsed, lapsed)
		case proves:
			have.tip, have.evidence, have.snap, have.never, have.lapsed, have.unproven = tip, e, snap, "", lapsed, false
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
		changeName: n, tip: tip, tree: tree, turns: turns, evidence: e, snap: snap, never: never,
		unproven: never != "", lapsed: lapsed, undoes: e.Snapshot.Plan.Task(n.task).DeliverableSpec.Undoes,
	}
	return c.addChange(ctx, ch)
}

func (c *code) addChange(ctx context.Context, ch *change) (err error) {
	if ch.moves, err = c.renames(ctx, ch.turns); err != nil {
		return err
	}
	if len(ch.moves) > 0 {
		c.lib.movers = append(c.lib.movers, ch)
	}
	for path := range ch.turns {
		ch.paths = append(ch.paths, path)
		c.lib.byPath[path] = append(c.lib.byPath[path], ch)
	}
	slices.Sort(ch.paths)
	ch.place = len(c.lib.all)
	c.lib.all = append(c.lib.all, ch)
	c.lib.byName[ch.changeName] = append(c.lib.byName[ch.changeName], ch)
	return nil
}

// verdictOn says why a version never counted, or in which snapshot it was approved, and why it is not in force now.
func verdictOn(e *export.Evidence, n changeName) (snap *gitstore.Snapshot, never, lapsed string) {
	snap = e.Snapshot
	s, id := snap.State(), plan.VersionID(n.version)
	if s.Delivers(n.task, n.version) {
		return snap, "", ""
	}
	if before := approvedBefore(snap, n); before != nil {
		switch {
		case s.LastingVerdict(n.task, id) == plan.Rejected:
			return before, "", "was approved, but a later review rejected it"
		case s.VersionVerdict(n.task, id) == plan.Rejected:
			return before, "", whySetAside
		}
		return before, "", "was approved, and " + s.KeptBack(n.task, n.version)
	}
	switch s.VersionVerdict(n.task, id) {
	case plan.Approved:
		return snap, s.KeptBack(n.task, n.version), ""
	case plan.Rejected:
		return snap, whyRejected, ""
	}
	if missing := e.Missing(n.task, id); len(missing) > 0 {
		return snap, whyLacks + "approvals that are signed with a key of the policy: " + missing[0].Why, ""
	}
	return snap, whyUnreviewed, ""
}

const (
	whySetAside   = "was approved, and is set aside"
	whyRejected   = "was rejected"
	whyUnreviewed = "nobody has approved"
	whyLacks      = "lacks "
)

// approvedBefore returns the plan as it was when a version was approved last, nil if it never was.
func approvedBefore(snap *gitstore.Snapshot, n changeName) *gitstore.Snapshot {
	reviews := snap.Records.Of(n.task).Reviews
	for _, last := range slices.Backward(reviews) {
		if last.Version != n.version || last.Verdict != plan.Approved {
			continue
		}
		records := snap.Records
		records.Tasks = maps.Clone(snap.Records.Tasks)
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
		case e.Name == gitstore.ChangeBefore && isTree(e):
			both.old = e
		case e.Name == gitstore.ChangeAfter && isTree(e):
			both.new = e
		default:
			return nil, nil
		}
	}
	if n.flaw != nil {
		return nil, nil
	}
	both.old.Name, both.new.Name = "", ""
	d := &differ{g: c.Gate, skip: c.guard.skips}
	if err := d.level(ctx, []pair{both}); err != nil || len(d.flaws) > 0 {
		return nil, err
	}
	turns := map[string]turn{}
	for _, ch := range d.changes {
		if c.guard.covers(ch.Path, ch.redirects()) {
			turns[ch.Path] = turn{fileOf(ch.was), threeway.Entry{Mode: ch.Mode, OID: ch.OID}}
		}
	}
	return turns, nil
}

// prove reads what shows that a version was approved.
func (c *code) prove(ctx context.Context, ch *change) error {
	if ch.evidence != nil {
		return nil
	}
	snap, err := c.at(ctx, ch.plan, ch.tip)
	if err != nil {
		return err
	}
	if ch.evidence, err = c.proof(ctx, snap, c.policy); err == nil {
		ch.snap, _, _ = verdictOn(ch.evidence, ch.changeName)
	}
	return err
}

// counts reports whether a version was once approved, as the policy demands. It reads what it needs once.
func (c *code) counts(ctx context.Context, ch *change) (bool, error) {
	if ch.weighed || ch.never != "" {
		return ch.never == "", nil
	}
	ch.weighed = true
	if err := c.prove(ctx, ch); err != nil {
		return false, err
	}
	artifact, err := export.ReadArtifact(ctx, c.store, ch.snap, ch.task, ch.version)
	if err == nil {
		_, err = export.ApprovedBy(ctx, c.store, ch.snap, ch.task, ch.version)
	}
	if ctx.Err() != nil || gitstore.IsAbsent(err) {
		return false, cmp.Or(ctx.Err(), err)
	}
	if err != nil {
		ch.never = "is not what its records say: " + err.Error()
		return false, nil
	}
	if artifact.Base != nil {
		ch.base = *artifact.Base
	}
	v := export.Version{TaskID: ch.task, Number: ch.version}
	lacks, err := export.Lacks(ctx, c.store, ch.snap, c.policy, c.policy.Changes.Demands(), []export.Version{v})
	if err != nil {
		return false, err
	}
	if lacks[v] != "" {
		ch.never = whyLacks + "the approvals that the policy demands for code (" + lacks[v] + ")"
	}
	return ch.never == "", nil
}
