package attacktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oracle is the slow checker. It knows docs/format.md and git's trees and commits, and asks nobody else.
type oracle struct {
	*objects
	refs   map[string]string          // the repository's current refs
	before map[string]string          // and those before the push that is checked
	clean  map[string]bool            // commits found clean that a branch or tag had before
	states map[string]map[string]unit // by root and tree
	strict bool                       // of a clone, where one branch does not vouch for another
}

// A unit is what a tree has in one bundle, or at one other path that a checkout puts at, below or in place of a root.
type unit struct{ all string } // mode, id and path of each file

const gitattributes = "* -text -filter -ident -eol -working-tree-encoding\n"

var (
	bundleOf   = regexp.MustCompile(`^(.*)/(WFS-[^/]+)/bundle/(.+)$`)
	reviewDir  = regexp.MustCompile(`^r([1-9][0-9]*)-v([1-9][0-9]*)-([0-9]+)-(.+)$`)
	hfsIgnores = strings.NewReplacer("\u200c", "", "\u200d", "", "\u200e", "", "\u200f", "", "\u202a", "", "\u202b", "",
		"\u202c", "",
		"\u202d", "", "\u202e", "", "\u206a", "", "\u206b", "", "\u206c", "", "\u206d", "", "\u206e", "", "\u206f", "",
		"\ufeff", "", "\u017f", "s")
)

