package attacktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator makes pushes that the world has not seen yet. No git command would make most of them.
type generator struct {
	*world
	*rand.Rand
	at    *place
	legal bool     // only what a team does; the oracle says whether it is right
	ops   []string // the operations that make the push
	bad   string   // why the push must be refused, whatever the branches hold
}

// A move changes one ref; "" means no value.
type move struct{ ref, old, next string }

func (g *generator) op(format string, args ...any) {
	g.ops = append(g.ops, fmt.Sprintf(format, args...))
}

func (g *generator) wrong(format string, args ...any) {
	g.op(format, args...)
	if g.bad == "" {
		g.bad = fmt.Sprintf(format, args...)
	}
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, of []T) T { return of[g.IntN(len(of))] }

// A choice is an operation with the weight of its selection.
type choice[T any] struct {
	weight int
	do     T
}

func choose[T any](g *generator, of []choice[T]) T {
	sum := 0
	for _, c := range of {
		sum += c.weight
	}
	n := g.IntN(sum)
	for _, c := range of {
		if n -= c.weight; n < 0 {
			return c.do
		}
	}
	panic("unreachable")
}

// push makes the moves of one push.
func (g *generator) push() []move {
	g.ops, g.bad, g.legal = nil, "", g.chance(40)
	var moves []move
	many := 1
	if g.chance(30) {
		many += g.IntN(3)
	}
	kinds := evilMoves
	if g.legal {
		kinds = legalMoves
	}
	for range many {
		n, ops, bad := len(moves), len(g.ops), g.bad
		for _, m := range choose(g, kinds)(g) {
			clash := func(have move) bool {
				return have.ref == m.ref || strings.HasPrefix(have.ref, m.ref+"/") || strings.HasPrefix(m.ref, have.ref+"/")
			}
			if !slices.ContainsFunc(moves, clash) {
				m.old = g.at.oracle.refs[m.ref]
				moves = append(moves, m)
			}
		}
		if len(moves) == n { // the push moves that ref already: what is wrong with this move is not in it
			g.ops, g.bad = g.ops[:ops], bad
		}
	}
	moves = slices.DeleteFunc(moves, func(m move) bool { return m.old == m.next })
	if g.at == g.server && !g.legal && len(moves) > 0 && g.chance(6) {
		m := &moves[g.IntN(len(moves))]
		if g.op("a lie about what a ref has"); strings.HasPrefix(m.ref, "refs/workflow/") {
			g.wrong("a lie about what a plan has")
		}
		m.old = pick(g, []string{"", g.first, m.next})
		if m.old == g.at.oracle.refs[m.ref] {
			*m = move{m.ref, g.first, m.next}
		}
	}
	return moves
}

var legalMoves = []choice[func(*generator) []move]{
	{10, (*generator).teamBranch},
	{2, (*generator).tag},
	{4, (*generator).planForward},
	{1, (*generator).policyForward},
	{1, (*generator).claim},
	{1, (*generator).remove},
}

var evilMoves = []choice[func(*generator) []move]{
	{40, (*generator).branch},
	{6, (*generator).teamBranch},
	{8, (*generator).evilMerge},
	{14, (*generator).tag},
	{4, (*generator).tagOfTree},
	{6, (*generator).planForward},
	{8, (*generator).planForged},
	{3, (*generator).planRenamed},
	{1, (*generator).policyForward},
	{4, (*generator).policyForged},
	{2, (*generator).claim},
	{6, (*generator).claimForged},
	{9, (*generator).otherRef},
	{3, (*generator).remove},
}

func (g *generator) branchName() string {
	return "refs/heads/" + pick(g, []string{"main", "main", "main", "dev", "topic-1", "topic-2", "topic-3",
		"deliverables"})
}

// tips returns the commits of branches, in a fixed order.
func (g *generator) tips() []string {
	var all []string
	for ref, id := range g.at.oracle.refs {
		if strings.HasPrefix(ref, "refs/heads/") {
			all = append(all, ref+" "+id)
		}
	}
	slices.Sort(all)
	for i := range all {
		_, all[i], _ = strings.Cut(all[i], " ")
	}
	return all
}

