package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Surroundings audits what lies around the plans: refs and claims, the pointers of the working trees, locks in the git
// directory, and what dead processes have left.
func Surroundings(ctx context.Context, store *gitstore.Store) ([]Finding, error) {
	s := surroundings{auditor: auditor{ctx: ctx, store: store}, plans: map[plan.ID]bool{}}
	for _, look := range []func() error{s.refs, s.claims, s.pointers, s.replaced, s.fetched} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	s.reportRemotePolicy()
	s.locks()
	s.leftovers()
	return s.findings, ctx.Err()
}

type surroundings struct {
	auditor
	all   []ref
	plans map[plan.ID]bool
}

// ref is one ref in one of our namespaces.
type ref struct {
	name, symref string
	oid          plan.OID
}

// The namespaces that are ours.
const (
	planRefs    = "refs/workflow/"
	claimRefs   = "refs/workflow-claims/"
	remoteRefs  = "refs/workflow-remotes/"
	archiveRefs = "refs/workflow-archive/"
	keepRefs    = "refs/workflow-keep/"
)

// refs looks at every ref whose name begins as ours do.
func (s *surroundings) refs() error {
	out, err := s.store.Git(s.ctx, "for-each-ref", "--format=%(objectname) %(refname) %(symref)", "refs/workflow*/**")
	if err != nil {
		return fmt.Errorf("list the refs: %w", err)
	}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", 3)
		for len(f) < 3 {
			f = append(f, "")
		}
		s.all = append(s.all, ref{name: f[1], oid: plan.OID(f[0]), symref: f[2]})
	}
	for _, r := range s.all {
		s.ref(r)
	}
	return s.brokenRefs()
}

func (s *surroundings) ref(r ref) {
	why := ""
	id, isPlan := strings.CutPrefix(r.name, planRefs)
	switch {
	case r.symref != "":
		s.report("symbolic-ref", r.name, "git symbolic-ref -d "+shell.Word(r.name),
			"stands for %s; a plan's history has a ref of its own", r.symref)
		return
	case isPlan && id != "policy" && !plan.ID(id).Valid():
		why = "no plan can have this name"
	case isPlan:
		s.plans[plan.ID(id)] = id != "policy"
		return
	case strings.HasPrefix(r.name, claimRefs), strings.HasPrefix(r.name, remoteRefs),
		strings.HasPrefix(r.name, archiveRefs), strings.HasPrefix(r.name, damagedRefs),
		strings.HasPrefix(r.name, keepRefs):
		return // claims are looked at by themselves; the others hold whatever was fetched or kept
	default:
		why = "no ref of this program begins so"
	}
	s.report("foreign-ref", r.name, withoutHooks(deleteCommand(r.name, r.oid)), "%s; it counts for nothing", why)
}

// replaced reports objects in whose place git shows others. The gate judges objects as they are.
func (s *surroundings) replaced() error {
	refs, err := Replaced(s.ctx, s.store)
	for _, name := range refs {
		s.report("replaced", name, "git replace -d "+shell.Word(strings.TrimPrefix(name, replaceRefs)),
			"git shows another object in place of this one, which is what was judged")
	}
	grafts := filepath.Join(s.store.CommonDir(), "info", "grafts")
	if _, statErr := os.Lstat(grafts); statErr == nil {
		s.report("replaced", grafts, "rm "+shell.Word(grafts), "git shows commits with other parents than they have")
	}
	return err
}

const replaceRefs = "refs/replace/"

// Replaced lists the refs that make git show one object in place of another in this repository.
func Replaced(ctx context.Context, store *gitstore.Store) ([]string, error) {
	out, err := store.Git(ctx, "for-each-ref", "--format=%(refname)", replaceRefs)
	if err != nil {
		return nil, fmt.Errorf("list the replaced objects: %w", err)
	}
	return strings.Fields(out), nil
}

// brokenRefs finds files that should be refs but hold none, except those of plans: git skips them.
func (s *surroundings) brokenRefs() error {
	known := each.Set(s.all, func(r ref) string { return r.name })
	for _, dir := range []string{planRefs, claimRefs} {
		root := filepath.Join(s.store.CommonDir(), filepath.FromSlash(dir))
		_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(file, ".lock") || s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			rel, err := filepath.Rel(s.store.CommonDir(), file)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(rel)
			if known[name] {
				return nil
			}
			if id := plan.ID(strings.TrimPrefix(name, planRefs)); dir == planRefs && id.Valid() {
				s.plans[id] = true
				return nil
			}
			s.report("broken-ref", name, "rm "+shell.Word(file), "the file holds no object id, and git passes over it")
			return nil
		})
	}
	return s.ctx.Err()
}

// BrokenPlans are plans whose ref git can't read, and so does not list.
func BrokenPlans(store *gitstore.Store, listed []gitstore.PlanRef) []plan.ID {
	entries, err := os.ReadDir(filepath.Join(store.CommonDir(), filepath.FromSlash(planRefs)))
	if err != nil {
		return nil // there is none, or refs are kept otherwise
	}
	var broken []plan.ID
	for _, e := range entries {
		id := plan.ID(e.Name())
		if e.Type().IsRegular() && id.Valid() && !slices.ContainsFunc(listed, func(r gitstore.PlanRef) bool {
			return r.ID == id
		}) {
			broken = append(broken, id)
		}
	}
	return broken
}

// fetched reports plans of which a remote has no legal history, so that nothing of it is taken. There the ref goes back
// to before the first commit that is no event of the plan, or to what is here.
func (s *surroundings) fetched() error {
	for _, r := range s.all {
		at, fetched := strings.CutPrefix(r.name, remoteRefs)
		remote, name, _ := strings.Cut(at, "/")
		a := auditor{ctx: s.ctx, store: s.store, id: plan.ID(name), tip: r.oid}
		ref := planRefs + name
		if !fetched || !a.id.Valid() {
			continue
		}
		var unsound *UnsoundError
		if !errors.As(Sound(s.ctx, s.store, a.id, r.oid), &unsound) {
			continue // a join says what can't be read
		}
		err := a.history(string(r.oid))
		first, culpritErr := a.firstCulprit()
		if err = cmp.Or(err, culpritErr); err != nil {
			return err
		}
		good, err := s.store.Git(s.ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", string(first)+"^1")
		if err != nil {
			own, _ := s.store.Ref(s.ctx, ref) // "" has the remote's go
			good = string(own)
		}
		mend := fmt.Sprintf("git push --no-verify --force-with-lease=%s:%s %s %s:%[1]s", ref, r.oid,
			shell.Word(remote), good)
		if unsound.Finding.Code == unknownJoin {
			mend = fault.UpgradeHint
		}
		f := s.report("bad-remote", r.name, mend, "nothing of it is taken: %s: %s", unsound.Finding.Place,
			unsound.Finding.Message)
		f.PlanID = a.id
	}
	return s.ctx.Err()
}

// reportRemotePolicy reports plans that are bound by no policy although a remote has one.
func (s *surroundings) reportRemotePolicy() {
	if slices.ContainsFunc(s.all, func(r ref) bool { return r.name == gitstore.PolicyRef }) || len(s.plans) == 0 {
		return
	}
	for _, r := range s.all {
		fetched, ok := strings.CutPrefix(r.name, remoteRefs)
		remote, isPolicy := strings.CutSuffix(fetched, "/policy")
		if ok && isPolicy {
			s.report("no-policy", r.name,
				fmt.Sprintf("git update-ref --create-reflog %s %s", gitstore.PolicyRef, r.oid),
				"the plans here are under no policy, but %s has one", remote)
			return
		}
	}
}
