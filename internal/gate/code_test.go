package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/repotest"
	"gitwf/internal/threeway"
)

// A scene is a history of real commits, made by git itself, and the versions that are approved in it.
type scene struct {
	*testing.T
	repo *repotest.Repo
	c    *code
	root plan.OID
}

// lines are those of a file, "a0" to "a29" of the file src/a.
func lines(name string) []string {
	list := make([]string, 30)
	for i := range list {
		list[i] = fmt.Sprint(name, i)
	}
	return list
}

type files map[string][]string

func newScene(t *testing.T) *scene {
	repo := repotest.New(t)
	s := &scene{T: t, repo: repo}
	start := files{"free/w": lines("w"), "free/x": lines("x")}
	for _, name := range []string{"a", "b", "c", "d", "y"} {
		start["src/"+name] = lines(name)
	}
	s.root = s.commit(start)
	paths := []string{"src/"}
	g := New(repo.Open(), &gitstore.Policy{Policy: policy.Policy{Changes: policy.Changes{
		Paths: paths, Since: policy.Since{{Paths: paths, Commits: []plan.OID{s.root}}},
	}}})
	s.c = g.codeJudge()
	s.c.lib.complete = true
	return s
}

// commit makes a commit of files on top of others.
func (s *scene) commit(all files, parents ...plan.OID) plan.OID {
	s.Helper()
	var index strings.Builder
	for path, content := range all {
		oid := s.repo.GitIn(strings.Join(content, "\n")+"\n", "hash-object", "-w", "--stdin")
		fmt.Fprintf(&index, "100644 %s\t%s\n", strings.TrimSpace(oid), path)
	}
	s.repo.Git("read-tree", "--empty")
	s.repo.GitIn(index.String(), "update-index", "--add", "--index-info")
	return s.committed(strings.TrimSpace(s.repo.Git("write-tree")), parents...)
}

func (s *scene) committed(tree string, parents ...plan.OID) plan.OID {
	args := []string{"commit-tree", tree, "-m", "."}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	return plan.OID(strings.TrimSpace(s.repo.Git(args...)))
}

func (s *scene) files(commit plan.OID) files {
	all := files{}
	for path := range strings.FieldsSeq(s.repo.Git("ls-tree", "-r", "--name-only", string(commit))) {
		all[path] = strings.Split(strings.TrimSuffix(s.repo.Git("show", string(commit)+":"+path), "\n"), "\n")
	}
	return all
}

// edit returns a commit's files with lines of src/a replaced.
func (s *scene) edit(commit plan.OID, replace map[string][]string) files {
	all := s.files(commit)
	var next []string
	for _, line := range all["src/a"] {
		if with, ok := replace[line]; ok {
			next = append(next, with...)
		} else {
			next = append(next, line)
		}
	}
	all["src/a"] = next
	return all
}

// version approves what leads from a commit to files.
func (s *scene) version(task string, n int, base plan.OID, after files) *change {
	s.Helper()
	made := s.commit(after, base)
	ch := &change{
		changeName: changeName{"WFS-scene", plan.TaskID(task), n}, tree: made, place: len(s.c.lib.all), turns: map[string]turn{},
		weighed: true, evidence: &export.Evidence{},
		base: plan.Base{Commit: base, Tree: plan.OID(strings.TrimSpace(s.repo.Git("rev-parse", string(base)+"^{tree}")))},
	}
	out := strings.TrimSuffix(s.repo.Git("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", string(base), string(made)), "\x00")
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		entryOf := func(mode, oid string) threeway.Entry {
			if strings.Trim(oid, "0") == "" {
				return threeway.Entry{}
			}
			return threeway.Entry{Mode: mode, OID: plan.OID(oid)}
		}
		if path := fields[i+1]; strings.HasPrefix(path, "src/") {
			ch.turns[path] = turn{entryOf(f[0], f[2]), entryOf(f[1], f[3])}
		}
	}
	if err := s.c.addChange(s.Context(), ch); err != nil {
		s.Fatal(err)
	}
	return ch
}

// undo approves what takes a version back for good.
func (s *scene) undo(of *change, base plan.OID, after files) {
	s.version("U", 1, base, after).undoes = &plan.Undo{
		PlanID: of.plan, TaskID: of.task, ArtifactID: plan.VersionID(of.version), Floor: of.version,
	}
}