// known returns any commit made in this world; more often the newest and those that landed.
func (g *generator) known() string {
	switch n := len(g.made); {
	case g.chance(35):
		return pick(g, g.tips())
	case g.chance(60):
		return g.made[max(0, n-1-g.IntN(8))]
	default:
		return pick(g, g.made)
	}
}

func (g *generator) tree(commit string) string {
	_, h, _ := g.objects.parsed(commit)
	if len(h["tree"]) == 0 {
		return g.objects.tree(nil)
	}
	return h["tree"][0]
}

// teamBranch fast-forwards a branch as a team does, and the plan that proves the new content.
func (g *generator) teamBranch() []move {
	ref := g.branchName()
	tip := g.at.oracle.refs[ref]
	if tip == "" {
		tip = pick(g, g.tips())
	}
	var moves []move
	for range 1 + g.IntN(3) {
		parents, tree := []string{tip}, g.tree(tip)
		switch g.IntN(6) {
		case 0:
			g.op("merge")
			other := pick(g, g.tips())
			merged, ok := g.merge(tip, other)
			if other == tip || !ok {
				continue
			}
			parents, tree = append(parents, other), merged
		case 1, 2:
			g.op("readme")
			tree = g.objects.set(tree, "README", fileMode, g.objects.blob(fmt.Sprint(g.Uint32())))
		case 3:
			b := pick(g, g.bundles)
			g.op("remove %s", b.dir)
			tree = g.objects.set(tree, b.dir, "", "")
		default:
			b := pick(g, g.bundles)
			if !b.sound {
				continue
			}
			m, ok := g.forward(b.ref, b.at)
			if !ok {
				continue
			}
			g.op("export %s", b.dir)
			tree = g.objects.set(tree, b.dir, dirMode, b.tree)
			if m.ref != "" {
				moves = append(moves, m)
			}
		}
		tip = g.commit(tree, parents)
	}
	return append([]move{{ref: ref, next: tip}}, moves...)
}

// forward moves a plan to one of its commits, unless it is there already; ok is false if the ref holds another plan.
func (g *generator) forward(ref, at string) (m move, ok bool) {
	chain, old := g.plans[ref], g.at.oracle.refs[ref]
	to, now := slices.Index(chain, at), slices.Index(chain, old)
	switch {
	case to < 0 || now < 0 && old != "":
		return move{}, false
	case now >= to:
		return move{}, true
	}
	return move{ref: ref, next: at}, true
}

func (g *generator) commit(tree string, parents []string) string {
	id := g.objects.commit(tree, parents, "commit "+fmt.Sprint(g.Uint32()))
	g.made = append(g.made, id)
	return id
}

// merge merges two commits unit by unit of the root; ok is false if they conflict.
func (g *generator) merge(a, b string) (tree string, ok bool) {
	o := g.at.oracle
	bases := o.bases(a, b)
	base := g.objects.tree(nil)
	if len(bases) == 1 {
		base = g.tree(bases[0])
	}
	return g.mergeTrees(base, g.tree(a), g.tree(b))
}

func (g *generator) mergeTrees(base, a, b string) (string, bool) {
	type sides [3]entry
	all := map[string]*sides{}
	var names []string
	for i, tree := range []string{base, a, b} {
		for _, e := range g.objects.entries(tree) {
			if all[e.name] == nil {
				all[e.name] = &sides{}
				names = append(names, e.name)
			}
			all[e.name][i] = e
		}
	}
	var merged []entry
	for _, name := range names {
		s := all[name]
		switch {
		case s[1] == s[2] || s[2] == s[0]:
			if s[1].mode != "" {
				merged = put(merged, s[1])
			}
		case s[1] == s[0]:
			if s[2].mode != "" {
				merged = put(merged, s[2])
			}
		case s[1].mode == dirMode && s[2].mode == dirMode && (s[0].mode == dirMode || s[0].mode == ""):
			sub, ok := g.mergeTrees(s[0].id, s[1].id, s[2].id)
			if !ok {
				return "", false
			}
			merged = put(merged, entry{dirMode, name, sub})
		default:
			return "", false
		}
	}
	return g.objects.tree(merged), true
}

