package gitstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// The two trees of a version that changes the repository: the paths that it changes, as they were and as they are.
const (
	ChangeBefore = "a"
	ChangeAfter  = "b"
)

// AddChange adds the change between two trees, as the files of a version. It returns no tree if nothing differs.
func (b *Batch) AddChange(ctx context.Context, before, after plan.OID) (plan.OID, []FileInfo, error) {
	old, now, err := threeway.Cut(ctx, &treeObjects{b}, before, after)
	if err != nil || old == now {
		return "", nil, err
	}
	var sides []rawEntry
	var files []FileInfo
	for _, side := range []rawEntry{{modeTree, ChangeBefore, old}, {modeTree, ChangeAfter, now}} {
		if side.oid == "" {
			continue
		}
		sides = append(sides, side)
		if err := b.describe(ctx, side.name, side.oid, &files); err != nil {
			return "", nil, err
		}
	}
	tree, err := b.addTree(sides)
	return tree, files, err
}

// describe lists the files below a tree. A submodule has neither size nor hash.
func (b *Batch) describe(ctx context.Context, path string, tree plan.OID, files *[]FileInfo) error {
	objects := &treeObjects{b}
	entries, err := objects.Tree(ctx, tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path + "/" + e.Name
		if e.Mode == modeTree {
			if err := b.describe(ctx, name, e.OID, files); err != nil {
				return err
			}
			continue
		}
		info := FileInfo{Path: name, Mode: e.Mode, OID: e.OID}
		if e.Mode != modeSubmodule {
			data, err := objects.read(ctx, e.OID, "blob")
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			sum := sha256.Sum256(data)
			info.SHA256, info.Size = hex.EncodeToString(sum[:]), int64(len(data))
		}
		*files = append(*files, info)
	}
	return nil
}

// ApplyChange applies a version to a tree. The result has the tree's own content at each conflict.
func (b *Batch) ApplyChange(ctx context.Context, version, to plan.OID) (plan.OID, []threeway.Conflict, error) {
	before, after, err := b.changeSides(ctx, version)
	if err != nil {
		return "", nil, err
	}
	return threeway.Merge(ctx, &treeObjects{b}, before, to, after)
}

// RevertChange takes a version out of a tree, as ApplyChange puts it in.
func (b *Batch) RevertChange(ctx context.Context, version, from plan.OID) (plan.OID, []threeway.Conflict, error) {
	before, after, err := b.changeSides(ctx, version)
	if err != nil {
		return "", nil, err
	}
	return threeway.Merge(ctx, &treeObjects{b}, after, from, before)
}

// changeSides are the two trees of a version that changes the repository, "" for one without files.
func (b *Batch) changeSides(ctx context.Context, version plan.OID) (before, after plan.OID, err error) {
	sides, err := (&treeObjects{b}).Tree(ctx, version)
	if err != nil {
		return "", "", err
	}
	for _, e := range sides {
		switch {
		case e.Name == ChangeBefore && e.Mode == modeTree:
			before = e.OID
		case e.Name == ChangeAfter && e.Mode == modeTree:
			after = e.OID
		default:
			return "", "", fmt.Errorf("%.12s is no change: it has %s", version, plain.Quote(e.Name))
		}
	}
	return before, after, nil
}

// PartOfChange adds the part of a version that changes the repository whose paths are kept.
func (b *Batch) PartOfChange(ctx context.Context, version plan.OID, keep func(path string) bool) (plan.OID, error) {
	objects := &treeObjects{b}
	var part func(prefix string, tree plan.OID) (plan.OID, error)
	part = func(prefix string, tree plan.OID) (plan.OID, error) {
		entries, err := objects.Tree(ctx, tree)
		if err != nil {
			return "", err
		}
		var kept []threeway.Entry
		for _, e := range entries {
			path := prefix + e.Name
			switch {
			case e.Mode != modeTree:
				if _, of, _ := strings.Cut(path, "/"); !keep(of) {
					continue
				}
			default:
				if e.OID, err = part(path+"/", e.OID); err != nil {
					return "", err
				}
				if e.OID == "" {
					continue
				}
			}
			kept = append(kept, e)
		}
		if len(kept) == 0 && prefix != "" {
			return "", nil
		}
		return objects.WriteTree(kept)
	}
	return part("", version)
}

// ChangeSides returns the two trees of a version: the paths that it changes, as they were and as they are.
func (s *Store) ChangeSides(ctx context.Context, version plan.OID) (before, after plan.OID, err error) {
	before, after, err = s.NewBatch().changeSides(ctx, version)
	return cmp.Or(before, EmptyTree), cmp.Or(after, EmptyTree), err
}

// FitsOn reports whether a change begins with the very files that another one leaves, where both touch them: so its
// diff is the same on top of it. Both are the trees of versions.
func (s *Store) FitsOn(ctx context.Context, version, on plan.OID) (bool, error) {
	files, err := s.ListTrees(ctx, []plan.OID{version, on})
	side := func(tree plan.OID, name string) map[string]plan.OID {
		has := map[string]plan.OID{} // "" where only the other side has the path
		for _, f := range files[tree] {
			if of, path, _ := strings.Cut(f.Path, "/"); of == name {
				has[path] = f.OID + plan.OID(f.Mode)
			} else if has[path] == "" {
				has[path] = ""
			}
		}
		return has
	}
	left := side(on, ChangeAfter)
	for path, was := range side(version, ChangeBefore) {
		if now, ok := left[path]; ok && now != was {
			return false, err
		}
	}
	return true, err
}

