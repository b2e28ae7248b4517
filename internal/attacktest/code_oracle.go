package attacktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// codeOracle is the slow checker of code that lands as approved changes. It tries every sequence of approved changes,
// with git's own merge-file and merge-tree, and looks at no message to find out what is legal.
type codeOracle struct {
	*oracle
	git   *plumbing
	known struct { // by the tips of the plans
		key     string
		changes []*codeChange
	}
	full    map[string]files // by tree
	reached map[string]map[string]bool
}

// files are what a tree has, mode and id by path. A path that a tree has twice has both.
type files map[string]string

// A codeChange is one version of a task that changes the repository.
type codeChange struct {
	plan, task, version string
	place               int // among the tasks of all plans
	a, b                files
	base                files // the tree that the version was made on
	now, ever           bool  // approved; or approved once
}

func (c *codeChange) String() string { return c.plan + " " + c.task + " " + c.version }

// isCode reports whether `src/**` protects a path, in any spelling that a file system takes for it: also the attributes
// and the submodules at the top.
func isCode(p, mode string) bool {
	atTop := func(name string) bool { return !strings.ContainsAny(p, "/\\") && concernsRoot(p, name, mode) }
	return atTop(".gitattributes") || atTop(".gitmodules") ||
		concernsRoot(p, "src", mode) && (p != "src" || mode == "120000" || mode == "160000") &&
			!strings.HasPrefix(p, "src/gen/")
}

func (f files) protected() files {
	own := files{}
	for p, what := range f {
		if mode, _, _ := strings.Cut(what, " "); isCode(p, mode) {
			own[p] = what
		}
	}
	return own
}

func (f files) key() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(f)) {
		b.WriteString(f[p] + " " + p + "\x00")
	}
	return b.String()
}