// concernsRoot reports whether some file system takes a path for a root or for something below it, or takes a link or
// submodule for a directory that contains the root.
func concernsRoot(p, root, mode string) bool {
	names := strings.Split(strings.ReplaceAll(p, `\`, "/"), "/")
	parts := strings.Split(root, "/")
	for i, part := range parts {
		if i == len(names) {
			return mode == "120000" || mode == "160000"
		}
		name, _, _ := strings.Cut(strings.ToLower(hfsIgnores.Replace(names[i])), ":")
		name = strings.TrimRight(name, ". ")
		short := len(part) > 8 && strings.HasPrefix(name, part[:6]+"~")
		if name != part && !short {
			return false
		}
	}
	return true
}

// files calls f for every file that a checkout writes. It joins names as they are, whatever they contain, and reports a
// repeated name each time.
func (o *oracle) files(tree, under string, depth int, f func(p string, e entry)) {
	for _, e := range o.entries(tree) {
		p := under + e.name
		if o.known[e.id].kind == "tree" && depth < 12 { // whatever the mode says
			o.files(e.id, p+"/", depth+1, f)
		} else {
			f(p, e)
		}
	}
}

// state returns the units of a commit.
func (o *oracle) state(commit string) map[string]unit {
	_, h, _ := o.parsed(commit)
	key := strings.Join(append(o.roots(), h["tree"]...), " ")
	if s, ok := o.states[key]; ok {
		return s
	}
	s := map[string]unit{}
	for _, tree := range h["tree"] {
		o.files(tree, "", 0, func(p string, e entry) {
			for _, root := range o.roots() {
				if !concernsRoot(p, root, e.mode) {
					continue
				}
				key := p
				if m := bundleOf.FindStringSubmatch(p); m != nil && m[1] == root {
					key = root + "/" + m[2] + "/bundle"
				}
				s[key] = unit{s[key].all + e.mode + " " + e.id + " " + p + "\x00"}
				break
			}
		})
	}
	o.states[key] = s
	return s
}

// roots returns the policy's roots.
func (o *oracle) roots() []string {
	var p struct{ Roots []struct{ Path string } }
	_ = json.Unmarshal(o.file(o.refs["refs/workflow/policy"], "policy.json"), &p)
	var roots []string
	for _, r := range p.Roots {
		roots = append(roots, r.Path)
	}
	if len(roots) == 0 {
		return []string{"deliverables"}
	}
	return roots
}

func (o *oracle) file(commit, path string) []byte {
	_, h, _ := o.parsed(commit)
	for _, tree := range h["tree"] {
		if _, id := o.at(tree, path); id != "" {
			return o.known[id].body
		}
	}
	return nil
}

func (o *oracle) records(dir string, v func() any) {
	for _, h := range []string{o.refs["refs/workflow/policy"]} {
		_, head, _ := o.parsed(h)
		for _, tree := range head["tree"] {
			_, id := o.at(tree, dir)
			for _, e := range o.entries(id) {
				_ = json.Unmarshal(o.known[e.id].body, v())
			}
		}
	}
}

func (o *oracle) retired(id string) bool {
	var all []*struct {
		PlanID string `json:"plan_id"`
	}
	o.records("retired", func() any {
		all = append(all, new(struct {
			PlanID string `json:"plan_id"`
		}))
		return all[len(all)-1]
	})
	for _, r := range all {
		if r.PlanID == id {
			return true
		}
	}
	return false
}

func (o *oracle) waived(mode, id, p string) bool {
	type waiver struct{ Path, Mode, OID string }
	var all []*waiver
	o.records("waivers", func() any { all = append(all, &waiver{}); return all[len(all)-1] })
	return slices.ContainsFunc(all, func(w *waiver) bool { return w.Path == p && w.Mode == mode && w.OID == id })
}

// history returns the commits and all their ancestors.
func (o *oracle) history(commits ...string) map[string]bool {
	seen := map[string]bool{}
	for len(commits) > 0 {
		c := commits[len(commits)-1]
		commits = commits[:len(commits)-1]
		if kind, h, _ := o.parsed(c); kind == "commit" && !seen[c] {
			seen[c] = true
			commits = append(commits, h["parent"]...)
		}
	}
	return seen
}

// verdict returns the verdict on a task's version in a plan's tree.
func (o *oracle) verdict(planTree, task, version string) (approved bool, scores []int) {
	newest, word := map[string]int{}, map[string]bool{}
	for _, fan := range o.entries(second(o.at(planTree, "tasks"))) {
		_, dir := o.at(fan.id, task+"/reviews")
		for _, e := range o.entries(dir) {
			m := reviewDir.FindStringSubmatch(e.name)
			if m == nil || "v"+m[2] != version {
				continue
			}
			n, _ := strconv.Atoi(m[1])
			score, _ := strconv.Atoi(m[3])
			scores = append(scores, score)
			if n > newest[m[4]] {
				newest[m[4]] = n
				mode, _ := o.at(e.id, "APPROVED.md")
				word[m[4]] = mode != ""
			}
		}
	}
	for _, yes := range word {
		if !yes {
			return false, scores
		}
	}
	return len(word) > 0, scores
}

func second(_, id string) string { return id }

// proven says what is wrong with a unit: "" if an approving review names each of its files, as of the plan commit that
// the manifest cites.
func (o *oracle) proven(name string, u unit) string {
	return o.approved(name, u, func(string) bool { return true })
}

// approved is proven, and asks that each version is approved still, but for those that a branch had before.
func (o *oracle) approved(name string, u unit, had func(version string) bool) string {
	var manifest string
	have := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(u.all, "\x00"), "\x00") {
		f := strings.SplitN(line, " ", 3)
		if o.waived(f[0], f[1], f[2]) {
			continue
		}
		m := bundleOf.FindStringSubmatch(f[2])
		switch {
		case m == nil || path.Clean(f[2]) != f[2] || !slices.Contains(o.roots(), m[1]):
			return "not in a bundle: " + f[2]
		case have[m[3]] != "":
			return "twice in one tree: " + f[2]
		case m[3] == "manifest.json" && f[0] == fileMode:
			manifest = f[1]
		}
		have[m[3]] = f[0] + " " + f[1]
	}
	if len(have) == 0 {
		return ""
	}
	delete(have, "manifest.json")
	if have[".gitattributes"] != "" && string(o.known[have[".gitattributes"][7:]].body) == gitattributes {
		delete(have, ".gitattributes")
	}
	var doc struct {
		PlanID     string `json:"plan_id"`
		PlanCommit string `json:"plan_commit"`
		Options    struct {
			Candidates bool `json:"include_candidates"`
		}
		Items []struct {
			TaskID  string `json:"task_id"`
			Version string `json:"approved_artifact_id"`
			Review  struct{ Score int }
			Files   []struct {
				Dest string `json:"dest_path"`
			}
		}
	}
	id := path.Base(path.Dir(name))
	tip := o.refs["refs/workflow/"+id]
	if err := json.Unmarshal(o.known[manifest].body, &doc); err != nil || doc.PlanID != id || doc.Options.Candidates {
		return "no manifest of this plan: " + name
	}
	if !o.history(tip)[doc.PlanCommit] {
		return "no commit of the plan: " + name
	}
	_, then, _ := o.parsed(doc.PlanCommit)
	_, today, _ := o.parsed(tip)
	for _, item := range doc.Items {
		approved, scores := o.verdict(then["tree"][0], item.TaskID, item.Version)
		if still, _ := o.verdict(today["tree"][0], item.TaskID, item.Version); !approved ||
			!still && !had(item.TaskID+" "+item.Version) {
			return fmt.Sprintf("%s %s is not approved: %s", item.TaskID, item.Version, name)
		}
		if !slices.Contains(scores, item.Review.Score) {
			return "nobody gave that score: " + name
		}
		for _, f := range item.Files {
			top, below, _ := strings.Cut(f.Dest, "/")
			found := ""
			for _, fan := range o.entries(second(o.at(then["tree"][0], "tasks"))) {
				if mode, blob := o.at(fan.id, item.TaskID+"/artifacts/"+item.Version+"/files/"+below); mode != "" {
					found = mode + " " + blob
				}
			}
			if !strings.HasSuffix(top, "_"+item.TaskID) || found == "" || have[f.Dest] != found {
				return "not the approved version: " + name + "/" + f.Dest
			}
			delete(have, f.Dest)
		}
	}
	for p := range have {
		return "approved by nobody: " + name + "/" + p
	}
	return ""
}

// bases returns the best common ancestors of two commits.
func (o *oracle) bases(a, b string) []string {
	of, both := o.history(b), []string{}
	for c := range o.history(a) {
		if of[c] {
			both = append(both, c)
		}
	}
	below := map[string]bool{}
	for _, c := range both {
		_, h, _ := o.parsed(c)
		for p := range o.history(h["parent"]...) {
			below[p] = true
		}
	}
	return slices.DeleteFunc(both, func(c string) bool { return below[c] })
}

// inherited reports whether each file of a unit is what merging the parents yields. Two sides may agree on most of a
// unit that only one of them completed.
func (o *oracle) inherited(c, name string) bool {
	_, h, _ := o.parsed(c)
	parents, own := h["parent"], o.state(c)[name]
	if len(parents) > 0 && !slices.ContainsFunc(parents, func(p string) bool { return o.state(p)[name] != own }) {
		return true
	}
	files := func(c string) map[string]string { // mode and id by path
		all := map[string]string{}
		for line := range strings.SplitSeq(o.state(c)[name].all, "\x00") {
			if f := strings.SplitN(line, " ", 3); len(f) == 3 {
				all[f[2]] += f[0] + " " + f[1] + " "
			}
		}
		return all
	}
	paths, has := map[string]bool{}, files(c)
	for _, commit := range append([]string{c}, parents...) {
		for p := range files(commit) {
			paths[p] = true
		}
	}
	yields := func(p, file string) bool {
		return !slices.ContainsFunc(parents, func(q string) bool {
			left := files(q)[file]
			if left == files(p)[file] {
				return false
			}
			bases := o.bases(p, q)
			return (len(bases) > 0 || left != "") &&
				!slices.ContainsFunc(bases, func(b string) bool { return files(b)[file] == left })
		})
	}
	for file := range paths {
		if !slices.ContainsFunc(parents, func(p string) bool { return files(p)[file] == has[file] && yields(p, file) }) {
			return false
		}
	}
	return true
}

// commit says what is wrong with one commit, given that its parents are clean: each unit must be proven or inherited.
func (o *oracle) commit(c string) string {
	_, h, _ := o.parsed(c)
	own, parents := o.state(c), h["parent"]
	names := map[string]bool{}
	for name := range own {
		names[name] = true
	}
	for _, p := range parents {
		for name := range o.state(p) {
			if o.sound(p, name) { // else nothing proved it, and removing it mends the tree
				names[name] = true
			}
		}
	}
	for name := range names {
		u, here := own[name]
		inherited := o.inherited(c, name)
		switch isBundle := strings.HasSuffix(name, "/bundle"); {
		case inherited:
		case !here && isBundle && !o.retired(path.Base(path.Dir(name))):
			return "a bundle is gone: " + name
		case here:
			if why := o.proven(name, u); why != "" {
				return why
			}
		}
	}
	return ""
}

// sound reports whether no tree on the way to a path is malformed.
func (o *oracle) sound(commit, name string) bool {
	_, h, _ := o.parsed(commit)
	return !slices.ContainsFunc(h["tree"], func(tree string) bool {
		for {
			if o.flawed(tree) {
				return true
			}
			dir, rest, below := strings.Cut(name, "/")
			if _, tree = o.at(tree, dir); !below || tree == "" {
				return false
			}
			name = rest
		}
	})
}

// after returns the checker of what some refs become. A commit that no ref had before is judged anew.
func (o *oracle) after(refs map[string]string) *oracle {
	var had []string
	for ref, id := range o.refs {
		if strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/") {
			had = append(had, o.peeled(id))
		}
	}
	next, alive := *o, o.history(had...)
	next.before, next.refs, next.clean = o.refs, refs, map[string]bool{}
	for c := range o.clean {
		if alive[c] {
			next.clean[c] = true
		}
	}
	return &next
}

// peeled returns the object that a tag, or a tag of tags, names.
func (o *oracle) peeled(id string) string {
	kind, h, _ := o.parsed(id)
	for depth := 0; kind == "tag" && depth < 20; depth++ {
		id = h["object"][0]
		kind, h, _ = o.parsed(id)
	}
	return id
}

// had returns what tells the versions that a ref had in a bundle's place before: they don't land, so a rejection of one
// of them stops nothing.
func (o *oracle) had(ref, name string) func(version string) bool {
	var versions []string
	was := o.peeled(o.before[ref])
	if kind, _, _ := o.parsed(was); kind == "commit" {
		versions = o.manifest(name, o.state(was)[name])
	}
	return func(version string) bool { return slices.Contains(versions, version) }
}

// manifest returns the versions that a unit's manifest names.
func (o *oracle) manifest(name string, u unit) (versions []string) {
	var doc struct {
		Items []struct {
			TaskID  string `json:"task_id"`
			Version string `json:"approved_artifact_id"`
		}
	}
	for line := range strings.SplitSeq(u.all, "\x00") {
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && f[2] == name+"/manifest.json" {
			_ = json.Unmarshal(o.known[f[1]].body, &doc)
		}
	}
	for _, item := range doc.Items {
		versions = append(versions, item.TaskID+" "+item.Version)
	}
	return versions
}

// carried reports whether a unit is unchanged since a commit that was clean before.
func (o *oracle) carried(c, name string, u unit, clean map[string]bool) bool {
	_, h, _ := o.parsed(c)
	return clean[c] || slices.ContainsFunc(h["parent"], func(p string) bool {
		return o.state(p)[name] == u && o.carried(p, name, u, clean)
	})
}

// brought reports whether one of the commits has a unit that it did not inherit.
func (o *oracle) brought(commits []string, name string, u unit) bool {
	return slices.ContainsFunc(commits, func(c string) bool { return o.state(c)[name] == u && !o.inherited(c, name) })
}

// vouched returns the commits that a ref may have without being judged again.
func (o *oracle) vouched(ref string) map[string]bool {
	if !o.strict || o.before[ref] == "" {
		return o.clean
	}
	own := o.history(o.peeled(o.before[ref]))
	maps.DeleteFunc(own, func(c string, _ bool) bool { return !o.clean[c] })
	return own
}

// check says what is wrong with the current branches and tags, and remembers the commits that it found clean.
func (o *oracle) check(only func(ref string) bool) string {
	for ref, id := range o.refs {
		if !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/tags/") || only != nil && !only(ref) {
			continue
		}
		id = o.peeled(id)
		kind, _, _ := o.parsed(id)
		if kind == "tree" {
			o.files(id, "", 0, func(p string, e entry) {
				for _, root := range o.roots() {
					if concernsRoot(p, root, e.mode) {
						kind = "a tag of a tree has " + p
					}
				}
			})
			if kind != "tree" {
				return kind
			}
		}
		clean := o.vouched(ref)
		if kind != "commit" || clean[id] {
			continue
		}
		var fresh []string
		for c := range o.history(id) {
			if !clean[c] {
				fresh = append(fresh, c)
			}
		}
		for _, c := range fresh {
			if why := o.commit(c); why != "" {
				return fmt.Sprintf("%s: %.12s: %s", ref, c, why)
			}
		}
		for name, u := range o.state(id) {
			if why := o.approved(name, u, o.had(ref, name)); why != "" &&
				(!o.carried(id, name, u, clean) || o.brought(fresh, name, u)) {
				return fmt.Sprintf("%s: its tip: %s", ref, why)
			}
		}
		for _, c := range fresh {
			o.clean[c] = true
		}
	}
	return ""
}
