package policy

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
)

// Approval is a reviewer's approval of a version, as its commit proves it.
type Approval struct {
	By     string // whoever spoke, as floors and roots name reviewers
	Person string // who that is: where keys are demanded, the owner of the key; "" for the engine and agents
	Score  int
	Self   bool // by the version's maker
}

// People is how many people must approve what is held against a root. Four eyes are the maker's and one person's more.
func (p *Policy) People(root Root) int {
	n := max(p.Floors.Quorum, root.Quorum)
	if p.FourEyes {
		n = max(n, 1)
	}
	return n
}

// Lacks says which of the approvals that the floors and a root demand a version lacks, and who could give them; "" if
// it lacks none. Quorum and four eyes count people: neither the engine nor an agent is one.
func (p *Policy) Lacks(root Root, all []Approval) string {
	minScore, least := max(p.Floors.MinScore, root.MinScore), p.People(root)
	if minScore == 0 && least == 0 && len(p.Floors.Reviewers) == 0 && len(root.Reviewers) == 0 {
		return ""
	}
	var names, people, makers []string
	for _, a := range all {
		switch {
		case p.FourEyes && a.Self:
			makers = append(makers, a.By)
		case a.Score >= minScore && (len(p.Floors.Reviewers) == 0 || slices.Contains(p.Floors.Reviewers, a.By)):
			names = append(names, a.By)
			if a.Person != "" && !slices.Contains(people, a.Person) {
				people = append(people, a.Person)
			}
		}
	}
	listed := len(root.Reviewers) == 0 || slices.ContainsFunc(root.Reviewers, func(n string) bool {
		return slices.Contains(names, n)
	})
	if len(names) > 0 && len(people) >= least && listed {
		return ""
	}
	demand := "1 reviewer"
	if least > 0 {
		demand = strings.Replace(plain.Count(least, "person"), "persons", "people", 1)
	}
	if p.FourEyes {
		demand += ", none of them its maker"
	}
	return fmt.Sprintf("score at least %d, %s%s", minScore, demand, p.couldApprove(root, listed, people, makers))
}

// couldApprove says who has approved and who else could.
func (p *Policy) couldApprove(root Root, listed bool, people, makers []string) string {
	could := p.Floors.Reviewers
	if !listed {
		could = root.Reviewers
	}
	if len(p.Keys) > 0 && len(could) == 0 {
		for _, k := range p.Keys {
			could = append(could, k.Name)
		}
	}
	out := slices.DeleteFunc(slices.Concat(people, makers), func(name string) bool { return name == "" })
	left := slices.DeleteFunc(slices.Clone(could), func(name string) bool {
		return slices.Contains(out, name) || len(p.Keys) > 0 && !p.hasKey(name)
	})
	who := strings.Join(slices.Compact(left), ", ")
	switch {
	case who == "" && len(could) > 0:
		who = "nobody else whom the policy names"
	case who == "" && len(out) > 0:
		who = "anybody but " + strings.Join(out, ", ")
	case who == "":
		who = "anybody"
	}
	if len(people) > 0 {
		who = strings.Join(people, ", ") + " approved it, and " + who
	}
	return "; " + plain.Line(who) + " could"
}
