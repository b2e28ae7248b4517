package gate

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
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

// A file of the model has slots, far enough from each other that git merges each by itself.
type slots [3]byte

type modelTree map[string]slots

// edit is what a change of the model makes of a file; nil is no file.
type edit struct{ old, new *slots }

type modelChange struct {
	task, version int
	base          modelTree
	edits         map[string]edit
}

func (f slots) content() string {
	var b strings.Builder
	for i, v := range f {
		fmt.Fprintf(&b, "slot %d is %c\n", i, v)
		for j := range 6 {
			fmt.Fprintf(&b, "line %d after slot %d\n", j, i)
		}
	}
	return b.String()
}

func blobOf(content string) plan.OID {
	sum := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content)))
	return plan.OID(hex.EncodeToString(sum[:]))
}

func (t modelTree) get(path string) *slots {
	if f, ok := t[path]; ok {
		return &f
	}
	return nil
}

func same(a, b *slots) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// apply is the rule, for the model. It reports false for a change that does not apply.
func (c modelChange) apply(t modelTree, back bool) (modelTree, bool) {
	next := maps.Clone(t)
	for path, e := range c.edits {
		if back {
			e.old, e.new = e.new, e.old
		}
		have := t.get(path)
		var made *slots
		switch {
		case same(have, e.old):
			made = e.new
		case same(have, e.new):
			made = have
		case have == nil || e.old == nil || e.new == nil:
			return nil, false
		default:
			merged := *have
			for i := range merged {
				switch b, o, n := e.old[i], have[i], e.new[i]; {
				case b == o:
					merged[i] = n
				case b != n && o != n:
					return nil, false
				}
			}
			made = &merged
		}
		if back && same(made, have) {
			return nil, false
		}
		delete(next, path)
		if made != nil {
			next[path] = *made
		}
	}
	return next, true
}

// forward applies a change, one version of a task at a time.
func (c modelChange) forward(t modelTree, all []modelChange) (modelTree, bool) {
	next, ok := c.apply(t, false)
	if !ok || maps.Equal(next, t) {
		return t, ok
	}
	for _, other := range all {
		if other.task != c.task || other.version == c.version {
			continue
		}
		_, there := other.apply(t, true)
		_, on := other.apply(c.base, true)
		if there && !on {
			return nil, false
		}
	}
	return next, true
}

// named names the change as the message of a squash does.
func (c modelChange) named() string {
	return fmt.Sprintf("  Wf-Plan: WFS-model\nWf-Task: T-%d\n  Wf-Artifact: v%d\n", c.task+1, c.version)
}

// half is a part of the change.
func (c modelChange) half(r *rand.Rand) modelChange {
	paths := slices.Sorted(maps.Keys(c.edits))
	path := paths[r.IntN(len(paths))]
	c.edits = map[string]edit{path: c.edits[path]}
	return c
}

// reach lists every tree that sequences of changes make of a tree.
func reach(t modelTree, all []modelChange, used int, back bool, found map[string]bool) {
	found[fmt.Sprint(t)] = true
	for i, c := range all {
		if used&(1<<i) != 0 {
			continue
		}
		next, ok := t, false
		if back {
			next, ok = c.apply(t, true)
		} else {
			next, ok = c.forward(t, all)
		}
		if ok {
			reach(next, all, used|1<<i, back, found)
		}
	}
}

func randomEdit(r *rand.Rand, have *slots) *slots {
	switch {
	case have == nil:
		return &slots{'x', byte('a' + r.IntN(2)), 'x'}
	case r.IntN(6) == 0:
		return nil
	}
	next := *have
	next[r.IntN(3)] = byte('a' + r.IntN(4))
	return &next
}

var modelPaths = []string{"src/a", "src/b", "src/deep/c", "src/deep/d"}

// mutate edits one or two files of a tree.
func mutate(r *rand.Rand, t modelTree) (modelTree, map[string]edit) {
	next, edits := maps.Clone(t), map[string]edit{}
	for range 1 + r.IntN(2) {
		path := modelPaths[r.IntN(len(modelPaths))]
		if _, again := edits[path]; again {
			continue
		}
		e := edit{t.get(path), randomEdit(r, t.get(path))}
		if same(e.old, e.new) {
			continue
		}
		edits[path] = e
		delete(next, path)
		if e.new != nil {
			next[path] = *e.new
		}
	}
	return next, edits
}