// branch makes commits with any tree and any parents, and moves a branch to the last of them.
func (g *generator) branch() []move {
	ref := g.branchName()
	tip := g.known()
	if old := g.at.oracle.refs[ref]; old != "" && g.chance(60) {
		tip = old
	}
	for range g.IntN(4) {
		tip = g.anyCommit(tip)
	}
	g.op("branch")
	moves := []move{{ref: ref, next: tip}}
	if g.chance(30) {
		moves = append(moves, g.planForward()...)
	}
	return moves
}

// evilMerge makes a merge whose tree equals a parent that lacks what the other one brought: git log follows only that
// parent.
func (g *generator) evilMerge() []move {
	var all []string
	for _, tip := range g.tips() {
		all = append(all, slices.Sorted(maps.Keys(g.at.oracle.history(tip)))...)
	}
	theirs, ours := pick(g, all), pick(g, all)
	if g.chance(30) {
		theirs = g.known()
	}
	for range g.IntN(3) {
		ours = g.commit(g.editReadme(g.tree(ours)), []string{ours})
	}
	parents := []string{ours, theirs}
	if g.chance(50) {
		slices.Reverse(parents)
	}
	if g.chance(20) {
		parents = append(parents, pick(g, all))
	}
	g.op("evil merge")
	merge := g.commit(g.tree(ours), parents)
	if g.chance(40) {
		merge = g.commit(g.tree(merge), []string{merge, pick(g, g.tips())})
	}
	return []move{{ref: g.branchName(), next: merge}}
}

func (g *generator) anyCommit(on string) string {
	var parents []string
	switch n := g.IntN(20); {
	case n == 0:
		g.op("root")
	case n < 12:
		parents = []string{on}
	case n < 18:
		parents = []string{on, g.known()}
		if g.chance(30) {
			slices.Reverse(parents)
		}
	default:
		parents = []string{on, g.known(), g.known()}
	}
	if len(parents) > 1 {
		g.op("merge of %d", len(parents))
	}
	tree := g.tree(on)
	switch {
	case len(parents) > 1 && g.chance(40):
		g.op("tree of another parent")
		tree = g.tree(parents[1])
	case len(parents) == 2 && g.chance(50):
		if merged, ok := g.merge(parents[0], parents[1]); ok {
			g.op("merged")
			tree = merged
		}
	case g.chance(4):
		g.op("tree of any commit")
		tree = g.tree(g.known())
	}
	for range g.IntN(3) {
		tree = choose(g, edits)(g, tree)
	}
	return g.commit(tree, parents)
}

var edits = []choice[func(*generator, string) string]{
	{12, (*generator).editReadme},
	{16, (*generator).putBundle},
	{14, (*generator).tamper},
	{4, (*generator).editRemove},
	{3, (*generator).stray},
	{4, (*generator).lookAlike},
	{6, (*generator).instead},
	{14, (*generator).malform},
}

func (g *generator) editReadme(tree string) string {
	g.op("readme")
	return g.objects.set(tree, "README", fileMode, g.objects.blob(fmt.Sprint(g.IntN(1000))))
}

// putBundle adds a bundle, most often where it belongs.
func (g *generator) putBundle(tree string) string {
	b := pick(g, g.bundles)
	dir := b.dir
	if g.chance(10) {
		dir = pick(g, g.bundles).dir
	}
	if g.chance(10) {
		dir = strings.Replace(dir, "deliverables", "docs/out", 1)
	}
	g.op("bundle at %s", dir)
	return g.objects.set(tree, dir, dirMode, b.tree)
}

func (g *generator) editRemove(tree string) string {
	dir := pick(g, g.bundles).dir
	for range g.IntN(3) {
		dir = dir[:strings.LastIndexByte(dir, '/')]
		if !strings.Contains(dir, "/") {
			break
		}
	}
	g.op("remove %s", dir)
	return g.objects.set(tree, dir, "", "")
}