// of returns all files of a commit or tree.
func (o *codeOracle) of(id string) files {
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

// changes returns the versions of all plans, in the order of their plans.
func (o *codeOracle) changes() []*codeChange {
	var refs []string
	for ref, id := range o.refs {
		if strings.HasPrefix(ref, "refs/workflow/WFS-") {
			refs = append(refs, ref+" "+id)
		}
	}
	slices.Sort(refs)
	key := strings.Join(refs, "\n")
	if o.known.key == key {
		return o.known.changes
	}
	var all []*codeChange
	for _, line := range refs {
		ref, tip, _ := strings.Cut(line, " ")
		all = append(all, o.changesOf(path.Base(ref), tip, len(all))...)
	}
	o.known.key, o.known.changes = key, all
	return all
}

func (o *codeOracle) changesOf(id, tip string, place int) (all []*codeChange) {
	_, h, _ := o.parsed(tip)
	var doc struct {
		Tasks []struct {
			ID string `json:"task_id"`
		}
	}
	_ = json.Unmarshal(o.file(tip, "plan.json"), &doc)
	for i, t := range doc.Tasks {
		for _, fan := range o.entries(second(o.at(h["tree"][0], "tasks"))) {
			for _, v := range o.entries(second(o.at(fan.id, t.ID+"/artifacts"))) {
				c := &codeChange{plan: id, task: t.ID, version: v.name, place: place + i, a: files{}, b: files{}}
				for side, in := range map[string]files{"files/a": c.a, "files/b": c.b} {
					_, tree := o.at(v.id, side)
					maps.Copy(in, o.of(tree))
				}
				var artifact struct{ Base struct{ Tree string } }
				_ = json.Unmarshal(o.objects.known[second(o.at(v.id, "artifact.json"))].body, &artifact)
				c.base = o.of(artifact.Base.Tree)
				c.now, _ = o.verdict(h["tree"][0], t.ID, v.name)
				for commit := range o.history(tip) {
					_, then, _ := o.parsed(commit)
					yes, _ := o.verdict(then["tree"][0], t.ID, v.name)
					c.ever = c.ever || yes
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// step applies a change to what is there, or takes it back. It is refused if some path conflicts, and a change that is
// taken back must go back at every path. An exact step merges nothing.
func (o *codeOracle) step(s files, c *codeChange, back, exact bool) (files, bool) {
	from, to := c.a, c.b
	if back {
		from, to = c.b, c.a
	}
	next, touched := maps.Clone(s), false
	for _, p := range union(from, to) {
		mode, _, _ := strings.Cut(cmp.Or(from[p], to[p]), " ")
		if !isCode(p, mode) {
			continue
		}
		got, ok := o.git.merge(from[p], s[p], to[p])
		switch {
		case !ok, back && got == s[p], exact && s[p] != from[p] && s[p] != to[p]:
			return nil, false
		case got == "":
			delete(next, p)
		default:
			next[p] = got
		}
		touched = true
	}
	return next, touched && !clash(next)
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

// forward applies a change, unless a version of the task is there already: two versions of a task are not there at a
// time, unless the later one was made on the earlier one.
func (o *codeOracle) forward(s files, c *codeChange, exact bool) (files, bool) {
	next, ok := o.step(s, c, false, exact)
	if !ok || maps.Equal(next, s) {
		return next, ok
	}
	for _, have := range o.changes() {
		if have.plan != c.plan || have.task != c.task || !have.ever {
			continue
		}
		if _, there := o.step(s, have, true, false); !there {
			continue
		}
		if _, holds := o.step(c.base.protected(), have, true, false); have == c || !holds {
			return nil, false
		}
	}
	return next, true
}

// A way says which sequences of changes count.
type way struct{ back, exact, now bool }

// reach returns the keys of all states that some sequence of approved changes yields.
func (o *codeOracle) reach(from files, w way) map[string]bool {
	memo := fmt.Sprint(w, o.known.key, from.key())
	if got := o.reached[memo]; got != nil {
		return got
	}
	seen := map[string]bool{from.key(): true}
	for queue := []files{from}; len(queue) > 0; {
		s := queue[0]
		queue = queue[1:]
		for _, c := range o.changes() {
			if !c.ever || w.now && !c.now && !w.back {
				continue
			}
			var next files
			var ok bool
			if w.back {
				next, ok = o.step(s, c, true, w.exact)
			} else {
				next, ok = o.forward(s, c, w.exact)
			}
			if ok && !seen[next.key()] {
				seen[next.key()] = true
				queue = append(queue, next)
			}
		}
	}
	o.reached[memo] = seen
	return seen
}

// standIns returns the parent of a commit; of a merge, the parents folded with git merge-file, and what git merge makes
// of them. If that conflicts in files that are not protected alone, people mend those by hand.
func (o *codeOracle) standIns(c string) []files {
	_, h, _ := o.parsed(c)
	parents := h["parent"]
	switch len(parents) {
	case 0:
		return []files{{}}
	case 1:
		return []files{o.of(parents[0]).protected()}
	}
	var all []files
	if got, ok := o.fold(parents, files.protected); ok {
		all = append(all, got)
	}
	if len(parents) > 2 { // git's octopus knows no renames
		return all
	}
	if tree, conflicts := o.git.mergeTree(parents[0], parents[1]); tree != "" &&
		!slices.ContainsFunc(conflicts, func(p string) bool { return isCode(p, "") }) {
		all = append(all, o.of(tree).protected())
	}
	return all
}

// fold merges commits one after the other, path by path.
func (o *codeOracle) fold(parents []string, of func(files) files) (files, bool) {
	s := of(o.of(parents[0]))
	for i, p := range parents[1:] {
		base := files{}
		// The first is as good as any other; git's own merge has another chance.
		bases := o.bases(parents[0], p)
		for _, before := range parents[1 : 1+i] {
			bases = append(bases, o.bases(before, p)...)
		}
		slices.SortFunc(bases, func(a, b string) int { return len(o.history(b)) - len(o.history(a)) })
		if len(bases) > 0 {
			base = of(o.of(bases[0]))
		}
		theirs, next := of(o.of(p)), files{}
		for _, name := range union(s, base, theirs) {
			got, ok := o.git.merge(base[name], s[name], theirs[name])
			if !ok {
				return nil, false
			}
			if got != "" {
				next[name] = got
			}
		}
		if clash(next) {
			return nil, false
		}
		s = next
	}
	return s, true
}

// overturned reports whether a commit has a version that was approved once and is not any more.
func (o *codeOracle) overturned(commit string) bool {
	return commit != "" && slices.ContainsFunc(o.changes(), func(c *codeChange) bool {
		_, there := o.step(o.of(commit).protected(), c, true, false)
		return c.ever && !c.now && there
	})
}

// A judgement of a commit.
type judgement struct {
	legal bool // some sequence of changes that were approved once leads here
	today bool // and all of those that are applied are approved still
	plain bool // and the message names them in the order of the plan, or no path needs a merge
	why   string
}

// judge judges a commit by what its parents have.
func (o *codeOracle) judge(c string) (j judgement) {
	o.changes()
	_, h, message := o.parsed(c)
	own := o.of(c).protected()
	single := len(h["parent"]) < 2
	for _, what := range own {
		if strings.Contains(what, " and ") {
			return judgement{why: "a path is there twice"}
		}
	}
	ins := o.standIns(c)
	if len(ins) == 0 {
		return judgement{why: "a merge that git can't make"}
	}
	for _, s := range ins {
		has := func(w way) bool { return o.reach(s, w)[own.key()] }
		j.legal = j.legal || has(way{}) || single && has(way{back: true})
		j.today = j.today || has(way{now: true}) || single && has(way{back: true})
		j.plain = j.plain || has(way{now: true, exact: true}) || single && has(way{back: true, exact: true}) ||
			o.named(s, own, message, single)
	}
	j.plain = j.plain && j.today
	if !j.legal {
		var all []string
		for _, p := range union(ins[0], own) {
			if was := ins[0][p]; was != own[p] {
				all = append(all, fmt.Sprintf("%q from %.13s to %.13s", p, was, own[p]))
			}
		}
		j.why = "no sequence of approved changes: " + strings.Join(all, ", ")
	}
	return j
}

var namedIn = regexp.MustCompile(`(?m)^\s*Wf-Plan: (\S+)\n\s*Wf-Task: (\S+)\n\s*Wf-Artifact: (\S+)$`)

// named reports whether the changes that a message names, in the order of their plans, lead from one state to another.
func (o *codeOracle) named(from, to files, message string, single bool) bool {
	var all []*codeChange
	for _, c := range o.changes() {
		if c.ever && slices.ContainsFunc(namedIn.FindAllStringSubmatch(message, -1), func(m []string) bool {
			return m[1] == c.plan && m[2] == c.task && m[3] == c.version
		}) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return false
	}
	s, ok := from, true
	for _, c := range all {
		if s, ok = o.forward(s, c, false); !ok || !c.now {
			break
		}
	}
	if ok && maps.Equal(s, to) {
		return true
	}
	s, ok = from, single
	for _, c := range slices.Backward(all) {
		if !ok {
			break
		}
		s, ok = o.step(s, c, true, false)
	}
	return ok && maps.Equal(s, to)
}
