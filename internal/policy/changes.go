package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/glob"
	"gitwf/internal/plan"
)

// Changes are the files that only approved changes of the repository may alter. Without paths there are none.
type Changes struct {
	Paths     []string   `json:"paths"` // patterns as in .gitignore, with ! for exceptions
	Since     []plan.OID `json:"since"` // commits before the protection: the history up to them is not judged
	MinScore  int        `json:"min_score,omitempty"`
	Quorum    int        `json:"quorum,omitempty"`
	Reviewers []string   `json:"reviewers,omitempty"` // one of them must have approved each change
	NoRevert  bool       `json:"no_revert,omitempty"` // what landed can't be taken back, only changed again
}

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
	rules := make([]ChangeRule, 0, len(c.Paths))
	for _, p := range c.Paths {
		rules = append(rules, changeRule(p))
	}
	return rules
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
	slices.Sort(heads)
	return slices.Compact(heads)
}

// Watched are the directories that hooks must look at: the protected roots, and the heads of the protected code.
func (p *Policy) Watched() []string {
	dirs := p.RootPaths()
	for _, h := range p.Changes.Heads() {
		if !slices.Contains(dirs, h) {
			dirs = append(dirs, h)
		}
	}
	return dirs
}

func (p *Policy) checkChanges(bad func(code, where, text, found string)) {
	const mostPatterns, longest = 1000, 1024
	c := p.Changes
	if len(c.Paths) > mostPatterns {
		bad("bad-pattern", "changes.paths", fmt.Sprintf("has more than %d patterns", mostPatterns),
			strconv.Itoa(len(c.Paths)))
		return
	}
	for i, pattern := range c.Paths {
		where := fmt.Sprintf("changes.paths[%d]", i)
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
	if len(c.Paths) == 0 && (c.Quorum != 0 || c.MinScore != 0 || len(c.Reviewers) > 0 || c.NoRevert) {
		bad("bad-pattern", "changes.paths", "names nothing that the rest could hold for", "")
	}
	if c.MinScore < 0 || c.MinScore > 100 || c.Quorum < 0 {
		bad("bad-number", "changes", "needs a min_score of 0 to 100 and a quorum that is not negative", "")
	}
}