// evil returns an unapproved blob: a new one, or one that a plan knows.
func (g *generator) evil() string {
	if g.chance(50) {
		return pick(g, g.loose)
	}
	return g.objects.blob("evil " + fmt.Sprint(g.IntN(50)))
}

// tamper changes one thing in an existing bundle.
func (g *generator) tamper(tree string) string {
	var dirs []string
	for _, b := range g.bundles {
		if mode, _ := g.objects.at(tree, b.dir); mode != "" && !slices.Contains(dirs, b.dir) {
			dirs = append(dirs, b.dir)
		}
	}
	if len(dirs) == 0 {
		return g.putBundle(tree)
	}
	dir := pick(g, dirs)
	_, id := g.objects.at(tree, dir)
	var files []entry
	(&oracle{objects: g.objects}).files(id, "", 0, func(p string, e entry) {
		files = append(files, entry{e.mode, p, e.id})
	})
	if len(files) == 0 {
		return tree
	}
	f := pick(g, files)
	at := dir + "/" + f.name
	switch g.IntN(7) {
	case 0:
		g.op("change %s", at)
		return g.objects.set(tree, at, f.mode, g.evil())
	case 1:
		g.op("mode of %s", at)
		return g.objects.set(tree, at, pick(g, []string{"100755", "120000", "160000"}), f.id)
	case 2:
		g.op("remove %s", at)
		return g.objects.set(tree, at, "", "")
	case 3:
		g.op("add beside %s", at)
		return g.objects.set(tree, at+".txt", fileMode, g.evil())
	case 4:
		g.op("add to %s", dir)
		return g.objects.set(tree, dir+pick(g, []string{"/evil.txt", "/x/evil.txt", "/.gitmodules", "/../evil.txt"}),
			fileMode, g.evil())
	case 5:
		g.op("manifest of %s", dir)
		_, old := g.objects.at(tree, dir+"/manifest.json")
		from, to := `"score": 100`, `"score": 99`
		if g.chance(60) {
			from, to = pick(g, []string{from, `"format_version": 1`, `PAGE-1`, `"v1"`}), pick(g, []string{to, `"v2"`})
		}
		text := strings.Replace(string(g.objects.known[old].body), from, to, 1)
		return g.objects.set(tree, dir+"/manifest.json", fileMode, g.objects.blob(text))
	default:
		g.op("directory instead of %s", at)
		return g.objects.set(tree, at, dirMode, g.objects.tree([]entry{{fileMode, "x", g.evil()}}))
	}
}

func (g *generator) stray(tree string) string {
	at := pick(g, []string{"deliverables/x", "deliverables/note.txt", "deliverables/WFS-page/x",
		"deliverables/page/bundle/x", "deliverables/WFS-page/Bundle/x", "docs/out/x", "docs/x",
		"deliverables/.gitattributes"})
	content := g.evil()
	if g.chance(30) {
		content = g.objects.blob("waived\n")
	}
	g.op("file at %s", at)
	return g.objects.set(tree, at, fileMode, content)
}

func (g *generator) lookAlike(tree string) string {
	name := pick(g, []string{
		"Deliverables", "DELIVERABLES", "deliverables.", "deliverables ", "deliverables. .", "deliverables:x", "DELIVE~1",
		"delive~2", "d\u200celiverables", "\ufeffdeliverables",
		"deliverable\u017f", `deliverables\WFS-page`, "docs/Out", "docs/out.", "Docs/out", "docs./out", "d\u200cocs/out",
		`docs\out`, "dOcs/OUT",
	})
	g.op("look-alike %q", name)
	if g.chance(20) {
		return g.objects.set(tree, name, pick(g, []string{fileMode, "120000", "160000"}), g.evil())
	}
	return g.objects.set(tree, name+"/WFS-page/bundle/evil.txt", fileMode, g.evil())
}

