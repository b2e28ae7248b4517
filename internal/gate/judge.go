package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
	"gitwf/internal/threeway"
)

// Finding is one reason why a tree may not land.
type Finding struct {
	Code    string      `json:"code"`
	Commit  plan.OID    `json:"commit,omitempty"` // "" for the index
	Path    string      `json:"path"`
	PlanID  plan.ID     `json:"plan_id,omitempty"`
	TaskID  plan.TaskID `json:"task_id,omitempty"`
	Version string      `json:"artifact_id,omitempty"` // the version that would be right
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"` // the command that fixes it
}

// Bundle is a bundle that was judged and is exactly what was approved.
type Bundle struct {
	PlanID     plan.ID  `json:"plan_id"`
	PlanCommit plan.OID `json:"plan_commit"`
	Complete   bool     `json:"complete"`
	Older      bool     `json:"older"`                // the plan has newer approvals
	Signatures string   `json:"signatures"`           // signed: by keys of the policy that judges; else unsigned
	SignedBy   []string `json:"signed_by,omitempty"`  // the names of those keys
	Archive    string   `json:"archive,omitempty"`    // here or absent: the older history of a pruned plan
	Overturned []string `json:"overturned,omitempty"` // versions rejected since that no landing tip has
	Files      int      `json:"files"`
}

// Report is the gate's judgement of one or more trees.
type Report struct {
	Findings []Finding `json:"findings"`
	Shared   []Finding `json:"shared,omitempty"` // in commits that a remote-tracking branch has: reported, not refused
	Waived   []Finding `json:"waived"`           // findings that a waiver of exactly these bytes lets pass
	Bundles  []Bundle  `json:"bundles"`
	Changes  []Landed  `json:"changes,omitempty"` // approved changes of protected code
	Commits  int       `json:"commits"`           // that touch a protected root; 0 for the index
	Note     string    `json:"note,omitempty"`    // why the gate judged something other than what was asked for
	Empty    bool      `json:"empty"`             // the range selects no commit
}

// OK reports whether everything may land.
func (r *Report) OK() bool { return len(r.Findings) == 0 }

// Gate judges trees of one repository.
type Gate struct {
	store  *gitstore.Store
	policy *gitstore.Policy
	shelf  *export.Shelf
	tips   map[plan.ID][]plan.OID          // plan tips that replace those of the refs
	refs   map[plan.ID]gitstore.PlanRefs   // as read; nil until somebody asks
	ahead  map[plan.ID][]plan.OID          // fetched commits that continue a plan
	built  map[plan.OID]*export.Bundle     // by the object id of the manifest that asked for it
	states map[plan.OID]*gitstore.Snapshot // by commit
	proofs map[proofKey]*export.Evidence

	histories map[plan.OID]map[plan.OID]bool // the newest commits of each plan, by tip

	audited map[planTip]bool // plan tips whose histories are known to be legal

	sides map[string][]map[string]bool // what one side of a merge changed since it diverged from the other

	policies []plan.OID // tips of policy histories that manifests may cite

	tops      map[plan.OID]*node // root trees
	alike     map[string]*node   // the same by content
	nearRoots map[string]bool    // names in root trees: may they lead to a protected root?
	nodes     map[plan.OID]*node // all other trees

	arriving bool     // the commits judged are not on any branch yet
	moving   bool     // a ref is about to take them
	branch   string   // that takes them, "" if that is not known
	atWork   bool     // the commits judged are work on a change that nobody has approved yet
	code     *code    // nil until code is judged
	before   plan.OID // where the branch was before it got the commits judged, "" if nowhere
}

// New returns a gate that judges by a policy. The policy must not come from the tree that is judged.
func New(store *gitstore.Store, policy *gitstore.Policy) *Gate {
	return &Gate{
		store: store, policy: policy, shelf: export.NewShelf(store), tips: map[plan.ID][]plan.OID{},
		built: map[plan.OID]*export.Bundle{}, states: map[plan.OID]*gitstore.Snapshot{},
		proofs: map[proofKey]*export.Evidence{}, histories: map[plan.OID]map[plan.OID]bool{},
		sides: map[string][]map[string]bool{}, audited: map[planTip]bool{},
		tops: map[plan.OID]*node{}, alike: map[string]*node{}, nearRoots: map[string]bool{},
		nodes: map[plan.OID]*node{}, ahead: map[plan.ID][]plan.OID{},
	}
}

// Change is one path that differs. Mode and OID are the tree's, "" if it no longer has the path.
type Change struct {
	Path string
	Mode string
	OID  plan.OID

	Replaces bool // the other side of the comparison has a file there, too
	was      threeway.Entry
}

// Deleted reports whether the tree no longer has the path.
func (c Change) Deleted() bool { return c.OID == "" }

// tree is what the gate judges.
type tree struct {
	commit plan.OID       // "" for the index
	landed bool           // the commit is on a branch already
	tips   func() []*node // the root trees at which the range ends; nil for the index
	top    *node          // its root tree
}

