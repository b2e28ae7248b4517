package attacktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// lineOracle is the slow checker of protected code. It knows no merge and no order of changes: it counts lines. Of
// every commit it asks whether each protected line, mode, link and path is there as often as the exempt history and
// whole approved versions have it, and of every tip, against what the branch had, who took away what is gone.
//
// It reads objects as git cat-file prints them, and compares trees path by path, as git diff --no-renames does. That
// suffices because every line that a version adds in these worlds is like no other.
type lineOracle struct {
	*oracle
	git   *plumbing
	stage *codeStage
	full  map[string]files         // by tree
	facts map[string]*facts        // by policy and the tips of the plans
	plans map[string][]*codeChange // by plan and tip
	above map[string]map[string]bool
}

func newLineOracle(o *objects, git *plumbing, s *codeStage) *lineOracle {
	return &lineOracle{oracle: &oracle{objects: o}, git: git, stage: s, full: map[string]files{},
		facts: map[string]*facts{}, plans: map[string][]*codeChange{}, above: map[string]map[string]bool{}}
}

// history returns a commit and all its ancestors. Nobody may change the map.
func (o *lineOracle) history(commit string) map[string]bool {
	have, ok := o.above[commit]
	if !ok {
		have = o.oracle.history(commit)
		o.above[commit] = have
	}
	return have
}

// files are what a tree has, mode and id by path. A path that a tree has twice has both.
type files map[string]string

func (f files) key() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(f)) {
		b.WriteString(f[p] + " " + p + "\x00")
	}
	return b.String()
}

// A codeChange is one version of a task that changes the repository.
type codeChange struct {
	plan, task, version string
	n                   int
	a, b                files
	base                files // the tree that the version was made on
	now, ever           bool  // approved; or approved once
	undoes              string
	net                 items       // what it adds to the exempt history, with those of its task that it was made on
	on                  *codeChange // the newest of those
	whole               *codeChange // with the files that are not protected; nil for itself
}

func (c *codeChange) String() string { return c.plan + " " + c.task + " " + c.version }

func (c *codeChange) key() string { return c.plan + " " + c.task }

// items count what files have: lines, and as lines of a kind of their own paths, modes, links and submodules.
type items map[string]int

func (c items) add(other items, times int) {
	for k, n := range other {
		if c[k] += n * times; c[k] == 0 {
			delete(c, k)
		}
	}
}

// items returns what files have.
func (o *lineOracle) items(f files) items {
	all := items{}
	for p, what := range f {
		all["path "+p]++
		all["entry "+p+" "+o.kind(what)]++
		if isRegular(what) {
			for line := range strings.Lines(o.text(what)) {
				all["line "+line]++
			}
		}
	}
	return all
}

// kind returns the mode of a file, and all of what is none.
func (o *lineOracle) kind(what string) string {
	if isRegular(what) {
		return what[:6]
	}
	return what
}

func (o *lineOracle) text(what string) string { return string(o.known[what[7:]].body) }

// of returns all files of a commit or tree.
func (o *lineOracle) of(id string) files {
	if _, h, _ := o.parsed(id); len(h["tree"]) > 0 {
		id = h["tree"][0]
	}
	if have, ok := o.full[id]; ok {
		return have
	}
	all := files{}
	o.files(id, "", 0, func(p string, e entry) {
		if all[p] != "" {
			all[p] += " and "
		}
		all[p] += e.mode + " " + e.id
	})
	o.full[id] = all
	return all
}

// A pattern is one of the policy's: its directories and names, and whether it is an exception.
type pattern struct {
	parts  []string
	except bool
}

func patternOf(text string) pattern {
	rest, except := strings.CutPrefix(text, "!")
	return pattern{strings.Split(rest, "/"), except}
}