// TestCodeAgreesWithModel judges random commits, and compares with every sequence of changes that the model allows: what
// is named and legal passes, and nothing passes that no sequence yields.
func TestCodeAgreesWithModel(t *testing.T) {
	const rounds, commits = 40, 12
	r := rand.New(rand.NewPCG(1, 2))
	repo := repotest.New(t)
	store := repo.Open()
	var legal, illegal int
	for round := range rounds {
		base := modelTree{"src/a": {'x', 'x', 'x'}, "src/b": {'x', 'x', 'x'}, "src/deep/c": {'x', 'x', 'x'}}
		var all []modelChange
		trees := []modelTree{base}
		on := base
		for i := range 4 {
			if r.IntN(2) == 0 {
				on = base // beside the others, else on top of the one before
			}
			next, edits := mutate(r, on)
			if len(edits) > 0 {
				all = append(all, modelChange{task: i / (1 + round%2), version: i + 1, base: on, edits: edits})
				trees, on = append(trees, on, next), next
			}
		}
		type attempt struct {
			parent, tree modelTree
			message      string
			must         bool
		}
		var attempts []attempt
		at := base
		for range commits {
			a := attempt{parent: at}
			back, lax := r.IntN(3) == 0, r.IntN(3) == 0
			next := at
			order := slices.Clone(all)
			if back {
				slices.Reverse(order)
			}
			for _, c := range order {
				if r.IntN(2) == 0 {
					continue
				}
				a.message += c.named()
				if lax && r.IntN(2) == 0 {
					c = c.half(r)
				}
				made, ok := c.apply(next, back)
				if !back && !lax {
					made, ok = c.forward(next, all)
				}
				if ok {
					next = made
				}
			}
			a.must = !lax
			if r.IntN(3) == 0 {
				next, _ = mutate(r, next)
				a.must = false
			}
			if a.tree = next; r.IntN(4) == 0 {
				a.message, a.must = "no names", false
			}
			attempts = append(attempts, a)
			trees = append(trees, a.tree)
			switch { // history before the protection may be anything
			case a.must:
				at = next
			case r.IntN(3) == 0 && len(all) > 0:
				if half, ok := all[r.IntN(len(all))].half(r).apply(at, r.IntN(2) == 0); ok {
					at = half
				}
			}
			trees = append(trees, at)
		}
		for _, c := range all { // half of it is back already: the rest alone can't be taken back
			if half, ok := c.half(r).apply(c.base, false); ok {
				attempts = append(attempts, attempt{parent: half, tree: c.base, message: c.named()})
				trees = append(trees, half)
			}
		}
		oids := writeTrees(repo, trees)
		c := modelCode(store, all, oids)
		for _, a := range attempts {
			if maps.Equal(a.parent, a.tree) {
				continue
			}
			d := &coded{tree: tree{commit: "c"}, root: oids[fmt.Sprint(a.tree)], roots: []plan.OID{oids[fmt.Sprint(a.parent)]},
				parents: []plan.OID{"p"}, message: a.message, ends: []plan.OID{}}
			report := newReport()
			if err := c.compareCode(t.Context(), d, report); err != nil {
				t.Fatal(err)
			}
			if err := c.judgeOne(t.Context(), d, report); err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			reach(a.parent, all, 0, false, found)
			reach(a.parent, all, 0, true, found)
			switch possible := found[fmt.Sprint(a.tree)]; {
			case report.OK() && !possible:
				t.Fatalf("round %d: passes, and no sequence of %v makes %v of %v", round, all, a.tree, a.parent)
			case !report.OK() && a.must:
				t.Fatalf("round %d: refused, though its changes make it\n%v\nof %v\nto %v\n%s%v", round, all, a.parent, a.tree, a.message,
					report.Findings)
			case report.OK():
				legal++
			default:
				illegal++
			}
		}
	}
	if legal < 100 || illegal < 50 {
		t.Errorf("only %d legal and %d illegal commits", legal, illegal)
	}
}

// writeTrees writes the trees of a model, and returns their ids by what they hold.
func writeTrees(repo *repotest.Repo, trees []modelTree) map[string]plan.OID {
	var in strings.Builder
	for i, t := range trees {
		fmt.Fprintf(&in, "commit refs/heads/model-%d\ncommitter A <a@b> 1 +0000\ndata 0\ndeleteall\n", i)
		for path, f := range t {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(f.content()), f.content())
		}
	}
	repo.GitIn(in.String(), "fast-import", "--quiet", "--force")
	out := strings.Fields(repo.Git("for-each-ref", "--format=%(refname:lstrip=2) %(tree)", "refs/heads/model-*"))
	oids := map[string]plan.OID{}
	for i := 0; i+1 < len(out); i += 2 {
		var n int
		if _, err := fmt.Sscanf(out[i], "model-%d", &n); err == nil && n < len(trees) {
			oids[fmt.Sprint(trees[n])] = plan.OID(out[i+1])
		}
	}
	return oids
}

// modelCode is a judge that knows the model's changes.
func modelCode(store *gitstore.Store, all []modelChange, oids map[string]plan.OID) *code {
	g := New(store, &gitstore.Policy{Policy: policy.Policy{Changes: policy.Changes{Paths: []string{"src/"}}}})
	c := g.ofCode()
	entryOf := func(f *slots) threeway.Entry {
		if f == nil {
			return threeway.Entry{}
		}
		return threeway.Entry{Mode: threeway.File, OID: blobOf(f.content())}
	}
	c.lib.read["WFS-model"] = true
	for i, m := range all {
		n := changeName{"WFS-model", plan.TaskID(fmt.Sprintf("T-%d", m.task+1)), m.version}
		ch := &change{
			changeName: n, tree: plan.OID(fmt.Sprint(i)), place: i, turns: map[string]turn{}, weighed: true,
			base: oids[fmt.Sprint(m.base)], evidence: &export.Evidence{},
		}
		for path, e := range m.edits {
			ch.turns[path] = turn{entryOf(e.old), entryOf(e.new)}
			ch.paths = append(ch.paths, path)
		}
		slices.Sort(ch.paths)
		c.lib.all = append(c.lib.all, ch)
		c.lib.byName[n] = append(c.lib.byName[n], ch)
		n.version = 0
		c.lib.byTask[n] = append(c.lib.byTask[n], ch)
	}
	return c
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