// git lets git make a commit on top of another one, in a working tree.
func (s *scene) git(on plan.OID, args ...string) plan.OID {
	s.Helper()
	s.repo.Git("checkout", "-q", "--force", "--detach", string(on))
	s.repo.Git(append([]string{"-c", "core.editor=true"}, args...)...)
	return plan.OID(strings.TrimSpace(s.repo.Git("rev-parse", "HEAD")))
}

func (s *scene) pick(commit, on plan.OID) plan.OID { return s.git(on, "cherry-pick", string(commit)) }
func (s *scene) revert(commit, on plan.OID) plan.OID {
	return s.git(on, "revert", "--no-edit", string(commit))
}
func (s *scene) merge(ours, theirs plan.OID) plan.OID {
	return s.git(ours, "merge", "-q", "--no-ff", "-m", ".", string(theirs))
}

// squash is what merging would make, as one commit with one parent.
func (s *scene) squash(ours, theirs plan.OID) plan.OID {
	return s.committed(s.tree(s.merge(ours, theirs)), ours)
}

func (s *scene) tree(commit plan.OID) string {
	return strings.TrimSpace(s.repo.Git("rev-parse", string(commit)+"^{tree}"))
}

// ok reports whether a branch that was at a commit may take another one.
func (s *scene) ok(commit plan.OID, old ...plan.OID) bool {
	s.Helper()
	clear(s.c.ledgers)
	clear(s.c.open)
	l, err := s.c.ledgerOf(s.Context(), commit)
	if err != nil {
		s.Fatal(err)
	}
	had, err := s.c.ledgerOf(s.Context(), append(old, s.root)[0])
	if err != nil {
		s.Fatal(err)
	}
	for _, task := range l.differ(had) {
		if top := l.of(task).top(); top != nil && top.lapsed != "" {
			return false
		}
	}
	return !s.c.open[commit]
}

// three approves three changes of src/a, far from each other, and returns the commits that they lead to.
func (s *scene) three() (made [3]plan.OID) {
	for i, line := range []string{"a5", "a15", "a25"} {
		after := s.edit(s.root, map[string][]string{line: {line, fmt.Sprint("T", i)}})
		s.version(fmt.Sprint("T-", i), 1, s.root, after)
		made[i] = s.commit(after, s.root)
	}
	return made
}

func (s *scene) change(i int) *change { return s.c.lib.all[i] }

// undone lands the first of three changes and undoes it.
func (s *scene) undone() (made [3]plan.OID, landed, undone plan.OID) {
	made = s.three()
	s.undo(s.change(0), made[0], s.files(s.root))
	return made, made[0], s.committed(s.tree(s.root), made[0])
}

// function approves a line, and that it moves.
func (s *scene) function() (alone, moved plan.OID) {
	one := s.edit(s.root, map[string][]string{"a2": {"a2", "FUN"}})
	s.version("F", 1, s.root, one)
	alone = s.commit(one, s.root)
	two := s.edit(alone, map[string][]string{"FUN": {}, "a20": {"a20", "FUN"}})
	s.version("M", 1, alone, two)
	return alone, s.commit(two, alone)
}

// renamed approves that src/a is renamed, and a fix of it.
func (s *scene) renamed() (renamed, fixed plan.OID) {
	all := s.files(s.root)
	all["src/z"] = all["src/a"]
	delete(all, "src/a")
	s.version("R", 1, s.root, all)
	fix := s.edit(s.root, map[string][]string{"a9": {"FIX"}})
	s.version("X", 1, s.root, fix)
	return s.commit(all, s.root), s.commit(fix, s.root)
}

func without(all files, path string) files {
	all = maps.Clone(all)
	delete(all, path)
	return all
}

