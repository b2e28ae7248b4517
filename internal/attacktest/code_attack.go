package attacktest

import (
	"fmt"
	"maps"
	"path"
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
	{"a version set aside", plain((*codeWorld).aside)},
	{"a version of one person and the engine", plain((*codeWorld).engine)},
	{"a version of another repository", plain(func(w *codeWorld, tree string) string {
		return w.version(tree, w.theirs)
	})},
	{"a version beside another", plain((*codeWorld).beside)},
	{"a change twice", plain((*codeWorld).again)},
	{"a change taken back that is not there", plain((*codeWorld).notThere)},
	{"an earlier change once more", (*codeWorld).onceMore},
	{"a back door that an approved change removes", plain((*codeWorld).backDoor)},
	{"a back door in the place of a change", (*codeWorld).backDoorBeside},
	{"a change after its undo", (*codeWorld).afterUndo},
	{"an undo taken back", (*codeWorld).undoBack},
	{"a copy", plain((*codeWorld).copied)},
	{"a rename", plain((*codeWorld).renamed)},
	{"lines in another order", plain((*codeWorld).reordered)},
	{"lines elsewhere", plain((*codeWorld).elsewhereLine)},
	{"a merge along a rename from outside", (*codeWorld).mergeRename},
	{"a merge along a rename of another root", (*codeWorld).mergeSeed},
	{"what others had when the protection was widened", (*codeWorld).widened},
	{"what others had, with the widened protection", (*codeWorld).widenedWith},
	{"a link or submodule where a wildcard goes through", plain((*codeWorld).through)},
	{"attributes", plain((*codeWorld).attributesFile)},
	{"modules", plain((*codeWorld).modules)},
	{"a criss-cross that loses a landing", (*codeWorld).crissCross},
	{"an octopus with more", (*codeWorld).octopusMore},
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
	for _, ref := range slices.Sorted(maps.Keys(p.oracle.refs)) {
		if strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/heads/wf/") {
			all = append(all, p.oracle.refs[ref])
		}
	}
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
	for p, what := range w.protected(tree) {
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

// back returns a change that is there, and the tree without it.
func (w *codeWorld) back(tree string) (*codeChange, string) {
	have := w.hasTree(tree).have
	for _, task := range slices.Sorted(maps.Keys(have)) {
		if c := have[task]; c != none && w.chance(60) {
			if next := w.apply(tree, c, true); next != "" && next != tree {
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
	all := slices.Sorted(maps.Keys(w.protected(tree)))
	if len(all) == 0 {
		return ""
	}
	return all[w.IntN(len(all))]
}

func (w *codeWorld) protected(tree string) files {
	return w.oracle.protected(w.oracle.of(tree), w.facts(w.world.client).patterns)
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

// unapproved returns the versions that nobody approved as far as the server and the clone know.
func (w *codeWorld) unapproved() []*codeChange {
	good := map[string]bool{}
	for _, p := range []*place{w.world.client, w.world.server} {
		for _, c := range append(slices.Clone(w.facts(p).versions), w.facts(p).undos...) {
			good[c.String()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(w.every), func(c *codeChange) bool { return good[c.String()] })
}

// aside lands a version that was approved and is set aside, as a cherry-pick would.
func (w *codeWorld) aside(tree string) string {
	return w.version(tree, slices.DeleteFunc(slices.Clone(w.facts(w.world.client).versions),
		func(c *codeChange) bool { return c.now }))
}

// engine lands a version that too few people approve: the engine is nobody.
func (w *codeWorld) engine(tree string) string {
	return w.version(tree, slices.DeleteFunc(w.unapproved(), func(c *codeChange) bool {
		tip := w.world.client.oracle.refs["refs/workflow/"+c.plan]
		if tip == "" {
			return true
		}
		word := w.oracle.words(w.treeOf(tip), c.task, c.version)
		return !word["checks"] || len(word) < 2
	}))
}

func (w *codeWorld) version(tree string, of []*codeChange) string {
	if len(of) == 0 {
		return ""
	}
	return w.apply(tree, of[w.IntN(len(of))], w.chance(10))
}

// beside applies a version where another one of its task is.
func (w *codeWorld) beside(tree string) string {
	have := w.hasTree(tree).have
	for range 10 {
		c := w.every[w.IntN(len(w.every))]
		if there := have[c.key()]; there == nil || there == none || there.version == c.version {
			continue
		}
		if next := w.apply(tree, c, false); next != "" {
			return next
		}
	}
	return ""
}

// again has the lines of a change that is there once more.
func (w *codeWorld) again(tree string) string {
	c, _ := w.back(tree)
	if c == nil {
		return ""
	}
	if next := w.apply(tree, c, false); next != "" && next != tree {
		return next
	}
	want := files{}
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

// chain lands versions of tasks on a commit, one after the other, each approved; "" if one can't.
func (w *codeWorld) chain(tip string, keys ...string) string {
	for _, key := range keys {
		next := ""
		for _, c := range w.approved(w.world.client) {
			if c.key() == key && next == "" {
				if tree := w.on(w.treeOf(tip), c); tree != "" {
					next = w.git.commit(tree, []string{tip}, landMessage(c))
				}
			}
		}
		if have := w.has(tip).have[key]; next == "" && have != nil && have != none {
			next = tip
		}
		if tip = next; tip == "" {
			return ""
		}
	}
	return tip
}

// onceMore picks a landing again after an approved change moved its lines.
func (w *codeWorld) onceMore() (string, []move) {
	tip := w.chain(w.legitimate(), "WFS-code CODE-1", "WFS-code CODE-6")
	if tip == "" {
		return "", nil
	}
	for _, c := range w.facts(w.world.client).tasks["WFS-code CODE-1"] {
		if next := w.apply(w.treeOf(tip), c, false); next != "" && next != w.treeOf(tip) {
			return w.git.commit(next, []string{tip}, landMessage(c)), nil
		}
	}
	return "", nil
}

// ghosts are the approved changes that remove what never was there.
func (w *codeWorld) ghosts() []*codeChange {
	return slices.DeleteFunc(slices.Clone(w.facts(w.world.client).versions), func(c *codeChange) bool {
		return c.plan != "WFS-ghost"
	})
}

// backDoor takes a change back that never landed, and that removes what never was there.
func (w *codeWorld) backDoor(tree string) string {
	if all := w.ghosts(); len(all) > 0 {
		return w.apply(tree, all[w.IntN(len(all))], true)
	}
	return ""
}

// backDoorBeside lands such a change where it does something else, too, and takes it back as it was approved.
func (w *codeWorld) backDoorBeside() (string, []move) {
	tip := w.legitimate()
	for _, c := range w.ghosts() {
		next := w.apply(w.treeOf(tip), c, false)
		if next == "" || next == w.treeOf(tip) {
			continue
		}
		landed := w.git.commit(next, []string{tip}, landMessage(c))
		if with := w.apply(next, c, true); with != "" {
			return w.git.commit(with, []string{landed}, fmt.Sprintf("Revert \"x\"\n\nThis reverts commit %s.\n", landed)), nil
		}
	}
	return "", nil
}

// undone returns a commit after an approved undo, the commit before it, and the version that it took back for good.
func (w *codeWorld) undone() (before, after string, c *codeChange) {
	f := w.facts(w.world.client)
	for _, u := range f.undos {
		task, version, _ := strings.Cut(u.undoes, "@")
		for _, c := range f.tasks[task] {
			if c.version != version {
				continue
			}
			before = w.legitimate()
			if w.has(before).have[task] == none {
				if tree := w.apply(w.treeOf(before), c, false); tree != "" {
					before = w.git.commit(tree, []string{before}, landMessage(c))
				}
			}
			if w.has(before).have[task] != c {
				continue
			}
			if tree := w.apply(w.treeOf(before), u, false); tree != "" && tree != w.treeOf(before) {
				return before, w.git.commit(tree, []string{before}, landMessage(u)), c
			}
		}
	}
	return "", "", nil
}

func (w *codeWorld) afterUndo() (string, []move) {
	_, after, c := w.undone()
	if c == nil {
		return "", nil
	}
	if w.chance(40) { // with something in between
		after = w.git.commit(w.docs(w.treeOf(after)), []string{after}, "a document\n")
	}
	if tree := w.apply(w.treeOf(after), c, false); tree != "" {
		return w.git.commit(tree, []string{after}, landMessage(c)), nil
	}
	return "", nil
}

func (w *codeWorld) undoBack() (string, []move) {
	before, after, _ := w.undone()
	if after == "" {
		return "", nil
	}
	if w.chance(40) { // by a merge of the branch that has it
		other := w.git.commit(w.docs(w.treeOf(before)), []string{before}, "a document\n")
		tree := w.docs(w.treeOf(before))
		return w.git.commit(tree, []string{after, other}, "Merge branch 'other'\n"), nil
	}
	message := fmt.Sprintf("Revert \"x\"\n\nThis reverts commit %s.\n", after)
	return w.git.commit(w.treeOf(before), []string{after}, message), nil
}

func (w *codeWorld) copied(tree string) string {
	p := w.any(tree)
	if p == "" {
		return ""
	}
	mode, id := w.git.at(tree, p)
	return w.git.set(tree, []string{"src/copy.txt", "src/lib/" + path.Base(p), "pkg/y/code/n.txt"}[w.IntN(3)], mode, id)
}

func (w *codeWorld) renamed(tree string) string {
	p := w.any(tree)
	mode, id := w.git.at(tree, p)
	if p == "" || mode == "" {
		return ""
	}
	to := []string{p + ".new", "src/gen/" + path.Base(p), "docs/x", "src/x/y"}[w.IntN(4)]
	return w.git.set(w.git.set(tree, p, "", ""), to, mode, id)
}

// lines changes the lines of a protected text.
func (w *codeWorld) lines(tree string, change func([]string) []string) string {
	p := w.text(tree, nil)
	if p == "" {
		return ""
	}
	mode, id := w.git.at(tree, p)
	all := slices.Collect(strings.Lines(string(w.git.known[id].body)))
	if len(all) < 4 {
		return ""
	}
	return w.git.set(tree, p, mode, w.git.blob(strings.Join(change(all), "")))
}

func (w *codeWorld) reordered(tree string) string {
	return w.lines(tree, func(all []string) []string {
		i := w.IntN(len(all) - 1)
		all[i], all[i+1] = all[i+1], all[i]
		return all
	})
}

// elsewhereLine moves a line to another file.
func (w *codeWorld) elsewhereLine(tree string) string {
	taken := ""
	tree = w.lines(tree, func(all []string) []string {
		i := w.IntN(len(all))
		taken = all[i]
		return slices.Delete(all, i, i+1)
	})
	if tree == "" {
		return ""
	}
	return w.lines(tree, func(all []string) []string { return slices.Insert(all, w.IntN(len(all)), taken) })
}

// mergeRename has an unprotected file that looks like what a change adds; git merge carries its edit over.
func (w *codeWorld) mergeRename() (string, []move) {
	tip := w.legitimate()
	for _, c := range w.approved(w.world.client) {
		for _, p := range union(c.b) {
			if c.a[p] != "" || !isRegular(c.b[p]) {
				continue
			}
			look := w.git.commit(w.put(w.treeOf(tip), files{"free/look": c.b[p]}), []string{tip}, "it looks like it\n")
			landed := w.on(w.treeOf(look), c)
			if landed == "" {
				continue
			}
			ours := w.git.commit(w.put(landed, files{"free/look": ""}), []string{look}, landMessage(c))
			return w.mergeEdited(ours, look, "free/look"), nil
		}
	}
	return "", nil
}

// mergeEdited merges what changes an unprotected file into a branch that has it no more.
func (w *codeWorld) mergeEdited(ours, base, name string) string {
	mode, id := w.git.at(w.treeOf(base), name)
	text := string(w.git.known[id].body)
	switch w.IntN(3) {
	case 0:
		mode = map[string]string{fileMode: "100755", "100755": fileMode}[mode]
	case 1:
		text += "evil\n"
	default:
		text = editLine(w.Rand, text)
	}
	theirs := w.git.commit(w.git.set(w.treeOf(base), name, mode, w.git.blob(text)), []string{base}, "no code\n")
	tree, conflicts := w.git.mergeTree(ours, theirs)
	if tree == "" || len(conflicts) > 0 {
		return ""
	}
	return w.git.commit(tree, []string{ours, theirs}, "Merge branch 'other'\n")
}

// mergeSeed has the file of a history of its own, which a merge brought and the next commit removed.
func (w *codeWorld) mergeSeed() (string, []move) {
	tip := w.legitimate()
	p := w.text(w.treeOf(tip), nil)
	what := w.oracle.of(tip)[p]
	if p == "" {
		return "", nil
	}
	seed := w.git.commit(w.put(w.git.tree(nil), files{"free/look": what}), nil, "a seed\n")
	joined := w.git.commit(w.put(w.treeOf(tip), files{"free/look": what}), []string{tip, seed}, "Merge branch 'seed'\n")
	ours := w.git.commit(w.treeOf(tip), []string{joined}, "not needed\n")
	return w.mergeEdited(ours, seed, "free/look"), nil
}

// widened pushes what local branches, forks and work in progress had when the protection was widened.
func (w *codeWorld) widened() (string, []move) {
	tip := w.stage.wide[w.IntN(len(w.stage.wide))]
	if w.chance(30) {
		tip = w.git.commit(w.treeOf(tip), []string{w.legitimate(), tip}, "Merge branch 'other'\n")
	}
	return tip, nil
}

func (w *codeWorld) widenedWith() (string, []move) {
	tip, _ := w.widened()
	if w.world.server.oracle.refs["refs/workflow/policy"] != w.stage.policies()[0] {
		return tip, nil
	}
	return tip, []move{{ref: "refs/workflow/policy", next: w.stage.policies()[1]}}
}

func (w *codeWorld) through(tree string) string {
	dir := []string{"pkg/x", "pkg/y", "pkg", "pkg/x/code", "pkg/z/code"}[w.IntN(5)]
	if w.chance(50) {
		return w.git.set(tree, dir, "160000", w.stage.first)
	}
	return w.git.set(tree, dir, "120000", w.git.blob("../docs"))
}

func (w *codeWorld) attributesFile(tree string) string {
	name := []string{".gitattributes", "src/.gitattributes", "src/lib/.gitattributes", "pkg/.gitattributes",
		"pkg/x/code/.gitattributes"}[w.IntN(5)]
	return w.git.set(tree, name, fileMode, w.git.blob([]string{"*.txt text eol=crlf\n", "* filter=evil\n", "* ident\n",
		"*.txt working-tree-encoding=UTF-16\n"}[w.IntN(4)]))
}

func (w *codeWorld) modules(tree string) string {
	return w.git.set(tree, ".gitmodules", fileMode, w.git.blob("[submodule \"sub\"]\n\tpath = src/sub\n\turl = ./evil\n"))
}

// crissCross merges both ways, and then leaves out what one side landed.
func (w *codeWorld) crissCross() (string, []move) {
	ours, theirs := w.two()
	if ours == "" {
		return "", nil
	}
	tree, conflicts := w.git.mergeTree(ours, theirs)
	if tree == "" || len(conflicts) > 0 {
		return "", nil
	}
	a := w.git.commit(tree, []string{ours, theirs}, "Merge branch 'other'\n")
	b := w.git.commit(w.docs(tree), []string{theirs, ours}, "Merge branch 'main'\n")
	lost := w.treeOf(ours)
	if w.chance(50) {
		lost = w.line(tree)
	}
	return w.git.commit(lost, []string{a, b}, w.pretext()), nil
}

func (w *codeWorld) octopusMore() (string, []move) {
	ours, theirs := w.two()
	if ours == "" {
		return "", nil
	}
	tree, conflicts := w.git.mergeTree(ours, theirs)
	if tree == "" || len(conflicts) > 0 {
		return "", nil
	}
	third := w.git.commit(w.docs(w.treeOf(w.stage.first)), []string{w.stage.first}, "a document\n")
	return w.git.commit(w.line(tree), []string{ours, theirs, third}, "Merge branches 'one' and 'two'\n"), nil
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
			w.protected(ours).key() != w.protected(theirs).key() {
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

func (w *codeWorld) isCode(p string) bool { return protects(w.facts(w.world.client).patterns, p, "") }

// clashing returns two commits that conflict in the code.
func (w *codeWorld) clashing() (ours, theirs, tree string) {
	for range 6 {
		ours, theirs = w.two()
		if ours == "" {
			continue
		}
		tree, conflicts := w.git.mergeTree(ours, theirs)
		if tree != "" && slices.ContainsFunc(conflicts, w.isCode) {
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
		if !w.isCode(p) || mine[p] == others[p] {
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
	if plan == "" {
		return evil, nil
	}
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
	return w.stage.evil, []move{{ref: "refs/workflow/policy", next: w.stage.policies()[2]}}
}
