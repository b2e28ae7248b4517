package attacktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An attack makes a commit that must not land, and what else is pushed with it. It returns "" if there is nothing to
// attack. The oracle has the last word: some attacks come to what is approved.
type attack struct {
	name string
	make func(*codeWorld) (tip string, extra []move)
}

// plain makes attacks out of those that need a tree alone.
func plain(make func(*codeWorld, string) string) func(*codeWorld) (string, []move) {
	return func(w *codeWorld) (string, []move) {
		tip := w.legitimate()
		tree := make(w, w.treeOf(tip))
		if tree == "" || tree == w.treeOf(tip) {
			return "", nil
		}
		return w.git.commit(tree, []string{tip}, w.pretext()), nil
	}
}

var attacksOf = []attack{
	{"one line", plain((*codeWorld).line)},
	{"one line", plain((*codeWorld).line)},
	{"one line in a landing", plain((*codeWorld).lineInLanding)},
	{"one line in a landing taken back", plain((*codeWorld).lineInRevert)},
	{"a file more", plain((*codeWorld).extra)},
	{"a file less", plain((*codeWorld).less)},
	{"a mode", plain((*codeWorld).mode)},
	{"a link for a file", plain((*codeWorld).link)},
	{"a submodule for a file", plain((*codeWorld).submodule)},
	{"a link for the directory", plain((*codeWorld).linkDirectory)},
	{"another spelling", plain((*codeWorld).spelling)},
	{"an entry twice", plain((*codeWorld).twice)},
	{"all code gone", plain(func(w *codeWorld, tree string) string { return w.git.set(tree, "src", "", "") })},
	{"parts of two versions", plain((*codeWorld).mixed)},
	{"half a change", plain(func(w *codeWorld, tree string) string { return w.half(tree, false) })},
	{"half a change taken back", plain(func(w *codeWorld, tree string) string { return w.half(tree, true) })},
	{"a change at another's paths", plain((*codeWorld).elsewhere)},
	{"files as the version has them", plain((*codeWorld).whole)},
	{"a version nobody approved", plain(func(w *codeWorld, tree string) string {
		return w.version(tree, w.unapproved())
	})},
	{"a version of another repository", plain(func(w *codeWorld, tree string) string {
		return w.version(tree, w.theirs)
	})},
	{"a version beside another", plain((*codeWorld).beside)},
	{"a change twice", plain((*codeWorld).again)},
	{"one forward, one back", plain((*codeWorld).both)},
	{"a change taken back that is not there", plain((*codeWorld).notThere)},
	{"lines at both sides", plain((*codeWorld).attributes)},
	{"one side of a merge", (*codeWorld).oneSide},
	{"a line in a merge", (*codeWorld).lineInMerge},
	{"a merge mended by hand", (*codeWorld).mendedByHand},
	{"a union of both sides", (*codeWorld).unionMerge},
	{"a merge that takes back", (*codeWorld).mergeBack},
	{"hidden by the next commit", (*codeWorld).hidden},
	{"hidden by a merge", (*codeWorld).hiddenByMerge},
	{"without a parent", (*codeWorld).orphan},
	{"a forged landing record", (*codeWorld).forgedLanding},
	{"with a baseline that exempts it", (*codeWorld).baseline},
	{"an older parent", (*codeWorld).olderParent},
}