// TestScenes shows docs/gate.md's rule in one history each.
func TestScenes(t *testing.T) {
	tests := []struct {
		name string
		run  func(s *scene) bool
		want bool
	}{
		{"squash of a landing, its revert and another landing", func(s *scene) bool {
			made := s.three()
			reverted := s.revert(made[0], made[0])
			branch := s.pick(made[1], reverted)
			return s.ok(branch) && s.ok(s.squash(made[2], branch), made[2])
		}, true},
		{"squash that takes back and lands", func(s *scene) bool {
			made := s.three()
			branch := s.pick(made[1], s.revert(made[0], made[0]))
			on := s.pick(made[2], made[0])
			return s.ok(s.squash(on, branch), on)
		}, true},
		{"landing in a file where another landing was reverted", func(s *scene) bool {
			made := s.three()
			return s.ok(s.pick(made[1], s.revert(made[0], made[0])))
		}, true},
		{"two changes that cancel, squashed and merged", func(s *scene) bool {
			made := s.three()
			s.version("Z", 1, made[0], s.files(s.root))
			branch := s.pick(made[1], s.committed(s.tree(s.root), made[0]))
			return s.ok(s.squash(s.root, branch)) && s.ok(s.merge(made[2], branch))
		}, true},
		{"a change applied twice by a pick", func(s *scene) bool {
			alone, moved := s.function()
			return s.ok(s.pick(alone, moved))
		}, false},
		{"a change applied twice by a clean merge", func(s *scene) bool {
			alone, moved := s.function()
			other := s.pick(alone, s.commit(s.files(s.root), s.root))
			return s.ok(s.merge(moved, other))
		}, false},
		{"  its way out", func(s *scene) bool {
			alone, moved := s.function()
			other := s.pick(alone, s.commit(s.files(s.root), s.root))
			return s.ok(s.committed(s.tree(moved), moved, other))
		}, true},
		{"an undo, then the change picked again", func(s *scene) bool {
			_, landed, undone := s.undone()
			return s.ok(s.pick(landed, undone), undone)
		}, false},
		{"an undo, then the undo reverted", func(s *scene) bool {
			_, _, undone := s.undone()
			return s.ok(s.revert(undone, undone), undone)
		}, false},
		{"an undo, then a branch that landed the change by itself", func(s *scene) bool {
			_, landed, undone := s.undone()
			other := s.pick(landed, s.commit(s.files(s.root), s.root))
			return s.ok(s.merge(undone, other), undone)
		}, false},
		{"  its way out", func(s *scene) bool {
			_, landed, undone := s.undone()
			other := s.pick(landed, s.commit(s.files(s.root), s.root))
			return s.ok(s.committed(s.tree(undone), undone, other), undone)
		}, true},
		{"an undo, then a branch from after the landing", func(s *scene) bool {
			made, landed, undone := s.undone()
			return s.ok(s.merge(undone, s.pick(made[1], landed)), undone)
		}, true},
		{"an undo, then a newer version", func(s *scene) bool {
			_, _, undone := s.undone()
			after := s.edit(s.root, map[string][]string{"a5": {"a5", "T0 anew"}})
			s.version("T-0", 2, s.root, after)
			return s.ok(s.commit(after, undone), undone)
		}, true},
		{"a plain revert that equals an approved undo is the undo", func(s *scene) bool {
			made, landed, undone := s.undone()
			reverted := s.revert(landed, landed)
			again := s.pick(made[1], s.revert(reverted, reverted))
			return s.ok(s.merge(again, undone), undone)
		}, false},
		{"the floor survives a merge", func(s *scene) bool {
			made, landed, undone := s.undone()
			merged := s.merge(s.pick(made[1], s.revert(landed, landed)), undone)
			return s.ok(merged, undone) && !s.ok(s.pick(landed, merged), undone)
		}, true},
		{"what came before an undo stays legal", func(s *scene) bool {
			made := s.three()
			reverted := s.revert(made[0], made[0])
			again := s.revert(reverted, reverted)
			s.undo(s.change(0), again, s.files(s.root))
			return s.ok(s.committed(s.tree(s.root), again))
		}, true},
		{"set aside on a topic, then merged", func(s *scene) bool {
			made := s.three()
			merged := s.merge(made[1], made[0])
			s.change(0).lapsed = whySetAside
			return s.ok(merged, made[1])
		}, false},
		{"set aside where it is already", func(s *scene) bool {
			made := s.three()
			merged := s.merge(made[0], made[1])
			s.change(0).lapsed = whySetAside
			return s.ok(merged, made[0])
		}, true},
		{"set aside, and picked", func(s *scene) bool {
			made := s.three()
			s.change(0).lapsed = whySetAside
			return s.ok(s.pick(made[0], made[1]), made[1])
		}, false},
		{"a revert that uncovers a version which was set aside", func(s *scene) bool {
			made := s.three()
			after := s.edit(made[0], map[string][]string{"T0": {"T0", "T0b"}})
			s.version("T-0", 2, made[0], after)
			second := s.commit(after, made[0])
			s.change(0).lapsed = whySetAside
			return s.ok(s.revert(second, second), second)
		}, false},
		{"v2 without the v1 that it was made on", func(s *scene) bool {
			made := s.three()
			all := s.files(made[0])
			all["src/b"] = append(all["src/b"], "T0b")
			s.version("T-0", 2, made[0], all)
			alone := s.files(s.root)
			alone["src/b"] = all["src/b"]
			return s.ok(s.commit(alone, s.root))
		}, false},
		{"v1 on a topic, v2 on main: v2 wins", func(s *scene) bool {
			made := s.three()
			after := s.edit(s.root, map[string][]string{"a5": {"a5", "T0 better"}})
			s.version("T-0", 2, s.root, after)
			second := s.commit(after, s.root)
			topic := s.pick(made[1], made[0])
			result := s.edit(second, map[string][]string{"a15": {"a15", "T1"}})
			return s.ok(s.commit(result, topic, second), topic)
		}, true},
		{"  v1 wins", func(s *scene) bool {
			made := s.three()
			after := s.edit(s.root, map[string][]string{"a5": {"a5", "T0 better"}})
			s.version("T-0", 2, s.root, after)
			second := s.commit(after, s.root)
			return s.ok(s.committed(s.tree(made[0]), second, made[0]), second)
		}, false},
		{"a rename made of two tasks takes no fix along", func(s *scene) bool {
			all := without(s.files(s.root), "src/a")
			s.version("D", 1, s.root, all)
			deleted := s.commit(all, s.root)
			all = maps.Clone(all)
			all["src/k"] = append(slices.Clone(lines("a")[:25]), "key")
			s.version("K", 1, deleted, all)
			added := s.commit(all, deleted)
			fix := s.edit(s.root, map[string][]string{"a9": {"FIX"}})
			s.version("X", 1, s.root, fix)
			return s.ok(s.merge(added, s.commit(fix, s.root)), added)
		}, false},
		{"a pick over an approved rename", func(s *scene) bool {
			renamed, fixed := s.renamed()
			return s.ok(s.pick(fixed, renamed))
		}, true},
		{"a merge over an approved rename", func(s *scene) bool {
			renamed, fixed := s.renamed()
			return s.ok(s.merge(renamed, fixed))
		}, true},
		{"a rename taken back below an edit", func(s *scene) bool {
			renamed, fixed := s.renamed()
			return s.ok(s.revert(renamed, s.merge(renamed, fixed)))
		}, true},
		{"an edit taken back below a rename", func(s *scene) bool {
			renamed, fixed := s.renamed()
			return s.ok(s.revert(fixed, s.merge(renamed, fixed)))
		}, true},
		{"a root of its own with protected code", func(s *scene) bool {
			evil := s.commit(files{"src/a": {"EVIL"}})
			all := s.files(s.root)
			all["src/e"] = []string{"EVIL"}
			return s.ok(s.commit(all, s.root, evil))
		}, false},
		{"one content by two tasks, taken back", func(s *scene) bool {
			made := s.three()
			s.version("S", 1, s.root, s.files(made[0]))
			return s.ok(s.revert(made[0], made[0]))
		}, true},
		{"one line by two changes, both taken back", func(s *scene) bool {
			made := s.three()
			all := s.files(made[0])
			all["src/b"] = append(all["src/b"], "S")
			s.version("S", 1, s.root, all)
			both := s.commit(all, made[0])
			return s.ok(both) && s.ok(s.committed(s.tree(s.root), both))
		}, true},
		{"a revert where the policy forbids it", func(s *scene) bool {
			made := s.three()
			s.c.policy.Changes.NoRevert = true
			return s.ok(s.revert(made[0], made[0]))
		}, false},
		{"v2 for v1 where the policy forbids reverts", func(s *scene) bool {
			made := s.three()
			s.c.policy.Changes.NoRevert = true
			after := s.edit(s.root, map[string][]string{"a5": {"a5", "T0 anew"}})
			s.version("T-0", 2, s.root, after)
			return s.ok(s.commit(after, made[0]))
		}, true},
		{"a merge that takes one side", func(s *scene) bool {
			made := s.three()
			return s.ok(s.committed(s.tree(made[0]), made[0], made[1]))
		}, false},
		{"criss-cross with a revert", func(s *scene) bool {
			made := s.three()
			x, y := s.merge(made[0], made[1]), s.merge(made[1], made[0])
			return s.ok(s.merge(s.pick(made[2], x), s.revert(made[0], y)))
		}, true},
		{"half a change", func(s *scene) bool {
			all := s.edit(s.root, map[string][]string{"a5": {"T"}})
			half := maps.Clone(all)
			all["src/b"] = append(all["src/b"], "T")
			s.version("T", 1, s.root, all)
			return s.ok(s.commit(half, s.root))
		}, false},
		{"what removes a line that never was there, taken back", func(s *scene) bool {
			with := s.edit(s.root, map[string][]string{"a5": {"a5", "EVIL"}})
			never := s.commit(with, s.root)
			s.version("CLEAN", 1, never, s.files(s.root))
			return s.ok(s.commit(with, s.root))
		}, false},
		{"a file that is not protected, renamed over a protected one", func(s *scene) bool {
			twin := s.files(s.root)
			twin["free/a"] = twin["src/a"]
			added := s.commit(twin, s.root)
			edited := s.files(added)
			edited["free/a"] = append([]string{"EVIL"}, edited["free/a"]...)
			ours := s.commit(s.files(s.root), added)
			return s.ok(s.committed(s.tree(s.commit(files{"src/a": edited["free/a"]})), ours, s.commit(edited, added)))
		}, false},
		{"landed on both sides, and one of them goes on", func(s *scene) bool {
			made := s.three()
			other := s.pick(made[1], made[0])
			after := s.edit(made[0], map[string][]string{"a20": {"a20", "more"}})
			s.version("N", 1, made[0], after)
			next := s.commit(after, made[0])
			return s.ok(s.merge(next, other)) && s.ok(s.merge(other, next))
		}, true},
		{"an octopus", func(s *scene) bool {
			made := s.three()
			return s.ok(s.git(made[0], "merge", "-q", "-m", ".", string(made[1]), string(made[2])))
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			if got := tt.run(s); got != tt.want {
				t.Errorf("legal: %v, want %v", got, tt.want)
			}
		})
	}
}
func TestGuard(t *testing.T) {
	g := newGuard(policy.Changes{Paths: []string{"src/**", "!src/gen/**", "*.go", "/tools", "docs/*/api.md", "lib/one.c"}})
	for path, want := range map[string]bool{
		"src/a": true, "src/deep/b": true, "src/gen/x": false, "src/gen/x.go": true, "SRC/gen/x": true, "Src/a": true, "src": true,
		"s\u200crc/a": true, "src./a": true, `src\a`: true, "srcs/a": false, "main.go": true, "a/b/main.GO": true, "main.go.": true,
		"tools": true, "tools/x": true, "a/tools/x": false, "docs/x/api.md": true, "docs/api.md": false, "docs/x/y/api.md": false,
		"docs": true, "lib": true, "lib/one.c": true, "lib/two.c": false, "LIB/ONE.C": true, "main.goo": false, "README.md": false,
	} {
		if got := g.protects(path); got != want {
			t.Errorf("protects(%q) = %v, want %v", path, got, want)
		}
	}
	for _, c := range []struct {
		paths []string
		heads string
	}{
		{[]string{"src/**", "!src/gen"}, "[src]"}, {[]string{"src/a/*.c", "lib/x"}, "[lib/x src/a]"}, {[]string{"src"}, "[.]"},
		{[]string{"**/x"}, "[.]"}, {[]string{"src/", "*.go"}, "[.]"}, {[]string{"/src/"}, "[src]"},
	} {
		if got := fmt.Sprint(policy.Changes{Paths: c.paths}.Heads()); got != c.heads {
			t.Errorf("heads of %q: %s, want %s", c.paths, got, c.heads)
		}
	}
}