// instead replaces a root, or a directory that contains one.
func (g *generator) instead(tree string) string {
	at := pick(g, []string{"deliverables", "docs", "docs/out", "deliverables/WFS-page", "deliverables/WFS-page/bundle",
		"Docs"})
	mode := pick(g, []string{"120000", "160000", fileMode, dirMode})
	g.op("mode %s at %s", mode, at)
	id := g.objects.blob("other")
	if mode == "160000" {
		id = g.first
	}
	if mode == dirMode {
		id = g.tree(pick(g, g.plans["refs/workflow/WFS-page"]))
	}
	return g.objects.set(tree, at, mode, id)
}

// malform makes a tree that git would not write.
func (g *generator) malform(tree string) string {
	dir := pick(g, []string{"", "", "", "deliverables", "deliverables/WFS-page", "deliverables/WFS-page/bundle", "docs",
		"docs/out", "src"})
	left := map[string]string{
		"": "deliverables/WFS-page/bundle/", "deliverables": "WFS-page/bundle/", "deliverables/WFS-page": "bundle/",
		"docs": "out/WFS-site/bundle/", "docs/out": "WFS-site/bundle/",
	}[dir]
	b := pick(g, g.bundles)
	dup := func(all []entry, e entry) []entry {
		if g.chance(50) {
			return append(slices.Clone(all), e)
		}
		return append([]entry{e}, all...)
	}
	holder := func(path string) string { // a tree with an evil file at a path
		return g.objects.set(g.objects.tree(nil), path, fileMode, g.evil())
	}
	first, rest, _ := strings.Cut(left+"evil.txt", "/")
	return g.objects.edit(tree, dir, func(all []entry) []entry {
		all = slices.Clone(all)
		switch kind := g.IntN(13); kind {
		case 0:
			g.op("a name with slashes in %q", dir)
			return put(all, entry{fileMode, left + "evil.txt", g.evil()})
		case 1:
			g.op("a directory's name with slashes in %q", dir)
			return put(all, entry{dirMode, strings.TrimSuffix(left+"x", "/"),
				g.objects.tree([]entry{{fileMode, "evil.txt", g.evil()}})})
		case 2:
			g.op("a second %q in %q", first, dir)
			if rest == "" {
				return dup(all, entry{fileMode, first, g.evil()})
			}
			return dup(all, entry{dirMode, first, holder(rest)})
		case 3:
			g.op("a file and a directory in %q", dir)
			return dup(all, entry{fileMode, first, g.evil()})
		case 4:
			if len(all) == 0 {
				return all
			}
			e := pick(g, all)
			g.op("%q twice in %q", e.name, dir)
			if e.mode != dirMode {
				e.id = g.evil()
			}
			return dup(all, e)
		case 5:
			g.op("unsorted in %q", dir)
			g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return append(all, entry{fileMode, "a", g.evil()})
		case 6:
			mode := pick(g, []string{"100600", "100664", "100777", "0", "140000", "040000", "0100644", "120777", "40755",
				"100000", "160001", "777777777", "10644"})
			g.op("mode %s in %q", mode, dir)
			if rest != "" && (strings.HasPrefix(mode, "04") || mode == "40755" || g.chance(30)) {
				return put(all, entry{mode, first, holder(rest)})
			}
			return put(all, entry{mode, first, g.evil()})
		case 7:
			g.op("a directory that is a blob, or the other way round, in %q", dir)
			if rest == "" || g.chance(50) {
				return put(all, entry{dirMode, first, g.evil()})
			}
			return put(all, entry{fileMode, first, holder(rest)})
		case 8:
			g.op("a directory that is a commit in %q", dir)
			return put(all, entry{pick(g, []string{dirMode, fileMode, "120000"}), first, pick(g, []string{g.known(), g.first})})
		case 9:
			name := pick(g, []string{".", "..", ".git", "", ".GIT", "git~1", "./deliverables", "x/../deliverables",
				"/deliverables", "deliverables/", "deliverables//x"})
			g.op("name %q in %q", name, dir)
			return put(all, entry{dirMode, name, holder(left + "evil.txt")})
		case 10:
			g.op("a bundle by one name in %q", dir)
			return put(all, entry{dirMode, strings.TrimSuffix(left, "/"), b.tree})
		case 11:
			g.op("one root in two entries of %q", dir)
			i := slices.IndexFunc(all, func(e entry) bool { return e.name == first })
			if i < 0 {
				return put(all, entry{dirMode, first, holder(rest)})
			}
			return slices.Insert(all, i+g.IntN(2), entry{dirMode, first, holder(rest)})
		default:
			name := pick(g, []string{"deliverables\x01", "deliverables\n", "\ndeliverables", "deliverables\t",
				"\xffdeliverables", "deliverables\xff", "*", ":(top)x"})
			g.op("name %q in %q", name, dir)
			return put(all, entry{dirMode, name, holder(left + "evil.txt")})
		}
	})
}