// judge judges the bundles that the changes belong to. A change outside every bundle is its own finding.
func (g *Gate) judge(ctx context.Context, t tree, changes []Change, r *Report) error {
	var dirs []string
	byDir := map[string][]Change{}
	for _, c := range changes {
		dir, why := g.bundleOf(c.Path)
		switch {
		case !hooks.Alike(g.policy.RootPaths(), c.Path):
			// A directory that some file system takes for a root's parent may hold other files.
		case why == "":
			if byDir[dir] == nil {
				dirs = append(dirs, dir)
			}
			byDir[dir] = append(byDir[dir], c)
		case c.Deleted():
			// Deleting a file that no bundle has lands nothing.
		default:
			hint := "git rm --cached -- "
			if c.Replaces { // git rm would delete it in the next commit
				why += "; this file was there before, and may be removed but not changed"
				hint = "git restore --staged -- "
				if t.landed {
					hint = "git restore --source=HEAD^ --staged -- "
				}
			}
			g.add(r, Finding{Code: "not-a-bundle", Commit: t.commit, Path: c.Path, Message: why,
				Hint: t.mend(hint + shell.Quote(c.Path))}, c)
		}
	}
	for _, dir := range dirs {
		entries, err := g.list(ctx, t.top, dir)
		if malformed, ok := errors.AsType[*flawError](err); ok {
			g.malformed(t, malformed.flaws, r)
			continue
		}
		if err != nil {
			return err
		}
		c := &bundleCase{gate: g, tree: t, dir: dir, changes: byDir[dir], entries: map[string]gitstore.TreeEntry{}}
		for _, e := range entries {
			c.entries[e.Path] = e
		}
		before := len(r.Findings)
		if err := c.judge(ctx, r); err != nil {
			return err
		}
		if len(r.Findings) == before && c.bundle != nil {
			r.Bundles = append(r.Bundles, *c.bundle)
		}
	}
	return nil
}

// malformed reports trees that can't be judged. No waiver covers them, because nobody can name their bytes.
func (g *Gate) malformed(t tree, flaws []gitstore.TreeFlaw, r *Report) {
	for _, flaw := range flaws {
		f := Finding{
			Code: "malformed-tree", Commit: t.commit, Path: cmp.Or(flaw.Name, "."),
			Message: "an entry of a malformed tree: it " + flaw.Why +
				", and programs don't agree what such a tree holds",
			Hint: "git fsck names the tree; git commit makes a sound one of what is checked out",
		}
		if !slices.Contains(r.Findings, f) { // the judges of bundles and of code may both see it
			r.Findings = append(r.Findings, f)
		}
	}
}

// add adds a finding, unless a waiver covers exactly this content at this path.
func (g *Gate) add(r *Report, f Finding, c Change) {
	for _, w := range g.policy.Waivers {
		if !g.policy.NoWaivers && w.Path == c.Path && w.Mode == c.Mode && w.OID == c.OID {
			f.Message += fmt.Sprintf("; waived by %s: %s", w.By, w.Reason)
			r.Waived = append(r.Waived, f)
			return
		}
	}
	r.Findings = append(r.Findings, f)
}

// bundleOf returns the bundle directory that a path below a protected root belongs to, or why it belongs to none.
func (g *Gate) bundleOf(path string) (dir, why string) {
	root, ok := g.policy.RootOf(path)
	for _, r := range g.policy.RootPaths() {
		if strings.HasPrefix(r, path+"/") {
			return "", fmt.Sprintf("a parent of %s/ can't be a file, a link or a submodule", r)
		}
	}
	if !ok {
		return "", fmt.Sprintf("another spelling of a protected directory (%s)",
			strings.Join(g.policy.RootPaths(), "/, ")+"/")
	}
	if path == root.Path {
		return "", "the protected directory itself can't be a file, a link or a submodule"
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(path, root.Path+"/"), "/")
	if !InBundle(root.Path, path) {
		return "", fmt.Sprintf("only bundles may be below %s/: %s/<plan id>/bundle/", root.Path, root.Path)
	}
	return export.BundleDir(root.Path, plan.ID(id)), ""
}

// mend adapts a command that works on the index: a commit that exists must be made again.
func (t tree) mend(command string) string {
	if !t.landed {
		return command
	}
	return fmt.Sprintf("git rebase -i %.12s^, edit that commit, and there: %s", t.commit, command)
}

// InBundle reports whether a bundle may have this path below a protected directory.
func InBundle(root, path string) bool {
	id, rest, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
	return strings.HasPrefix(rest, "bundle/") && plan.ID(id).Valid()
}

// bundleCase judges one bundle in one tree.
type bundleCase struct {
	tree
	gate    *Gate
	dir     string
	changes []Change
	entries map[string]gitstore.TreeEntry // what the tree holds, by path relative to dir
	report  *Report
	bundle  *Bundle
	past    []string // overturned versions that no tip has any more
}

func (c *bundleCase) planID() plan.ID { return plan.ID(path.Base(path.Dir(c.dir))) }

