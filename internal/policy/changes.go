package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Changes are the files that only approved changes of the repository may alter. Without paths there are none.
type Changes struct {
	Paths     []string `json:"paths"`              // patterns as in .gitignore, with ! for exceptions
	Branches  []string `json:"branches,omitempty"` // patterns of the branches whose history eras exempt
	Since     Since    `json:"since"`
	MinScore  int      `json:"min_score,omitempty"`
	Quorum    int      `json:"quorum,omitempty"`
	Reviewers []string `json:"reviewers,omitempty"` // one of them must have approved each change
	NoRevert  bool     `json:"no_revert,omitempty"` // what landed can't be taken back, only changed again
}

// Era is a time in which the same patterns held. A path's protection began with the first era, of those up to the
// newest, in which the patterns protect it without a gap: the history up to that era's commits is not judged there.
type Era struct {
	Paths   []string   `json:"paths"`   // all patterns, as in Changes
	Commits []plan.OID `json:"commits"` // the tips of the named branches when it began
}

// Since are the eras that a policy records, the oldest first.
type Since []Era

// UnmarshalJSON reads eras, or the one list of commits that older policies have: one era, whose patterns Decode fills
// in.
func (s *Since) UnmarshalJSON(data []byte) error {
	var commits []plan.OID
	if json.Unmarshal(data, &commits) == nil {
		if *s = nil; len(commits) > 0 {
			*s = Since{{Commits: commits}}
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*[]Era)(s))
}

// Eras are those of the policy, the oldest first. The last one has the present patterns: where a file widened them and
// recorded no era, nothing is exempt under what it added.
func (c Changes) Eras() []Era {
	if n := len(c.Since); n > 0 && slices.Equal(c.Since[n-1].Paths, c.Paths) {
		return c.Since
	}
	return append(slices.Clone(c.Since), Era{Paths: c.Paths, Commits: []plan.OID{}})
}

// Names reports whether the policy names a branch. It never names one of those that git wf start makes.
func (c Changes) Names(branch string) bool {
	return !strings.HasPrefix(branch, WorkBranches) &&
		slices.ContainsFunc(c.Branches, func(p string) bool { return glob.Match(p, branch) })
}

// WorkBranches is the prefix of the branches that git wf start makes. Work on a change is committed there before
// anybody has approved it.
const WorkBranches = "wf/"

// Demands are what a change needs beyond the floors.
func (c Changes) Demands() Root {
	return Root{MinScore: c.MinScore, Quorum: c.Quorum, Reviewers: c.Reviewers}
}

// ChangeRule is one pattern of Changes.Paths. It matches a path if its parts match the first components of the path, or
// the whole: what a directory's rule says holds for everything below.
type ChangeRule struct {
	Parts  []string // between slashes, each a pattern of package glob; "**" stands for any number of directories
	Except bool
	Below  bool // only what is below, not the path itself
}

// Rules are the patterns in order: the last one that matches a path decides. Unlike in .gitignore, an exception counts
// below a protected directory, too.
func (c Changes) Rules() []ChangeRule {
	return each.Of(c.Paths, changeRule)
}

func changeRule(pattern string) (r ChangeRule) {
	pattern, r.Except = strings.CutPrefix(pattern, "!")
	pattern, r.Below = strings.CutSuffix(pattern, "/")
	if !strings.Contains(pattern, "/") && pattern != "**" {
		pattern = "**/" + pattern
	}
	r.Parts = strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for len(r.Parts) > 0 && r.Parts[len(r.Parts)-1] == anyDirs {
		r.Parts, r.Below = r.Parts[:len(r.Parts)-1], true
	}
	return r
}

const anyDirs = "**"

