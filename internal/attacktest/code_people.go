package attacktest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A deed is something that people do with a repository, as git does it.
type deed struct {
	name   string
	weight int
	do     func(*codeWorld) (*place, []move)
}

var deedsOf = []deed{
	{"land", 14, (*codeWorld).land},
	{"land as one", 3, (*codeWorld).landOne},
	{"apply by hand", 3, (*codeWorld).byHand},
	{"land an undo", 3, (*codeWorld).landUndo},
	{"commit", 5, (*codeWorld).document},
	{"merge", 8, (*codeWorld).merges},
	{"octopus", 2, (*codeWorld).octopus},
	{"merge with a conflict elsewhere", 2, (*codeWorld).mergeElsewhere},
	{"rebase", 6, (*codeWorld).rebase},
	{"squash", 6, (*codeWorld).squash},
	{"revert", 6, (*codeWorld).revert},
	{"revert a revert", 4, (*codeWorld).revertRevert},
	{"revert a merge", 3, (*codeWorld).revertMerge},
	{"cherry-pick", 6, (*codeWorld).cherryPick},
	{"backport", 5, (*codeWorld).backport},
	{"a release", 2, (*codeWorld).release},
	{"reorder", 4, (*codeWorld).reorder},
	{"amend", 4, (*codeWorld).amend},
	{"fixup", 4, (*codeWorld).fixup},
	{"push", 10, (*codeWorld).push},
	{"start over", 3, (*codeWorld).startOver},
	{"a plan goes on", 5, (*codeWorld).planGoesOn},
	{"tag", 2, (*codeWorld).tag},
	{"push what landed", 2, (*codeWorld).pushLanded},
}

// deed chooses one by its weight.
func (w *codeWorld) deed() int {
	sum := 0
	for _, d := range deedsOf {
		sum += d.weight
	}
	n := w.IntN(sum)
	for i, d := range deedsOf {
		if n -= d.weight; n < 0 {
			return i
		}
	}
	return 0
}

// someone returns the branch of one of three developers and an agent, or main or the release, and its tip.
func (w *codeWorld) someone() (ref, tip string) {
	names := []string{"dev-1", "dev-2", "dev-3", "agent-1", "main", "main", "release", "release-1"}
	ref = "refs/heads/" + names[w.IntN(len(names))]
	refs := w.world.client.oracle.refs
	if tip = refs[ref]; tip == "" {
		tip = refs["refs/heads/main"]
	}
	return ref, tip
}

// other returns the tip of another branch of the clone.
func (w *codeWorld) other(than string) string {
	refs := w.world.client.oracle.refs
	var all []string
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/heads/wf/") && refs[ref] != than {
			all = append(all, refs[ref])
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[w.IntN(len(all))]
}

func (w *codeWorld) to(ref, tip string) (*place, []move) {
	if tip == "" {
		return w.world.client, nil
	}
	return w.world.client, []move{{ref: ref, next: tip}}
}

func (w *codeWorld) treeOf(commit string) string {
	_, h, _ := w.oracle.parsed(commit)
	return h["tree"][0]
}

func (w *codeWorld) message(commit string) string {
	_, _, message := w.oracle.parsed(commit)
	return message
}

func (w *codeWorld) parents(commit string) []string {
	_, h, _ := w.oracle.parsed(commit)
	return h["parent"]
}

func landMessage(c *codeChange) string {
	return fmt.Sprintf("%s of %s\n\nIt has %s.\n\n%s", c.task, c.plan, c.task, trailers(c))
}

var namedIn = regexp.MustCompile(`(?m)^\s*Wf-Plan: (\S+)\n\s*Wf-Task: (\S+)\n\s*Wf-Artifact: (\S+)$`)

func trailers(c *codeChange) string {
	return fmt.Sprintf("Wf-Plan: %s\nWf-Task: %s\nWf-Artifact: %s\nWf-Review: r1\n", c.plan, c.task, c.version)
}

// put writes what a tree has at some paths.
func (w *codeWorld) put(tree string, want files) string {
	o := w.git.objects
	have := w.oracle.of(tree)
	for _, p := range union(want) {
		if want[p] == "" && have[p] != "" {
			tree = o.set(tree, p, "", "")
		}
	}
	for _, p := range union(want) {
		if want[p] != "" {
			tree = o.set(tree, p, want[p][:6], want[p][7:])
		}
	}
	return tree
}