func (c *bundleCase) find(code, name string, item *export.Item, hint, format string, args ...any) {
	f := Finding{
		Code: code, Commit: c.commit, Path: path.Join(c.dir, name), PlanID: c.planID(), Hint: hint,
		Message: fmt.Sprintf(format, args...),
	}
	if item != nil {
		f.TaskID, f.Version = item.TaskID, item.Version()
	}
	now := c.entries[name]
	c.gate.add(c.report, f, Change{Path: f.Path, Mode: now.Mode, OID: now.OID})
}

// findItem reports a problem with a whole item at its first file that no waiver covers.
func (c *bundleCase) findItem(code string, item *export.Item, hint, format string, args ...any) {
	before := len(c.report.Findings)
	for _, f := range item.Files {
		if c.find(code, f.DestPath, item, hint, format, args...); len(c.report.Findings) > before {
			return
		}
	}
}

// judge compares the bundle with the one that the plan itself yields.
func (c *bundleCase) judge(ctx context.Context, r *Report) error {
	c.report = r
	again := c.mend("git wf export --plan " + string(c.planID()))
	m, ok := c.entries[export.ManifestName]
	if !ok {
		if _, retired := c.gate.policy.Retired[c.planID()]; retired && len(c.entries) == 0 {
			return nil
		}
		if len(c.entries) == 0 {
			c.find("bundle-removed", "", nil, c.mend("git restore --source=HEAD --staged --worktree -- "+c.dir),
				"the whole bundle was removed; only git wf policy retire %s lets it go", c.planID())
			return nil
		}
		for _, ch := range c.changes {
			c.find("no-manifest", strings.TrimPrefix(ch.Path, c.dir+"/"), nil, again,
				"the bundle has no manifest.json that would prove it")
		}
		return nil
	}
	want, err := c.gate.rebuild(ctx, c.planID(), m)
	var refusal *refusal
	switch {
	case errors.As(err, &refusal):
		hint := refusal.hint
		if hint == "" {
			hint = again
		}
		before := len(r.Findings)
		c.find(refusal.code, export.ManifestName, nil, hint, "%s", refusal.message)
		if len(r.Findings) > before {
			return nil
		}
		// The waiver covers the manifest's bytes only and proves nothing about the files next to it.
		for _, ch := range c.changes {
			if name := strings.TrimPrefix(ch.Path, c.dir+"/"); name != export.ManifestName {
				c.find(refusal.code, name, nil, hint, "nothing proves it: %s", refusal.message)
			}
		}
		return nil
	case err != nil:
		return err
	}
	before, manifest := len(r.Findings), want.Manifest
	c.compare(want, again)
	evidence, err := c.evidence(ctx, manifest.PlanCommit)
	if err != nil {
		return err
	}
	if err := c.unproven(ctx, want, evidence); err != nil {
		return err
	}
	if err := c.rules(ctx, want, evidence.Snapshot); err != nil || len(r.Findings) > before {
		return err
	}
	older, err := c.overturned(ctx, want)
	if err != nil {
		return err
	}
	tips, err := c.gate.tipsOf(ctx, c.planID())
	if err != nil {
		return err
	}
	archive, err := c.gate.archiveOf(ctx, tips[0])
	if err != nil {
		return err
	}
	c.waivedCriteria(want)
	c.bundle = &Bundle{
		PlanID: c.planID(), PlanCommit: manifest.PlanCommit, Complete: manifest.Complete,
		Older: older, Signatures: evidence.SignedWord(), SignedBy: signers(want, evidence), Files: len(want.Entries),
		Archive: archive, Overturned: c.past,
	}
	return nil
}

// compare finds every path at which the tree differs from the approved bundle.
func (c *bundleCase) compare(want *export.Bundle, again string) {
	owner := map[string]*export.Item{}
	for i := range want.Manifest.Items {
		for _, f := range want.Manifest.Items[i].Files {
			owner[f.DestPath] = &want.Manifest.Items[i]
		}
	}
	wanted := map[string]bool{}
	for _, w := range want.Entries {
		wanted[w.Path] = true
		item := owner[w.Path]
		have, ok := c.entries[w.Path]
		switch {
		case !ok:
			c.find("missing", w.Path, item, again, "%s is missing", what(item, w.Path))
		case have.OID != w.OID:
			c.find("changed", w.Path, item, again, "not %s", what(item, w.Path))
		case have.Mode != w.Mode:
			c.find("mode", w.Path, item, again, "has mode %s; %s has %s", have.Mode, what(item, w.Path), w.Mode)
		}
	}
	var extra []string
	for name := range c.entries {
		if !wanted[name] {
			extra = append(extra, name)
		}
	}
	slices.Sort(extra)
	for _, path := range extra {
		c.find("added", path, nil, c.mend("git rm --cached -- "+shell.Quote(c.dir+"/"+path)),
			"not an approved version of any task: the manifest does not list it")
	}
}

// what describes what a path of the bundle must be.
func what(item *export.Item, name string) string {
	if item == nil {
		return "the " + name + " that the plan yields"
	}
	return fmt.Sprintf("an approved version of %s (that is %s)", item.TaskID, item.Version())
}