func (g *generator) target() string {
	if g.legal {
		return pick(g, g.tips())
	}
	if g.chance(40) {
		return g.anyCommit(g.known())
	}
	return g.known()
}

func (g *generator) tag() []move {
	name := fmt.Sprintf("t%d", g.IntN(20))
	id := g.target()
	kind := "commit"
	for range g.IntN(3) {
		id = g.objects.tag(kind, id, name)
		kind = "tag"
	}
	g.op("tag of a %s", kind)
	return []move{{ref: "refs/tags/" + name, next: id}}
}

func (g *generator) tagOfTree() []move {
	ref := fmt.Sprintf("refs/%s/t%d", pick(g, []string{"tags", "tags", "foo"}), g.IntN(20))
	id := g.tree(g.known())
	for range g.IntN(2) {
		id = choose(g, edits)(g, id)
	}
	kind := "tree"
	switch {
	case g.chance(20):
		id, kind = g.evil(), "blob"
	case g.chance(20):
		_, id = g.objects.at(id, "deliverables")
		if id == "" {
			return nil
		}
	}
	if g.chance(50) {
		id = g.objects.tag(kind, id, "t")
	}
	g.op("%s of a %s", ref[:8], kind)
	return []move{{ref: ref, next: id}}
}

func (g *generator) planRef() string {
	return pick(g, []string{"refs/workflow/WFS-page", "refs/workflow/WFS-site", "refs/workflow/WFS-gone"})
}

func (g *generator) planForward() []move {
	ref := g.planRef()
	chain := g.plans[ref]
	if !g.legal && ref == "refs/workflow/WFS-page" && g.chance(15) {
		chain = g.plans["theirs "+ref]
		g.op("their plan")
	}
	now := slices.Index(chain, g.at.oracle.refs[ref])
	to := now + 1 + g.IntN(4)
	if to >= len(chain) {
		return nil
	}
	g.op("plan forward")
	if old := g.at.oracle.refs[ref]; now < 0 && old != "" {
		if g.legal {
			return nil
		}
		g.wrong("a plan by another of its name")
	}
	return []move{{ref: ref, next: chain[to]}}
}

func (g *generator) policyForward() []move {
	chain := g.plans["refs/workflow/policy"]
	to := slices.Index(chain, g.at.oracle.refs["refs/workflow/policy"]) + 1
	if to >= len(chain) {
		return nil
	}
	g.op("policy forward")
	return []move{{ref: "refs/workflow/policy", next: chain[to]}}
}