// apply returns a tree with a change, or with one taken back; "" if it does not apply. It knows no rule but the merge.
func (w *codeWorld) apply(tree string, c *codeChange, back bool) string {
	if c.whole != nil {
		c = c.whole
	}
	from, to := c.a, c.b
	if back {
		from, to = to, from
	}
	have, want := w.oracle.of(tree), files{}
	for _, p := range union(from, to) {
		got, ok := w.git.merge(from[p], have[p], to[p])
		if !ok {
			return ""
		}
		want[p] = got
	}
	next := maps.Clone(have)
	for p, what := range want {
		if next[p] = what; what == "" {
			delete(next, p)
		}
	}
	if clash(next) {
		return ""
	}
	return w.put(tree, want)
}

// facts are what is approved as far as a place knows.
func (w *codeWorld) facts(p *place) *facts { return w.oracle.knownAs(p.oracle.refs) }

// has returns what the lines say of a commit, as the clone knows the plans.
func (w *codeWorld) has(commit string) checked {
	return w.oracle.check(w.facts(w.world.client), commit)
}

// hasTree is has for a tree.
func (w *codeWorld) hasTree(tree string) checked {
	f := w.facts(w.world.client)
	return w.oracle.checkFiles(f, w.oracle.protected(w.oracle.of(tree), f.patterns))
}

// clash reports whether something is both a file and a directory.
func clash(f files) bool {
	for p := range f {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if f[dir] != "" {
				return true
			}
		}
	}
	return false
}

