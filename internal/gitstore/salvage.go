package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// Damage says how far a history can be read if its newest commit, or something that it needs, is missing or damaged.
type Damage struct {
	Ref     string
	Tip     plan.OID // what the ref holds; "" if that is no object id
	TipHere bool     // the commit itself is readable, so another ref can keep it
	Sound   plan.OID // the newest commit that is whole with all its history; "" if there is none
	Subject string   // of Sound
	After   int      // commits after Sound, as far as we can count
	Bad     []plan.OID
}

// DamagedError says that a plan can't be read because objects of it are damaged or missing.
type DamagedError struct {
	ID     plan.ID
	Damage *Damage
	Err    error // the read that failed
}

func (e *DamagedError) Error() string {
	what := fmt.Sprintf("plan %s is damaged", e.ID)
	if e.Damage.Sound == "" {
		return fmt.Sprintf("%s, and no commit of it is whole: %v", what, e.Err)
	}
	return fmt.Sprintf("%s; its newest sound commit is %.12s (%s): %v", what, e.Damage.Sound,
		plan.OneLine(e.Damage.Subject), e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Exit returns the hint with the command that lists the remedies.
func (e *DamagedError) Exit() (int, string) {
	return fault.ExitRefused, "git wf doctor, which shows the way back to what is sound"
}

// Salvage finds out how far the history of a ref can be read. It returns nil if nothing is damaged or the ref does not
// exist. If the ref holds nonsense or its commit is gone, Salvage tries the ref's reflog and the plan's remote-tracking
// refs.
func (s *Store) Salvage(ctx context.Context, ref string) (*Damage, error) {
	held, exists, err := s.heldBy(ctx, ref)
	if err != nil || !exists {
		return nil, err
	}
	d := &Damage{Ref: ref, Tip: held}
	v := &salvage{s: s, commits: map[plan.OID]*salvaged{}, trees: map[plan.OID]bool{}}
	if v.cut, err = s.shallowEnds(); err != nil {
		return nil, err
	}
	from := []plan.OID{held}
	if err := v.walk(ctx, held); err != nil {
		return nil, err
	}
	d.TipHere = held != "" && v.commits[held] != nil
	if v.lost {
		more, err := s.formerTips(ctx, ref)
		if err != nil {
			return nil, err
		}
		for _, oid := range more {
			if err := v.walk(ctx, oid); err != nil {
				return nil, err
			}
		}
		from = append(from, more...)
	}
	if err := v.judge(ctx); err != nil {
		return nil, err
	}
	if d.TipHere && v.commits[held].sound {
		return nil, nil
	}
	best := v.newest(from)
	d.Bad = v.bad
	if best == nil {
		return d, nil
	}
	d.Sound, d.Subject = best.oid, best.subject
	d.After = v.after(held, best.oid)
	return d, nil
}

// Damaged returns a *DamagedError if damage explains why a plan can't be read; otherwise it returns err.
func (s *Store) Damaged(ctx context.Context, id plan.ID, err error) error {
	return s.damaged(ctx, id, planRefs+string(id), err)
}

func (s *Store) damaged(ctx context.Context, id plan.ID, ref string, err error) error {
	if err == nil || ctx.Err() != nil || IsAbsent(err) || !strings.HasPrefix(ref, planRefs) {
		return err
	}
	d, salvageErr := s.Salvage(ctx, ref)
	if salvageErr != nil || d == nil {
		return err
	}
	return &DamagedError{ID: id, Damage: d, Err: err}
}

// heldBy returns what a ref holds, even if no such object exists. A ref that holds no object id at all still exists.
func (s *Store) heldBy(ctx context.Context, ref string) (oid plan.OID, exists bool, err error) {
	refs, err := s.Refs(ctx, ref)
	if oid, ok := refs[ref]; ok || err != nil {
		return oid, ok, err
	}
	// git skips files that are no valid ref.
	st, err := os.Lstat(filepath.Join(s.commonDir, filepath.FromSlash(ref)))
	return "", err == nil && st.Mode().IsRegular(), nil
}

// formerTips are other commits from which to recover a ref's history: those of its reflog, newest first, then the
// remote-tracking refs.
func (s *Store) formerTips(ctx context.Context, ref string) ([]plan.OID, error) {
	const most = 1000
	var tips []plan.OID
	add := func(oid string) {
		if isOID(plan.OID(oid)) && strings.Trim(oid, "0") != "" && len(tips) < most && !slices.Contains(tips, plan.OID(oid)) {
			tips = append(tips, plan.OID(oid))
		}
	}
	// git shows the reflog only of a ref that it can read.
	data, err := os.ReadFile(filepath.Join(s.commonDir, "logs", filepath.FromSlash(ref)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the log of %s: %w", ref, err)
	}
	all := strings.Split(string(data), "\n")
	for _, line := range slices.Backward(all) {
		if f := strings.Fields(line); len(f) > 1 {
			add(f[1])
			add(f[0])
		}
	}
	out, err := s.Git(ctx, "for-each-ref", "--format=%(objectname)", "--",
		"refs/workflow-remotes/*/"+strings.TrimPrefix(ref, planRefs))
	for oid := range strings.FieldsSeq(out) {
		add(oid)
	}
	return tips, err
}

// salvaged is one commit that could be read.
type salvaged struct {
	oid, tree plan.OID
	parents   []plan.OID
	subject   string
	depth     int // commits on the longest path to a root
	sound     bool
	judged    bool
}

type salvage struct {
	s       *Store
	cut     map[plan.OID]bool
	commits map[plan.OID]*salvaged // nil for an unreadable one
	order   []*salvaged            // as found: children before parents, except around merges
	trees   map[plan.OID]bool      // true for one that lacks something
	bad     []plan.OID
	lost    bool // a commit can't be read
}

// walk reads commits from a tip to the roots, or as far as it can, a few at a time: only a child names its parents.
func (v *salvage) walk(ctx context.Context, tip plan.OID) error {
	if tip == "" {
		v.lost = true
		return nil
	}
	level := []plan.OID{tip}
	for len(level) > 0 {
		var names []string
		for _, oid := range level {
			if _, known := v.commits[oid]; !known {
				v.commits[oid] = nil
				names = append(names, string(oid))
			}
		}
		level = level[:0]
		err := v.read(ctx, names, func(i int, o scanned) error {
			if o.bad || o.kind != "commit" {
				v.lost = true
				v.note(plan.OID(names[i]))
				return nil
			}
			c := parseSalvaged(plan.OID(names[i]), string(o.data))
			if v.cut[c.oid] {
				c.parents = nil
			}
			v.commits[c.oid] = c
			v.order = append(v.order, c)
			level = append(level, c.parents...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read scans a few objects through the long-lived reader, which saves a process for each commit of a long history. If
// that fails, it uses one that survives damage.
func (v *salvage) read(ctx context.Context, names []string, fn func(int, scanned) error) error {
	if len(names) == 0 {
		return nil
	}
	whole := make([]scanned, len(names))
	err := v.s.objects.each(ctx, names, func(i int, o object) error {
		whole[i] = scanned{kind: o.Kind, data: slices.Clone(o.Data), bad: o.Kind == "" || string(o.OID) != names[i]}
		return nil
	})
	if err != nil {
		return v.s.scan(ctx, names, fn)
	}
	for i, w := range whole {
		if err := fn(i, w); err != nil {
			return err
		}
	}
	return nil
}

func (v *salvage) note(oid plan.OID) {
	if len(v.bad) < mostBad {
		v.bad = append(v.bad, oid)
	}
}

func parseSalvaged(oid plan.OID, text string) *salvaged {
	c := &salvaged{oid: oid}
	head, message, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case key == "tree":
			c.tree = plan.OID(value)
		case key == "parent" && isOID(plan.OID(value)):
			c.parents = append(c.parents, plan.OID(value))
		}
	}
	c.subject, _, _ = strings.Cut(message, "\n")
	return c
}

// judge finds out which commits are whole with all their history.
func (v *salvage) judge(ctx context.Context) error {
	var roots []plan.OID
	for _, c := range v.order {
		roots = append(roots, c.tree)
	}
	if err := v.judgeTrees(ctx, roots); err != nil {
		return err
	}
	for _, c := range v.order {
		v.judgeCommit(c)
	}
	return nil
}

// judgeTrees reads every tree and blob below the roots once and then marks the parents of what is missing, level by
// level.
func (v *salvage) judgeTrees(ctx context.Context, roots []plan.OID) error {
	bad := map[plan.OID]bool{}
	blobs := map[plan.OID]bool{}
	level := roots
	for len(level) > 0 {
		var names []string
		for _, oid := range level {
			if _, known := v.trees[oid]; !known {
				v.trees[oid] = false
				names = append(names, string(oid))
			}
		}
		level = nil
		err := v.s.scan(ctx, names, func(i int, o scanned) error {
			entries, err := parseTree(o.data)
			if o.bad || o.kind != "tree" || err != nil {
				bad[plan.OID(names[i])] = true
				v.note(plan.OID(names[i]))
				return nil
			}
			for _, e := range entries {
				if e.isTree() {
					level = append(level, e.oid)
				} else if e.isFile() {
					blobs[e.oid] = true
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := v.judgeBlobs(ctx, blobs, bad); err != nil {
		return err
	}
	return v.passUp(ctx, bad)
}

func (v *salvage) judgeBlobs(ctx context.Context, blobs, bad map[plan.OID]bool) error {
	names := make([]string, 0, len(blobs))
	for oid := range blobs {
		names = append(names, string(oid))
	}
	slices.Sort(names)
	if v.s.Partial(ctx) {
		return nil // an object left with a remote is no damage, and asking would fetch it
	}
	return v.s.scan(ctx, names, func(i int, o scanned) error {
		if o.bad || o.kind != "blob" {
			bad[plan.OID(names[i])] = true
			v.note(plan.OID(names[i]))
		}
		return nil
	})
}

// passUp marks the trees that contain something bad until it finds no more, one pass for each level. Rereading costs
// less than remembering the content of each tree of a long history.
func (v *salvage) passUp(ctx context.Context, bad map[plan.OID]bool) error {
	if len(bad) == 0 {
		return nil
	}
	var names []string
	for oid := range v.trees {
		if bad[oid] {
			v.trees[oid] = true
		} else {
			names = append(names, string(oid))
		}
	}
	slices.Sort(names)
	for more := true; more; {
		more = false
		err := v.s.scan(ctx, names, func(i int, o scanned) error {
			if v.trees[plan.OID(names[i])] {
				return nil
			}
			entries, err := parseTree(o.data)
			if err == nil && slices.ContainsFunc(entries, func(e rawEntry) bool { return bad[e.oid] }) {
				v.trees[plan.OID(names[i])], bad[plan.OID(names[i])], more = true, true, true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// judgeCommit judges a commit after its parents. It has a stack of its own: a history may be longer than Go's stack.
func (v *salvage) judgeCommit(c *salvaged) {
	stack := []*salvaged{c}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		waits := false
		for _, p := range top.parents {
			if parent := v.commits[p]; parent != nil && !parent.judged {
				stack = append(stack, parent)
				waits = true
			}
		}
		if waits {
			continue
		}
		stack = stack[:len(stack)-1]
		if top.judged {
			continue
		}
		top.judged, top.depth = true, 1
		top.sound = !v.trees[top.tree] && top.tree != ""
		for _, p := range top.parents {
			parent := v.commits[p]
			if parent == nil {
				top.sound = false
				continue
			}
			top.sound = top.sound && parent.sound
			top.depth = max(top.depth, parent.depth+1)
		}
	}
}

// newest returns the sound commit with the longest history below the first tip that has one. Earlier tips win, because
// they are the more trustworthy.
func (v *salvage) newest(tips []plan.OID) *salvaged {
	for _, tip := range tips {
		var best *salvaged
		v.below(tip, func(c *salvaged) bool {
			if c.sound && (best == nil || c.depth > best.depth) {
				best = c
			}
			return !c.sound
		})
		if best != nil {
			return best
		}
	}
	return nil
}

// after counts the commits that one tip reaches and another does not.
func (v *salvage) after(tip, sound plan.OID) int {
	old := map[plan.OID]bool{}
	v.below(sound, func(c *salvaged) bool { old[c.oid] = true; return true })
	n := 0
	v.below(tip, func(c *salvaged) bool {
		if !old[c.oid] {
			n++
		}
		return !old[c.oid]
	})
	return n
}

// below visits the commits reachable from a tip; it continues past one for which visit returns true.
func (v *salvage) below(tip plan.OID, visit func(*salvaged) bool) {
	seen := map[plan.OID]bool{}
	level := []plan.OID{tip}
	for len(level) > 0 {
		oid := level[len(level)-1]
		level = level[:len(level)-1]
		if c := v.commits[oid]; c != nil && !seen[oid] {
			seen[oid] = true
			if visit(c) {
				level = append(level, c.parents...)
			}
		}
	}
}

// PointsTo reads a symbolic ref from its file if git refuses to, because its target is damaged.
func PointsTo(file string) (ref string, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	ref, ok = strings.CutPrefix(strings.TrimSpace(string(data)), "ref: ")
	return ref, ok && !strings.Contains(ref, "\n")
}