// planForged adds to a plan a commit that is no event, or not the event that it claims to be.
func (g *generator) planForged() []move {
	ref := g.planRef()
	tip := g.at.oracle.refs[ref]
	if tip == "" {
		tip = pick(g, g.plans[ref])
	}
	tree, message, parents := g.tree(tip), "PAGE-1: something\n\nWf-Event: "+pick(g, []string{
		"artifact", "review", "graft", "replan", "plan", "waiver", "check", "doctor", "sync", "pruned", "retry", "nonsense",
		"policy", "abandoned", "completed",
	}), []string{tip}
	if g.chance(30) {
		message = "hello"
	}
	if strings.HasSuffix(message, "graft") || strings.HasSuffix(message, "review") || g.chance(30) {
		message += "\nWf-Task: PAGE-1\nWf-Artifact: v1"
	}
	_, fans := g.objects.at(tree, "tasks")
	fan := pick(g, g.objects.entries(fans))
	task := "tasks/" + fan.name + "/" + g.objects.entries(fan.id)[0].name
	switch kind := g.IntN(10); kind {
	case 0:
		if message == "hello" || strings.HasSuffix(message, "nonsense") || strings.HasSuffix(message, "policy") {
			g.wrong("forged: no event")
		}
	case 1:
		_, id := g.objects.at(tree, "plan.json")
		text := strings.Replace(string(g.objects.known[id].body), `"config": {}`, `"config": {"min_score": 1}`, 1)
		text = strings.Replace(text, "hello", fmt.Sprint("anything ", g.IntN(9)), 1)
		tree = g.objects.set(tree, "plan.json", fileMode, g.objects.blob(text))
		g.wrong("forged: another plan.json")
	case 2:
		tree = g.objects.set(tree, "deliverables/WFS-page/bundle/evil.txt", fileMode, g.evil())
		g.wrong("forged: deliverables in a plan")
	case 3:
		_, dir := g.objects.at(tree, task+"/reviews")
		for _, e := range g.objects.entries(dir) {
			tree = g.objects.set(tree, task+"/reviews/"+e.name, "", "")
		}
		if dir == "" {
			return nil
		}
		g.wrong("forged: reviews are gone")
	case 4:
		tree = g.objects.set(tree, task+"/reviews/r9-v1-100-Eve/APPROVED.md", fileMode, g.evil())
		if g.chance(50) {
			tree = g.objects.set(tree, task+"/reviews/r9-v1-100-Eve/review.json", fileMode, g.objects.blob("{}\n"))
		}
		g.wrong("forged: an approval")
	case 5:
		_, dir := g.objects.at(tree, task+"/artifacts/v1/files")
		if dir == "" {
			return nil
		}
		tree = g.objects.set(tree, task+"/artifacts/v1/files/"+g.objects.entries(dir)[0].name, fileMode,
			g.objects.blob("evil "+fmt.Sprint(g.Uint32())))
		g.wrong("forged: other files of a version")
	case 6:
		tree = g.objects.edit(tree, "", func(all []entry) []entry {
			return put(all, entry{fileMode, task + "/reviews/r9-v1-100-Eve/APPROVED.md", g.evil()})
		})
		g.wrong("forged: a name with slashes in a plan")
	case 7:
		_, dir := g.objects.at(tree, task+"/artifacts/v1/files")
		if dir == "" {
			return nil
		}
		tree = g.objects.edit(tree, task+"/artifacts/v1", func(all []entry) []entry {
			return append([]entry{{dirMode, "files", g.objects.tree([]entry{{fileMode, g.objects.entries(dir)[0].name,
				g.evil()}})}}, all...)
		})
		g.wrong("forged: files twice")
	case 8:
		parents = append(parents, pick(g, [][]string{{g.known()}, {pick(g, g.plans[ref])}, {tip},
			{pick(g, g.plans["theirs refs/workflow/WFS-page"])}})...)
		message = "join\n\nWf-Event: sync"
		g.wrong("forged: a join")
	default:
		parents = []string{g.known()}
		g.wrong("forged: another history")
	}
	id := g.objects.commit(tree, parents, message)
	if g.chance(30) {
		g.made = append(g.made, id)
	}
	return []move{{ref: ref, next: id}}
}

func (g *generator) planRenamed() []move {
	ref := g.planRef()
	g.wrong("a plan under another name")
	return []move{{ref: pick(g, []string{"refs/workflow/WFS-other", "refs/workflow/WFS-page-002",
		"refs/workflow/x/WFS-page", "refs/workflow/WFS-SITE"}), next: pick(g, g.plans[ref])}}
}