// approved returns the versions that are approved now, in any order.
func (w *codeWorld) approved(p *place) []*codeChange {
	all := slices.DeleteFunc(slices.Clone(w.facts(p).versions), func(c *codeChange) bool { return !c.now })
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// on returns a tree with a version landed, in place of the one that is there; "" if that can't be.
func (w *codeWorld) on(tree string, c *codeChange) string {
	was := w.hasTree(tree)
	if have := was.have[c.key()]; was.why != "" || have == nil || have == c || have.n > c.n {
		return ""
	} else if have != none && have != c.on {
		if tree = w.apply(tree, have, true); tree == "" {
			return ""
		}
	} else if have == none && c.on != nil {
		return ""
	}
	next := w.apply(tree, c, false)
	if next == "" || next == tree || w.hasTree(next).why != "" {
		return ""
	}
	return next
}

// apt returns changes that can land on a tree, and the trees with one after the other; at most n.
func (w *codeWorld) apt(tree string, n int) (all []*codeChange, trees []string) {
	for _, c := range w.approved(w.world.client) {
		next := w.on(tree, c)
		if next == "" {
			continue
		}
		all, trees = append(all, c), append(trees, next)
		if tree = next; len(all) == n {
			break
		}
	}
	return all, trees
}

// landUndo lands an approved undo.
func (w *codeWorld) landUndo() (*place, []move) {
	ref, tip := w.someone()
	for _, u := range w.facts(w.world.client).undos {
		task, version, _ := strings.Cut(u.undoes, "@")
		if have := w.has(tip).have[task]; have == nil || have.version != version || !u.now {
			continue
		}
		if next := w.apply(w.treeOf(tip), u, false); next != "" && next != w.treeOf(tip) {
			w.typed("git wf land --branch %s --plan %s %s", path.Base(ref), u.plan, u.task)
			return w.to(ref, w.git.commit(next, []string{tip}, landMessage(u)))
		}
	}
	return nil, nil
}

// typed notes what people type to do the same.
func (w *codeWorld) typed(format string, args ...any) {
	w.shell = append(w.shell, fmt.Sprintf(format, args...))
}

func (w *codeWorld) land() (*place, []move) {
	ref, tip := w.someone()
	all, trees := w.apt(w.treeOf(tip), 1+w.IntN(3))
	before := tip
	for i, c := range all {
		w.op("%s", c)
		w.typed("git wf land --branch %s --plan %s %s", path.Base(ref), c.plan, c.task)
		tip = w.git.commit(trees[i], []string{tip}, landMessage(c))
	}
	if tip == before {
		return nil, nil
	}
	return w.to(ref, tip)
}

// landOne lands several changes as one commit.
func (w *codeWorld) landOne() (*place, []move) {
	ref, tip := w.someone()
	all, trees := w.apt(w.treeOf(tip), 2+w.IntN(2))
	if len(all) < 2 {
		return nil, nil
	}
	message := "Several\n"
	for _, c := range all {
		w.op("%s", c)
		message += "\n" + trailers(c)
	}
	return w.to(ref, w.git.commit(trees[len(trees)-1], []string{tip}, message))
}

// byHand applies a change without saying so.
func (w *codeWorld) byHand() (*place, []move) {
	ref, tip := w.someone()
	all, trees := w.apt(w.treeOf(tip), 1+w.IntN(2))
	if len(all) == 0 {
		return nil, nil
	}
	w.op("%s", all)
	return w.to(ref, w.git.commit(trees[len(trees)-1], []string{tip}, "by hand\n"))
}

// document changes what is not protected.
func (w *codeWorld) document() (*place, []move) {
	ref, tip := w.someone()
	return w.to(ref, w.git.commit(w.docs(w.treeOf(tip)), []string{tip}, "a document\n"))
}

func (w *codeWorld) docs(tree string) string {
	o := w.git.objects
	name := "docs/guide.txt"
	switch w.IntN(5) {
	case 0:
		return o.set(tree, "src/gen/made.txt", fileMode, o.blob(fmt.Sprintln("made", w.Uint32())))
	case 1:
		return o.set(tree, fmt.Sprintf("docs/new-%d", w.IntN(3)), fileMode, o.blob(fmt.Sprintln(w.Uint32())))
	case 2:
		text := []string{"*.txt merge=union\n", "*.txt -text\n"}[w.IntN(2)]
		return o.set(tree, "docs/.gitattributes", fileMode, o.blob(text))
	}
	if mode, _ := o.at(tree, "free/look.txt"); mode != "" && w.chance(50) {
		name = "free/look.txt"
	}
	mode, id := o.at(tree, name)
	if mode == "" {
		return o.set(tree, name, fileMode, o.blob("new\n"))
	}
	return o.set(tree, name, mode, o.blob(editLine(w.Rand, string(o.known[id].body))))
}

func (w *codeWorld) isAncestor(a, b string) bool { return w.oracle.history(b)[a] }

// merges merges a branch into another.
func (w *codeWorld) merges() (*place, []move) {
	ref, tip := w.someone()
	other := w.other(tip)
	if other == "" || w.isAncestor(other, tip) || w.isAncestor(tip, other) {
		return nil, nil
	}
	tree, conflicts := w.git.mergeTree(tip, other)
	if tree == "" || len(conflicts) > 0 {
		return nil, nil
	}
	w.typed("git merge -q --no-edit %s", other)
	if w.chance(20) { // what is not protected may change in a merge
		tree = w.docs(tree)
	}
	w.goal = func() bool { return w.isAncestor(other, w.world.client.oracle.refs[ref]) }
	return w.to(ref, w.git.commit(tree, []string{tip, other}, "Merge branch 'other'\n"))
}

// octopus merges two branches at once, as git does: one after the other.
func (w *codeWorld) octopus() (*place, []move) {
	ref, tip := w.someone()
	parents, on := []string{tip}, tip
	for range 2 {
		next := w.other(tip)
		if next == "" || slices.ContainsFunc(parents, func(p string) bool {
			return w.isAncestor(next, p) || w.isAncestor(p, next)
		}) {
			return nil, nil
		}
		tree, conflicts := w.git.mergeTree(on, next)
		if tree == "" || len(conflicts) > 0 {
			return nil, nil
		}
		parents, on = append(parents, next), w.git.commit(tree, []string{on, next}, "one of two\n")
	}
	w.typed("git merge -q --no-edit %s %s", parents[1], parents[2])
	w.goal = func() bool {
		own := w.oracle.history(w.world.client.oracle.refs[ref])
		return own[parents[1]] && own[parents[2]]
	}
	return w.to(ref, w.git.commit(w.treeOf(on), parents, "Merge branches 'one' and 'two'\n"))
}

// mergeElsewhere merges a branch that conflicts in a document alone; somebody mends that by hand.
func (w *codeWorld) mergeElsewhere() (*place, []move) {
	ref, tip := w.someone()
	other := w.other(tip)
	if other == "" || w.isAncestor(other, tip) || w.isAncestor(tip, other) {
		return nil, nil
	}
	for i, side := range []*string{&tip, &other} {
		tree := w.git.set(w.treeOf(*side), "docs/clash.txt", fileMode, w.git.blob(fmt.Sprintln("side", i, w.Uint32())))
		*side = w.git.commit(tree, []string{*side}, "a clash\n")
	}
	tree, conflicts := w.git.mergeTree(tip, other)
	if tree == "" || len(conflicts) != 1 {
		return nil, nil
	}
	tree = w.git.set(tree, "docs/clash.txt", fileMode, w.git.blob("mended\n"))
	return w.to(ref, w.git.commit(tree, []string{tip, other}, "Merge branch 'other'\n\n# Conflicts:\n#\tdocs/clash.txt\n"))
}

// between returns the commits of one tip that the other lacks, oldest first.
func (w *codeWorld) between(base, tip string) (all []string) {
	have := maps.Clone(w.oracle.history(base))
	var visit func(c string)
	visit = func(c string) {
		if have[c] {
			return
		}
		have[c] = true
		for _, p := range w.parents(c) {
			visit(p)
		}
		all = append(all, c)
	}
	visit(tip)
	return all
}

// replay picks commits, as a rebase does; "" if there is a conflict.
func (w *codeWorld) replay(commits []string, on string) string {
	for _, c := range commits {
		parents := w.parents(c)
		if len(parents) != 1 {
			continue
		}
		tree, conflicts := w.git.pick(w.treeOf(parents[0]), w.treeOf(c), w.treeOf(on))
		if tree == "" || len(conflicts) > 0 {
			return ""
		}
		if tree != w.treeOf(on) {
			on = w.git.commit(tree, []string{on}, w.message(c))
		}
	}
	return on
}

func (w *codeWorld) rebase() (*place, []move) {
	ref, tip := w.someone()
	onto := w.other(tip)
	if onto == "" || w.isAncestor(onto, tip) {
		return nil, nil
	}
	commits := w.between(onto, tip)
	if len(commits) == 0 || len(commits) > 8 {
		return nil, nil
	}
	w.op("%d commits", len(commits))
	w.typed("git rebase -q %s", onto)
	return w.to(ref, w.replay(commits, onto))
}

func (w *codeWorld) squash() (*place, []move) {
	ref, tip := w.someone()
	other := w.other(tip)
	if other == "" || w.isAncestor(other, tip) {
		return nil, nil
	}
	tree, conflicts := w.git.mergeTree(tip, other)
	if tree == "" || len(conflicts) > 0 || tree == w.treeOf(tip) {
		return nil, nil
	}
	message := "Squashed commit of the following:\n"
	commits := w.between(tip, other)
	if w.chance(30) { // as hosts do
		message = "A topic (#7)\n"
		for _, c := range commits {
			message += "\n* " + w.message(c)
		}
	} else {
		for _, c := range slices.Backward(commits) {
			message += fmt.Sprintf("\ncommit %s\nAuthor: Eve <eve@example.com>\nDate:   today\n\n    %s\n", c,
				strings.ReplaceAll(strings.TrimSpace(w.message(c)), "\n", "\n    "))
		}
	}
	w.op("%d commits", len(commits))
	w.typed("git merge -q --squash %s && git commit -q -m squash", other)
	return w.to(ref, w.git.commit(tree, []string{tip}, message))
}

// recent returns one of the newest commits of a branch that has one parent, or two.
func (w *codeWorld) recent(tip string, merges bool) string {
	var all []string
	own := w.oracle.history(tip)
	for _, c := range slices.Backward(w.made) {
		if n := len(w.parents(c)); own[c] && !w.oracle.exempt(c) && (n == 1 && !merges || n == 2 && merges) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[w.IntN(min(len(all), 5))]
}

func (w *codeWorld) revert() (*place, []move) {
	ref, tip := w.someone()
	c := w.recent(tip, false)
	if c == "" || w.isAncestor(c, w.stage.first) {
		return nil, nil
	}
	return w.takenBack(ref, tip, c, false)
}

func (w *codeWorld) takenBack(ref, tip, c string, merge bool) (*place, []move) {
	tree, conflicts := w.git.pick(w.treeOf(c), w.treeOf(w.parents(c)[0]), w.treeOf(tip))
	if tree == "" || len(conflicts) > 0 || tree == w.treeOf(tip) {
		return nil, nil
	}
	subject, _, _ := strings.Cut(w.message(c), "\n")
	message := fmt.Sprintf("Revert \"%s\"\n\nThis reverts commit %s.\n", subject, c)
	if merge {
		message = fmt.Sprintf("Revert \"%s\"\n\nThis reverts commit %s, reversing\nchanges made to %s.\n", subject, c,
			w.parents(c)[0])
	}
	if m := namedIn.FindAllString(w.message(c), -1); w.chance(30) && m != nil {
		message += "\n" + strings.Join(m, "\n\n") + "\n"
	}
	w.op("%s", strings.TrimSpace(subject))
	if merge {
		w.typed("git revert --no-edit -m 1 %s", c)
	} else {
		w.typed("git revert --no-edit %s", c)
	}
	return w.to(ref, w.git.commit(tree, []string{tip}, message))
}

// revertRevert brings back what was taken back.
func (w *codeWorld) revertRevert() (*place, []move) {
	ref, tip := w.someone()
	own := w.oracle.history(tip)
	for _, c := range slices.Backward(w.made) {
		if own[c] && len(w.parents(c)) == 1 && strings.HasPrefix(w.message(c), "Revert ") && w.chance(60) {
			return w.takenBack(ref, tip, c, false)
		}
	}
	return nil, nil
}

// release begins a release with main.
func (w *codeWorld) release() (*place, []move) {
	return w.to(fmt.Sprintf("refs/heads/release-%d", 1+w.IntN(2)), w.world.client.oracle.refs["refs/heads/main"])
}

// backport picks a landing for a release.
func (w *codeWorld) backport() (*place, []move) {
	ref := "refs/heads/release"
	if next := fmt.Sprintf("refs/heads/release-%d", 1+w.IntN(2)); w.world.client.oracle.refs[next] != "" && w.chance(60) {
		ref = next
	}
	tip := w.world.client.oracle.refs[ref]
	commits := slices.DeleteFunc(w.between(tip, w.world.client.oracle.refs["refs/heads/main"]), func(c string) bool {
		return len(w.parents(c)) != 1 || !strings.Contains(w.message(c), "Wf-Task: ")
	})
	if len(commits) == 0 {
		return nil, nil
	}
	return w.pick(ref, tip, commits[w.IntN(len(commits))])
}

func (w *codeWorld) revertMerge() (*place, []move) {
	ref, tip := w.someone()
	if c := w.recent(tip, true); c != "" {
		return w.takenBack(ref, tip, c, true)
	}
	return nil, nil
}

func (w *codeWorld) cherryPick() (*place, []move) {
	ref, tip := w.someone()
	if w.chance(50) {
		ref = "refs/heads/release"
		tip = w.world.client.oracle.refs[ref]
	}
	other := w.other(tip)
	if other == "" {
		return nil, nil
	}
	commits := w.between(tip, other)
	if len(commits) == 0 {
		return nil, nil
	}
	return w.pick(ref, tip, commits[w.IntN(len(commits))])
}

func (w *codeWorld) pick(ref, tip, c string) (*place, []move) {
	parents := w.parents(c)
	if len(parents) != 1 {
		return nil, nil
	}
	tree, conflicts := w.git.pick(w.treeOf(parents[0]), w.treeOf(c), w.treeOf(tip))
	if tree == "" || len(conflicts) > 0 || tree == w.treeOf(tip) {
		return nil, nil
	}
	w.typed("git cherry-pick %s", c)
	message := w.message(c)
	if w.chance(70) {
		message = strings.TrimRight(message, "\n") + fmt.Sprintf("\n(cherry picked from commit %s)\n", c)
	}
	return w.to(ref, w.git.commit(tree, []string{tip}, message))
}

// lastTwo returns the last two commits of a branch, if they are ones that may be made anew.
func (w *codeWorld) lastTwo(tip string) (first, second string) {
	if p := w.parents(tip); len(p) == 1 && tip != w.stage.first {
		if q := w.parents(p[0]); len(q) == 1 && p[0] != w.stage.first && !w.isAncestor(p[0], w.stage.first) {
			return p[0], tip
		}
	}
	return "", ""
}

func (w *codeWorld) reorder() (*place, []move) {
	ref, tip := w.someone()
	first, second := w.lastTwo(tip)
	if first == "" {
		return nil, nil
	}
	on := w.parents(first)[0]
	return w.to(ref, w.replay([]string{second, first}, on))
}

func (w *codeWorld) amend() (*place, []move) {
	ref, tip := w.someone()
	if len(w.parents(tip)) == 0 || w.isAncestor(tip, w.stage.first) {
		return nil, nil
	}
	message, tree := w.message(tip), w.treeOf(tip)
	switch w.IntN(4) {
	case 0:
		message = "It says nothing\n"
	case 1:
		message = "A better subject\n\n" + strings.Join(namedIn.FindAllString(message, -1), "\n\n") + "\n"
	default:
		tree = w.docs(tree)
	}
	return w.to(ref, w.git.commit(tree, w.parents(tip), message))
}

// fixup makes the last two commits one.
func (w *codeWorld) fixup() (*place, []move) {
	ref, tip := w.someone()
	first, second := w.lastTwo(tip)
	if first == "" {
		return nil, nil
	}
	message := w.message(first)
	switch w.IntN(3) {
	case 0:
		message += "\n" + w.message(second)
	case 1:
		message = w.message(second)
	}
	return w.to(ref, w.git.commit(w.treeOf(second), w.parents(first), message))
}

// push takes a branch of the clone to the server, if it can go forward there, or merges it there before.
func (w *codeWorld) push() (*place, []move) {
	ref, tip := w.someone()
	name := ref
	if w.chance(60) {
		name = "refs/heads/main"
	}
	old := w.world.server.oracle.refs[name]
	switch {
	case old == "" || w.isAncestor(old, tip):
	case w.chance(60):
		tree, conflicts := w.git.mergeTree(tip, old)
		if tree == "" || len(conflicts) > 0 {
			return nil, nil
		}
		tip = w.git.commit(tree, []string{tip, old}, "Merge remote-tracking branch 'origin/main'\n")
	default:
		commits := w.between(old, tip)
		if len(commits) > 8 {
			return nil, nil
		}
		if tip = w.replay(commits, old); tip == "" {
			return nil, nil
		}
	}
	moves := []move{{ref: name, next: tip}}
	if w.chance(60) { // with the plans as they are in the clone
		for r, id := range w.world.client.oracle.refs {
			there := w.world.server.oracle.refs[r]
			if there != "" && strings.HasPrefix(r, "refs/workflow/WFS-") && w.isAncestor(there, id) {
				moves = append(moves, move{ref: r, next: id})
			}
		}
		slices.SortFunc(moves, func(a, b move) int { return strings.Compare(a.ref, b.ref) })
	}
	return w.world.server, moves
}

// startOver takes the server's main, or creates a branch.
func (w *codeWorld) startOver() (*place, []move) {
	ref, _ := w.someone()
	next := w.world.server.oracle.refs["refs/heads/main"]
	if w.chance(40) {
		next = w.other("")
	}
	return w.to(ref, next)
}

// planGoesOn records what happens next in a plan, at the server or in the clone.
func (w *codeWorld) planGoesOn() (*place, []move) {
	p := w.world.server
	if w.chance(50) {
		p = w.world.client
	}
	for _, ref := range slices.Sorted(maps.Keys(w.stage.plans)) {
		if w.stage.undoes[path.Base(ref)] != "" {
			continue
		}
		chain := w.stage.plans[ref]
		at := slices.Index(chain, p.oracle.refs[ref])
		if strings.HasPrefix(ref, "refs/workflow/WFS-") && at >= 0 && at < len(chain)-1 && w.chance(70) {
			return p, []move{{ref: ref, next: chain[at+1+w.IntN(len(chain)-at-1)]}}
		}
	}
	return nil, nil
}

func (w *codeWorld) tag() (*place, []move) {
	_, tip := w.someone()
	ref := fmt.Sprintf("refs/tags/t%d", w.IntN(1000))
	if w.chance(50) {
		tip = w.git.tag("commit", tip, "t")
	}
	return w.world.server, []move{{ref: ref, next: tip}}
}

// pushLanded pushes what git wf land made.
func (w *codeWorld) pushLanded() (*place, []move) {
	ref := fmt.Sprintf("refs/heads/landed-%d", w.IntN(9))
	for name, chain := range w.stage.plans {
		if strings.HasPrefix(name, "refs/workflow/WFS-") &&
			w.world.server.oracle.refs[name] != chain[len(chain)-1] {
			return nil, nil
		}
	}
	return w.world.server, []move{{ref: ref, next: w.stage.landed}}
}