// legitimate returns a commit to start from: a tip of the server or the clone, or any that was accepted.
func (w *codeWorld) legitimate() string {
	if w.chance(30) {
		return w.made[w.IntN(len(w.made))]
	}
	p := w.world.client
	if w.chance(50) {
		p = w.world.server
	}
	var all []string
	for ref, id := range p.oracle.refs {
		if strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/heads/wf/") {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all[w.IntN(len(all))]
}

// pretext returns a message: one that names approved changes, or one that names nothing.
func (w *codeWorld) pretext() string {
	message := "nothing to see\n"
	for range w.IntN(4) {
		c := w.every[w.IntN(len(w.every))]
		message += "\n    " + strings.ReplaceAll(landMessage(c), "\n", "\n    ")
		if w.chance(50) {
			message = landMessage(c)
		}
	}
	return message
}

// deliver chooses where the attack goes, and with what.
func (w *codeWorld) deliver(tip string) (*place, []move) {
	if w.chance(15) { // something good on top
		tip = w.git.commit(w.docs(w.treeOf(tip)), []string{tip}, "a document\n")
	}
	ref := "refs/heads/" + []string{"main", "main", "release", "dev-1", "new", "src"}[w.IntN(6)]
	switch n := w.IntN(100); {
	case n < 25:
		return w.world.client, []move{{ref: ref, next: tip}}
	case n < 35:
		if w.chance(50) {
			tip = w.git.tag("commit", tip, "t")
		}
		return w.world.server, []move{{ref: "refs/tags/x", next: tip}}
	case n < 45: // a good branch with it
		moves := []move{{ref: ref, next: tip}, {ref: "refs/heads/good", next: w.legitimate()}}
		return w.world.server, moves
	case n < 52: // renamed
		return w.world.server, []move{{ref: "refs/heads/release"}, {ref: "refs/heads/stable", next: tip}}
	case n < 56:
		return w.world.server, []move{{ref: "refs/heads/wf/code-1", next: tip}}
	default:
		return w.world.server, []move{{ref: ref, next: tip}}
	}
}

// text returns a text file that is protected.
func (w *codeWorld) text(tree string, among files) string {
	var all []string
	for p, what := range w.oracle.of(tree).protected() {
		if isRegular(what) && (among == nil || among[p] != "") {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return all[w.IntN(len(all))]
}

func (w *codeWorld) lineAt(tree, p string) string {
	if p == "" {
		return ""
	}
	mode, id := w.git.at(tree, p)
	return w.git.set(tree, p, mode, w.git.blob(editLine(w.Rand, string(w.git.known[id].body))))
}

func (w *codeWorld) line(tree string) string { return w.lineAt(tree, w.text(tree, nil)) }

func (w *codeWorld) lineInLanding(tree string) string {
	all, trees := w.apt(tree, 1+w.IntN(2))
	if len(all) == 0 {
		return ""
	}
	c := all[w.IntN(len(all))]
	return w.lineAt(trees[len(trees)-1], w.text(trees[len(trees)-1], c.b))
}

// back returns a change that can be taken back, and the tree without it.
func (w *codeWorld) back(tree string) (*codeChange, string) {
	for _, c := range w.approved(w.world.client) {
		if _, ok := w.oracle.step(w.oracle.of(tree).protected(), c, true, false); ok {
			if next := w.apply(tree, c, true); next != "" {
				return c, next
			}
		}
	}
	return nil, ""
}

func (w *codeWorld) lineInRevert(tree string) string {
	c, next := w.back(tree)
	if c == nil {
		return ""
	}
	return w.lineAt(next, w.text(next, c.a))
}

func (w *codeWorld) extra(tree string) string {
	name := []string{"src/evil.txt", "src/lib/x/y.txt", "src/.gitattributes", "src/.gitmodules", "src/gen.txt",
		"src/genx/made.txt", "src/lib/gen/x", "src/old.txt~", "src/Gen/x"}[w.IntN(9)]
	return w.git.set(tree, name, fileMode, w.git.blob("evil\n"))
}

func (w *codeWorld) any(tree string) string {
	all := slices.Sorted(maps.Keys(w.oracle.of(tree).protected()))
	if len(all) == 0 {
		return ""
	}
	return all[w.IntN(len(all))]
}

func (w *codeWorld) less(tree string) string {
	if p := w.any(tree); p != "" {
		return w.git.set(tree, p, "", "")
	}
	return ""
}

func (w *codeWorld) remade(tree string, mode func(string) string, id func(string) string) string {
	p := w.any(tree)
	if p == "" {
		return ""
	}
	m, old := w.git.at(tree, p)
	return w.git.set(tree, p, mode(m), id(old))
}

func same(id string) string { return id }

func (w *codeWorld) mode(tree string) string {
	return w.remade(tree, func(m string) string {
		if m == "100755" {
			return fileMode
		}
		return "100755"
	}, same)
}

func (w *codeWorld) link(tree string) string {
	return w.remade(tree, func(string) string { return "120000" }, func(id string) string {
		if w.chance(50) {
			return id
		}
		return w.git.blob("../docs/guide.txt")
	})
}

func (w *codeWorld) submodule(tree string) string {
	return w.remade(tree, func(string) string { return "160000" }, func(string) string { return w.stage.first })
}

func (w *codeWorld) linkDirectory(tree string) string {
	dir := []string{"src", "src/lib"}[w.IntN(2)]
	if w.chance(50) {
		return w.git.set(tree, dir, "160000", w.stage.first)
	}
	return w.git.set(tree, dir, "120000", w.git.blob("../docs"))
}

func (w *codeWorld) spelling(tree string) string {
	name := []string{"SRC/evil.txt", "Src/calc.txt", "src./evil.txt", "src /evil.txt", "s\u200crc/evil.txt",
		"src\\evil.txt", "src::$INDEX_ALLOCATION/evil.txt", "\u017frc/evil.txt", "src\u200d/calc.txt"}[w.IntN(9)]
	return w.git.set(tree, name, fileMode, w.git.blob("evil\n"))
}

func (w *codeWorld) twice(tree string) string {
	return w.git.edit(tree, "src", func(all []entry) []entry {
		if len(all) == 0 {
			return all
		}
		i := w.IntN(len(all))
		return slices.Insert(slices.Clone(all), i, entry{all[i].mode, all[i].name, w.git.blob("evil\n")})
	})
}

// pair returns two versions that satisfy a condition.
func (w *codeWorld) pair(fit func(a, b *codeChange) bool) (a, b *codeChange) {
	for range 20 {
		a, b = w.every[w.IntN(len(w.every))], w.every[w.IntN(len(w.every))]
		if a != b && fit(a, b) {
			return a, b
		}
	}
	return nil, nil
}

// mixed has some paths of one version of a task and others of another.
func (w *codeWorld) mixed(tree string) string {
	a, b := w.pair(func(a, b *codeChange) bool { return a.task == b.task && a.plan == b.plan })
	if a == nil {
		return ""
	}
	return w.split(tree, a, b)
}

func (w *codeWorld) split(tree string, a, b *codeChange) string {
	want := files{}
	for _, p := range union(a.a, a.b, b.a, b.b) {
		c := a
		if w.chance(50) {
			c = b
		}
		if what := c.b[p]; what != "" || c.a[p] != "" {
			want[p] = what
		}
	}
	return w.put(tree, want)
}

// half applies a change at some of its paths.
func (w *codeWorld) half(tree string, back bool) string {
	c := w.every[w.IntN(len(w.every))]
	from, to := c.a, c.b
	if back {
		from, to = to, from
	}
	have, want := w.oracle.of(tree), files{}
	for _, p := range union(from, to) {
		if got, ok := w.git.merge(from[p], have[p], to[p]); ok && w.chance(50) {
			want[p] = got
		}
	}
	return w.put(tree, want)
}

// elsewhere puts what a change has at one path at another.
func (w *codeWorld) elsewhere(tree string) string {
	a, b := w.pair(func(a, b *codeChange) bool { return a.task != b.task })
	if a == nil {
		return ""
	}
	from, to := slices.Sorted(maps.Keys(a.b)), slices.Sorted(maps.Keys(b.b))
	if len(from) == 0 || len(to) == 0 {
		return ""
	}
	return w.put(tree, files{to[w.IntN(len(to))]: a.b[from[w.IntN(len(from))]]})
}

// whole puts a version's files there without merging them.
func (w *codeWorld) whole(tree string) string {
	c := w.every[w.IntN(len(w.every))]
	want := files{}
	for _, p := range union(c.a, c.b) {
		want[p] = c.b[p]
	}
	return w.put(tree, want)
}

// unapproved returns the versions that no review approved as far as the server knows.
func (w *codeWorld) unapproved() []*codeChange {
	good := map[string]bool{}
	for _, p := range []*place{w.world.client, w.world.server} {
		w.oracle.refs = p.oracle.refs
		for _, c := range w.oracle.changes() {
			good[c.String()] = good[c.String()] || c.ever
		}
	}
	return slices.DeleteFunc(slices.Clone(w.every), func(c *codeChange) bool { return good[c.String()] && c.now })
}

func (w *codeWorld) version(tree string, of []*codeChange) string {
	if len(of) == 0 {
		return ""
	}
	return w.apply(tree, of[w.IntN(len(of))], w.chance(10))
}

// beside applies a version where another one of its task is.
func (w *codeWorld) beside(tree string) string {
	for range 10 {
		a, b := w.pair(func(a, b *codeChange) bool { return a.task == b.task && a.plan == b.plan && a.ever && b.ever })
		if a == nil {
			return ""
		}
		if _, there := w.oracle.step(w.oracle.of(tree).protected(), a, true, false); there {
			if next := w.apply(tree, b, false); next != "" {
				return next
			}
		}
	}
	return ""
}

// again applies a change that is there.
func (w *codeWorld) again(tree string) string {
	c, _ := w.back(tree)
	if c == nil {
		return ""
	}
	if next := w.apply(tree, c, false); next != "" && next != tree {
		return next
	}
	want := files{} // its lines once more
	for p, what := range c.b {
		before, after := c.a[p], w.oracle.of(tree)[p]
		if before == "" || !isRegular(before) || !isRegular(after) {
			continue
		}
		var more string
		for line := range strings.Lines(string(w.git.known[what[7:]].body)) {
			if !strings.Contains(string(w.git.known[before[7:]].body), line) {
				more += line
			}
		}
		want[p] = after[:7] + w.git.blob(string(w.git.known[after[7:]].body)+more)
	}
	return w.put(tree, want)
}

// both takes a change back and applies another in one commit.
func (w *codeWorld) both(tree string) string {
	_, next := w.back(tree)
	if next == "" {
		return ""
	}
	if all, trees := w.apt(next, 1); len(all) > 0 {
		return trees[0]
	}
	return ""
}

// notThere takes back a change that never landed, as far as it goes.
func (w *codeWorld) notThere(tree string) string {
	c := w.every[w.IntN(len(w.every))]
	have, want := w.oracle.of(tree), files{}
	for _, p := range union(c.a, c.b) {
		if got, ok := w.git.merge(c.b[p], have[p], c.a[p]); ok {
			want[p] = got
		}
	}
	return w.put(tree, want)
}

// attributes adds the lines of two versions that conflict, as a merge driver would.
func (w *codeWorld) attributes(tree string) string {
	a, b := w.pair(func(a, b *codeChange) bool { return a.task != b.task })
	if a == nil {
		return ""
	}
	next := w.apply(tree, a, false)
	if next == "" {
		return ""
	}
	have, want := w.oracle.of(next), files{}
	for _, p := range union(b.a, b.b) {
		if _, ok := w.git.merge(b.a[p], have[p], b.b[p]); !ok && isRegular(b.b[p]) && isRegular(have[p]) {
			want[p] = have[p][:7] + w.git.blob(string(w.git.known[have[p][7:]].body)+string(w.git.known[b.b[p][7:]].body))
		}
	}
	next = w.put(next, want)
	return w.git.set(next, ".gitattributes", fileMode, w.git.blob("*.txt merge=union\n"))
}

// two returns two commits that neither has the other.
func (w *codeWorld) two() (ours, theirs string) {
	for range 6 {
		ours, theirs = w.legitimate(), w.legitimate()
		if !w.isAncestor(ours, theirs) && !w.isAncestor(theirs, ours) &&
			w.oracle.of(ours).protected().key() != w.oracle.of(theirs).protected().key() {
			return ours, theirs
		}
	}
	base := w.legitimate() // sides made for it, with the same file if possible
	a, b := w.pair(func(a, b *codeChange) bool {
		return a.now && b.now && slices.ContainsFunc(union(a.a, a.b), func(p string) bool { return b.a[p]+b.b[p] != "" })
	})
	if a != nil && w.chance(60) {
		base = w.stage.first
		if ours, theirs = w.apply(w.treeOf(base), a, false), w.apply(w.treeOf(base), b, false); ours != "" && theirs != "" {
			return w.git.commit(ours, []string{base}, landMessage(a)), w.git.commit(theirs, []string{base}, landMessage(b))
		}
	}
	all, _ := w.apt(w.treeOf(base), 1)
	more, _ := w.apt(w.treeOf(base), 1)
	if len(all) == 0 || len(more) == 0 || all[0] == more[0] {
		return "", ""
	}
	return w.git.commit(w.apply(w.treeOf(base), all[0], false), []string{base}, landMessage(all[0])),
		w.git.commit(w.apply(w.treeOf(base), more[0], false), []string{base}, landMessage(more[0]))
}

func (w *codeWorld) oneSide() (string, []move) {
	ours, theirs := w.two()
	if ours == "" {
		return "", nil
	}
	parents := []string{ours, theirs}
	if w.chance(50) {
		slices.Reverse(parents)
	}
	if w.chance(15) {
		parents = append(parents, w.legitimate())
	}
	return w.git.commit(w.treeOf(ours), parents, w.pretext()), nil
}

func (w *codeWorld) lineInMerge() (string, []move) {
	ours, theirs := w.two()
	if ours == "" {
		return "", nil
	}
	tree, conflicts := w.git.mergeTree(ours, theirs)
	if tree == "" || len(conflicts) > 0 {
		return "", nil
	}
	return w.git.commit(w.line(tree), []string{ours, theirs}, "Merge branch 'other'\n"), nil
}

func (w *codeWorld) mergeBack() (string, []move) {
	ours, theirs := w.two()
	if ours == "" {
		return "", nil
	}
	tree, conflicts := w.git.mergeTree(ours, theirs)
	if tree == "" || len(conflicts) > 0 {
		return "", nil
	}
	c, next := w.back(tree)
	if c == nil {
		return "", nil
	}
	return w.git.commit(next, []string{ours, theirs}, landMessage(c)), nil
}

// clashing returns two commits that conflict in the code.
func (w *codeWorld) clashing() (ours, theirs, tree string) {
	for range 6 {
		ours, theirs = w.two()
		if ours == "" {
			continue
		}
		tree, conflicts := w.git.mergeTree(ours, theirs)
		if tree != "" && slices.ContainsFunc(conflicts, func(p string) bool { return isCode(p, "") }) {
			return ours, theirs, tree
		}
	}
	return "", "", ""
}

func (w *codeWorld) mendedByHand() (string, []move) {
	ours, theirs, tree := w.clashing()
	if tree == "" {
		return "", nil
	}
	have, mine, others := w.oracle.of(tree), w.oracle.of(ours), w.oracle.of(theirs)
	want := files{}
	for _, p := range union(have, mine, others) {
		if !isCode(p, "") || mine[p] == others[p] {
			continue
		}
		if want[p] = mine[p]; w.chance(50) {
			want[p] = others[p]
		}
	}
	return w.git.commit(w.put(tree, want), []string{ours, theirs}, w.pretext()), nil
}

func (w *codeWorld) unionMerge() (string, []move) {
	ours, theirs, tree := w.clashing()
	if tree == "" {
		return "", nil
	}
	_, conflicts := w.git.mergeTree(ours, theirs)
	mine, others, want := w.oracle.of(ours), w.oracle.of(theirs), files{}
	attributes := files{".gitattributes": fileMode + " " + w.git.blob("*.txt merge=union\n")}
	bases := w.oracle.bases(ours, theirs)
	for _, p := range conflicts {
		want[p] = mine[p]
		if len(bases) == 1 && isRegular(mine[p]) && isRegular(others[p]) && isRegular(w.oracle.of(bases[0])[p]) {
			want[p] = mine[p][:7] + w.git.union(w.oracle.of(bases[0])[p][7:], mine[p][7:], others[p][7:])
		}
	}
	// Both sides ask for it.
	ours = w.git.commit(w.put(w.treeOf(ours), attributes), []string{ours}, "attributes\n")
	theirs = w.git.commit(w.put(w.treeOf(theirs), attributes), []string{theirs}, "attributes\n")
	maps.Copy(want, attributes)
	return w.git.commit(w.put(tree, want), []string{ours, theirs}, "Merge branch 'other'\n"), nil
}

// hidden is undone at once.
func (w *codeWorld) hidden() (string, []move) {
	tip := w.legitimate()
	evil := w.git.commit(w.line(w.treeOf(tip)), []string{tip}, w.pretext())
	return w.git.commit(w.treeOf(tip), []string{evil}, fmt.Sprintf("Revert \"x\"\n\nThis reverts commit %s.\n", evil)), nil
}

// hiddenByMerge has an evil commit that the merge leaves out.
func (w *codeWorld) hiddenByMerge() (string, []move) {
	tip := w.legitimate()
	evil := w.git.commit(w.line(w.treeOf(tip)), []string{tip}, w.pretext())
	parents := []string{tip, evil}
	if w.chance(50) {
		parents = []string{evil, tip}
	}
	tree := w.treeOf(tip)
	if w.chance(50) {
		tree = w.treeOf(evil)
	}
	return w.git.commit(tree, parents, "Merge branch 'other'\n"), nil
}

func (w *codeWorld) orphan() (string, []move) {
	tree := w.treeOf(w.legitimate())
	if w.chance(50) {
		tree = w.line(tree)
	}
	return w.git.commit(tree, nil, w.pretext()), nil
}

// forgedLanding records in the plan that the attack landed.
func (w *codeWorld) forgedLanding() (string, []move) {
	tip := w.legitimate()
	evil := w.git.commit(w.line(w.treeOf(tip)), []string{tip}, w.pretext())
	c := w.every[w.IntN(len(w.every))]
	ref := "refs/workflow/" + c.plan
	plan := w.world.server.oracle.refs[ref]
	fan := ""
	_, tasks := w.git.at(w.treeOf(plan), "tasks")
	for _, e := range w.git.entries(tasks) {
		if mode, _ := w.git.at(e.id, c.task); mode != "" {
			fan = "tasks/" + e.name + "/" + c.task
		}
	}
	if fan == "" {
		return evil, nil
	}
	record := fmt.Sprintf(`{
  "artifact_id": %q,
  "branch": "main",
  "by": "Eve",
  "commit": %q,
  "created_at": "2027-01-15T08:00:00Z",
  "landing_id": "l9",
  "on": %q,
  "task_id": %q,
  "tree": %q
}
`, c.version, evil, tip, c.task, w.treeOf(evil))
	name := fmt.Sprintf("%s/landings/l9-%s-landed.json", fan, c.version)
	tree := w.git.set(w.treeOf(plan), name, fileMode, w.git.blob(record))
	const message = "%s: %s landed on main as %.12s\n\nWf-Event: landing\nWf-Task: %s\nWf-Artifact: %s\n"
	next := w.git.commit(tree, []string{plan}, fmt.Sprintf(message, c.task, c.version, evil, c.task, c.version))
	return evil, []move{{ref: ref, next: next}}
}

// baseline pushes a policy that exempts the attack, with it.
func (w *codeWorld) baseline() (string, []move) {
	chain := w.stage.plans["refs/workflow/policy"]
	if w.stage.policy+1 >= len(chain) {
		return w.stage.evil, nil
	}
	return w.stage.evil, []move{{ref: "refs/workflow/policy", next: chain[w.stage.policy+1]}}
}

// olderParent has the tree of a commit on a parent that is not its own.
func (w *codeWorld) olderParent() (string, []move) {
	return w.git.commit(w.treeOf(w.legitimate()), []string{w.legitimate()}, w.pretext()), nil
}