// ChangeDiff returns what a version changes in the repository as a patch, which is not to be altered: each task that
// builds on the version asks for it.
func (s *Store) ChangeDiff(ctx context.Context, version plan.OID) ([]byte, error) {
	if patch, ok := s.patches.Load(version); ok {
		return patch.([]byte), nil
	}
	before, after, err := s.ChangeSides(ctx, version)
	if err != nil {
		return nil, err
	}
	patch, err := s.GitIn(ctx, Invocation{Args: []string{"diff-tree", "-p", "-M", "--binary", "--no-ext-diff",
		"--no-textconv", "--no-color", "--end-of-options", string(before), string(after)}})
	if err == nil && len(patch) <= 16<<10 { // memory for all that are larger would be too much
		s.patches.Store(version, patch)
	}
	return patch, err
}

// EmptyTree is the tree without entries, which git has everywhere.
const EmptyTree plan.OID = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Fork returns the newest commit that all of some commits contain, "" if there is none.
func (s *Store) Fork(ctx context.Context, commits ...plan.OID) (plan.OID, error) {
	out, err := s.Git(ctx, append([]string{"merge-base", "--octopus"}, namesOf(commits)...)...)
	if exitCode(err) == 1 {
		return "", nil
	}
	return plan.OID(out), err
}

// BegunWith returns the trees of the newest commit of AddCommit with a subject, and of its parent, among the commits
// that tip has and base has not; "" if there is none.
func (s *Store) BegunWith(ctx context.Context, base, tip plan.OID, subject string) (tree, parent plan.OID, err error) {
	out, err := s.Git(ctx, "rev-list", "-1", "--fixed-strings", "--author=<git-wf@agents.git-wf.invalid>",
		"--grep="+subject, string(tip), "--not", string(base))
	if err != nil || out == "" {
		return "", "", err
	}
	if tree, err = s.Resolve(ctx, out+"^{tree}"); err == nil {
		parent, err = s.Resolve(ctx, out+"^^{tree}")
	}
	return tree, parent, err
}

// Trunk returns the branch that changes of the repository begin with and land on, and its tip: wf.branch, else the
// remote's, else the one that new repositories begin with, else what is checked out; "" where HEAD is on none.
func (s *Store) Trunk(ctx context.Context) (branch string, tip plan.OID, err error) {
	names := []string{}
	for _, key := range []string{"wf.branch", "init.defaultBranch"} {
		name, set, err := s.Config(ctx, key)
		if err != nil {
			return "", "", err
		}
		if !set {
			continue
		}
		names = append(names, name)
		if key == "wf.branch" {
			if tip, err = s.CommitOf(ctx, "refs/heads/"+name); err == nil && tip == "" {
				err = fmt.Errorf("wf.branch is %s, and there is no such branch", plain.Quote(name))
			}
			return name, tip, err
		}
	}
	if ref, err := s.target(ctx, s.commonDir, "refs/remotes/origin/HEAD"); err == nil && ref != "" {
		names = append([]string{strings.TrimPrefix(ref, "refs/remotes/origin/")}, names...)
	}
	for _, name := range append(names, "main", "master") {
		if tip, err := s.CommitOf(ctx, "refs/heads/"+name); err != nil || tip != "" {
			return name, tip, err
		}
	}
	branch, _ = s.Git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	tip, err = s.Head(ctx)
	return branch, tip, err
}

// BaseOf returns the commit with which the changes of a plan begin, as this repository recorded it; "" if none began.
func (s *Store) BaseOf(ctx context.Context, id plan.ID) (plan.OID, error) {
	return s.Ref(ctx, keepRefs+string(id)+"/base")
}

// KeepBase records the commit with which the changes of a plan begin, unless another was recorded first.
func (s *Store) KeepBase(ctx context.Context, id plan.ID, commit plan.OID) (plan.OID, error) {
	change := []refChange{{ref: keepRefs + string(id) + "/base", new: commit}}
	err := s.moveRefs(ctx, s.leases, s.NewBatch(), change, func(ctx context.Context) (bool, error) {
		first, err := s.BaseOf(ctx, id)
		if first != "" {
			commit = first
		}
		return first != "", err
	})
	return commit, err
}

// KeepRef keeps what a version, known by its tree, names from git gc. Such refs are local.
func (s *Store) KeepRef(ctx context.Context, id plan.ID, task plan.TaskID, version, commit plan.OID) error {
	ref := keepRefs + string(id) + "/" + string(task) + "/" + string(version)
	old, err := s.Ref(ctx, ref)
	if err != nil || old == commit {
		return err
	}
	change := []refChange{{ref, old, commit}}
	return s.moveRefs(ctx, s.leases, s.NewBatch(), change, func(ctx context.Context) (bool, error) {
		now, err := s.Ref(ctx, ref)
		return now == commit, err
	})
}

// keepRefs are the refs of KeepRef.
const keepRefs = "refs/workflow-keep/"

// AddCommit adds a commit that makes a tree a starting point for work. No ref names it.
func (b *Batch) AddCommit(tree, parent plan.OID, message string, at time.Time) plan.OID {
	who, when := plan.Actor{Name: "git wf", Email: "git-wf@agents.git-wf.invalid"}, fmt.Sprintf("%d +0000", at.Unix())
	draft := commitDraft{tree, []plan.OID{parent}, who, who, when, when, message + "\n"}
	return b.add(plumbing.CommitObject, []byte(draft.text()))
}

// TreeOf returns a commit's tree, "" if the commit is not here.
func (s *Store) TreeOf(ctx context.Context, commit plan.OID) (plan.OID, error) {
	if !isOID(commit) {
		return "", fmt.Errorf("%q is no object id", commit)
	}
	o, err := s.objects.one(ctx, string(commit)+"^{tree}")
	return o.OID, err
}