// folded returns the names of a path as some file system would have them.
func folded(p string) []string {
	names := strings.Split(strings.ReplaceAll(p, `\`, "/"), "/")
	for i, name := range names {
		name, _, _ = strings.Cut(strings.ToLower(hfsIgnores.Replace(name)), ":")
		names[i] = strings.TrimRight(name, ". ")
	}
	return names
}

// matches reports whether a pattern matches a path, and whether it matches what may be below it.
func (t pattern) matches(names []string) (whole, above bool) {
	for i, part := range t.parts {
		switch {
		case i == len(names):
			return false, true
		case part == "**":
			return true, true
		case part != "*" && part != names[i]:
			return false, false
		}
	}
	return len(names) == len(t.parts), false
}

// protects reports whether the policy protects what is at a path: the files that the patterns match, links and
// submodules in place of a directory on the way to them, and what tells git how to read them.
func protects(patterns []pattern, p, what string) bool {
	names := folded(p)
	last := names[len(names)-1]
	if last == ".gitattributes" || last == ".gitmodules" {
		dir := names[:len(names)-1]
		return slices.ContainsFunc(patterns, func(t pattern) bool {
			_, above := t.matches(dir)
			return !t.except && (len(dir) == 0 || above)
		})
	}
	yes := false
	for _, t := range patterns {
		whole, above := t.matches(names)
		if whole || !t.except && above && (strings.HasPrefix(what, "120000") || strings.HasPrefix(what, "160000")) {
			yes = !t.except
		}
	}
	return yes
}

func (o *lineOracle) protected(f files, patterns []pattern) files {
	own := files{}
	for p, what := range f {
		if protects(patterns, p, what) {
			own[p] = what
		}
	}
	return own
}

// changes returns the versions of a plan.
func (o *lineOracle) changes(id, tip string) (all []*codeChange) {
	if have, ok := o.plans[id+tip]; ok {
		return have
	}
	_, h, _ := o.parsed(tip)
	var doc struct {
		Tasks []struct {
			ID string `json:"task_id"`
		}
	}
	_ = json.Unmarshal(o.file(tip, "plan.json"), &doc)
	for _, t := range doc.Tasks {
		for _, fan := range o.entries(second(o.at(h["tree"][0], "tasks"))) {
			for _, v := range o.entries(second(o.at(fan.id, t.ID+"/artifacts"))) {
				c := &codeChange{plan: id, task: t.ID, version: v.name, a: files{}, b: files{}}
				fmt.Sscanf(v.name, "v%d", &c.n)
				for side, in := range map[string]files{"files/a": c.a, "files/b": c.b} {
					_, tree := o.at(v.id, side)
					maps.Copy(in, o.of(tree))
				}
				if len(c.a)+len(c.b) == 0 {
					continue // a plan
				}
				var artifact struct{ Base struct{ Tree string } }
				_ = json.Unmarshal(o.known[second(o.at(v.id, "artifact.json"))].body, &artifact)
				c.base = o.of(artifact.Base.Tree)
				c.undoes = o.stage.undoes[id]
				c.now = o.inForce(h["tree"][0], t.ID, v.name)
				for commit := range o.history(tip) {
					_, then, _ := o.parsed(commit)
					c.ever = c.ever || o.inForce(then["tree"][0], t.ID, v.name)
				}
				all = append(all, c)
			}
		}
	}
	o.plans[id+tip] = all
	return all
}

// inForce reports whether enough people approve a version, and nobody rejects it.
func (o *lineOracle) inForce(planTree, task, version string) bool {
	people := 0
	for who, yes := range o.words(planTree, task, version) {
		if !yes {
			return false
		}
		if who != "checks" {
			people++
		}
	}
	return people >= o.stage.quorum
}

// words returns what each reviewer said last of a version.
func (o *lineOracle) words(planTree, task, version string) map[string]bool {
	newest, word := map[string]int{}, map[string]bool{}
	for _, fan := range o.entries(second(o.at(planTree, "tasks"))) {
		_, dir := o.at(fan.id, task+"/reviews")
		for _, e := range o.entries(dir) {
			m := reviewDir.FindStringSubmatch(e.name)
			if m == nil || "v"+m[2] != version {
				continue
			}
			n := 0
			fmt.Sscan(m[1], &n)
			if n > newest[m[4]] {
				newest[m[4]] = n
				mode, _ := o.at(e.id, "APPROVED.md")
				word[m[4]] = mode != ""
			}
		}
	}
	return word
}

// facts are what is approved, as some plans have it, and what the policy protects.
type facts struct {
	patterns []pattern
	versions []*codeChange // approved once, and no undo
	undos    []*codeChange // approved once
	tasks    map[string][]*codeChange
	since    items
	marks    map[string][]string        // the items that one task alone changes, by task
	shared   map[string][]string        // the tasks that change an item, by item
	at       map[string]map[string]bool // where a line may be
	order    map[string][][]string      // the unique lines of each text that is known at a path
	checked  map[string]checked
	undone   map[string]map[string]int
}

// checked is what the lines of a commit say: what is wrong with them, and which version of each task is there. There
// is none where lines can't tell.
type checked struct {
	why  string
	have map[string]*codeChange // nil for a task that has not landed
}

// none stands for no version of a task, where one is needed.
var none = &codeChange{version: "nothing"}

// known returns the facts as of refs.
func (o *lineOracle) knownAs(refs map[string]string) *facts {
	var all []string
	for ref, id := range refs {
		if strings.HasPrefix(ref, "refs/workflow/") {
			all = append(all, ref+" "+id)
		}
	}
	slices.Sort(all)
	key := strings.Join(all, "\n")
	if f := o.facts[key]; f != nil {
		return f
	}
	patterns := o.stage.protects(refs["refs/workflow/policy"])
	f := &facts{tasks: map[string][]*codeChange{}, marks: map[string][]string{},
		shared: map[string][]string{}, at: map[string]map[string]bool{}, order: map[string][][]string{},
		checked: map[string]checked{}, undone: map[string]map[string]int{}, patterns: patterns}
	for _, line := range all {
		ref, tip, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(ref, "refs/workflow/WFS-") {
			continue
		}
		for _, given := range o.changes(path.Base(ref), tip) {
			c := *given
			c.a, c.b, c.base = o.protected(c.a, patterns), o.protected(c.b, patterns), o.protected(c.base, patterns)
			c.whole = given
			switch {
			case !c.ever:
			case c.undoes != "":
				f.undos = append(f.undos, &c)
			default:
				f.versions = append(f.versions, &c)
				f.tasks[c.key()] = append(f.tasks[c.key()], &c)
			}
		}
	}
	o.count(f)
	o.facts[key] = f
	return f
}

// count finds out what each version adds and takes away, and where.
func (o *lineOracle) count(f *facts) {
	start := o.protected(o.of(o.stage.first), f.patterns)
	f.since = o.items(start)
	moved := map[string][]string{}
	var texts []files
	for _, c := range f.versions {
		c.net = o.items(c.b)
		c.net.add(o.items(c.a), -1)
		base := o.items(c.base)
		for _, before := range f.tasks[c.key()] {
			if before.n < c.n && before.version != c.version && before.net.in(base, f.since) {
				c.on = before
			}
		}
		if c.on != nil {
			c.net.add(c.on.net, 1)
		}
		for p, was := range c.a {
			for q, is := range c.b {
				if c.b[p] == "" && c.a[q] == "" && isRegular(was) && isRegular(is) && o.alike(was, is) {
					moved[p], moved[q] = append(moved[p], q), append(moved[q], p)
				}
			}
		}
		texts = append(texts, c.b)
	}
	for task, versions := range f.tasks {
		touched := map[string]bool{}
		for _, c := range versions {
			for item := range c.net {
				touched[item] = true
			}
		}
		for item := range touched {
			f.shared[item] = append(f.shared[item], task)
		}
	}
	for item, tasks := range f.shared {
		if len(tasks) == 1 {
			f.marks[tasks[0]] = append(f.marks[tasks[0]], item)
		}
	}
	place := func(p, line string) {
		if f.at[line] == nil {
			f.at[line] = map[string]bool{}
		}
		for queue := []string{p}; len(queue) > 0; queue = queue[1:] {
			if !f.at[line][queue[0]] {
				f.at[line][queue[0]] = true
				queue = append(queue, moved[queue[0]]...)
			}
		}
	}
	for _, all := range append(texts, start) {
		for p, what := range all {
			if !isRegular(what) {
				continue
			}
			seen, rank := map[string]int{}, []string{}
			for line := range strings.Lines(o.text(what)) {
				if seen[line]++; seen[line] == 1 {
					rank = append(rank, line)
				}
				if f.since["line "+line] > 0 || len(f.shared["line "+line]) > 0 {
					place(p, line)
				}
			}
			rank = slices.DeleteFunc(rank, func(line string) bool { return seen[line] > 1 })
			for q := range reachable(p, moved) {
				f.order[q] = append(f.order[q], rank)
			}
		}
	}
	f.dropMovable()
}

func reachable(p string, moved map[string][]string) map[string]bool {
	seen := map[string]bool{}
	for queue := []string{p}; len(queue) > 0; queue = queue[1:] {
		if !seen[queue[0]] {
			seen[queue[0]] = true
			queue = append(queue, moved[queue[0]]...)
		}
	}
	return seen
}

// in reports whether a tree's items have what a version adds to the exempt history.
func (c items) in(tree, since items) bool {
	adds := false
	for item, n := range c {
		if n > 0 {
			if adds = true; tree[item] < since[item]+n {
				return false
			}
		}
	}
	return adds
}

// alike reports whether two files share half of their lines, as git's renames do.
func (o *lineOracle) alike(a, b string) bool {
	count, common, most := map[string]int{}, 0, 0
	for line := range strings.Lines(o.text(a)) {
		count[line]++
		most++
	}
	n := 0
	for line := range strings.Lines(o.text(b)) {
		if n++; count[line] > 0 {
			count[line]--
			common++
		}
	}
	return common*2 >= max(most, n)
}

// dropMovable forgets the order of lines that an approved version moved: two known texts of a path disagree about them.
func (f *facts) dropMovable() {
	for p, texts := range f.order {
		for {
			worst, count := "", map[string]int{}
			for i, a := range texts {
				for _, b := range texts[:i] {
					for _, line := range disordered(a, b) {
						if count[line]++; count[line] > count[worst] {
							worst = line
						}
					}
				}
			}
			if worst == "" {
				break
			}
			for i := range texts {
				texts[i] = slices.DeleteFunc(slices.Clone(texts[i]), func(line string) bool { return line == worst })
			}
		}
		f.order[p] = texts
	}
}

// disordered returns the lines of a that stand before or after another one than in b: all but the longest run in order.
func disordered(a, b []string) []string {
	rank := make(map[string]int, len(b))
	for i, line := range b {
		rank[line] = i + 1
	}
	var common []string
	inOrder := true
	for _, line := range a {
		if rank[line] > 0 {
			inOrder = inOrder && (len(common) == 0 || rank[common[len(common)-1]] < rank[line])
			common = append(common, line)
		}
	}
	if inOrder {
		return nil
	}
	length, before := make([]int, len(common)), make([]int, len(common))
	best := 0
	for i := range common {
		length[i], before[i] = 1, -1
		for j := range i {
			if rank[common[j]] < rank[common[i]] && length[j] >= length[i] {
				length[i], before[i] = length[j]+1, j
			}
		}
		if length[i] > length[best] {
			best = i
		}
	}
	keep := map[int]bool{}
	for i := best; i >= 0; i = before[i] {
		keep[i] = true
	}
	var out []string
	for i, line := range common {
		if !keep[i] {
			out = append(out, line)
		}
	}
	return out
}

// check asks whether a tree's protected files are the exempt history and whole versions.
func (o *lineOracle) check(f *facts, commit string) checked {
	_, h, _ := o.parsed(commit)
	tree := cmp.Or(append(h["tree"], "")...)
	if have, ok := f.checked[tree]; ok {
		return have
	}
	result := o.checkFiles(f, o.protected(o.of(commit), f.patterns))
	f.checked[tree] = result
	return result
}

func (o *lineOracle) checkFiles(f *facts, own files) (c checked) {
	for p, what := range own {
		if strings.Contains(what, " and ") {
			return checked{why: "a path is there twice: " + p}
		}
	}
	have := o.items(own)
	for item, n := range have {
		if n != f.since[item] && len(f.shared[item]) == 0 {
			return checked{why: fmt.Sprintf("%q is there %d times, and %d times before", item, n, f.since[item])}
		}
	}
	for p, what := range own {
		if !isRegular(what) {
			continue
		}
		var text []string
		for line := range strings.Lines(o.text(what)) {
			if !f.at[line][p] {
				return checked{why: fmt.Sprintf("line %q is not where it was approved, but in %s", line, p)}
			}
			text = append(text, line)
		}
		for _, known := range f.order[p] {
			if out := disordered(text, known); len(out) > 0 {
				return checked{why: fmt.Sprintf("%s has line %q elsewhere than approved", p, out[0])}
			}
		}
	}
	// Which versions are there? Only the items that no other task changes can tell.
	could := map[string][]*codeChange{}
	for task, versions := range f.tasks {
		for _, v := range append(slices.Clone(versions), none) {
			if !slices.ContainsFunc(f.marks[task], func(item string) bool {
				return have[item] != max(0, f.since[item]+v.net[item])
			}) {
				could[task] = append(could[task], v)
			}
		}
		if len(could[task]) == 0 {
			for _, item := range f.marks[task] {
				if have[item] != f.since[item] {
					return checked{why: fmt.Sprintf("a part of %s: %q %d times", task, item, have[item])}
				}
			}
			return checked{why: "a part of " + task}
		}
	}
	for _, item := range slices.Sorted(maps.Keys(f.shared)) {
		least, most := f.since[item], f.since[item]
		for _, task := range f.shared[item] {
			low, high := could[task][0].net[item], could[task][0].net[item]
			for _, v := range could[task] {
				low, high = min(low, v.net[item]), max(high, v.net[item])
			}
			least, most = least+low, most+high
		}
		if n := have[item]; n < least || n > max(0, most) {
			return checked{why: fmt.Sprintf("%q is there %d times, not %d to %d", item, n, max(0, least), max(0, most))}
		}
	}
	for item, n := range f.since {
		if len(f.shared[item]) == 0 && have[item] != n {
			return checked{why: fmt.Sprintf("%q is there %d times, and %d times before", item, have[item], n)}
		}
	}
	c.have = map[string]*codeChange{}
	for task, all := range could {
		if len(all) == 1 {
			c.have[task] = all[0]
		}
	}
	return c
}

// merged says what a merge lost or brought back: of each task, what one side changed must be there.
func (o *lineOracle) merged(f *facts, commit string) string {
	_, h, _ := o.parsed(commit)
	if len(h["parent"]) != 2 {
		return ""
	}
	bases := o.bases(h["parent"][0], h["parent"][1])
	if len(bases) == 0 || o.exempt(h["parent"][0]) != o.exempt(h["parent"][1]) {
		return ""
	}
	ours, theirs := o.check(f, h["parent"][0]), o.check(f, h["parent"][1])
	own := o.check(f, commit)
	for task := range f.tasks {
		b, x, y, is := o.check(f, bases[0]).have[task], ours.have[task], theirs.have[task], own.have[task]
		if slices.ContainsFunc(bases, func(c string) bool { return o.check(f, c).have[task] != b }) {
			continue // several bases that disagree
		}
		if b == nil || x == nil || y == nil || is == nil {
			continue
		}
		want := x
		if x == b || y != b && y.n > x.n {
			want = y
		}
		// What one side took back may be there all the same: it has landed once more.
		if is.n < want.n && o.undone(f, commit)[task] < want.n {
			return fmt.Sprintf("a merge has %s of %s instead of %s", is.version, task, want.version)
		}
	}
	return ""
}

func (o *lineOracle) exempt(c string) bool { return o.history(o.stage.first)[c] }

// undone returns the newest version of each task that an approved undo took back for good, in the history of a commit.
func (o *lineOracle) undone(f *facts, commit string) map[string]int {
	if have, ok := f.undone[commit]; ok {
		return have
	}
	_, h, _ := o.parsed(commit)
	floors := map[string]int{}
	for _, p := range h["parent"] {
		for task, n := range o.undone(f, p) {
			floors[task] = max(floors[task], n)
		}
	}
	if len(h["parent"]) == 1 && !o.exempt(commit) {
		was, is := o.check(f, h["parent"][0]), o.check(f, commit)
		for _, u := range f.undos {
			task, version, _ := strings.Cut(u.undoes, "@")
			if v := was.have[task]; was.why == "" && is.why == "" && v != nil && v.version == version &&
				is.have[task] == none && o.isUndo(f, u, h["parent"][0], commit) {
				floors[task] = max(floors[task], v.n)
			}
		}
	}
	f.undone[commit] = floors
	return floors
}

// isUndo reports whether a commit changes exactly what an undo changes.
func (o *lineOracle) isUndo(f *facts, u *codeChange, parent, c string) bool {
	was, is := o.protected(o.of(parent), f.patterns), o.protected(o.of(c), f.patterns)
	for _, p := range union(was, is, u.a, u.b) {
		want, ok := o.git.merge(u.a[p], was[p], u.b[p])
		if !ok || want != is[p] {
			return false
		}
	}
	return true
}

func union(all ...files) []string {
	paths := map[string]bool{}
	for _, f := range all {
		for p := range f {
			paths[p] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// takenBack says which version a commit takes back although the policy lets nobody.
func (o *lineOracle) takenBack(f *facts, commit string) string {
	_, h, _ := o.parsed(commit)
	if !o.stage.noRevert || len(h["parent"]) != 1 || o.exempt(commit) {
		return ""
	}
	was, is := o.check(f, h["parent"][0]).have, o.check(f, commit).have
	for task, v := range was {
		if v != none && is[task] != nil && is[task].n < v.n && o.undone(f, commit)[task] < v.n {
			return fmt.Sprintf("%s is taken back, and nobody may", v)
		}
	}
	return ""
}

// back says which version is there although an undo took it back for good.
func (o *lineOracle) back(f *facts, commit string) string {
	have := o.check(f, commit).have
	for task, floor := range o.undone(f, commit) {
		if v := have[task]; v != nil && v != none && v.n <= floor {
			return fmt.Sprintf("%s was undone for good, and is there again", v)
		}
	}
	return ""
}

// moved judges the tip that a ref gets, against what it had.
func (o *lineOracle) moved(f *facts, had, tip string) string {
	was := o.check(f, had).have
	for task, v := range o.check(f, tip).have {
		if v != none && !v.now && was[task] != nil && was[task] != v {
			return fmt.Sprintf("%s is not in force, and new here", v)
		}
	}
	return ""
}
