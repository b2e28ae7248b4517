package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
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
		plain.Line(e.Damage.Subject), e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Exit returns the hint with the command that lists the remedies.
func (e *DamagedError) Exit() (int, string) {
	return fault.ExitRefused, "git wf doctor, which shows the way back to what is sound"
}

// Salvage finds out how far the history of a ref can be read; nil if nothing is damaged or there is no such ref. If no
// commit that the ref reaches is whole, it tries the ref's reflog and the plan's remote-tracking refs.
func (s *Store) Salvage(ctx context.Context, ref string) (*Damage, error) {
	held, exists, err := s.HeldBy(ctx, ref)
	if err != nil || !exists {
		return nil, err
	}
	v := &salvage{s: s, damage: &Damage{Ref: ref, Tip: held}, unsound: map[plan.OID]bool{}}
	if v.cut, err = s.shallowEnds(); err != nil {
		return nil, err
	}
	after, err := v.searchFrom(ctx, held)
	d := v.damage
	if err != nil || d.Sound != "" && d.Sound == held {
		return nil, err
	}
	d.TipHere, d.After = after > 0, after
	if d.Sound != "" {
		return d, nil
	}
	tips, err := s.formerTips(ctx, ref)
	for i := 0; err == nil && d.Sound == "" && i < len(tips); i++ {
		_, err = v.searchFrom(ctx, tips[i])
	}
	return d, err
}

// Damaged returns a *DamagedError if damage explains why a plan can't be read; otherwise it returns err.
func (s *Store) Damaged(ctx context.Context, id plan.ID, err error) error {
	return s.damaged(ctx, id, planRefs+string(id), err)
}

func (s *Store) damaged(ctx context.Context, id plan.ID, ref string, err error) error {
	if err == nil || ctx.Err() != nil || IsAbsent(err) || !strings.HasPrefix(ref, planRefs) ||
		errors.Is(err, ErrNoPlan) && !s.hasRef(ctx, ref) {
		return err
	}
	d, salvageErr := s.Salvage(ctx, ref)
	if salvageErr != nil || d == nil {
		return err
	}
	return &DamagedError{ID: id, Damage: d, Err: err}
}

// HeldBy returns what a ref holds, even if no such object exists. A ref that holds no object id at all still exists.
func (s *Store) HeldBy(ctx context.Context, ref string) (oid plan.OID, exists bool, err error) {
	refs, err := s.Refs(ctx, ref)
	if oid, ok := refs[ref]; ok || err != nil {
		return oid, ok, err
	}
	// git skips files that are no valid ref.
	st, err := os.Lstat(filepath.Join(s.commonDir, filepath.FromSlash(ref)))
	return "", err == nil && st.Mode().IsRegular(), nil
}

// formerTips are other commits to recover a ref from: its reflog's, newest first, then the fetched ones.
func (s *Store) formerTips(ctx context.Context, ref string) ([]plan.OID, error) {
	const most = 1000
	var tips []plan.OID
	add := func(oid string) {
		if isOID(plan.OID(oid)) && strings.Trim(oid, "0") != "" && len(tips) < most &&
			!slices.Contains(tips, plan.OID(oid)) {
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

// salvage looks for the newest sound commit. A history has no merges, so its sound commits are the older part of it.
type salvage struct {
	s       *Store
	damage  *Damage
	cut     map[plan.OID]bool
	unsound map[plan.OID]bool
}

// searchFrom looks at a tip and below it. It sets damage.Sound and Subject if it finds a sound commit, and returns
// the number of readable commits after that.
func (v *salvage) searchFrom(ctx context.Context, tip plan.OID) (after int, err error) {
	commits, err := v.chain(ctx, tip)
	if err != nil {
		return 0, err
	}
	sound := func(i int) bool {
		if err != nil || v.unsound[commits[i]] {
			return false
		}
		var check *Check
		if check, err = v.s.Verify(ctx, commits[i:i+1], nil); err != nil {
			return false
		}
		if len(v.damage.Bad) == 0 {
			v.damage.Bad = check.Bad
		}
		v.unsound[commits[i]] = !check.Sound()
		return check.Sound()
	}
	after = len(commits)
	switch {
	case after == 0:
	case sound(0): // the usual case: nothing is damaged
		after = 0
	case err == nil:
		after = sort.Search(len(commits), sound)
	}
	for _, c := range commits[:after] {
		v.unsound[c] = true
	}
	if err == nil && after > 0 && len(v.damage.Bad) == 0 { // the history can't be listed, so nothing is named
		err = v.nameDamage(ctx, commits[after-1])
	}
	if err != nil || after == len(commits) {
		return after, err
	}
	v.damage.Sound = commits[after]
	o, err := v.s.objects.one(ctx, string(v.damage.Sound))
	_, message, _ := strings.Cut(string(o.Data), "\n\n")
	v.damage.Subject, _, _ = strings.Cut(message, "\n")
	return after, err
}

// nameDamage finds what is damaged or missing of a commit. A partial clone would fetch what it left with a remote.
func (v *salvage) nameDamage(ctx context.Context, commit plan.OID) (err error) {
	seen := map[plan.OID]bool{}
	for level := []plan.OID{commit}; len(level) > 0 && err == nil && !v.s.Partial(ctx); {
		var deeper []plan.OID
		err = v.s.scan(ctx, namesOf(level), func(i int, o scanned) error {
			var entries []rawEntry
			var treeErr error
			switch {
			case o.bad:
			case o.kind == "commit":
				entries = []rawEntry{{modeTree, "", parseCommit(string(o.data)).tree}}
			case o.kind == "tree":
				entries, treeErr = parseTree(o.data)
			}
			if o.bad || treeErr != nil {
				v.addBad(level[i])
			}
			for _, e := range entries {
				if !seen[e.oid] && (e.isTree() || e.isFile()) {
					seen[e.oid] = true
					deeper = append(deeper, e.oid)
				}
			}
			return nil
		})
		level = deeper
	}
	return err
}

func (v *salvage) addBad(oid plan.OID) {
	if len(v.damage.Bad) < mostBad {
		v.damage.Bad = append(v.damage.Bad, oid)
	}
}

// chain reads commits from a tip back to the first, or to one that can't be read, which makes all unsound.
func (v *salvage) chain(ctx context.Context, tip plan.OID) (commits []plan.OID, err error) {
	for next := tip; next != ""; {
		var parent plan.OID
		readable := false
		if !v.unsound[next] {
			readable, err = v.readCommit(ctx, next, func(data []byte) { parent = parseCommit(string(data)).parent })
		}
		if err != nil {
			return nil, err
		}
		if !readable {
			if !v.unsound[next] {
				v.addBad(next)
			}
			for _, c := range append(commits, next) {
				v.unsound[c] = true
			}
			return commits, nil
		}
		commits = append(commits, next)
		if v.cut[next] {
			return commits, nil
		}
		next = parent
	}
	return commits, nil
}

// readCommit reads a commit through the long-lived reader or, if git dies of it, through one that survives damage.
func (v *salvage) readCommit(ctx context.Context, commit plan.OID, fn func(data []byte)) (readable bool, err error) {
	if o, err := v.s.objects.one(ctx, string(commit)); err == nil {
		fn(o.Data)
		return o.Kind == "commit" && o.OID == commit, nil
	}
	err = v.s.scan(ctx, []string{string(commit)}, func(_ int, o scanned) error {
		fn(o.data)
		readable = !o.bad && o.kind == "commit"
		return nil
	})
	return readable, err
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