// Literal is the number of leading parts that match only themselves.
func (r ChangeRule) Literal() int {
	for i, part := range r.Parts {
		if part == anyDirs || strings.ContainsAny(part, `*?[\`) {
			return i
		}
	}
	return len(r.Parts)
}

// Matches reports whether the rule matches a path's components. same compares a part to a component.
func (r ChangeRule) Matches(names []string, same func(part, name string) bool) bool {
	part, name, star, from := 0, 0, -1, 0
	for {
		switch {
		case part == len(r.Parts):
			return !r.Below || name < len(names)
		case r.Parts[part] == anyDirs:
			star, from = part, name
			part++
		case name < len(names) && same(r.Parts[part], names[name]):
			part, name = part+1, name+1
		case star < 0 || from >= len(names):
			return false
		default:
			from++
			part, name = star+1, from
		}
	}
}

// Through reports whether the rule may match something below a directory, as Matches compares components.
func (r ChangeRule) Through(dir []string, same func(part, name string) bool) bool {
	for i, part := range r.Parts {
		if part == anyDirs || i == len(dir) {
			return true
		}
		if !same(part, dir[i]) {
			return false
		}
	}
	return true
}

// Top is the head of a pattern that may match anywhere.
const Top = "."

// Heads are the directories, or single files, that everything protected is in: Top if that may be anywhere.
func (c Changes) Heads() []string {
	var heads []string
	for _, r := range c.Rules() {
		n := r.Literal()
		switch {
		case r.Except:
		case n == 0:
			return []string{Top}
		default:
			heads = append(heads, strings.Join(r.Parts[:n], "/"))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(heads)))
}

// The files of git that decide what becomes of others: the attributes, of a directory and what is below it, and the
// submodules, at the top.
const (
	Attributes = ".gitattributes"
	Modules    = ".gitmodules"
)

// Watched are the paths that hooks must look at: the protected roots, the heads of the protected code and, as ".git*",
// the files of git in the directories above a head.
func (p *Policy) Watched() []string {
	dirs := p.RootPaths()
	add := func(name string) {
		dirs = each.Add(dirs, name)
	}
	for _, dir := range p.Changes.Heads() {
		add(dir)
		for dir != Top {
			dir = path.Dir(dir)
			add(path.Join(dir, ".git*"))
		}
	}
	return dirs
}

// What is wrong with a root or the changes, and with a maintainer or a pruner.
const (
	badNumbers = "needs a min_score of 0 to 100 and a quorum that is not negative"
	noKey      = "has no key, so nothing proves who they are"
)

func (p *Policy) checkChanges(bad func(code, where, text, found string)) {
	const mostEras = 200
	c := p.Changes
	checkPatterns("changes.paths", c.Paths, bad)
	for i, e := range c.Since {
		where := fmt.Sprintf("changes.since[%d]", i)
		checkPatterns(where+".paths", e.Paths, bad)
		for _, oid := range e.Commits {
			if !oid.Valid() {
				bad("bad-commit", where+".commits", "is no commit's id of 40 hex digits", string(oid))
			}
		}
	}
	if len(c.Since) > mostEras {
		bad("bad-since", "changes.since", "has too many eras: git wf policy since begins anew",
			strconv.Itoa(len(c.Since)))
	}
	for i, b := range c.Branches {
		if b == "" || strings.HasPrefix(b, WorkBranches) || plain.Line(b) != b || glob.Check(b) != nil {
			bad("bad-branch", fmt.Sprintf("changes.branches[%d]", i),
				"is no name or pattern of branches, such as main or release/*; "+WorkBranches+" are nobody's", b)
		}
	}
	if len(c.Paths) == 0 &&
		(c.Quorum != 0 || c.MinScore != 0 || len(c.Reviewers) > 0 || c.NoRevert || len(c.Branches)+len(c.Since) > 0) {
		bad("bad-pattern", "changes.paths", "names nothing that the rest could hold for", "")
	}
	if c.MinScore < 0 || c.MinScore > 100 || c.Quorum < 0 {
		bad("bad-number", "changes", badNumbers, "")
	}
}

func checkPatterns(at string, patterns []string, bad func(code, where, text, found string)) {
	const mostPatterns, longest = 1000, 1024
	if len(patterns) > mostPatterns {
		bad("bad-pattern", at, fmt.Sprintf("has more than %d patterns", mostPatterns), strconv.Itoa(len(patterns)))
		return
	}
	for i, pattern := range patterns {
		where := fmt.Sprintf("%s[%d]", at, i)
		r := changeRule(pattern)
		switch {
		case strings.Trim(pattern, "!/") == "" || len(pattern) > longest || strings.ContainsAny(pattern, "\x00\r\n"):
			bad("bad-pattern", where, "is no pattern of paths", pattern)
			continue
		case i == 0 && r.Except:
			bad("bad-pattern", where, "is an exception from nothing", pattern)
		}
		for _, part := range r.Parts {
			switch err := glob.Check(part); {
			case part == "" || part == "." || part == "..":
				bad("bad-pattern", where, "must not contain an empty component, . or ..", pattern)
			case part != anyDirs && strings.Contains(part, anyDirs):
				bad("bad-pattern", where, "must have ** alone between slashes", pattern)
			case err != nil:
				bad("bad-pattern", where, err.Error(), pattern)
			}
		}
	}
}
