package policy

import "testing"

func TestLacks(t *testing.T) {
	ann, bob := Approval{By: "ann", Person: "ann", Score: 95}, Approval{By: "bob", Person: "bob", Score: 95}
	checks, claude := Approval{By: "checks", Score: 100}, Approval{By: "claude", Score: 100}
	zoe := Approval{By: "zoe", Person: "ann", Score: 95} // signed with ann's key
	own := Approval{By: "bob", Person: "bob", Score: 95, Self: true}
	keys := []Key{{Name: "ann"}, {Name: "bob"}, {Name: "carl"}}
	two := Policy{Floors: Floors{Quorum: 2}}
	tests := []struct {
		name   string
		policy Policy
		root   Root
		all    []Approval
		want   string
	}{
		{"nothing demanded", Policy{}, Root{}, nil, ""},
		{"two people", two, Root{}, []Approval{ann, bob}, ""},
		{"the engine is none", two, Root{}, []Approval{checks, ann},
			"score at least 0, 2 people; ann approved it; anybody but ann could"},
		{"nor is an agent", Policy{}, Root{Quorum: 1}, []Approval{claude}, "score at least 0, 1 person; anybody could"},
		{"two names of one key", Policy{Keys: keys}, Root{Quorum: 2}, []Approval{ann, zoe},
			"score at least 0, 2 people; ann approved it; bob, carl could"},
		{"four eyes want a person", Policy{FourEyes: true}, Root{}, []Approval{checks},
			"score at least 0, 1 person, none of them its maker; anybody could"},
		{"who is not the maker", Policy{FourEyes: true}, Root{}, []Approval{own, claude},
			"score at least 0, 1 person, none of them its maker; anybody but bob could"},
		{"a list without four eyes may be of agents", Policy{Floors: Floors{Reviewers: []string{"claude"}}}, Root{},
			[]Approval{claude}, ""},
		{"a root's reviewers", Policy{}, Root{Reviewers: []string{"bob", "carl"}}, []Approval{ann},
			"score at least 0, 1 reviewer; ann approved it; bob, carl could"},
		{"a score", Policy{}, Root{MinScore: 96}, []Approval{ann, checks}, ""},
		{"whose score is too low", Policy{}, Root{MinScore: 96, Quorum: 1}, []Approval{ann, checks},
			"score at least 96, 1 person; anybody could"},
		{"a quorum that the lists leave no people for", Policy{Floors: Floors{Quorum: 2, Reviewers: []string{"ann"}}}, Root{},
			[]Approval{ann}, "score at least 0, 2 people; ann approved it; nobody else whom the policy names could"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.Lacks(tt.root, tt.all); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
