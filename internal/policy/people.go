package policy

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
)

// Approval is a reviewer's approval of a version, as its commit proves it.
type Approval struct {
	By     string // whoever spoke, as floors and roots name reviewers
	Person string // who that is: where keys are demanded, the owner of the key; "" for the engine and agents
	Score  int
	Self   bool // by the version's maker
	Whole  bool // some criterion passed with the whole alone
}

// Quorum is how many people must approve what is held against a root. Four eyes are the maker's and one person's more.
func (p *Policy) Quorum(root Root) int {
	n := max(p.Floors.Quorum, root.Quorum)
	if p.FourEyes {
		n = max(n, 1)
	}
	return n
}

// People is a number of people in words.
func People(n int) string { return strings.Replace(plain.Count(n, "person"), "persons", "people", 1) }

// Lacks says which of the approvals that the floors and a root demand a version lacks, and who could give them; "" if
// it lacks none. Quorum and four eyes count people: neither the engine nor an agent is one.
func (p *Policy) Lacks(root Root, all []Approval) string {
	minScore, quorum := max(p.Floors.MinScore, root.MinScore), p.Quorum(root)
	if minScore == 0 && quorum == 0 && len(p.Floors.Reviewers) == 0 && len(root.Reviewers) == 0 && !p.EachCriterion {
		return ""
	}
	var names, people, out []string // out: who can't be one more
	for _, a := range all {
		own := p.FourEyes && a.Self
		looked := !p.EachCriterion || !a.Whole
		may := len(p.Floors.Reviewers) == 0 || slices.Contains(p.Floors.Reviewers, a.By)
		if !own && looked && may && a.Score >= minScore {
			names = append(names, a.By)
			if a.Person != "" && !slices.Contains(people, a.Person) {
				people = append(people, a.Person)
			}
		}
		if own || slices.Contains(people, a.By) {
			out = append(out, a.By)
		}
	}
	named := func(name string) bool { return slices.Contains(names, name) }
	listed := len(root.Reviewers) == 0 || slices.ContainsFunc(root.Reviewers, named)
	if len(names) > 0 && len(people) >= quorum && listed {
		return ""
	}
	what := fmt.Sprintf("score at least %d, 1 reviewer", minScore)
	if quorum > 0 {
		what = fmt.Sprintf("score at least %d, %s", minScore, People(quorum))
	}
	if p.FourEyes {
		what += ", none of them its maker"
	}
	if p.EachCriterion {
		what += ", with a verdict on each criterion"
	}
	could := p.Floors.Reviewers
	if !listed {
		could = root.Reviewers
	}
	if len(people) > 0 {
		what += "; " + strings.Join(people, ", ") + " approved it"
	}
	return plain.Line(what + "; " + p.whoCouldApprove(could, out) + " could")
}

// whoCouldApprove says who of those that are listed is left; where keys are demanded, of those who have one.
func (p *Policy) whoCouldApprove(listed, out []string) string {
	if len(listed) == 0 {
		listed = each.Of(p.Keys, func(k Key) string { return k.Name })
	}
	left := slices.DeleteFunc(slices.Clone(listed), func(name string) bool {
		return slices.Contains(out, name) || len(p.Keys) > 0 && !p.hasKey(name)
	})
	switch {
	case len(left) > 0:
		return strings.Join(slices.Compact(left), ", ")
	case len(listed) > 0:
		return "nobody else whom the policy names"
	case len(out) > 0:
		return "anybody but " + strings.Join(out, ", ")
	}
	return "anybody"
}