func (g *generator) policyForged() []move {
	tip := g.at.oracle.refs["refs/workflow/policy"]
	var parents []string
	var tree string
	if tip != "" {
		parents, tree = []string{tip}, g.tree(tip)
	} else {
		tree = g.tree(g.plans["refs/workflow/policy"][0])
	}
	message := "policy: something\n\nWf-Event: policy"
	switch g.IntN(4) {
	case 0:
		tree = g.objects.set(tree, pick(g, []string{"deliverables/evil.txt", "deliverables/WFS-page/bundle/evil.txt", "x",
			"waivers/x"}), fileMode, g.evil())
		g.wrong("a policy with files")
	case 1:
		tree = g.objects.edit(tree, "", func(all []entry) []entry {
			return put(all, entry{fileMode, "deliverables/evil.txt", g.evil()})
		})
		g.wrong("a policy with a name with slashes")
	case 2:
		parents = append(parents, g.known())
		g.wrong("a policy that comes from any commit")
	default:
		tree, message = g.tree(g.known()), "x"
		g.wrong("a policy that is none")
	}
	id := g.objects.commit(tree, parents, message)
	g.made = append(g.made, id)
	return []move{{ref: "refs/workflow/policy", next: id}}
}

func (g *generator) claimRef() string {
	return "refs/workflow-claims/WFS-page/" + pick(g, []string{"PAGE-1", "PAGE-2", "CHECK-PAGE-1"})
}

func (g *generator) claim() []move {
	g.op("claim")
	text, _ := json.Marshal(map[string]any{
		"task_id": "PAGE-1", "agent": "Eve", "session": "s", "host": "h", "pid": 0, "started": "2026-03-04T05:06:07Z",
		"expires": "2026-03-04T06:06:07Z", "number": g.IntN(1000),
	})
	return []move{{ref: "refs/workflow-claims/WFS-page/PAGE-1", next: g.objects.blob(string(text) + "\n")}}
}

func (g *generator) claimForged() []move {
	id := g.target()
	what := "commit"
	switch g.IntN(6) {
	case 0:
		id, what = g.tree(id), "tree"
	case 1:
		id, what = g.objects.tag("commit", id, "t"), "tag"
	case 2:
		id, what = g.objects.blob(strings.Repeat("evil ", 20000)), "large blob"
	}
	g.wrong("a claim that is a %s", what)
	return []move{{ref: g.claimRef(), next: id}}
}

// otherRef moves a ref that is neither a branch, nor a tag, nor ours.
func (g *generator) otherRef() []move {
	ref := pick(g, []string{
		"refs/notes/commits", "refs/foo/x", "refs/pull/1/head", "refs/stash", "refs/remotes/origin/main",
		"refs/workflow-other/x", "refs/for/main", "refs/workflow-damaged/WFS-page/123456789012",
		"refs/workflow-archive/WFS-page", "refs/workflow-archive/WFS-nothing", "refs/workflow-remotes/origin/WFS-page",
		"refs/workflow-remotes/origin/policy",
	})
	id := g.target()
	if strings.HasPrefix(ref, "refs/workflow-remotes/") && g.chance(60) {
		id = pick(g, g.plans["theirs refs/workflow/WFS-page"])
	}
	g.op("%s", ref)
	if g.chance(20) {
		ref, id = "refs/replace/"+pick(g, g.loose), g.evil()
		g.wrong("a replacement")
	}
	return []move{{ref: ref, next: id}}
}

func (g *generator) remove() []move {
	var refs []string
	for ref := range g.at.oracle.refs {
		if g.at == g.client && strings.HasPrefix(ref, "refs/workflow/") {
			continue // a client's hook can't tell this from git pack-refs
		}
		if ref != "refs/heads/main" && (!g.legal || strings.HasPrefix(ref, "refs/tags/") ||
			strings.HasPrefix(ref, "refs/heads/")) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	slices.Sort(refs)
	ref := pick(g, refs)
	g.op("remove a ref")
	if strings.HasPrefix(ref, "refs/workflow/") {
		g.wrong("a plan's ref is gone")
	}
	return []move{{ref: ref}}
}
